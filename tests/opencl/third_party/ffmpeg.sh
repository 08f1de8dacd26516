#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ffmpeg's avgblur_opencl: digests of all frames.
. "$(dirname "$0")/lib.sh"
need ffmpeg
ffmpeg -hide_banner -loglevel error -f lavfi -i testsrc=size=320x240:rate=5:duration=4 -c:v rawvideo "$T/in.nut"
blur() {
    "$1" ffmpeg -hide_banner -loglevel error -init_hw_device opencl=ocl:0.0 -filter_hw_device ocl -i "$T/in.nut" \
        -vf format=yuv420p,hwupload,avgblur_opencl=3,hwdownload,format=yuv420p -f framemd5 -
}
blur plain
blur ours
same '/^#/d'
counted 100
