#!/usr/bin/env python3
"""Shell completion of the three programs, made from their documentation.

usage: completion.py FOLDER

Options, their values and their descriptions come from spec/man/*.scd, verbs and
clauses of a query from spec/query.md.  Writes FOLDER/bash/NAME,
FOLDER/zsh/_NAME and FOLDER/fish/NAME.fish.  A target, a process and a function
are asked for when they are completed.
"""

import os
import re
import sys

SPEC = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = ("pyrec", "pyconv", "pyquery")

# Commands for sh that print candidates, one a line; $file is the profile.
PYTHONS = """for exe in /proc/[0-9]*/exe; do
    case $(readlink "$exe" 2>/dev/null) in
    *python*) exe=${exe%/exe} && echo "${exe#/proc/}" ;;
    esac
done"""
TARGETS = "pyconv --list | sed -n 's/^\\([a-z][a-z]*\\) .*/\\1/p'"
FUNCTIONS = """pyquery --csv "$file" --sql 'SELECT DISTINCT qualname
    FROM function ORDER BY 1' 2>/dev/null | tail -n +2"""
# The values of an option that are asked for when they are completed.
ASKED = {"PID": PYTHONS, "TARGET": TARGETS}
FILES = ("FILE", "OUTPUT")


def read(name):
    with open(os.path.join(SPEC, name), encoding="utf-8") as file:
        return file.read()


class Option:
    def __init__(self, words, value, about):
        self.words = words
        self.value = value  # its name in the documentation, "" if none
        self.about = about
        self.choices = value.split("|") if "|" in value else []


def options(program):
    found = []
    text = read("man/%s.1.scd" % program)
    for head, about in re.findall(r"^(\*-.*)\n\t((?:.+\n\t?)+)", text, re.M):
        about = re.split(r"[.;:] |[.;:]?$", " ".join(about.split()))[0]
        for part in re.split(r", (?=\*)", head):
            words = re.match(r"\*([^*]*)\*(.*)", part)
            value = words.group(2).strip(" =_[]").split("_")[0]
            found.append(Option(re.split(r"[, ]+", words.group(1)), value,
                                re.sub(r"[*_]", "", about)))
    return found


def query_words():
    """(verbs, words of the clauses, words after which a function comes)"""
    text = read("query.md")
    table = re.search(r"^\| verb \|.*?\n\n", text, re.M | re.S).group()
    verbs = re.findall(r"^\| (\w+)", table, re.M)
    grammar = re.search(r"^    query +=.*?\n\n", text, re.M | re.S).group()
    words = set(re.findall(r'"([a-z]+)"', grammar))
    return verbs[1:], sorted(words - set(verbs)), ("of", "from", "to")


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


BASH = """\
# Completion of %(p)s for bash; made by spec/completion/completion.py.
_%(p)s() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local words='' file='' exe i IFS=$'\\n'
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ -f ${COMP_WORDS[i]} ]]; then
            file=${COMP_WORDS[i]}
            break
        fi
    done
    case $previous in
%(cases)s    *)
        if [[ $word == -* ]]; then
            words=%(flags)s
        fi
        ;;
    esac
%(query)s    if [[ -n $words ]]; then
        # Names come from strangers: compgen -W would expand them.
        COMPREPLY=()
        while IFS= read -r i; do
            [[ $i == "$word"* ]] && COMPREPLY+=("$(printf %%q "$i")")
        done <<<"$words"
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -F _%(p)s %(p)s
"""

BASH_QUERY = """\
    if [[ -z $words && -n $file ]]; then
        case $previous in
        "$file") words=%s ;;
        %s) words=$(%s) ;;
        *) words=%s ;;
        esac
    fi
"""


def lines_of(words):
    return "$'%s'" % "\\n".join(words)


def bash(program, choices):
    cases = ""
    for option in choices:
        if option.choices:
            action = "words=%s" % lines_of(option.choices)
        elif option.value in ASKED:
            action = "words=$(%s)" % ASKED[option.value]
        elif option.value and option.value not in FILES:
            action = "return"
        else:
            continue
        cases += "    %s) %s ;;\n" % ("|".join(option.words), action)
    query = ""
    if program == "pyquery":
        verbs, clauses, before = query_words()
        query = BASH_QUERY % (lines_of(verbs), "|".join(before), FUNCTIONS,
                              lines_of(clauses))
    return BASH % {"p": program, "cases": cases, "query": query,
                   "flags": lines_of(w for o in choices for w in o.words)}


