#!/bin/sh
# austin.sh ENVFILE: fetch the sampling profiler austin of Debian 13, which
# reads CPython up to 3.13, into the cache and add PYREC_AUSTIN, a command that
# runs it, to ENVFILE.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/setup/apt.sh
. "$here/apt.sh"

cache=${PYREC_CACHE:-$HOME/.cache/pyrec}
envfile=$1
root=$cache/root/austin
command=$cache/bin/austin
lib=$root/usr/lib/x86_64-linux-gnu

# The program runs by the C library that it was built with.
fetch() {
    apt_state "$cache/apt/trixie" trixie &&
        apt_unpack "$cache/apt/trixie" "$root" austin &&
        mkdir -p "$cache/bin" &&
        printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' \
            "$lib/ld-linux-x86-64.so.2" "$lib" "$root/usr/bin/austin" \
            >"$command" && chmod +x "$command"
}

"$command" --version >/dev/null 2>&1 || (fetch) >/dev/null || {
    echo "austin.sh: no austin: its rows are skipped" >&2
    exit 0
}
grep -q '^PYREC_AUSTIN=' "$envfile" ||
    echo "PYREC_AUSTIN='$command'" >>"$envfile"
