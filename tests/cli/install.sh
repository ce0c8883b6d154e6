#!/bin/sh
# What `make install` puts down works from there, and `make uninstall` removes
# all of it.
set -u
status=0
result() {
    [ "$1" -eq 0 ] && echo "ok $2" && return
    echo "not ok $2"
    status=1
}
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

for program in pyrec pyconv pyquery; do
    told=$("root/usr/bin/$program" --version | head -n 1)
    echo "$told"
    case $told in
    "$program $(pkg --modversion)"*) result 0 "$program tells the version" ;;
    *) result 1 "$program tells the version" ;;
    esac
done

cat >program.c <<'C'
#include <pyrec/reader.h>
#include <pyrec/writer.h>
#include <stdio.h>

int
main(void)
{
    pr_err err = PR_ERR_INIT;
    pf_reader *reader = NULL;
    if (pf_reader_open("/dev/null", &reader, &err) == PR_OK)
        return 1;
    puts(err.what);
    return 0;
}
C
# shellcheck disable=SC2046 # words
cc $(pkg --cflags) program.c $(pkg --libs) -o program && ./program
result $? "a program builds against the installed library"

for header in root/usr/include/pyrec/*.h; do
    echo "#include <pyrec/${header##*/}>" | cc -std=c11 -Wall -Werror \
        -Iroot/usr/include -fsyntax-only -x c - || break
done
result $? "each installed header compiles alone"

make uninstall
left=$(find root -type f)
[ -z "$left" ]
result $? "make uninstall leaves nothing: $left"
exit $status
