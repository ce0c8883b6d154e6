#!/bin/sh
# All that a program prints reaches stdout, or its exit status is 1 and one line
# says why.
set -u
# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"
export LC_ALL=C
vectors=$SRC/spec/vectors
"$BIN/pyconv" "$vectors/good-two-segments.bin" --to sqlite -o run.db -q || exit 1

# full PROGRAM ARGUMENT...: to a full disk, and where stdout is closed
full() {
    program=$1
    shift
    "$BIN/$program" "$@" >/dev/full 2>error
    [ $? -eq 1 ] && [ "$(grep -c "cannot write .*: No space left" error)" = 1 ]
    result $? "$program $*, to a full disk"
    "$BIN/$program" "$@" >&- 2>error
    [ $? -eq 1 ] && [ "$(grep -c "cannot write .*: Bad file desc" error)" = 1 ]
    result $? "$program $*, to a closed descriptor"
}

for program in pyrec pyconv pyquery; do
    full $program --help
    full $program --version
done
full pyconv --list
full pyconv --info "$vectors/good-two-segments.bin"
full pyconv --info "$vectors/bad-cut-open.bin"
full pyconv --verify "$vectors/good-two-segments.bin"
full pyconv "$vectors/good-two-segments.bin" --to collapsed -o -
full pyquery run.db
for query in top summary tree help; do
    full pyquery run.db "$query"
    for format in csv json markdown; do
        full pyquery run.db "$query as $format"
    done
done
full pyquery run.db "tree as collapsed"
full pyquery run.db "tree as svg"
full pyquery run.db --sql "SELECT * FROM function"
full pyquery run.db "diff run.db"
full pyquery run.db "check run.db" --max "gc < 10%" --min-samples 1
exit $status
