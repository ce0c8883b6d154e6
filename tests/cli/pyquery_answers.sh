#!/bin/sh
# The output and the status of pyquery, over a database whose every number is
# written below.
set -u
# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"

# database FILE: the tables of schema.h with ten samples in them.
database() {
    sed -n 's/^ *"\(.*\)".*/\1/p' "$SRC/include/pyrec/schema.h" >tables.sql
    cat >rows.sql <<'SQL'
PRAGMA application_id = 0x50595245;
PRAGMA user_version=4;
INSERT INTO profile VALUES(1, x'01', 'run.bin', NULL, 'web1', 'shop', NULL,
    '3.14.2', 'all', 'threads', 'real', NULL, NULL, 1000, 4000, 10, 10000, 0,
    NULL, NULL, NULL, 5, 5000, 1, 1, 1, 1, 3);
INSERT INTO process(id, profile_id, pid, parent_pid, command, python, t0_us,
    t1_us) VALUES(1, 1, 7, NULL, 'shop', '3.14.2', 0, 4000);
INSERT INTO meta VALUES(1, 'host', 'web1');
INSERT INTO file VALUES
    (1, '/srv/app/shop.py', 'shop.py', 'shop', 'project', x'01'),
    (2, '/usr/lib/json/decoder.py', 'decoder.py', 'json.decoder', 'stdlib',
    x'02');
INSERT INTO function VALUES(1, 1, 'main', 'main', 9, 'py', x'01'),
    (2, 1, 'Shop.work', 'work', 19, 'py', x'02'),
    (3, 2, 'decode', 'decode', 29, 'py', x'03'),
    (4, 1, 'decode', 'decode', 39, 'py', x'04');
INSERT INTO thread(id, process_id, tid, interp, name, is_main, t0_us, t1_us,
    samples, weight_us, unobserved_us, proven, sleeping, unproven, stopped, lost)
    VALUES
    (1, 1, 101, 0, 'MainThread', 1, 0, 4000, 5, 5000, 0, 5, 0, 0, 0, 0),
    (2, 1, 102, 0, char(27) || '[31mred', 0, 0, 4000, 5, 5000, 0, 4, 0, 1, 0,
    2);
INSERT INTO node VALUES(1, 0, 3, 1, 1, 1, 10, 1, 1, 1),
    (2, 1, 2, 2, 2, 2, 20, 1, 1, 1), (3, 1, 3, 2, 3, 3, 30, 1, 1, 1);
INSERT INTO run VALUES(1, 1, 2, 35, 0, 4000, 5, 5000),
    (2, 2, 3, 8, 0, 4000, 5, 5000);
INSERT INTO node_self VALUES(1, 2, 1, 35, 5, 5000), (2, 3, 2, 8, 5, 5000);
SQL
    cat tables.sql rows.sql | sqlite3 -batch -bail "$1"
}

# same NAME: standard input is the answer that was expected.
same() {
    cat >expected
    diff -u expected printed
    result $? "$1"
}

# ends STATUS NAME COMMAND...: by this status, with one line on stderr that
# begins with the program's name.
ends() {
    wanted=$1 name=$2
    shift 2
    "$@" >printed 2>error
    got=$?
    cat error
    [ $got -eq "$wanted" ] &&
        [ "$(grep -c '^pyquery: error: ' error)" -eq 1 ] && [ ! -s printed ]
    result $? "$name: status $wanted and one line"
}

database run.db || exit 1
cp run.db before.db
PATH=$BIN:$PATH

pyquery run.db "top 20 by total" >printed
same "a question is answered by an aligned table" <<'TEXT'
top 20 by total: 10 of 10 samples, 0.010 s; 50.0 % ran, 50.0 % waited
recorded: 9 proven, 1 unproven, 2 lost

function     ran   self   total  self s  where
main        0.0%   0.0%  100.0%   0.000  shop.py:9
Shop.work  50.0%  50.0%   50.0%   0.005  shop.py:19
decode      0.0%  50.0%   50.0%   0.005  decoder.py:29
TEXT

pyquery run.db top 20 by total >one
pyquery run.db "top 20 by total" | cmp - one
result $? "the words of a query need no quotes"
pyquery run.db callers of "Shop.work" where thread = "MainThread" |
    grep -q "main *Shop.work"
result $? "a word with its shell's quotes is one word"

pyquery --csv run.db "files by total where main" >printed
same "--csv" <<'TEXT'
self_samples,self_pct,self_s,self_ran_pct,self_ran_s,total_samples,total_pct,total_s,total_ran_pct,total_ran_s,file,class
5,100.0,0.005,100.0,0.005,5,100.0,0.005,100.0,0.005,/srv/app/shop.py,project
TEXT

pyquery run.db --markdown "callees of main in json.decoder" | tail -n 1 >printed
same "--markdown, options anywhere" <<'TEXT'
| main | decode | 50.0% | 0.005 | decoder.py |
TEXT

pyquery run.db "threads" | grep -c "$(printf '\033')" >printed
same "no name reaches the terminal as a command" <<'TEXT'
0
TEXT

for query in "threads" "tree" "top between 1ms and 3ms" "summary"; do
    pyquery --json run.db "$query" >printed
    python3 -c 'import json, sys
answer = json.load(open("printed"))
assert answer["rows"] and all(
    len(row) == len(answer["columns"]) for row in answer["rows"])'
    result $? "--json of '$query' is JSON"
done

pyquery run.db --sql "SELECT sum(n), max(status) FROM node_self" >printed
same "--sql" <<'TEXT'
sum(n)  max(status)
    10           35
TEXT

