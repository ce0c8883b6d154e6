#!/bin/sh
# The scripts of the page and of the tests are JavaScript without syntax
# errors, and the page's are all embedded.
cd "$(dirname "$0")/../.." || exit 1
for file in converter/page/*.js; do
    grep -q "${file##*/}" Makefile || {
        echo "$file: not in the list PAGE of the Makefile"
        exit 1
    }
done
command -v node >/dev/null || {
    echo "ok syntax of the scripts # SKIP no node here"
    exit
}
for file in converter/page/*.js tests/peers/*.js tests/bench/*.js; do
    node --check "$file" || exit 1
done