ZSH = """\
#compdef %(p)s
# Completion of %(p)s for zsh; made by spec/completion/completion.py.
_%(p)s_pid() { compadd -- ${(f)"$(sh -c %(pids)s)"} }
_%(p)s_target() { compadd -- ${(f)"$(sh -c %(targets)s)"} }
%(query)s_arguments -S \\
%(rows)s    %(rest)s
"""

ZSH_QUERY = """\
_pyquery_words() {
    local file=${words[(r)*.(db|bin)]}
    case $words[CURRENT-1] in
    *.(db|bin)) compadd -- %s ;;
    %s) compadd -- ${(f)"$(file=$file sh -c %s)"} ;;
    *) compadd -- %s ;;
    esac
}
"""


def zsh(program, choices):
    rows = ""
    for option in choices:
        about = re.sub(r"[][:]", "", option.about)
        value = ":%s: " % option.value if option.value else ""
        if option.choices:
            value = ":value:(%s)" % " ".join(option.choices)
        elif option.value in ASKED:
            value = ":%s:_%s_%s" % (option.value, program, option.value.lower())
        elif option.value in FILES:
            value = ":%s:_files" % option.value
        for word in option.words:
            rows += "    %s \\\n" % quoted("%s[%s]%s" % (word, about, value))
    rest, query = "'*:profile:_files'", ""
    if program == "pyrec":
        rest = "'*::command:_normal'"
    elif program == "pyquery":
        verbs, clauses, before = query_words()
        rest = "':profile:_files' '*:query:_pyquery_words'"
        query = ZSH_QUERY % (" ".join(verbs), "|".join(before),
                             quoted(FUNCTIONS), " ".join(clauses))
    return ZSH % {"p": program, "pids": quoted(PYTHONS), "rows": rows,
                  "targets": quoted(TARGETS), "query": query, "rest": rest}


FISH_QUERY = """\
function __pyquery_file
    for word in (commandline -opc)[2..]
        test -f $word; and echo $word; and return
    end
    return 1
end
function __pyquery_words
    set -lx file (__pyquery_file)
    switch (commandline -opc)[-1]
        case $file
            printf '%%s\\n' %s
        case %s
            sh -c %s
        case '*'
            printf '%%s\\n' %s
    end
end
complete -c pyquery -n __pyquery_file -f -a '(__pyquery_words)'
"""


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(program, choices):
    text = ("# Completion of %s for fish; made by spec/completion/"
            "completion.py.\n" % program)
    for value, command in ASKED.items():
        text += "function __%s_%s\n    sh -c %s\nend\n" % (
            program, value.lower(), fish_quoted(command))
    for option in choices:
        text += "complete -c " + program
        for word in option.words:
            text += (" -l " + word[2:] if word.startswith("--")
                     else " -s " + word[1:])
        if option.choices:
            text += " -x -a " + fish_quoted(" ".join(option.choices))
        elif option.value in ASKED:
            text += " -x -a '(__%s_%s)'" % (program, option.value.lower())
        elif option.value in FILES:
            text += " -r -F"
        elif option.value:
            text += " -x"
        text += " -d %s\n" % fish_quoted(option.about)
    if program == "pyquery":
        verbs, clauses, before = query_words()
        text += FISH_QUERY % (" ".join(verbs), " ".join(before),
                              fish_quoted(FUNCTIONS), " ".join(clauses))
    return text


def main():
    for shell, make, name in (("bash", bash, "%s"), ("zsh", zsh, "_%s"),
                              ("fish", fish, "%s.fish")):
        folder = os.path.join(sys.argv[1], shell)
        os.makedirs(folder, exist_ok=True)
        for program in PROGRAMS:
            with open(os.path.join(folder, name % program), "w",
                      encoding="utf-8") as file:
                file.write(make(program, options(program)))


if __name__ == "__main__":
    main()
