#!/bin/sh
# Completion knows options and their values, targets, running Pythons, verbs and
# the functions of a profile; no name of a function is expanded by a shell.
set -u
# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"
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
# An interactive zsh at a terminal of its own (zsh/zpty); the tab key runs its
# completion, and each candidate that completion adds becomes a line of `hits`.
cat >typed.zsh <<'ZSH'
zle_bracketed_paste=()
fpath=($PWD/made/zsh $fpath)
autoload -Uz compinit && compinit -D -u
compadd() {
    local -a found
    # -O, -A, -D: the completion system asks, and offers nothing
    if [[ -z ${(M)@[1,(i)-(|-)]:#-[OAD]*} ]]; then
        builtin compadd -O found "$@"
        print -rl -- $found >>hits
    fi
    builtin compadd "$@"
}
complete_line() { _main_complete; compstate[insert]=; compstate[list]=; : >ended }
zle -C complete_line complete-word complete_line
bindkey '^I' complete_line
zle-line-init() { : >ready }
zle -N zle-line-init
ZSH
cat >by.zsh <<'ZSH'
zmodload zsh/zpty
wait_for() {
    until [[ -e $1 ]]; do
        while zpty -r -t shell text; do :; done
        sleep 0.05
    done
}
zpty -b shell zsh -f -i
zpty -w shell "source ./typed.zsh"
wait_for ready
zpty -w -n shell "$*"$'\t'
wait_for ended
zpty -d shell
ZSH
by_zsh() {
    rm -f ready ended hits
    TERM=dumb zsh -f by.zsh "$@" && cat hits
}
# offers CANDIDATE WORD...: it is among the candidates, by each shell.
offers() {
    wanted=$1
    shift
    for shell in bash zsh fish; do
        command -v $shell >/dev/null || continue
        by_$shell "$@" >$shell.out
        grep -qxF -e "$wanted" $shell.out
        result $? "$shell: $wanted after '$*'"
    done
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
for shell in bash zsh fish; do
    if ! command -v $shell >/dev/null; then
        echo "ok $shell # SKIP no $shell here"
        continue
    fi
    by_$shell pyquery hostile.db callers of "" >$shell.out
    [ ! -e expanded ] && grep -q touch $shell.out
    result $? "$shell: a name is not expanded"
done
exit $status
