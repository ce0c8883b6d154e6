#!/bin/sh
# The format's code on a big-endian machine: cross-compiled for s390x, run by
# qemu-user.  W8, R1: its unit tests pass there, it reads every vector of both
# byte orders, and here the library, the second decoder and CPython 3.15 read
# the files that it writes.
#
# The cross compiler and qemu are the machine's packages (tests/setup/
# packages.sh peers); the libraries for s390x lie in a folder of their own.
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "$here/../.." && pwd)
bin=${BIN:-$src/build}
python=${PYTHON:-python3}
cc=s390x-linux-gnu-gcc
# shellcheck source=tests/setup/apt.sh
. "$src/tests/setup/apt.sh"

for program in $cc qemu-s390x; do
    command -v $program >/dev/null || {
        echo "$program is missing: sh tests/setup/packages.sh peers" >&2
        exit 77
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The libraries; kept between runs.
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
root=${PYREC_CACHE:-$HOME/.cache/pyrec}/s390x-$suite
if [ ! -e "$root/complete" ]; then
    (
        apt_state "$work/apt" "$suite" s390x &&
            apt_unpack "$work/apt" "$root" libc6-dev libzstd-dev \
                libxxhash-dev libcmocka-dev libsqlite3-dev zlib1g-dev \
                libelf-dev
    ) || {
        echo "not ok libraries for s390x"
        exit 1
    }
    : >"$root/complete"
fi

emulate="qemu-s390x -L $root"
units=$(cd "$src" && grep -lE '"format/|pyrec/(base|error|reader|writer)' \
    tests/unit/test_*.c | xargs grep -LE '(recorder|converter|query)/' |
    xargs grep -LE 'pyrec/(convert|query|unwinder)' |
    sed 's,.*/\(.*\)\.c,\1,')

# One line of TAP for a step without lines of its own.
printed() {
    if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2"; fi
}

failed=0
programs="interop/dump interop/feed"
for unit in $units; do programs="$programs tests/$unit"; done
# shellcheck disable=SC2046 # a list of targets
make -s -C "$src" ROOMS=format B="$work/b" WERROR=1 \
    CC="$cc --sysroot=$root" AR=s390x-linux-gnu-ar \
    $(for p in $programs; do echo "$work/b/$p"; done) >"$work/log" 2>&1 || {
    sed 's/^/# /' "$work/log"
    echo "not ok s390x build"
    exit 1
}
echo "ok s390x build without a warning"

# Names get a prefix; plans of single programs are not this script's.
retell() {
    sed -e '/^1\.\./d' -e "s/^\(not ok\|ok\) */&$1: /"
}

for unit in $units; do
    CMOCKA_MESSAGE_OUTPUT=TAP $emulate "$work/b/tests/$unit" \
        >"$work/log" 2>&1
    status=$?
    retell "s390x $unit" <"$work/log"
    [ $status -eq 0 ] || failed=1
    printed $status "s390x $unit ends well"
done

# tools FOLDER DUMP FEED: a BIN whose tools are these
tools() {
    mkdir -p "$1/interop"
    printf '#!/bin/sh\nexec %s "$@"\n' "$2" >"$1/interop/dump"
    printf '#!/bin/sh\nexec %s "$@"\n' "$3" >"$1/interop/feed"
    chmod +x "$1/interop/dump" "$1/interop/feed"
}
run() {
    BIN=$1 "$python" "$here/$2" >"$work/log" 2>&1
    status=$?
    retell "$3" <"$work/log"
    [ $status -eq 0 ] || failed=1
}

there_dump="$emulate $work/b/interop/dump"
there_feed="$emulate $work/b/interop/feed"
tools "$work/reads" "$there_dump" "$bin/interop/feed"
tools "$work/writes" "$bin/interop/dump" "$there_feed"
run "$work/reads" test_vectors.py "big-endian reader"
run "$work/reads" test_matrix.py "big-endian reader"
run "$work/writes" test_matrix.py "big-endian writer"
exit $failed
