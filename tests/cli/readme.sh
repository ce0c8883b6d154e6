#!/bin/sh
# Every command of README.md: its sh blocks run one after the other in one
# shell, beside the tree's tests folder.  What builds or tests the whole tree
# (make ...) is what runs this.
set -u
mkdir bin
cp "$BIN/pyrec" "$BIN/pyconv" "$BIN/pyquery" bin/
ln -s "$SRC/tests" tests
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$SRC/README.md" |
    grep -v '^make ' >commands
[ -s commands ] || {
    echo "not ok README.md has commands"
    exit 1
}

status=0
n=0
while IFS= read -r line; do
    n=$((n + 1))
    printf '%s\n' "$line" | grep -q '[^ ]' || continue
    # The line as it stands, then its status; $! stays that of the shell.
    printf '%s\necho "status $? of %d" >>statuses\n' "$line" "$n"
done <commands >script
PATH=$PWD/bin:$PATH sh ./script >output 2>&1
cat output
n=0
while IFS= read -r line; do
    n=$((n + 1))
    printf '%s\n' "$line" | grep -q '[^ ]' || continue
    if grep -qx "status 0 of $n" statuses; then
        echo "ok $line"
    else
        echo "not ok $line"
        status=1
    fi
done <commands
exit $status
