#!/bin/sh
# The Debian package needs for its build the libraries that packages.sh installs
# for ours, and suggests those that the programs load only when they need them:
# the hint of a library that cannot be loaded names its package.
set -eu
status=0
libraries() {
    grep -oE '\blib[a-z0-9.+-]*-dev\b|\bzlib1g-dev\b' | grep -v libc6-dev | sort -u
}
same() {
    if [ "$2" = "$3" ]; then
        echo "ok $1"
    else
        echo "not ok $1"
        printf '# wanted:\n%s\n# .debian/control:\n%s\n' "$2" "$3"
        status=1
    fi
}
control=$SRC/.debian/control

same "the Debian package and packages.sh name the same libraries" \
    "$(sed -n "/^build=/,/'\$/p" "$SRC/tests/setup/packages.sh" | libraries)" \
    "$(sed -n '/^Build-Depends:/,/^S/p' "$control" | libraries)"

hinted=$(grep -rhoE --include='*.c' "Debian's package is [a-z0-9.+-]+" \
    "$SRC/include" "$SRC/format" "$SRC/recorder" "$SRC/converter" "$SRC/query" |
    sed 's/.* //' | sort)
for package in pyrec libpyrec0; do
    same "$package suggests the libraries that are loaded on demand" "$hinted" \
        "$(sed -n "/^Package: $package\$/,/^\$/s/^Suggests: //p" "$control" |
            tr -s ', ' '\n' | grep '^lib' | sort)"
done
exit $status