# The sqlite3 program runs the text that explain shows.
for step in samples nodes; do
    pyquery --csv run.db "explain callers of Shop.work where gil" |
        sed -n "s/^$step,//p" | sed 's/^"//; s/"$//; s/""/"/g' >step.sql
    sqlite3 -batch -bail run.db <step.sql >printed
    [ -s printed ]
    result $? "the $step of explain run in sqlite3"
done

pyquery run.db "callers of decode" >printed 2>error
[ $? -eq 4 ] && grep -q "'shop.py:decode'" error &&
    grep -q "'decoder.py:decode'" error
result $? "an ambiguous name ends with 4 and lists the candidates"

pyquery run.db "top 5 bye self" 2>printed
same "a fault is marked below the query" <<'TEXT'
pyquery: error: 'bye' is not by, per, where, in, thread, between, first, last, only, without, focus, ignore, hide or as
  top 5 bye self
        ^
pyquery: hint: did you mean 'by'
TEXT

ends 2 "a wrong verb" pyquery run.db "tops"
ends 2 "a write" pyquery run.db --sql "DELETE FROM node"
ends 2 "no file" pyquery
mkfifo pipe
for words in - pipe "run.db - top" "run.db diff -" "run.db diff pipe" "--follow -"; do
    # shellcheck disable=SC2086 # words of the command line
    pyquery $words >printed 2>error
    [ $? -eq 2 ] && [ ! -s printed ] && grep -q "copy it to a file" error
    result $? "an input that is no file has a remedy: pyquery $words"
done
for file in nofile.bin nofile.db NOFILE.JSON x/nofile ./nofile nofile.pb.gz \
    nofile.prof nofile.txt; do
    pyquery run.db $file top >printed 2>error
    [ $? -eq 1 ] && grep -q "cannot open '$file': No such file" error &&
        grep -q "hint: the files come first" error
    result $? "a missing file is named: $file"
done
ends 2 "a query before its end is none" pyquery run.db "tops in shop.py"
for words in "--csv --json" "--json --csv" "--markdown --csv" \
    "--json top as csv" "top as csv --json" "top as table --csv" \
    "summary as json --markdown"; do
    # shellcheck disable=SC2086 # words of the command line
    ends 2 "two formats: $words" pyquery run.db $words
done
for words in "--csv --csv" "--csv top as csv" "top as markdown --markdown"; do
    # shellcheck disable=SC2086 # words of the command line
    pyquery run.db $words >printed 2>error
    result $? "one format, twice: $words"
done
for order in "top run.db" "--sql run.db SELECT" "top 3" "explain top"; do
    # shellcheck disable=SC2086 # a list of words
    pyquery $order 2>error
    [ $? -eq 2 ] && grep -q "the file comes first" error
    result $? "the wrong order, '$order', is named"
done
for question in "help" "help waits" "help top as csv"; do
    # shellcheck disable=SC2086 # a list of words
    pyquery $question >one 2>error && [ ! -s error ] && [ -s one ] &&
        pyquery run.db "$question" | cmp - one
    result $? "'$question' needs no file"
done
ends 4 "help of no verb" pyquery help nothing
ends 4 "an unknown name" pyquery run.db "tree from nobody"
ends 1 "no such file" pyquery missing.db "top"
mkdir empty
ends 4 "a folder without a profile" pyquery empty "top"
echo "not a profile" >text
pyquery text "top" 2>error
[ $? -eq 1 ] && grep -q "'text': not a profile: it is text" error &&
    grep -q "pyquery: hint: .* by pyrec.* collapsed .*--from" error
result $? "a file of something else is reported, and what would be one"
sqlite3 other.db "CREATE TABLE x(y)"
ends 1 "somebody else's database" pyquery other.db "top"
cp run.db newer.db
sqlite3 newer.db "PRAGMA user_version = 5"
ends 1 "a newer database" pyquery newer.db "top"
cp run.db wrong.db
sqlite3 wrong.db "UPDATE node_self SET n = -5"
ends 1 "numbers that cannot be" pyquery wrong.db "top"
head -c 8192 run.db >cut.db
pyquery cut.db "top" >printed 2>error
[ $? -ne 0 ] && [ -s error ] && [ ! -s printed ]
result $? "half a database is no answer"

# A database in WAL mode is read as it is, or refused; no file appears.
mkdir wal
python3 - <<'PY'
import shutil
import sqlite3
shutil.copy("run.db", "wal/whole.db")
c = sqlite3.connect("wal/whole.db")
c.execute("PRAGMA journal_mode=wal")
c.close()
shutil.copy("wal/whole.db", "wal/log.db")
c = sqlite3.connect("wal/log.db")
c.execute("UPDATE run SET n = n + 1")
c.commit()
shutil.copy("wal/log.db-wal", "kept-wal")
c.close()
shutil.copy("wal/whole.db", "wal/log.db")
shutil.copy("kept-wal", "wal/log.db-wal")
PY
find wal | sort >before
chmod 500 wal
pyquery wal/whole.db "top" >printed
same_table=$?
pyquery wal/log.db "top" >printed 2>error
[ $? -eq 1 ] && [ $same_table -eq 0 ] && [ ! -s printed ] &&
    grep -q "write-ahead log" error && grep -q "^pyquery: hint: " error
result $? "a write-ahead log that cannot be read without writing is named"
chmod 700 wal
find wal | sort | cmp - before
result $? "nothing is written beside a database in WAL mode"

if [ -w /dev/full ]; then
    pyquery run.db "top" >/dev/full 2>error
    [ $? -eq 1 ] && grep -q "cannot write .*: No space left" error
    result $? "a full disk is reported"
fi

pyquery --help >printed && grep -q "top 20 by self" printed &&
    [ "$(wc -l <printed)" -le 25 ]
result $? "--help shows an example on one screen"

cmp run.db before.db && [ "$(find . -name 'run.db*' | wc -l)" -eq 1 ]
result $? "a database that was asked is as before"
exit $status
