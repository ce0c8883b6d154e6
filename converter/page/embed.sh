#!/bin/sh
# Print page_assets.c: the named files as bytes, each with its SHA-256.
set -eu

echo '#include "converter/page/page_assets.h"'
i=0
for file in "$@"; do
    i=$((i + 1))
    echo "static const unsigned char bytes_$i[] = {"
    od -An -v -tu1 "$file" | sed 's/[0-9][0-9]*/&,/g'
    echo '};'
done
echo 'const conv_page_asset conv_page_assets[] = {'
i=0
for file in "$@"; do
    i=$((i + 1))
    hash=$(sha256sum <"$file" | cut -c 1-64)
    echo "    {\"${file##*/}\", bytes_$i, sizeof bytes_$i, \"$hash\"},"
done
echo '    {NULL, NULL, 0, NULL}};'
