#!/bin/sh
# The command line of pyconv: outputs, refusals, exit statuses, damage.
set -u
status=0
pyconv=$BIN/pyconv
vectors=$SRC/spec/vectors
whole=$vectors/good-two-segments.bin
export LC_ALL=C

only_error() {
    [ "$(grep -cv '^py[a-z]*: hint: ' err)" = 1 ] && [ "$(wc -l <err)" -le 2 ] &&
        head -1 err | grep -q '^pyconv: \(error\|note\|warning\): \|^pyquery: '
}

# NAME WANTED-STATUS COMMAND...: a failure is one line on stderr, with at most
# a second one that is the hint
expect() {
    name=$1 wanted=$2
    shift 2
    "$@" >out 2>err
    got=$?
    if [ $got -ne "$wanted" ]; then
        echo "not ok $name: exit status $got, not $wanted: $(cat err)"
        status=1
    elif [ "$wanted" -ne 0 ] && ! only_error; then
        echo "not ok $name: not an error and its hint on stderr: $(cat err)"
        status=1
    else
        echo "ok $name"
    fi
}

holds() { # NAME FILE TEXT
    if grep -q -- "$3" "$2"; then
        echo "ok $1"
    else
        echo "not ok $1: no '$3' in: $(head -5 "$2")"
        status=1
    fi
}

is() { # NAME COMMAND...: the command succeeds
    name=$1
    shift
    if "$@"; then
        echo "ok $name"
    else
        echo "not ok $name"
        status=1
    fi
}

cp "$whole" run.bin
for to in collapsed speedscope pstats sqlite bin; do
    expect "to $to, beside the input" 0 "$pyconv" run.bin --to $to
    expect "an existing output of $to is refused" 1 "$pyconv" run.bin --to $to
    expect "and replaced by force" 0 "$pyconv" run.bin --to $to -f
done
for made in run.collapsed.txt run.speedscope.json run.pstats run.db \
    run.new.bin; do
    is "the name is $made" test -s $made
done
is "no part of an output is left" sh -c '! ls | grep -q part-'

"$pyconv" run.bin -o page.html
holds "the page says what the state of a CPU means" page.html \
    "on a CPU or queued for one"

mkdir names
for bytes in 240 249 255; do
    for first in xx xä; do
        for to in collapsed sqlite bin; do
            made=names/$to$first$(printf "%0$((bytes - ${#to} - ${#first}))d" 0)
            expect "$to to a name of $bytes bytes" 0 \
                "$pyconv" run.bin --to $to -o "$made"
            is "which is there" test -s "$made"
        done
    done
done
even=$(printf %0124d 0 | sed 's/0/ä/g')
for made in names/$even names/x$even; do
    expect "a name of long characters" 0 "$pyconv" run.bin --to sqlite -o "$made"
    is "which is there" test -s "$made"
done
is "no part of a long name is left" sh -c '! ls names | grep -q part-'
expect "a name that is too long" 1 "$pyconv" run.bin --to sqlite \
    -o "$(printf %0256d 0)"
holds "is refused" err "File name too long"
is "and leaves nothing" sh -c '! ls | grep -q 0000'

"$pyconv" run.bin --to collapsed -o - >stdout.txt
is "'-' is standard output" cmp -s stdout.txt run.collapsed.txt
expect "a database needs a file" 2 "$pyconv" run.bin --to sqlite -o -
expect "a device takes what streams" 0 \
    "$pyconv" run.bin --to collapsed -o /dev/null
expect "a full disk is reported" 1 "$pyconv" run.bin --to collapsed -o /dev/full
holds "with its cause" err "No space left on device"
holds "and the remedy" err "^pyconv: hint: make room"
# The stack of parquet is DuckDB's, and clickhouse needs a server.
for to in $("$pyconv" --list | sed -n 's/^\([a-z][a-z]*\) .*/\1/p' |
    grep -v -e parquet -e clickhouse); do
    expect "a stack of 64 KiB is enough for $to" 0 \
        sh -c 'ulimit -s 64; exec "$0" "$1" --to $2 -f -o small.$2' "$pyconv" \
        run.bin "$to"
