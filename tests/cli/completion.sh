#!/bin/sh
# Completion knows options and their values, targets, running Pythons, verbs and
# the functions of a profile; no name of a function is expanded by a shell.
set -u
status=0
result() {
    [ "$1" -eq 0 ] && echo "ok $2" && return
    echo "not ok $2"
    status=1
}
export PATH="$BIN:$PATH"
"$PYTHON" "$SRC/spec/completion/completion.py" made
result $? "completion is made from the documentation"
cp "$SRC/spec/vectors/good-cpython-3.15.2-zstd.bin" run.bin
"$PYTHON" -c 'import time; print(flush=True); time.sleep(600)' >started &
target=$!
trap 'kill $target' EXIT
until [ -s started ]; do sleep 0.1; done

# by_bash WORD...: the candidates for the last word, one a line.
by_bash() {
    bash -c '. "made/bash/$1"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        "_$1"; printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
by_fish() {
    fish --no-config -c 'source made/fish/$argv[1].fish
        complete -C "$argv" | string replace -r "\t.*" ""' "$@"
}
# offers CANDIDATE WORD...: it is among the candidates, by each shell.
offers() {
    wanted=$1
    shift
    by_bash "$@" >bash.out && grep -qxF -e "$wanted" bash.out
    result $? "bash: $wanted after '$*'"
    command -v fish >/dev/null || return
    by_fish "$@" >fish.out
    grep -qxF -e "$wanted" fish.out
    result $? "fish: $wanted after '$*'"
}

offers --rate pyrec --ra
offers colocated pyrec --strategy co
offers "$target" pyrec -p ""
offers speedscope pyconv --to ""
offers run.bin pyquery ru
offers callers pyquery run.bin ca
offers where pyquery run.bin top wh
offers main pyquery run.bin callers of ""

pyconv -q run.bin --to sqlite -o hostile.db
sqlite3 hostile.db "UPDATE function SET qualname = '\$(touch expanded)'"
by_bash pyquery hostile.db callers of "" >bash.out
[ ! -e expanded ] && grep -q touch bash.out
result $? "bash: a name is not expanded"

if command -v zsh >/dev/null; then
    for program in pyrec pyconv pyquery; do
        zsh -n "made/zsh/_$program"
        result $? "zsh: _$program is a script"
    done
else
    echo "ok zsh # SKIP no zsh here"
fi
command -v fish >/dev/null || echo "ok fish # SKIP no fish here"
exit $status
