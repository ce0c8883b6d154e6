#!/bin/sh
# A profile file in place of a database: pyquery answers from each vector of the
# format, from a cut or damaged one as far as it can be read, and says so.
set -u
# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"
PATH=$BIN:$PATH
vectors=$SRC/spec/vectors

# samples NAME: how many every reader of the vector finds.
samples() {
    head -n 1 "$vectors/$1.json" |
        sed -n 's/.*"samples": \([0-9]*\).*/\1/p'
}

# asked NAME STATUS: the answer has its count of samples and exits with STATUS.
asked() {
    pyquery --csv "$vectors/$1.bin" --sql \
        "SELECT ifnull(sum(n), 0) FROM node_self" >printed 2>error
    [ $? -eq "$2" ] && [ "$(tail -n 1 printed)" = "$(samples "$1")" ]
}

for file in "$vectors"/*.bin; do
    name=$(basename "$file" .bin)
    case $name in
    good-*)
        asked "$name" 0 && [ ! -s error ]
        result $? "$name is asked like a database"
        ;;
    bad-inside-*)
        pyquery "$file" "top" >printed 2>error
        [ $? -eq 3 ] && [ -s error ]
        result $? "$name is reported to be damaged"
        ;;
    *)
        if [ -s "$vectors/$name.json" ]; then
            asked "$name" 3 && [ "$(grep -c "^pyquery: \(note\|warning\): " error)" -eq 1 ] &&
                ! grep -q "error: " error
            result $? "$name is answered in part"
        else
            pyquery "$file" "top" >printed 2>error
            [ $? -ne 0 ] && [ ! -s printed ] && [ "$(grep -c "^pyquery: error: " error)" -eq 1 ]
            result $? "$name is no answer"
        fi
        ;;
    esac
done

# A wrong bit in the magic number hides no profile.
cp "$vectors/good-two-segments.bin" magic.bin
printf X | dd of=magic.bin bs=1 conv=notrunc 2>error
pyquery --csv magic.bin "top" >printed 2>error
[ $? -eq 3 ] && [ "$(wc -l <printed)" -gt 1 ] && grep -q "header" error
result $? "a profile with another magic number is answered"

for query in "top" "lines" "files" "tree above 0%" "threads" "summary"; do
    for format in --csv --json --markdown; do
        pyquery $format "$vectors/good-names.bin" "$query" >printed 2>error &&
            [ -s printed ]
        result $? "hostile names, '$query' $format"
    done
    pyquery "$vectors/good-names.bin" "$query" >printed 2>error &&
        ! LC_ALL=C grep -q '[[:cntrl:]]' printed
    result $? "hostile names, '$query' on a terminal"
done

# From the file or from the database of pyconv: the same answer.
pyconv "$vectors/good-cpython-3.15.2-zstd.bin" --to sqlite -o run.db >printed 2>&1
for query in "top by total" "lines" "tree" "threads" "callers of *" \
    "top between 10% and 60%"; do
    pyquery --csv run.db "$query" >one 2>error &&
        pyquery --csv "$vectors/good-cpython-3.15.2-zstd.bin" "$query" >printed \
            2>error && cmp one printed && [ "$(wc -l <printed)" -gt 1 ]
    result $? "'$query' of the file and of its database"
done

# All samples by function, as the converter summed them up and as the program
# does for any choice of samples.
pyquery --csv run.db "top 1000 by name" >one 2>error &&
    pyquery --csv run.db "top 1000 by name between 0s and 999999999s" >printed \
        2>error && cmp one printed
result $? "sums made in advance are those made now"
exit $status
