#!/bin/sh
# build-python.sh VERSION SUITE STATE PREFIX OPTION...: build CPython VERSION from
# the source of Debian SUITE into PREFIX, with options for its configure.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/setup/apt.sh
. "$here/apt.sh"

version=$1
suite=$2
state=$3
prefix=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

apt_state "$state" "$suite"
cd "$work"
apt-get source -qq --download-only "python$version"
tar -xf "python${version}"_*.orig.tar.xz
cd "Python-$version".*
# The tests need an interpreter, not a distribution.
./configure -q --with-pydebug=no --disable-test-modules --with-ensurepip=no \
    --prefix="$prefix" "$@"
nice make -s -j"$(nproc)"
make -s install
