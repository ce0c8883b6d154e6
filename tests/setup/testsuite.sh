#!/bin/sh
# testsuite.sh ENVFILE: fetch CPython 3.15's own tests, which Debian packs as
# libpython3.15-testsuite, into the cache and add PYREC_TESTSUITE, the folder
# that holds the package test, to ENVFILE.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/setup/apt.sh
. "$here/apt.sh"

cache=${PYREC_CACHE:-$HOME/.cache/pyrec}
envfile=$1
root=$cache/root/testsuite
folder=$root/usr/lib/python3.15

fetch() {
    apt_state "$cache/apt/sid" sid || return 1
    (
        mkdir -p "$root" && cd "$root" &&
            apt-get download -qq libpython3.15-testsuite &&
            for deb in libpython3.15-testsuite_*.deb; do
                dpkg-deb -x "$deb" . && rm "$deb"
            done
    )
}

[ -d "$folder/test" ] || fetch || {
    echo "testsuite.sh: no libpython3.15-testsuite: its tests are skipped" >&2
    exit 0
}
grep -q '^PYREC_TESTSUITE=' "$envfile" ||
    echo "PYREC_TESTSUITE='$folder'" >>"$envfile"
