#!/bin/sh
# Who may include whom (design: include <- format <- recorder, converter <-
# query).  Prints each forbidden include and fails if there is one.
set -u
cd "$(dirname "$0")/../.." || exit 1

# room | the project headers its files may include, as an extended regex
rules='
include   pyrec/[a-z]+\.h
format    pyrec/(base|error|profile|sink|writer|reader|version)\.h|format/[a-z_0-9]+\.h
recorder  pyrec/(base|error|profile|sink|writer|unwinder|version)\.h|recorder/[a-z_0-9]+\.h
converter pyrec/(base|error|profile|sink|writer|reader|convert|schema|version)\.h|converter/[a-z_0-9]+\.h
query     pyrec/(base|error|schema|query|convert|version)\.h|query/[a-z_0-9]+\.h
'
bad=$(echo "$rules" | while read -r room allowed; do
    [ -n "$room" ] || continue
    grep -rnE '^[ \t]*#[ \t]*include[ \t]+["<](pyrec/|format/|recorder/|converter/|query/|tests/|\.)' \
        --include='*.[ch]' "$room" |
        grep -vE "#[ \t]*include[ \t]+[\"<]($allowed)[\">]"
    # a quoted include names its room
    grep -rnE '^[ \t]*#[ \t]*include[ \t]+"[^/"]+"' --include='*.[ch]' "$room"
done)
# file names are unique across the rooms
twice=$(ls format/*.[ch] recorder/*.[ch] converter/*.[ch] query/*.[ch] \
    2>/dev/null | sed 's,.*/,,' | sort | uniq -d)
[ -z "$bad" ] || echo "forbidden include:
$bad"
[ -z "$twice" ] || echo "file name in two rooms: $twice"
[ -z "$bad$twice" ]
