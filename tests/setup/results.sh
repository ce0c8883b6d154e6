# Results of a shell test, one line each.  Sourced; the test ends with
# `exit $status`.
# shellcheck shell=sh disable=SC2034
status=0

# result STATUS NAME: an outcome.  A failure shows the outputs that the test
# kept as `printed` and `error`.
result() {
    [ "$1" -eq 0 ] && echo "ok $2" && return
    echo "not ok $2"
    for kept in printed error; do
        [ ! -f "$kept" ] || cat "$kept"
    done
    status=1
}
