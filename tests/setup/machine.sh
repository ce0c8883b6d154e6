#!/bin/sh
# machine.sh all                     what is not in the cache yet of these:
# machine.sh make ARCH DIR           an emulated machine of Debian's packages
# machine.sh libraries ARCH DIR      the libraries to cross-compile pyrec with
# machine.sh run ARCH CPUS DIR JOB   boot it and run the script JOB/run there
#
# ARCH is amd64 or arm64.  The machine is Debian 12's kernel and, as an initial
# file system, busybox, Debian 12's Python 3.11 and sid's Python 3.15; it has no
# disk and no network.  A run copies the folder JOB to /job.  The output of the
# script is the machine's console and the output here, without an exit status.
# `all` makes nothing for an emulator that is not installed; the tests of it are
# skipped.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/setup/apt.sh
. "$here/apt.sh"

arch=${2-}
RUN_LIMIT_S=${PYREC_MACHINE_LIMIT:-1500} # 180 on a machine at rest

# unpacked DIR SUITE ROOT PACKAGE...: with all they depend on.
unpacked() {
    (
        _dir=$1 _suite=$2 _root=$3
        shift 3
        apt_state "$_dir/apt-$_suite" "$_suite" "$arch"
        apt_unpack "$_dir/apt-$_suite" "$_root" "$@"
    )
}

# get_kernel DIR: DIR/kernel.
get_kernel() {
    (
        apt_state "$1/apt-bookworm" bookworm "$arch"
        _package=$(apt-cache depends "linux-image-cloud-$arch" |
            sed -n 's/ *Depends: \(linux-image.*\)/\1/p' | head -n 1)
        cd "$1"
        apt-get download -qq "$_package"
        dpkg-deb --fsys-tarfile "$_package"_*.deb |
            tar -xO --wildcards './boot/vmlinuz-*' >kernel
        rm "$_package"_*.deb
    )
}

init() {
    cat <<'INIT'
#!/bin/busybox sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin HOME=/root
export LC_ALL=C.UTF-8
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /root
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mkdir -p /dev/shm
/bin/busybox mount -t tmpfs shm /dev/shm
/bin/busybox mount -t tmpfs tmp /tmp
/bin/busybox --install -s /usr/local/bin
[ -e /bin/sh ] || /bin/busybox ln -s busybox /bin/sh
cd /job && sh ./run </dev/null
poweroff -f
INIT
}

# python315 DIR: starts sid's interpreter on sid's loader and libraries.
python315() {
    _libraries=$(cd "$1" && echo sid/usr/lib/*-linux-gnu)
    _loader=$(cd "$1" && echo "$_libraries"/ld-linux-*.so.*)
    cat <<WRAPPER
#!/bin/sh
export LC_ALL=C PYTHONHOME=/sid/usr
exec /$_loader --argv0 /sid/usr/bin/python3.15 \\
    --library-path /$_libraries /sid/usr/bin/python3.15 "\$@"
WRAPPER
}

# archive FOLDER NAME...: as the kernel unpacks it.
archive() {
    cd "$1"
    shift
    find "$@" -path '*/usr/share' -prune -o -print0 |
        cpio --quiet --null --create --format=newc
}

make_machine() {
    rm -rf "$1"
    mkdir -p "$1"
    get_kernel "$1"
    unpacked "$1" bookworm "$1/root" busybox-static python3.11
    unpacked "$1" sid "$1/sid" libc-bin python3.15-minimal libpython3.15-stdlib
    mkdir -p "$1/root/usr/local/bin"
    python315 "$1" >"$1/root/usr/local/bin/python3.15"
    init >"$1/root/init"
    chmod +x "$1/root/usr/local/bin/python3.15" "$1/root/init"
    (archive "$1/root" .) >"$1/system.new"
    (archive "$1" sid) >>"$1/system.new"
    mv "$1/system.new" "$1/system"
    rm -rf "$1/root" "$1/sid" "$1"/apt-*
    : >"$1/complete"
}

get_libraries() {
    rm -rf "$1"
    mkdir -p "$1"
    unpacked "$1" bookworm "$1/root" libc6-dev libzstd-dev zlib1g-dev \
        libelf-dev libxxhash-dev
    rm -rf "$1"/apt-*
    : >"$1/complete"
}

# part VERB NAME ARCH PROGRAM: in the cache, if the machine has the program.
part() {
    _folder=${PYREC_CACHE:-$HOME/.cache/pyrec}/machine/$2-$3
    [ ! -e "$_folder/complete" ] || return 0
    command -v "$4" >/dev/null || {
        echo "machine.sh: $4 is not installed: its tests are skipped" >&2
        return 0
    }
    echo "machine.sh: making $_folder" >&2
    sh "$here/machine.sh" "$1" "$3" "$_folder" ||
        echo "machine.sh: no $_folder: its tests are skipped" >&2
}

run_machine() {
    case $arch in
    arm64)
        emulator="qemu-system-aarch64 -machine virt -cpu cortex-a72"
        console=ttyAMA0
        ;;
    amd64)
        emulator="qemu-system-x86_64 -machine q35 -cpu max"
        console=ttyS0
        ;;
    esac
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cp -r "$3" "$work/job"
    { cat "$2/system" && (archive "$work" job); } >"$work/initrd"
    # shellcheck disable=SC2086 # a program and its arguments
    timeout "$RUN_LIMIT_S" $emulator -accel tcg,thread=multi -smp "$1" \
        -m 2G -nodefaults -display none -no-reboot -serial stdio \
        -kernel "$2/kernel" -initrd "$work/initrd" \
        -append "console=$console panic=-1 loglevel=0" </dev/null |
        tr -d '\r'
}

case $1 in
all)
    part make machine arm64 qemu-system-aarch64
    part libraries libraries arm64 aarch64-linux-gnu-gcc
    part make machine amd64 qemu-system-x86_64
    ;;
make) make_machine "$3" ;;
libraries) get_libraries "$3" ;;
run) run_machine "$3" "$4" "$5" ;;
esac
