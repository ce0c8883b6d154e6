#!/bin/sh
# Every command of README.md works: its sh blocks run in one shell, one line
# after the other, where the tree has tests and build.  The lines that build or
# test the whole tree (make ...) are left out.  Help fits a terminal.
set -u
mkdir build
cp "$BIN/pyrec" "$BIN/pyconv" "$BIN/pyquery" build/
ln -s "$SRC/tests" tests
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$SRC/README.md" |
    grep -v '^make\b' | grep '[^ ]' >commands

# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"
[ "$(wc -l <commands)" -ge 10 ]
result $? "README.md has commands"
[ "$(wc -l <"$SRC/README.md")" -le 200 ]
result $? "README.md has at most 200 lines"
for program in pyrec pyconv pyquery; do
    "$BIN/$program" --help >help && ! grep -q '.\{81\}' help
    result $? "the help of $program fits 80 columns"
done

n=0
while IFS= read -r line; do
    n=$((n + 1))
    # The line as it is, then its status; $! stays that of the shell.
    printf '%s\necho "status $? of %d" >>statuses\n' "$line" "$n"
done <commands >script
sh ./script >output 2>&1 </dev/null
cat output
n=0
while IFS= read -r line; do
    n=$((n + 1))
    grep -qx "status 0 of $n" statuses
    result $? "$line"
done <commands
exit $status
