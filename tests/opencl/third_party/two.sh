#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two programs of the distribution against each other under xserver: two.sh SHIM XSERVER. ffmpeg filters a film in the
# background, PyOpenCL runs again and again with a higher priority: the results of both are those of plain runs, and
# the background was held back meanwhile.
. "$(dirname "$0")/lib.sh"
server=$2
client=$(dirname "$0")/pyopencl_client.py
need ffmpeg /usr/bin/python3
/usr/bin/python3 -c 'import pyopencl' 2>/dev/null || { echo "skipped: python3-pyopencl is not installed"; exit 77; }
export PYOPENCL_NO_CACHE=1 POCL_MAX_PTHREAD_COUNT=1

film() {
    ffmpeg -hide_banner -loglevel error -init_hw_device opencl=ocl:0.0 -filter_hw_device ocl -i "$T/in.nut" \
        -vf format=yuv420p,hwupload,avgblur_opencl=10,hwdownload,format=yuv420p -f framemd5 -
}

ffmpeg -hide_banner -loglevel error -f lavfi -i testsrc=size=320x240:rate=25:duration=3 -c:v rawvideo "$T/in.nut"
film >"$T/film.plain"
/usr/bin/python3 -W ignore "$client" >"$T/plain" 2>/dev/null

"$server" --no-http --socket="$T/s" HPF >"$T/server.log" 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null || true; rm -rf "$T"' EXIT INT TERM
for _ in $(seq 100); do
    test -S "$T/s" && break
    sleep 0.1
done
export XSCHED_SOCKET="$T/s" LD_PRELOAD="$SHIM" OPENCL_LAYERS="$SHIM"
XSCHED_PRIORITY=-10 XSCHED_TRACE="$T/trace" film >"$T/film.ours" 2>"$T/film.err" &
film_pid=$!
runs=0
while kill -0 $film_pid 2>/dev/null && [ $runs -lt 5 ]; do
    XSCHED_PRIORITY=10 XSCHED_TRACE="$T/trace" /usr/bin/python3 -W ignore "$client" >"$T/ours" 2>"$T/ours.err"
    same
    runs=$((runs + 1))
done
wait $film_pid
unset LD_PRELOAD OPENCL_LAYERS
kill $pid
wait $pid || true
diff "$T/film.plain" "$T/film.ours" || { echo "the film differs"; exit 1; }
cat "$T/film.err" "$T/ours.err" | grep XSCHED && exit 1
echo "$runs urgent runs beside the film"
test $runs -gt 0
counted 400
grep joined "$T/server.log" | grep -q ffmpeg
grep joined "$T/server.log" | grep -q python3
# "... 1234 commands on 1 queues, suspended 0.123 s (ffmpeg ...)"
held=$(sed -n 's/.*suspended \([0-9.]*\) s (.*ffmpeg.*/\1/p' "$T/server.log")
echo "the film was suspended for $held s"
awk -v held="$held" 'BEGIN { exit !(held > 0) }'
