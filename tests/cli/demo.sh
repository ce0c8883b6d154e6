#!/bin/sh
# The demo records, converts into all four targets, asks, and says where the
# files lie.
set -u
status=0
mkdir build
cp "$BIN/pyrec" "$BIN/pyconv" "$BIN/pyquery" build/
sh "$SRC/tests/demo/demo.sh" build >told 2>&1 || status=1
cat told
[ $status -eq 0 ] && echo "ok the demo ends well" || echo "not ok the demo ends well"
for file in run.bin run.db run.collapsed.txt run.speedscope.json run.pstats; do
    if [ -s "build/demo/$file" ] && grep -q "$file" told; then
        echo "ok the demo leaves $file"
    else
        echo "not ok the demo leaves $file"
        status=1
    fi
done
exit $status
