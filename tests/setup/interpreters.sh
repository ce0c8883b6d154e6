#!/bin/sh
# interpreters.sh [--free-threaded] ENVFILE
#
# Find or bring up the Pythons that the tests profile, print what was found,
# and write ENVFILE with PYREC_PYTHON_311 ... PYREC_PYTHON_315,
# PYREC_PYTHON_313T ... PYREC_PYTHON_315T and PYREC_STOCK, the 3.15 that serves
# as peer.
#
# Each version comes from the first of: the variable as it is set already; the
# machine's own interpreter; a Debian suite, unpacked into the cache
# (PYREC_CACHE, ~/.cache/pyrec) without touching the machine's packages.
# Debian has no 3.12: it is used where the machine has one.  Free-threaded ones
# are built from Debian's sources (some minutes each, once), only when asked for.
# A version that is not available is named; with CI=true that is a failure.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/setup/apt.sh
. "$here/apt.sh"

cache=${PYREC_CACHE:-$HOME/.cache/pyrec}
free_threaded=${PYREC_BUILD_313T:-0}
if [ "${1-}" = --free-threaded ]; then
    free_threaded=1
    shift
fi
envfile=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# is_python PROGRAM VERSION [FREE]: a final release of this version that runs.
is_python() {
    [ -n "$1" ] && "$1" -c '
import sys
import sysconfig
version = "%d.%d" % sys.version_info[:2]
free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
final = sys.version_info[3] == "final"
sys.exit(not (final and version == sys.argv[1] and free == bool(sys.argv[2:])))
' "$2" ${3+"$3"} >/dev/null 2>&1
}

# Debian's own interpreter of this version.
system_python() {
    is_python "/usr/bin/python$1" "$1" && echo "/usr/bin/python$1"
}

# Any other that the machine has.
other_python() {
    for _python in "$(command -v "python$1" || true)" \
        "$HOME"/.pyenv/versions/"$1".*/bin/"python$1"; do
        if is_python "$_python" "$1"; then
            # A shim starts another program, the one that will be profiled.
            "$_python" -c 'import sys; print(sys.executable)'
            return 0
        fi
    done
    return 1
}

