#!/bin/sh
# All C sources as clang-format lays them out.  Its versions disagree with each
# other, so only the one that .clang-format was written for is asked.
cd "$(dirname "$0")/../.." || exit 1
for program in clang-format-14 clang-format; do
    if "$program" --version 2>/dev/null | grep -q ' 14\.'; then
        find format recorder converter query include tests -name '*.[ch]' \
            -exec "$program" --dry-run -Werror {} +
        exit
    fi
done
echo "ok formatting # SKIP no clang-format 14 here"
