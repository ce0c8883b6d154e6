#!/bin/sh
# The demo records, converts into five targets and asks; each command that it
# prints can be run again.
set -u
# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"
mkdir build
cp "$BIN/pyrec" "$BIN/pyconv" "$BIN/pyquery" build/
sh "$SRC/tests/demo/demo.sh" build >printed 2>&1
ended=$?
cat printed
result $ended "the demo ends well"
for file in run.bin run.html run.db run.collapsed.txt run.speedscope.json run.pstats; do
    [ -s "build/demo/$file" ] && grep -q "$file" printed
    result $? "the demo leaves $file"
done
sed -n 's/^\$ //p' printed >commands
[ "$(wc -l <commands)" -ge 8 ]
result $? "the demo prints its commands"
while IFS= read -r line; do
    sh -c "$line" >again 2>&1 </dev/null
    result $? "again: $line"
done <commands
exit $status
