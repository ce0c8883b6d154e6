/*
 * table.h - the targets, in the order of `pyconv --list`: one line each.
 *
 * X(NAME) stands for the conv_target `conv_NAME` of target/NAME.c.
 */
#ifndef CONVERTER_TARGET_TABLE_H
#define CONVERTER_TARGET_TABLE_H

#include "converter/target/target.h"

#define CONV_TARGETS(X) \
    X(collapsed)        \
    X(speedscope)       \
    X(pstats)           \
    X(pprof)            \
    X(firefox)          \
    X(chrome)           \
    X(callgrind)        \
    X(jsonl)            \
    X(csv)              \
    X(markdown)         \
    X(html)             \
    X(svg)              \
    X(sqlite)           \
    X(postgres)         \
    X(parquet)          \
    X(clickhouse)       \
    X(bin)

#define CONV_TARGET_DECLARE(name) extern const conv_target conv_##name;
CONV_TARGETS(CONV_TARGET_DECLARE)
#undef CONV_TARGET_DECLARE

#endif
