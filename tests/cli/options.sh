#!/bin/sh
# A refused option is named as it stands in its word, alone or with others.
set -u
# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"
export LC_ALL=C
cp "$SRC/spec/vectors/good-two-segments.bin" ./-y.bin
cp ./-y.bin ./--y.bin
cp ./-y.bin a.bin

# ERROR HINT PROGRAM ARGUMENT...
refused() {
    error=$1 hint=$2 program=$3
    shift 3
    printf '%s\n' "$program: error: $error" "$program: hint: $hint" >want
    "$BIN/$program" "$@" 2>said
    [ $? -eq 2 ] && cmp -s want said
    result $? "$program $*: $(cat said)"
}

file="'./-y.bin' is the file of that name"
long_file="'./--y.bin' is the file of that name"
refused "unknown option '-y'" "$file" pyconv -y.bin --to csv
refused "unknown option '-y'" "$file" pyconv a.bin -y.bin
# shellcheck disable=SC2086 # words
for before in "pyconv" "pyconv a.bin" "pyconv a.bin -q" "pyconv -o -y" \
    "pyquery" "pyquery a.bin diff" "pyquery -i" "pyrec" "pyrec -q" \
    "pyrec -o -y"; do
    help="try '${before%% *} --help'"
    known=q
    [ "${before%% *}" != pyquery ] || known=i
    for word in -y -yz -y.txt -${known}y -${known}yz -${known}y.bin; do
        refused "unknown option '-y'" "$help" $before $word
    done
    refused "unknown option '-y'" "$file" $before -y.bin
    refused "unknown option '-é'" "$help" $before -éa
    refused "unknown option '--none'" "$help" $before --none=x
    refused "unknown option '--y.bin'" "$long_file" $before --y.bin
    refused "option '--help' takes no value" "$help" $before --hel=x
done
# shellcheck disable=SC2086 # words
for program in pyconv pyrec; do
    help="try '$program --help'"
    for words in -o -qo "-q -qo"; do
        refused "option '-o' needs a value" "$help" $program $words
    done
    for words in --output --outp "-q --outp"; do
        refused "option '--output' needs a value" "$help" $program $words
    done
done
refused "option '--t' is ambiguous" "one of --threads, --tasks, --top" \
    pyrec --t=all
exit $status
