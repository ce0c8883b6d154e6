#!/bin/sh
# packages.sh GROUP...: install the missing packages of the groups by apt.
# Quiet and without effect when all is there, for any user; package lists are
# fetched only when an installation needs them.  Debian 12 and 13.
set -eu

# PACKAGE:PROBE.  The probe finds what the package is wanted for, whichever way
# it got here: a C header NAME.h, a file by its path, or a command.
build='gcc:cc make:make libc6-dev:stdio.h libzstd-dev:zstd.h
       libsqlite3-dev:sqlite3.h zlib1g-dev:zlib.h libxxhash-dev:xxhash.h
       libelf-dev:libelf.h libncurses-dev:ncursesw/ncurses.h
       libedit-dev:editline/readline.h'
demo='python3:python3'
check='python3:python3 libcmocka-dev:cmocka.h zstd:zstd dpkg:dpkg-deb
       ca-certificates:/etc/ssl/certs/ca-certificates.crt procps:ps
       util-linux:unshare sqlite3:sqlite3 bubblewrap:bwrap scdoc:scdoc git:git
       pkg-config:pkg-config tmux:tmux zsh:zsh fish:fish
       debian-archive-keyring:/usr/share/keyrings/debian-archive-keyring.gpg'
picture='chromium:chromium'
peers='nodejs:node npm:npm chromium:chromium firefox-esr:firefox-esr xz-utils:xz
       gcc-s390x-linux-gnu:s390x-linux-gnu-gcc qemu-user:qemu-s390x
       libc6-dev-s390x-cross:/usr/s390x-linux-gnu/include/stdio.h
       dpkg-dev:dpkg-source golang-go:go valgrind:callgrind_annotate
       libxml2-utils:xmllint uwsgi-core:uwsgi-core
       uwsgi-plugin-python3:/usr/lib/uwsgi/plugins/python3_plugin.so
       gunicorn:gunicorn python3-gevent:/usr/lib/python3/dist-packages/gevent
       openssl:openssl postgresql:/usr/lib/postgresql celery:celery uvicorn:uvicorn apache2-bin:apache2
       libapache2-mod-wsgi-py3:/usr/lib/apache2/modules/mod_wsgi.so
       python3-numpy:/usr/lib/python3/dist-packages/numpy
       python3-scipy:/usr/lib/python3/dist-packages/scipy'

machines='qemu-system-arm:qemu-system-aarch64 qemu-system-x86:qemu-system-x86_64
          gcc-aarch64-linux-gnu:aarch64-linux-gnu-gcc cpio:cpio'

long='clang:clang debhelper:dh lintian:lintian mmdebstrap:mmdebstrap nodejs:node npm:npm postgresql:/usr/lib/postgresql
      musl-tools:musl-gcc binutils:readelf'

here() {
    case $1 in
    *.h) printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" |
        ${CC:-cc} -E - >/dev/null 2>&1 ;;
    /*) [ -e "$1" ] ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

wanted=
for group in "$@"; do
    case $group in
    build) wanted="$wanted $build" ;;
    demo) wanted="$wanted $demo" ;;
    check) wanted="$wanted $check" ;;
    picture) wanted="$wanted $picture" ;;
    peers) wanted="$wanted $peers" ;;
    machines) wanted="$wanted $machines" ;;
    long) wanted="$wanted $long" ;;
    *)
        echo "packages.sh: no group '$group'" >&2
        exit 2
        ;;
    esac
done

need=
for package in $wanted; do
    here "${package#*:}" || need="$need ${package%%:*}"
done
[ -n "$need" ] || exit 0

command -v apt-get >/dev/null || {
    echo "packages.sh: no apt-get; install these by hand:$need" >&2
    exit 1
}
[ "$(id -u)" -eq 0 ] || {
    echo "packages.sh: these packages are missing:$need" >&2
    echo "hint: run 'make deps' as root" >&2
    exit 1
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Another apt may hold the lock.
install() {
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        -o DPkg::Lock::Timeout=300 --no-install-recommends $need \
        >"$log" 2>&1
}
echo "packages.sh: installing$need"
# A new machine has no package lists, and an old list names files that are gone.
install && exit 0
# A mirror may be away for a moment.
for rest in 0 10 30 60; do
    sleep $rest
    apt-get update -qq >"$log" 2>&1 && install && exit 0
done
cat "$log" >&2
exit 1
