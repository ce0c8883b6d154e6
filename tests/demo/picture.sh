#!/bin/sh
# picture.sh BUILD: take tests/demo/page.png of the page that the demo made.
set -eu

cd "$(dirname "$0")/../.."
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
    --disable-background-networking --disable-component-update \
    --window-size=1100,560 --virtual-time-budget=10000 \
    --screenshot="$PWD/tests/demo/page.png" \
    "file://$(realpath "$1")/demo/run.html"
