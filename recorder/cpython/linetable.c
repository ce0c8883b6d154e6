/*
 * linetable.c - the entries of a line table (3.11 to 3.15, Objects/locations.md,
 * since 3.14 InternalDocs/code_objects.md).
 *
 * An entry begins with a byte 1CCCCUUU: code C, U + 1 instructions; the code
 * determines the bytes that follow.
 */
#include "recorder/cpython/linetable.h"

#include <base/array.h>
#include <pyrec/profile.h>
#include <stdlib.h>

enum {
    PER_MARK = 32,      /* entries */
    VARINT_MAX = 6,     /* groups of 6 bits that make 32 */
    CODE_ONE_LINE = 10, /* 10, 11, 12: so many lines further */
    CODE_NO_COLUMNS = 13,
    CODE_LONG = 14,
    CODE_NONE = 15
};

/* The start of an entry and the state before it. */
typedef struct rec_lines_mark {
    uint32_t at;   /* in the bytes */
    uint32_t unit; /* its first instruction */
    int32_t line;
} rec_lines_mark;

typedef struct reader {
    const uint8_t *at, *end;
    bool bad;
} reader;

static uint8_t
next_byte(reader *r)
{
    /* only the first byte of an entry has the top bit */
    if (r->at == r->end || (*r->at & 0x80)) {
        r->bad = true;
        return 0;
    }
    return *r->at++;
}

static uint32_t
next_varint(reader *r)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_MAX; i++) {
        uint8_t b = next_byte(r);
        value |= (uint64_t)(b & 63) << 6 * i;
        if (!(b & 64)) {
            r->bad = r->bad || value > INT32_MAX * UINT64_C(2) + 1;
            return (uint32_t)value;
        }
    }
    r->bad = true;
    return 0;
}

/* The lowest bit is the sign. */
static int64_t
next_signed(reader *r)
{
    uint32_t u = next_varint(r);
    return u & 1 ? -(int64_t)(u >> 1) : (int64_t)(u >> 1);
}

static int32_t
to_line(reader *r, int64_t line)
{
    if (line < INT32_MIN || line > INT32_MAX)
        r->bad = true;
    return (int32_t)line;
}

/* A column is stored plus one; 0 stands for unknown. */
static int32_t
to_column(reader *r, uint32_t stored)
{
    if (stored > INT32_MAX)
        r->bad = true;
    return (int32_t)stored - 1;
}

static void
read_long(reader *r, int32_t *line, rec_place *place)
{
    *line = place->line = to_line(r, *line + next_signed(r));
    place->end_line = to_line(r, (int64_t)*line + next_varint(r));
    place->column = to_column(r, next_varint(r));
    place->end_column = to_column(r, next_varint(r));
}

/* Read one entry; *line is the running line. */
static uint32_t
read_entry(reader *r, int32_t *line, rec_place *ret)
{
    uint8_t first = *r->at++;
    r->bad = r->bad || !(first & 0x80);
    uint32_t code = first >> 3 & 15;
    rec_place p = {*line, *line, PR_NO_LINE, PR_NO_LINE};
    if (code == CODE_NONE) {
        p.line = p.end_line = PR_NO_LINE;
    } else if (code == CODE_LONG) {
        read_long(r, line, &p);
    } else if (code == CODE_NO_COLUMNS) {
        *line = p.line = p.end_line = to_line(r, *line + next_signed(r));
    } else if (code >= CODE_ONE_LINE) {
        *line = p.line = p.end_line =
            to_line(r, (int64_t)*line + (code - CODE_ONE_LINE));
        p.column = next_byte(r);
        p.end_column = next_byte(r);
    } else { /* same line, short columns */
        int32_t b = next_byte(r);
        p.column = (int32_t)code * 8 + (b >> 4);
        p.end_column = p.column + (b & 15);
    }
    *ret = p;
    return (first & 7u) + 1;
}

static pr_code
make_marks(rec_lines *l, int32_t line, pr_err *err)
{
    reader r = {l->bytes, l->bytes + l->len, false};
    for (size_t n = 0; r.at < r.end; n++) {
        if (n % PER_MARK == 0) {
            if (!pr_grow(&l->mark, &l->cap_marks, l->n_marks + 1,
                         sizeof *l->mark))
                return pr_no_memory(err);
            l->mark[l->n_marks++] =
                (rec_lines_mark){(uint32_t)(r.at - l->bytes), l->n_units, line};
        }
        rec_place place;
        l->n_units += read_entry(&r, &line, &place);
        if (r.bad)
            return PR_FAIL(err, PR_TORN, "line table is broken");
    }
    return PR_OK;
}

pr_code
rec_lines_init(rec_lines *lines, uint8_t *bytes, size_t len, int32_t first_line,
               pr_err *err)
{
    rec_lines l = {.bytes = bytes, .len = len};
    pr_code code = make_marks(&l, first_line, err);
    if (code == PR_OK)
        *lines = l;
    else
        rec_lines_release(&l);
    return code;
}

void
rec_lines_release(rec_lines *lines)
{
    free(lines->bytes);
    free(lines->mark);
    *lines = (rec_lines){0};
}

size_t
rec_lines_cost(const rec_lines *lines)
{
    return lines->len + lines->cap_marks * sizeof *lines->mark;
}

/* The last mark at or before `unit`. */
static const rec_lines_mark *
mark_of(const rec_lines *l, uint32_t unit)
{
    size_t low = 0, high = l->n_marks;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (l->mark[middle].unit <= unit)
            low = middle;
        else
            high = middle;
    }
    return &l->mark[low];
}

bool
rec_lines_find(const rec_lines *l, uint32_t unit, rec_place *ret)
{
    if (unit >= l->n_units)
        return false;
    const rec_lines_mark *m = mark_of(l, unit);
    reader r = {l->bytes + m->at, l->bytes + l->len, false};
    uint32_t at = m->unit;
    int32_t line = m->line;
    rec_place place;
    do
        at += read_entry(&r, &line, &place);
    while (at <= unit);
    *ret = place;
    return true;
}
