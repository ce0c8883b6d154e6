#!/bin/sh
# A file's name, a process's name and a path reach no terminal as commands.
set -u
status=0
export LC_ALL=C
# a control sequence in C0, one in C1, a newline, and a turn of direction
evil=$(printf 'e\033[31m\302\2331m\nx\342\200\256y')
mkdir "$evil"
cp "$SRC/spec/vectors/good-two-segments.bin" "$evil/run.bin"
cp "$SRC/spec/vectors/bad-cut-stock.bin" "$evil/cut.bin"

# NAME COMMAND...: it prints the path, and nothing that a terminal obeys
clean() {
    name=$1
    shift
    "$@" >said 2>&1
    if ! grep -q 'x1b' said; then
        echo "not ok $name: does not name the path: $(cat -v said)"
        status=1
    elif grep -q "$(printf '[\033\233]\|\342\200\256')" said; then
        echo "not ok $name: $(cat -v said)"
        status=1
    else
        echo "ok $name"
    fi
}

clean "pyconv says that a file is whole" \
    "$BIN/pyconv" --verify "$evil/run.bin"
clean "pyconv cannot open" "$BIN/pyconv" --info "$evil/none.bin"
clean "pyconv finds a cut" "$BIN/pyconv" --verify "$evil/cut.bin"
clean "pyconv does not replace" \
    "$BIN/pyconv" "$evil/run.bin" --to pstats -o "$evil/run.bin"
clean "an unknown target" "$BIN/pyconv" "$evil/run.bin" --to "$evil"
clean "pyquery cannot open" "$BIN/pyquery" "$evil/none.db" summary
clean "pyquery does not understand" "$BIN/pyquery" "$evil/run.bin" "top $evil"
clean "pyrec does not know an option" "$BIN/pyrec" "--$evil"
clean "pyrec does not replace" \
    "$BIN/pyrec" -o "$evil/run.bin" -- sleep 0
clean "pyrec cannot run" "$BIN/pyrec" -o out.bin -- "$evil/none"
exit $status
