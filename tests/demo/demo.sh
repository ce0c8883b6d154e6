#!/bin/sh
# demo.sh BUILD: record a small Python program on the machine's own python3,
# convert the recording, ask the database, and say where everything lies.
set -eu

build=$1
here=$(cd "$(dirname "$0")" && pwd)
out=$build/demo
rm -rf "$out"
mkdir -p "$out"

python=/usr/bin/python3
[ -x "$python" ] || python=python3

say() {
    printf '\n$ %s\n' "$*"
    "$@"
}

"$python" "$here/shop.py" &
target=$!
trap 'kill "$target" 2>/dev/null' EXIT
echo "started $("$python" -V) on $here/shop.py, process $target"
# For a moment the process is no Python yet.
until "$build/pyrec" --check "$target" 2>/dev/null; do sleep 0.1; done

say "$build/pyrec" -p "$target" -o "$out/run.bin" -d 5
for to in collapsed speedscope pstats sqlite; do
    say "$build/pyconv" "$out/run.bin" --to "$to"
done
say "$build/pyquery" "$out/run.db" "top 10 by self"
say "$build/pyquery" "$out/run.db" "top 10 by total"

printf '\nThe files:\n'
ls -l "$out"
