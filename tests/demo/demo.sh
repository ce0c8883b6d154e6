#!/bin/sh
# demo.sh BUILD: record a small Python program on the machine's own python3,
# convert the recording, and ask the database.  Each command that it prints can
# be copied and run again.
set -eu

build=$1
out=$build/demo
shop=$(dirname "$0")/shop.py
python=/usr/bin/python3
[ -x "$python" ] || python=python3

quoted() {
    case $1 in
    *[!A-Za-z0-9_./:=-]*) printf " '%s'" "$1" ;;
    *) printf ' %s' "$1" ;;
    esac
}

run() {
    printf '\n$'
    for word in "$@"; do quoted "$word"; done
    printf '\n'
    "$@"
}

rm -rf "$out"
run mkdir -p "$out"
run "$build/pyrec" -f -o "$out/run.bin" -- "$python" "$shop"
run "$build/pyconv" -f "$out/run.bin" --to html --source "$(dirname "$0")"
for to in collapsed speedscope pstats sqlite; do
    run "$build/pyconv" -f "$out/run.bin" --to "$to"
done
run "$build/pyquery" "$out/run.db" "top 10 by self"
run "$build/pyquery" "$out/run.db" "callers of loads"

printf '\nThe files:\n'
ls -l "$out"