done
for to in sqlite speedscope firefox; do
    expect "a limit on files is reported for $to" 1 \
        sh -c 'ulimit -f 1; exec "$0" "$1" --to $2 -o limited.$2' "$pyconv" \
        run.bin $to
    holds "with the name of the file" err "cannot [a-z]* 'limited.$to'"
    is "which is not made" test ! -e limited.$to
done
expect "a missing folder is reported" 1 \
    "$pyconv" run.bin --to pstats -o nowhere/x.pstats
holds "with the remedy" err "folder"

mkdir link
ln -s /proc/self/fd/1 link/stdout
cp run.collapsed.txt link/kept
"$pyconv" run.bin --to collapsed -f -o link/stdout >>link/kept
is "a link to standard output is written to" \
    sh -c 'cat run.collapsed.txt run.collapsed.txt | cmp -s - link/kept'
is "and stays" test -L link/stdout
expect "a database cannot take its place" 2 \
    "$pyconv" run.bin --to sqlite -f -o link/stdout
is "not even by force" test -L link/stdout

expect "the input is no output, even by force" 2 \
    "$pyconv" run.bin --to collapsed -f -o ./run.bin
holds "with the remedy" err "another name"
is "it is as it was" cmp -s run.bin "$whole"

expect "a server needs an address" 2 "$pyconv" run.bin --to clickhouse
holds "whose form is the hint" err "hint: -o clickhouse://HOST"
expect "a file is not a server" 2 "$pyconv" run.bin --to clickhouse -o x.bin
is "and is not made" test ! -e x.bin
expect "an address holds no password" 2 \
    "$pyconv" run.bin -o clickhouse://user:secret@127.0.0.1/x
holds "which belongs elsewhere" err "CLICKHOUSE_PASSWORD"
is "and is not shown" sh -c '! grep -q secret err'
for address in clickhouse:// clickhouse://a:b/c clickhouse://a/b?c \
    'clickhouse://a b/c' 'clickhouse://a/b&c' 'clickhouse://[::1/x'; do
    expect "'$address' is no address" 2 "$pyconv" run.bin -o "$address"
done
expect "a server that is not there" 1 env no_proxy='*' \
    "$pyconv" run.bin -o clickhouse://127.0.0.1:1/x
holds "is named" err "127.0.0.1:1"
expect "a server is not followed" 2 \
    "$pyconv" run.bin --follow -o clickhouse://127.0.0.1:1/x

expect "no file" 2 "$pyconv" --to pstats
expect "standard input is not an input" 2 "$pyconv" - --to pstats -o x.pstats
holds "with the remedy" err "copy it to a file"
expect "nor is it a base" 2 "$pyconv" run.bin --diff - --to html -o x.html
holds "with the remedy" err "copy it to a file"
mkfifo pipe
for option in --info --verify; do
    for input in - pipe; do
        expect "$option of $input" 2 "$pyconv" $option $input
        holds "with the remedy" err "copy it to a file"
    done
done
expect "a pipe is not an input" 2 "$pyconv" pipe --to pstats -o x.pstats
holds "with the remedy" err "copy it to a file"
expect "no target" 2 "$pyconv" run.bin
holds "which says where to find one" err "pyconv --list"
expect "the list of targets" 0 "$pyconv" --list
for to in collapsed speedscope pstats pprof firefox chrome callgrind jsonl csv \
    markdown svg sqlite postgres parquet bin; do
    holds "has $to" out "^$to "
done
holds "and the programs that open them" out "opened by: .*flamegraph.pl"
for made in x.collapsed.txt x.folded x.speedscope.json x.prof x.db x.bin \
    x.pb.gz x.firefox.json.gz x.trace.json x.callgrind x.jsonl x.csv x.md \
    x.svg x.speedscope.json.gz; do
    expect "the suffix of $made says the target" 0 "$pyconv" run.bin -o $made
    is "$made is there" test -s $made
done
is "a name in .gz is compressed" sh -c \
    'gzip -dc x.speedscope.json.gz | cmp -s - x.speedscope.json'
