#!/bin/sh
# musl.sh ROOT: a root whose C library is musl, with a CPython 3.13 built from
# Debian's source; once, into ROOT.  The folder of the interpreter has the same
# path within ROOT and outside of it.  Needs musl-tools.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$1
version=3.13
suite=trixie
python=$root/bin/python$version

[ ! -e "$root/complete" ] || exit 0
rm -rf "$root"
mkdir -p "$root/source"
# musl-gcc names the machine's C library, which configure holds for an error;
# pkg-config would name the machine's libraries, which are not musl's.
cat >"$root/source/cc" <<'CC'
#!/bin/sh
[ "$1" = --print-multiarch ] || exec musl-gcc "$@"
CC
chmod +x "$root/source/cc"
sh "$here/build-python.sh" "$version" "$suite" "$root/source" "$root" \
    "CC=$root/source/cc" CFLAGS=-O1 PKG_CONFIG=/bin/false >"$root.log" 2>&1 || {
    tail -n 5 "$root.log"
    exit 1
}
loader=$(readelf -lW "$python" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
mkdir -p "$root/${loader%/*}" "$root/$root" "$root/proc" "$root/dev"
cp -L "$loader" "$root/$loader"
: >"$root/complete"
