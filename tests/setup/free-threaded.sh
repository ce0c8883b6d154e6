#!/bin/sh
# free-threaded.sh STATE PREFIX: build CPython 3.13 without a GIL from the
# source of Debian trixie into PREFIX.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/setup/apt.sh
. "$here/apt.sh"

state=$1
prefix=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

apt_state "$state" trixie
cd "$work"
apt-get source -qq --download-only python3.13
tar -xf python3.13_*.orig.tar.xz
cd Python-3.13.*
# The tests need an interpreter, not a distribution.
./configure -q --disable-gil --with-pydebug=no --disable-test-modules \
    --with-ensurepip=no --prefix="$prefix"
nice make -s -j"$(nproc)"
make -s install
