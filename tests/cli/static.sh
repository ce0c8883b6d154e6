#!/bin/sh
# `make static` makes one file that needs nothing: it records a program of this
# machine from within a root that holds no other file.
set -u
# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"
make --no-print-directory -C "$SRC" B="$BIN" static
result $? "make static links"
mkdir root
cp "$BIN/static/pyrec" root/
headers=$(readelf -lW root/pyrec)
case $headers in
*INTERP*) result 1 "it needs no loader and no library" ;;
*) result 0 "it needs no loader and no library" ;;
esac

name="it records from a root that holds no other file"
if ! bwrap --ro-bind / / true; then
    echo "ok $name # SKIP bwrap is not permitted here"
    exit $status
fi
# bwrap makes a user namespace for any other user, in which pyrec has no right to
# a process outside of it.
if [ "$(id -u)" -ne 0 ]; then
    echo "ok $name # SKIP only root reads a process from within another root"
    exit $status
fi
"$PYTHON" "$SRC/tests/demo/shop.py" 60 &
target=$!
trap 'kill "$target" 2>/dev/null' EXIT
n=0
until "$BIN/pyrec" --check "$target" || [ $n -ge 600 ]; do
    n=$((n + 1))
    sleep 0.1
done
bwrap --bind root / --proc /proc --dev /dev /pyrec -p "$target" -o /run.bin \
    -d 1 && "$BIN/pyquery" --csv root/run.bin "top 1000" >top && cat top &&
    grep -q take_orders top
result $? "$name"
exit $status
