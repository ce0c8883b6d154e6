#!/bin/sh
# The files of `make install` work from where they lie, and `make uninstall`
# removes all of them.
set -u
# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"
make() {
    command make --no-print-directory -C "$SRC" B="$BIN" PREFIX=/usr \
        DESTDIR="$PWD/root" "$@"
}
pkg() {
    PKG_CONFIG_PATH=$PWD/root/usr/lib/pkgconfig \
        PKG_CONFIG_SYSROOT_DIR=$PWD/root pkg-config "$@" pyrec
}

make install
result $? "make install installs"
version=$(pkg --modversion)

for name in pyrec pyconv pyquery; do
    first=$("root/usr/bin/$name" --version | head -n 1)
    case $first in
    "$name $version"*) result 0 "$name prints the version" ;;
    *) result 1 "$name prints the version, not '$first'" ;;
    esac
done

program=$SRC/tests/cli/count.c
vector=$SRC/spec/vectors/good-two-segments.bin
wanted="$version $(sed -n '1s/.*"samples": \([0-9]*\).*/\1/p' \
    "${vector%.bin}.json")"
# shellcheck disable=SC2046 # words
cc -Wall -Werror $(pkg --cflags) "$program" $(pkg --libs) -o count &&
    readelf -d count | grep -q 'libpyrec\.so\.0' &&
    [ "$(LD_LIBRARY_PATH=root/usr/lib ./count "$vector")" = "$wanted" ]
result $? "a program reads a profile with the shared library"

mkdir static
cp root/usr/lib/libpyrec.a static/
# shellcheck disable=SC2046 # words
cc $(pkg --cflags) "$program" -Lstatic $(pkg --static --libs-only-l) -o count &&
    [ "$(./count "$vector")" = "$wanted" ]
result $? "a program reads a profile with the static library"

for header in root/usr/include/pyrec/*.h; do
    for language in "c -std=c11" "c++ -std=c++17"; do
        # shellcheck disable=SC2086 # words
        echo "#include <pyrec/${header##*/}>" | cc -x $language -Wall -Werror \
            -Iroot/usr/include -fsyntax-only - || break 2
    done
done
result $? "each installed header compiles alone, as C and as C++"

# The functions of the headers, and no others; tests/lint/symbols.py compares
# the map with the headers.
sed -n 's/^ *\([a-z]*_[a-z_]*\);$/\1@@PYREC_0/p' \
    "$SRC/include/libpyrec.map" | sort >wanted
nm -D --defined-only "root/usr/lib/libpyrec.so.$version" |
    awk '$2 == "T" { print $3 }' | sort >found
[ -s wanted ] && diff wanted found
result $? "the shared library shows the functions of its headers alone"

for spec in $(sed -n 's/.*\(spec\/[a-z]*\.md\).*/\1/p' \
    root/usr/include/pyrec/*.h | sort -u); do
    [ -s "root/usr/share/doc/pyrec/${spec#spec/}" ]
    result $? "the headers' $spec is installed"
done

# Each page is laid out without a warning, in the width in which lintian has
# them laid out.
for page in root/usr/share/man/man?/*; do
    name=$(basename "$page")
    if ! command -v man >/dev/null; then
        echo "ok the man page $name # SKIP no man here"
        continue
    fi
    MANWIDTH=80 man -l --warnings=w "$page" >page 2>warnings
    cat warnings
    [ ! -s warnings ] && head -n 1 page | grep -q "^${name%.*}(${name##*.})"
    result $? "the man page $name"
done

make uninstall
left=$(find root ! -type d)
[ -z "$left" ] && [ ! -d root/usr/include/pyrec ] &&
    [ ! -d root/usr/share/doc/pyrec ]
result $? "make uninstall leaves nothing: $left"
exit $status
