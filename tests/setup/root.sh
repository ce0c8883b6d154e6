# shellcheck shell=sh
# Sourced: new roots of Debian suites, and commands in them.  Needs root and
# mmdebstrap.

# shellcheck source=tests/setup/apt.sh
. "$SRC/tests/setup/apt.sh"

can_make_roots() {
    command -v mmdebstrap >/dev/null && [ "$(id -u)" -eq 0 ]
}

# new_root SUITE ROOT PACKAGE...: the least that apt needs, and the packages.
new_root() {
    _suite=$1
    _root=$2
    shift 2
    mmdebstrap --mode=root --variant=apt \
        --aptopt='Acquire::Check-Valid-Until "false"' --include="$*" \
        "$_suite" "$_root" "$(apt_mirror)"
}

# in_root ROOT COMMAND [USER]: by a shell in the root, with its /proc and the
# machine's /dev; as root, or as a user that the root knows.
in_root() {
    # shellcheck disable=SC2016 # the shells inside expand them
    unshare --mount --pid --fork sh -c '
        mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
            exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
                DEBIAN_FRONTEND=noninteractive HOME=/tmp/home chroot \
                --userspec="$3" "$1" sh -euc "$2"' sh "$1" "$2" "${3:-root}"
}
