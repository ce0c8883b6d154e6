#!/bin/sh
# compare.sh BASE NEW COMMAND...: record COMMAND in the folders BASE and NEW in
# turn, RUNS times each, and compare.  Exit status 0: no function became slower;
# 5: one did; 6: the runs do not compare.  Writes report.md, report.json, and
# the runs into runs/base and runs/new.
#
# RUNS   runs of each side; 5 finds a change of about 20 % in a steady program
# RULES  options of pyquery check; default: any function, significantly slower
set -eu
[ $# -ge 3 ] || {
    echo "usage: compare.sh BASE NEW COMMAND..." >&2
    exit 2
}
base=$1 new=$2
shift 2

# In a folder: a command of one word for pyrec --in-turn.
mkdir -p runs
cat >runs/in-folder <<'SCRIPT'
#!/bin/sh
cd "$1" && shift && exec "$@"
SCRIPT
chmod +x runs/in-folder

# The words of the command as the shell of --in-turn takes them apart again.
words=$(for word in "$base" "$@"; do
    printf " '%s'" "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")"
done)

pyrec --quiet --repeat "${RUNS:-5}" -o runs/new \
    --in-turn "runs/base=runs/in-folder$words" \
    -- runs/in-folder "$new" "$@"

# shellcheck disable=SC2086 # RULES is a list of options
eval "set -- ${RULES:-}"
pyquery runs/new check runs/base --summary report.md --json=report.json "$@"
