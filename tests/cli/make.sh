#!/bin/sh
# The Makefile's own promises: the last line of a run of tests is their count,
# failing or not; `make dist` packs a clone's commit and nothing else.
set -u
# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"

# A copy of the Makefile beside tests that are not the project's.
mkdir -p tree/tests/setup tree/include/pyrec
cp "$SRC/Makefile" tree/
cp "$SRC/include/pyrec/version.h" tree/include/pyrec/
for script in packages interpreters; do
    echo : >tree/tests/setup/$script.sh
done

# counted STATUS LINE: this is how `make check` ends, by both its outputs.
counted() {
    cat >tree/tests/run
    (cd tree && make check ROOMS= SUBMAKE="${builds-true}" PYTHON3=sh) \
        >output 2>&1
    [ $? -eq "$1" ] && [ "$(tail -n 1 output)" = "$2" ] && return
    cat output
    return 1
}
unset MAKEFLAGS MAKELEVEL
counted 0 "3 passed, 0 failed, 0 skipped" <<'RUN'
echo "3 passed, 0 failed, 0 skipped"
RUN
result $? "the count is the last line of tests that pass"
counted 1 "2 passed, 1 failed, 0 skipped" <<'RUN'
echo "2 passed, 1 failed, 0 skipped"
exit 1
RUN
result $? "the count is the last line of tests that fail"
builds=false
counted 1 "0 passed, 1 failed, 0 skipped" </dev/null
result $? "the count is the last line of tests that cannot be built"

make -C tree dist ROOMS= >output 2>&1
[ $? -ne 0 ] && grep -q "not a git clone" output &&
    [ -z "$(find tree -name '*.tar*')" ]
result $? "make dist outside a clone fails and leaves no file"
exit $status