expect "a suffix of no target" 2 "$pyconv" run.bin -o x.nonsense
holds "which is named" err "no target has the suffix of 'x.nonsense'"
expect "a mistyped target" 2 "$pyconv" run.bin --to htm
holds "gets the nearest one" err "hint: did you mean 'html'$"
expect "two letters that changed places" 2 "$pyconv" run.bin --to psatts
holds "are found" err "hint: did you mean 'pstats'$"
expect "an unknown target" 2 "$pyconv" run.bin --to nonsense
holds "which says what there is" err "speedscope"
expect "an unknown option" 2 "$pyconv" run.bin --nonsense
expect "an unknown style" 2 "$pyconv" run.bin --to pstats --style x -f
expect "a style the target has not" 2 \
    "$pyconv" run.bin --to sqlite --style stock -f
expect "a choice the target has not" 2 \
    "$pyconv" run.bin --to jsonl --lines -f
holds "names the target and the choice" err "target 'jsonl' has no choice of"
expect "an empty range" 2 "$pyconv" run.bin --to pstats --between 2s 1s -f
expect "a bad time" 2 "$pyconv" run.bin --to pstats --between x 1s -f
expect "a bad range" 2 "$pyconv" run.bin --to pstats --between 2-3 -f
holds "gets the form of one" err "hint: --between A..B: "
expect "a level out of range" 2 "$pyconv" run.bin --to bin --level 99 -f
expect "help" 0 "$pyconv" --help
holds "names the targets" out "collapsed"
expect "version" 0 "$pyconv" --version

expect "a file that is not there" 1 "$pyconv" missing.bin --to pstats -f
for to in csv sqlite bin pprof; do
    expect "$to of a missing file in a missing folder" 1 \
        "$pyconv" nowhere/missing.bin --to $to
    holds "names the input" err "error: cannot open 'nowhere/missing.bin': No"
    expect "a missing file after a good one, $to" 1 \
        "$pyconv" run.bin missing.bin --to $to -o nowhere/x
    holds "is named, not the output" err "error: cannot open 'missing.bin': No"
done
expect "a missing file for a database that is there" 1 \
    "$pyconv" missing.bin --into run.db
holds "is named" err "error: cannot open 'missing.bin': No"
expect "a missing file to compare with" 1 \
    "$pyconv" run.bin --diff missing.bin --to html -o nowhere/x
holds "is named" err "error: cannot open 'missing.bin': No"
expect "a file that is no profile" 1 \
    "$pyconv" "$vectors/bad-foreign-text.bin" --from bin -o x.pstats
is "leaves no output" test ! -e x.pstats
holds "is named by its kind" err "it is text"
expect "a file cut open" 3 \
    "$pyconv" "$vectors/bad-cut-open.bin" --to collapsed -o cut.txt
is "gives what could be had" test -s cut.txt
holds "and names the file in a note" err \
    "^pyconv: note: '.*bad-cut-open.bin': the recording is not"
expect "a damaged file" 3 \
    "$pyconv" "$vectors/bad-data-bit.bin" --to sqlite -o damaged.db
is "gives the rest" test -s damaged.db
holds "and a warning" err "^pyconv: warning: "
expect "is repaired by bin" 3 \
    "$pyconv" "$vectors/bad-data-bit.bin" --to bin -o repaired.bin
expect "after which it is whole" 0 "$pyconv" --verify repaired.bin

for nothing in bad-cut-header-only bad-cut-in-header bad-cut-stock; do
    expect "$nothing holds nothing" 1 \
        "$pyconv" "$vectors/$nothing.bin" --to collapsed -o nothing.txt
    is "so there is no output" test ! -e nothing.txt
    expect "nor anything to print" 1 "$pyconv" --info "$vectors/$nothing.bin"
    expect "or to verify" 1 "$pyconv" --verify "$vectors/$nothing.bin"
    expect "or to ask" 1 \
        "$BIN/pyquery" "$vectors/$nothing.bin" summary
done

expect "verify: finished" 0 "$pyconv" --verify run.bin
holds "says so" out "every checksum is right"
expect "verify: finished by CPython" 0 \
    "$pyconv" --verify "$vectors/good-stock-zstd.bin"
