#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# OpenCV's transparent API (it opens the loader and asks the handle): digests of filtered images.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3
/usr/bin/python3 -c 'import cv2' 2>/dev/null || { echo "skipped: python3-opencv is not installed"; exit 77; }
export OPENCV_OPENCL_CACHE_ENABLE=0 OPENCV_OPENCL_DEVICE=:CPU:
plain /usr/bin/python3 "$(dirname "$0")/opencv_client.py"
ours /usr/bin/python3 "$(dirname "$0")/opencv_client.py"
same
counted 20
