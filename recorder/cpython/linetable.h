/*
 * linetable.h - the line table of a code object (co_linetable, 3.11 to 3.15).
 *
 * A table keeps its bytes, with a mark every few entries: so it costs little
 * more than its bytes, and a search takes a binary search and a few entries.
 */
#ifndef RECORDER_CPYTHON_LINETABLE_H
#define RECORDER_CPYTHON_LINETABLE_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rec_place {
    int32_t line; /* PR_NO_LINE: this instruction belongs to no line */
    int32_t end_line;
    int32_t column, end_column; /* PR_NO_LINE: not known */
} rec_place;

typedef struct rec_lines {
    uint8_t *bytes;
    size_t len;
    struct rec_lines_mark *mark;
    size_t n_marks, cap_marks;
    uint32_t n_units; /* instructions that the table covers */
} rec_lines;

/* Take over `bytes` (from malloc), also on failure.  PR_TORN: they are not a
 * line table. */
pr_code rec_lines_init(rec_lines *lines, uint8_t *bytes, size_t len,
                       int32_t first_line, pr_err *err);
void rec_lines_release(rec_lines *lines);

/* The bytes of memory of a table. */
size_t rec_lines_cost(const rec_lines *lines);

/* The place of instruction `unit`; false: the table does not reach it. */
bool rec_lines_find(const rec_lines *lines, uint32_t unit, rec_place *ret);

#endif
