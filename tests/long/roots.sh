#!/bin/sh
# From a new, minimal Debian 12 and Debian 13 to the first picture of an own
# program, by the commands that README gives, with the seconds of each step;
# then the whole of `make check`, as root and as another user.
# PYREC_TEST_SUITES names the suites (bookworm and trixie).
set -u
# shellcheck source=tests/setup/root.sh
. "$SRC/tests/setup/root.sh"
status=0
can_make_roots || {
    echo "ok minimal roots # SKIP they need root and mmdebstrap"
    exit 0
}

# step NAME COMMAND [USER]: in $root; false if it failed.
step() {
    begin=$(date +%s)
    if in_root "$root" "mkdir -p \$HOME && cd /src && $2" ${3+"$3"} \
        >step.log 2>&1; then
        echo "ok $suite: $1"
    else
        echo "not ok $suite: $1"
        grep '^FAILED' step.log | sed 's/^/# /'
        tail -n 20 step.log | sed 's/^/# /'
        status=1
    fi
    echo "# $(($(date +%s) - begin)) s: $2; $(tail -n 1 step.log)"
    sed -n 's/^ *\([0-9]* skipped: .*\)/# \1/p' step.log
}

for suite in ${PYREC_TEST_SUITES:-bookworm trixie}; do
    root=$PWD/$suite
    new_root "$suite" "$root" make git ca-certificates >"$suite.log" 2>&1 || {
        tail -n 5 "$suite.log"
        echo "not ok $suite: a new root"
        status=1
        continue
    }
    git clone -q "$SRC" "$root/src"
    step "make demo in a minimal root" "make demo"
    step "make deps, make and make install" "make deps && make && make install"
    step "an own program is recorded" "cp tests/demo/shop.py /tmp/app.py &&
        cd /tmp && pyrec -o run.bin -- python3 app.py 2"
    step "the first picture" "cd /tmp && pyconv run.bin --to html &&
        test -s run.html"
    step "make check as root" "make clean && make check"
    step "a clone of another user" "useradd other && make clean &&
        chown -R other /src /tmp/home"
    step "make demo as another user" "make demo" other
    step "make check as another user" "make check" other
    remove_root "$root"
done
exit $status
