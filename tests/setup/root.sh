# shellcheck shell=sh
# Sourced: new roots of Debian suites, and commands in them.  Needs root and
# mmdebstrap.
#
# All that is mounted in a root is mounted in a mount namespace of its own, which
# ends with its last process: outside, a root is a plain folder at any moment and
# can be removed, also after a command in it was killed.

# shellcheck source=tests/setup/apt.sh
. "$SRC/tests/setup/apt.sh"

can_make_roots() {
    command -v mmdebstrap >/dev/null && [ "$(id -u)" -eq 0 ]
}

# new_root SUITE ROOT PACKAGE...: what Debian requires of every machine, and the
# packages.
new_root() {
    _suite=$1
    _root=$2
    shift 2
    unshare --mount mmdebstrap --mode=root --variant=minbase \
        --aptopt='Acquire::Check-Valid-Until "false"' --include="$*" \
        "$_suite" "$_root" "$(apt_mirror)" && mkdir "$_root/outside"
}

# in_root ROOT COMMAND [USER]: by a shell for which ROOT is /, with a /proc of
# its own and the machine's /dev and /sys; as root, or as a user that the root
# knows.  ROOT is made / by pivot_root(2): in a root made by chroot(2) no
# process may make namespaces (user_namespaces(7), EPERM).
in_root() {
    # shellcheck disable=SC2016 # the shells inside expand them
    unshare --mount --pid --fork --kill-child sh -euc '
        mount --bind "$1" "$1" && cd "$1"
        mount -t proc proc proc && mount --rbind /dev dev &&
            mount --rbind /sys sys
        pivot_root . outside && cd / && umount -l /outside
        exec env -i LC_ALL=C.UTF-8 \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            DEBIAN_FRONTEND=noninteractive HOME=/tmp/home chroot \
            --userspec="$3" / sh -euc "$2"' sh "$1" "$2" "${3:-root}"
}

remove_root() {
    rm -rf --one-file-system "$1"
}