holds "promises no checksums" out "no checksums"
expect "verify to a full disk" 1 \
    sh -c '"$0" --verify run.bin >/dev/full' "$pyconv"
expect "verify: cut" 3 "$pyconv" --verify "$vectors/bad-cut-open.bin"
holds "is an error: nothing else was asked" err "^pyconv: error: "
holds "names the file and the place" err \
    "bad-cut-open.bin': .* (at byte [0-9]*)$"
holds "and the remedy" err "^pyconv: hint: .*--to bin"
expect "verify: damaged" 1 "$pyconv" --verify "$vectors/bad-data-bit.bin"
holds "names them, too" err "bad-data-bit.bin': .* (at byte [0-9]*)$"
holds "and the remedy" err "^pyconv: hint: .*--to bin"
expect "info" 0 "$pyconv" --info run.bin
holds "tells the state" out "^state *finished"
holds "and the samples" out "^samples"
expect "info writes no file" 2 "$pyconv" --info run.bin -o info.txt
# An option that the action would ignore is refused by name.
cp run.db into.db
cp into.db into.kept
for ignored in "--threads x" "--where gil" "--level 3" "--diff run.bin" \
    "--from bin" "-f" "--between 0s..1s" "--focus x" "--ignore x" "--hide x" \
    "--hide-native" "--strip-prefix /x" "--map a=b" "--lines" "--functions" \
    "--max-depth 9" "--time real" "--style stock" "--source ." \
    "--compression none" "--max-output 1M" "--to csv" "-o x.ignored" \
    "--follow" "--into into.db"; do
    for action in info verify list; do
        file=run.bin
        [ $action = list ] && file=
        # shellcheck disable=SC2086
        expect "--$action $ignored" 2 "$pyconv" --$action $file $ignored
        # shellcheck disable=SC2086
        expect "$ignored --$action" 2 "$pyconv" $ignored --$action $file
        holds "which is named" err "error: --[a-z-]* does not go with --[a-z]*$"
    done
done
for ignored in --info --verify --list --follow -f "--to sqlite" "-o x.ignored"; do
    # shellcheck disable=SC2086
    expect "--into and $ignored" 2 "$pyconv" run.bin --into into.db $ignored
    holds "which is named" err "error: --[a-z]* does not go with --[a-z]*$"
done
for ignored in --info --verify --list "--into into.db"; do
    # shellcheck disable=SC2086
    expect "$ignored and --follow" 2 "$pyconv" run.bin $ignored --follow
    holds "which is named" err "error: --[a-z]* does not go with --[a-z]*$"
done
expect "--info --verify" 2 "$pyconv" --info --verify run.bin
holds "names both" err "--info does not go with --verify"
expect "--list and a file" 2 "$pyconv" --list run.bin
expect "a level without compression" 2 \
    "$pyconv" run.bin -o x.ignored.bin --level 3 --compression none
holds "is named" err "--level does not go with --compression none"
expect "a limit of text for a database" 2 \
    "$pyconv" run.bin -o x.ignored.db --max-output 1M
holds "is named" err "--max-output"
is "nothing is made" sh -c '! ls | grep -q ignored && cmp into.db into.kept'
for taken in "--memory 1G" -q; do
    # shellcheck disable=SC2086
    expect "--info $taken" 0 "$pyconv" --info run.bin $taken
    # shellcheck disable=SC2086
    expect "--verify $taken" 0 "$pyconv" --verify run.bin $taken
done
expect "info to a full disk" 1 \
    sh -c '"$0" --info run.bin >/dev/full' "$pyconv"
expect "info of an unfinished file" 3 \
    "$pyconv" --info "$vectors/bad-cut-open.bin"
holds "has a note" err "^pyconv: note: "
sh -c '"$0" --info "$1" 2>err >/dev/full' "$pyconv" \
    "$vectors/bad-cut-open.bin"
is "info of a cut file to a full disk has failed" test $? -eq 1
holds "and says both" err "No space left"
expect "info of a cut file" 3 "$pyconv" --info "$vectors/bad-cut-open.bin"
holds "tells it" out "^state *cut"

exit $status