# make_wrapper ROOT VERSION: the interpreter runs on its own root's loader and
# libraries, whatever the machine's are.  The root has no compiled locales of
# use to a foreign libc: the C locale, in which Python uses UTF-8.
make_wrapper() {
    _libs=$(echo "$1"/usr/lib/*-linux-gnu*)
    _loader=$(echo "$_libs"/ld-linux-*.so.*)
    mkdir -p "$cache/bin"
    cat >"$cache/bin/python$2" <<WRAPPER
#!/bin/sh
LC_ALL=C PYTHONHOME='$1/usr'
export LC_ALL PYTHONHOME
exec '$_loader' --argv0 '$1/usr/bin/python$2' \\
    --library-path '$_libs' '$1/usr/bin/python$2' "\$@"
WRAPPER
    chmod +x "$cache/bin/python$2"
}

# fetch_python VERSION SUITE: unpack it into the cache.
fetch_python() {
    echo "interpreters.sh: fetching Python $1 from Debian $2" >&2
    _root=$cache/root/python$1-$2
    rm -rf "$_root"
    (
        apt_state "$cache/apt/$2" "$2" &&
            apt_unpack "$cache/apt/$2" "$_root" "python$1-minimal" \
                "libpython$1-stdlib" "libpython$1" libc-bin
    ) >"$log" 2>&1 || {
        sed 's/^/  /' "$log" >&2
        return 1
    }
    make_wrapper "$_root" "$1"
}

# fetched_python VERSION SUITE...: from the cache or else the first suite that
# has it.
fetched_python() {
    _version=$1
    shift
    for _suite in cached "$@"; do
        [ "$_suite" = cached ] || fetch_python "$_version" "$_suite" ||
            continue
        if is_python "$cache/bin/python$_version" "$_version"; then
            echo "$cache/bin/python$_version"
            return 0
        fi
    done
    return 1
}

# Debian packages no free-threaded build; its sources make one.  A moving suite
# may name a source that its mirror no longer has: then the next one is tried.
# build_free_threaded VERSION SUITE...
build_free_threaded() {
    _version=$1
    shift
    _prefix=$cache/python${_version}t
    if is_python "$_prefix/bin/python${_version}t" "$_version" free; then
        echo "$_prefix/bin/python${_version}t"
        return 0
    fi
    [ "$free_threaded" = 1 ] || return 1
    for _suite in "$@"; do
        echo "interpreters.sh: building free-threaded Python $_version" \
            "from Debian $_suite" >&2
        if sh "$here/build-python.sh" "$_version" "$_suite" \
            "$cache/apt/$_suite-source" "$_prefix" --disable-gil \
            >"$log" 2>&1; then
            echo "$_prefix/bin/python${_version}t"
            return 0
        fi
        grep -E '^E:' "$log" | head -n 3 | sed 's/^/  /' >&2
    done
    return 1
}

# free_python VALUE VERSION SUITE...: set by hand, built, or the machine's own.
free_python() {
    _value=$1
    _wanted=$2
    shift 2
    given "$_value" "$_wanted" free && return 0
    build_free_threaded "$_wanted" "$@" && return 0
    for _python in "$(command -v "python${_wanted}t" || true)" \
        "$HOME"/.pyenv/versions/"$_wanted".*t/bin/"python${_wanted}t"; do
        if is_python "$_python" "$_wanted" free; then
            echo "$_python"
            return 0
        fi
    done
}

missing=
: >"$envfile.new"
# found VARIABLE NAME PATH: one row of the table, one line of the file.
found() {
    if [ -n "$3" ]; then
        echo "$1='$3'" >>"$envfile.new"
        printf '  %-6s %-40s %s\n' "$2" "$3" \
            "$("$3" -c 'import sys; print(sys.version.split(" (")[0])')"
    else
        missing="$missing $2"
        printf '  %-6s %s\n' "$2" "not available here: its tests are skipped"
    fi
}

# given VALUE VERSION [FREE]: a variable set by hand wins if it fits.
given() {
    is_python "$@" && echo "$1"
}

# version_python VALUE VERSION SUITE...: the first place that has it.
version_python() {
    _value=$1
    _wanted=$2
    shift 2
    given "$_value" "$_wanted" || system_python "$_wanted" ||
        fetched_python "$_wanted" "$@" || other_python "$_wanted" || true
}

echo "Pythons to profile:"
found PYREC_PYTHON_311 3.11 \
    "$(version_python "${PYREC_PYTHON_311-}" 3.11 bookworm)"
found PYREC_PYTHON_312 3.12 "$(version_python "${PYREC_PYTHON_312-}" 3.12)"
found PYREC_PYTHON_313 3.13 \
    "$(version_python "${PYREC_PYTHON_313-}" 3.13 trixie)"
found PYREC_PYTHON_314 3.14 \
    "$(version_python "${PYREC_PYTHON_314-}" 3.14 forky sid)"
stock=$(version_python "${PYREC_PYTHON_315-}" 3.15 sid forky)
found PYREC_PYTHON_315 3.15 "$stock"
[ -z "$stock" ] || echo "PYREC_STOCK='$stock'" >>"$envfile.new"
found PYREC_PYTHON_313T 3.13t \
    "$(free_python "${PYREC_PYTHON_313T-}" 3.13 trixie)"
found PYREC_PYTHON_314T 3.14t \
    "$(free_python "${PYREC_PYTHON_314T-}" 3.14 forky sid)"
found PYREC_PYTHON_315T 3.15t \
    "$(free_python "${PYREC_PYTHON_315T-}" 3.15 sid forky)"
mv "$envfile.new" "$envfile"

# Debian has every version but 3.12, and the sources of free-threaded ones.
for version in $missing; do
    case $version in
    3.12 | *t) ;;
    *)
        if [ "${CI-}" = true ]; then
            echo "interpreters.sh: no Python $version, and CI=true" >&2
            exit 1
        fi
        ;;
    esac
done
