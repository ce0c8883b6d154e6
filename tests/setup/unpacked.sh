#!/bin/sh
# unpacked.sh ENVFILE: unpack Debian sid's packages that tests use as files into
# the cache and add to ENVFILE PYREC_TESTSUITE, the folder of CPython 3.15's own
# package test, and PYREC_GREENLET, a root with greenlet for 3.14 and 3.15.
# Tests of packages that cannot be fetched are skipped.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/setup/apt.sh
. "$here/apt.sh"

cache=${PYREC_CACHE:-$HOME/.cache/pyrec}
envfile=$1

# fetch ROOT PACKAGE...: without what they depend on.
fetch() {
    _root=$1
    shift
    apt_state "$cache/apt/sid" sid || return 1
    (
        mkdir -p "$_root" && cd "$_root" && apt-get download -qq "$@" &&
            for deb in *.deb; do
                dpkg-deb -x "$deb" . && rm "$deb" || return 1
            done
    )
}

# provide VARIABLE ROOT FOLDER PROBE PACKAGE...: FOLDER is the value, and
# whatever PROBE matches shows that it is there.
provide() {
    _variable=$1
    _place=$2
    _folder=$3
    _probe=$4
    shift 4
    # shellcheck disable=SC2086 # a pattern
    ls -d $_probe >/dev/null 2>&1 || fetch "$_place" "$@" || {
        echo "unpacked.sh: no $1: its tests are skipped" >&2
        return 0
    }
    grep -q "^$_variable=" "$envfile" ||
        echo "$_variable='$_folder'" >>"$envfile"
}

root=$cache/root/testsuite
folder=$root/usr/lib/python3.15
provide PYREC_TESTSUITE "$root" "$folder" "$folder/test" \
    libpython3.15-testsuite
root=$cache/root/greenlet
provide PYREC_GREENLET "$root" "$root" "$root/usr/lib/*/libstdc++.so.6" \
    python3-greenlet libstdc++6
