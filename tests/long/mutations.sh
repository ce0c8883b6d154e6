#!/bin/sh
# 20,000 damaged files; `make check` runs the first 2,000 of the same seed.
exec "${PYTHON:-python3}" "$SRC/tests/interop/test_mutations.py" 20261130 20000
