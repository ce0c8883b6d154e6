#!/bin/sh
# Install by apt what is missing of the named groups: build, demo, check,
# peers.  A package written PACKAGE:COMMAND is not needed where the command is.
# Quiet and without effect when all is there; package lists are fetched only
# when an install needs them.  Debian 12 and 13.
set -eu

build='gcc make libc6-dev libzstd-dev libsqlite3-dev zlib1g-dev libxxhash-dev
       libelf-dev'
demo='python3'
check='python3 libcmocka-dev zstd dpkg ca-certificates procps util-linux
       debian-archive-keyring sqlite3 bubblewrap scdoc git pkg-config'
peers='nodejs:node npm:npm chromium:chromium xz-utils gcc-s390x-linux-gnu
       libc6-dev-s390x-cross qemu-user dpkg-dev'

missing() {
    for package in "$@"; do
        case $package in
        *:*)
            command -v "${package#*:}" >/dev/null && continue
            package=${package%:*}
            ;;
        esac
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null |
            grep -qx installed || echo "$package"
    done
}

wanted=
for group in "$@"; do
    case $group in
    build) wanted="$wanted $build" ;;
    demo) wanted="$wanted $demo" ;;
    check) wanted="$wanted $check" ;;
    peers) wanted="$wanted $peers" ;;
    *)
        echo "packages.sh: no group '$group'" >&2
        exit 2
        ;;
    esac
done

# shellcheck disable=SC2086 # lists of words
need=$(missing $wanted)
[ -n "$need" ] || exit 0
need=$(echo "$need" | sort -u | tr '\n' ' ')

command -v apt-get >/dev/null || {
    echo "packages.sh: no apt-get here; install by hand: $need" >&2
    exit 1
}
[ "$(id -u)" -eq 0 ] || {
    echo "packages.sh: missing packages, and only root can install them:" >&2
    echo "  apt-get install $need" >&2
    exit 1
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends $need >"$log" 2>&1
}
echo "packages.sh: installing $need"
# A fresh machine has no lists, an old one lists of files that are gone.
install || {
    apt-get update -qq >"$log" 2>&1 && install
} || {
    cat "$log" >&2
    exit 1
}
