#!/bin/sh
# --into: a database grows by the profiles that it lacks, or stays as it is.
set -u
# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"
PATH=$BIN:$PATH
vectors=$SRC/spec/vectors
a=$vectors/good-processes.bin
b=$vectors/good-names.bin
c=$vectors/good-cpython-3.15.2-zstd.bin

# content DATABASE: all that questions can be about, without the ids.
content() {
    pyquery --csv "$1" --sql "SELECT hex(hash), samples, weight_us FROM profile
        ORDER BY 1"
    pyquery --csv "$1" --sql "SELECT hex(p.hash), hex(function.hash), self_n,
        total_n, total_us FROM function_total JOIN profile p ON p.id =
        profile_id JOIN function ON function.id = function_id ORDER BY 1, 2"
    pyquery --csv "$1" --sql "SELECT hex(p.hash), count(*), sum(n),
        sum(r.weight_us) FROM run r JOIN thread t ON t.id = thread_id JOIN
        process ON process.id = process_id JOIN profile p ON p.id =
        profile_id GROUP BY p.id ORDER BY 1"
}

pyconv "$a" "$b" "$c" -o whole.db 2>error >printed && content whole.db >whole

pyconv "$a" --into grown.db >printed 2>error &&
    pyconv "$a" -o one.db >>printed 2>>error && cmp one.db grown.db
result $? "a database that is not there is made as with -o"

pyconv -q "$b" "$c" --into grown.db >printed 2>error && [ ! -s error ] &&
    content grown.db >grown && cmp whole grown
result $? "a database grows to what one conversion makes of all files"

cp grown.db before.db
pyconv "$b" "$a" --into grown.db >printed 2>error && cmp before.db grown.db &&
    grep -q "2 profiles were in 'grown.db' already" error
result $? "a second adding changes nothing and says so"

pyconv "$a" "$b" --into both.db 2>error >printed &
first=$!
pyconv "$c" --into one.db 2>error2 >printed2 &
second=$!
wait $first && wait $second
pyconv "$c" --into both.db 2>error >printed &
first=$!
pyconv "$b" "$c" --into both.db 2>error2 >printed2 &
second=$!
wait $first && wait $second && content both.db >grown && cmp whole grown
result $? "two programs add to one database at once"

cp one.db before.db
(
    trap '' XFSZ
    ulimit -f 1
    exec pyconv "$b" --into before.db
) >printed 2>error
[ $? -eq 1 ] && [ "$(grep -c "^pyconv: error: " error)" -eq 1 ] &&
    content before.db >grown 2>>error && content one.db | cmp - grown
result $? "a disk that is full leaves the database as it was"

cp one.db before.db
pyconv "$b" "$vectors/bad-foreign-text.bin" --into before.db >printed 2>error
[ $? -eq 1 ] && content before.db >grown && content one.db | cmp - grown
result $? "an input that is not a profile leaves the database as it was"

pyconv "$vectors/bad-cut-checkpoint.bin" --into before.db >printed 2>error
[ $? -eq 3 ] && pyquery --csv before.db --sql \
    "SELECT count(*) FROM profile" >printed && [ "$(tail -n 1 printed)" = 3 ]
result $? "the rest of a cut profile is added, status 3"

echo text >text.db
pyconv "$a" --into text.db >printed 2>error
[ $? -eq 1 ] && [ "$(cat text.db)" = text ] &&
    grep -q "'text.db': the output is not a database" error
result $? "a file that is not a database is refused and kept"

python3 -c "import sqlite3
d = sqlite3.connect('other.db')
d.execute('CREATE TABLE profile(id)')
d.commit()"
cp other.db before.db
pyconv "$a" --into other.db >printed 2>error
[ $? -eq 1 ] && cmp other.db before.db &&
    grep -q "'other.db': the output is a database of something else" error
result $? "a database of something else is refused and kept"

for options in "-o y.db" "--to sqlite" "--to collapsed"; do
    # shellcheck disable=SC2086
    pyconv "$a" --into x.db $options >printed 2>error
    [ $? -eq 2 ] && [ ! -e x.db ] && [ ! -e y.db ]
    result $? "--into with $options is a usage error"
done

exit $status
