#!/bin/sh
# The Debian package needs for its build the libraries that packages.sh installs
# for ours.
set -eu
libraries() {
    grep -oE '\blib[a-z0-9.+-]*-dev\b|\bzlib1g-dev\b' | grep -v libc6-dev | sort -u
}
ours=$(sed -n "/^build=/,/'\$/p" "$SRC/tests/setup/packages.sh" | libraries)
debian=$(sed -n '/^Build-Depends:/,/^S/p' "$SRC/.debian/control" | libraries)
name="the Debian package and packages.sh name the same libraries"
[ "$ours" = "$debian" ] && echo "ok $name" && exit 0
echo "not ok $name"
printf '# packages.sh:\n%s\n# .debian/control:\n%s\n' "$ours" "$debian"
exit 1
