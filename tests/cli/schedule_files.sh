#!/bin/sh
# The unit and the container of a recorder on a schedule say what pyrec takes.
set -u
# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"
PATH=$BIN:$PATH
: >printed

# The command of a file, with its folder here and a name that no process has.
command_of() {
    sed -n '/^ExecStart=/,/[^\\]$/p; /^# *podman run/,/[^\\]$/p' "$1" |
        tr -d '\\\n#' |
        sed 's/.*pyrec --every/pyrec --every/; s/%i/none-such/g; s/%%/%/g
             s/gunicorn/none-such/; s,/var/lib/pyrec,.,g; s,/data,.,g'
}

for file in pyrec@.service Containerfile; do
    line=$(command_of "$SRC/spec/fleet/$file")
    rm -rf ./*.prom
    eval "$line &" 2>error
    recorder=$!
    while [ ! -s none-such.prom ] && [ ! -s pyrec.prom ] &&
        kill -0 $recorder 2>/dev/null; do :; done
    kill -TERM $recorder
    wait $recorder
    result $? "pyrec runs as $file says: $line"
    cat ./*.prom >printed
    grep -q '^pyrec_targets 0$' printed
    result $? "and says that there is nothing to record"
done
exit $status
