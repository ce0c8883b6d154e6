#!/bin/sh
# Every shell script passes shellcheck, where it is installed.
cd "$(dirname "$0")/../.." || exit 1
command -v shellcheck >/dev/null || {
    echo "ok shell scripts # SKIP no shellcheck here"
    exit 0
}
find tests .ci -name '*.sh' -exec shellcheck -S warning {} + &&
    shellcheck -S warning .ci/run
