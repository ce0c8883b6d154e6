/*
 * pstats_in.c - the file of cProfile, profile and pstats, and of CPython 3.15's
 * sampling profiler: Python's marshal of one dict.
 *
 *   {(file, line, name): (cc, nc, tt, ct, {(file, line, name): caller})}
 *   caller: (nc, cc, tt, ct), or a count alone (profile, and 3.15)
 *
 * A key ("__sampled__",) says that counts are samples (CPython 3.15
 * Lib/profiling/sampling/pstats_collector.py).  The types are those that
 * Python/marshal.c writes for such an object in its versions 0 to 6; an object
 * with FLAG_REF may be repeated by its number, and numbers are given where
 * objects begin.
 */
#include "converter/import/imports.h"

#include <base/array.h>
#include <base/marshal_types.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 5 /* of 15 bits: more than 64 */ };

#define COUNT_MAX   (INT64_C(1) << 62)
#define SECONDS_MAX 4e12 /* 2^62 us */

/* An object that may be repeated. */
typedef struct object {
    enum { OTHER, TEXT, NUMBER, REAL, KEY } kind;
    union {
        pr_text text;
        int64_t number;
        double real;
        uint32_t frame; /* of a key */
    } as;
} object;

typedef struct file {
    const uint8_t *begin, *at, *end;
    conv_stacks *stacks;
    object *known; /* by number */
    size_t n_known, cap_known;
    bool sampled;
} file;

#define NO_NUMBER SIZE_MAX

/* The beginning of an object. */
typedef struct opening {
    uint8_t type;    /* PR_MARSHAL_REF: it is `repeated` */
    size_t number;   /* by which it may be repeated, or NO_NUMBER */
    object repeated; /* an earlier object */
} opening;

static pr_code
fail(const file *f, const char *what, pr_err *err)
{
    return PR_FAIL_AT(err, PR_DAMAGED, (uint64_t)(f->at - f->begin), "%s",
                      what);
}

static pr_code
fail_end(const file *f, pr_err *err)
{
    return fail(f, "the file ends too early", err);
}

/* ---- bytes ---- */

static bool
take(file *f, size_t n, const uint8_t **ret)
{
    if ((size_t)(f->end - f->at) < n)
        return false;
    *ret = f->at;
    f->at += n;
    return true;
}

static bool
take_little(file *f, unsigned n, uint64_t *ret)
{
    const uint8_t *bytes;
    if (!take(f, n, &bytes))
        return false;
    *ret = 0;
    while (n--)
        *ret = *ret << 8 | bytes[n];
    return true;
}

/* ---- objects ---- */

static pr_code
take_repeated(file *f, object *ret, pr_err *err)
{
    uint64_t number;
    if (!take_little(f, 4, &number))
        return fail_end(f, err);
    if (number >= f->n_known || f->known[number].kind == OTHER)
        return fail(f, "an object is repeated that is none", err);
    *ret = f->known[number];
    return PR_OK;
}

static pr_code
take_opening(file *f, opening *ret, pr_err *err)
{
    uint64_t byte;
    *ret = (opening){.number = NO_NUMBER};
    if (!take_little(f, 1, &byte))
        return fail_end(f, err);
    ret->type = (uint8_t)(byte & ~(unsigned)PR_MARSHAL_FLAG_REF);
    if (ret->type == PR_MARSHAL_REF)
        return take_repeated(f, &ret->repeated, err);
    if (!(byte & PR_MARSHAL_FLAG_REF))
        return PR_OK;
    if (!pr_grow(&f->known, &f->cap_known, f->n_known + 1, sizeof *f->known))
        return pr_no_memory(err);
    ret->number = f->n_known;
    f->known[f->n_known++] = (object){.kind = OTHER};
    return PR_OK;
}

static void
note(file *f, const opening *h, object what)
{
    if (h->number != NO_NUMBER)
        f->known[h->number] = what;
}

static bool
is_end(const file *f)
{
    return f->at < f->end && *f->at == PR_MARSHAL_NULL;
}

/* The number of a tuple's objects; 0: it is not a tuple. */
static pr_code
take_size(file *f, const opening *h, uint64_t *ret, pr_err *err)
{
    unsigned n = h->type == PR_MARSHAL_TUPLE         ? 4
                 : h->type == PR_MARSHAL_SMALL_TUPLE ? 1
                                                     : 0;
    *ret = 0;
    return n == 0 || take_little(f, n, ret) ? PR_OK : fail_end(f, err);
}

/* ---- texts and numbers ---- */

static pr_code
take_text(file *f, pr_text *ret, pr_err *err)
{
    opening h;
    uint64_t len;
    const uint8_t *bytes;
    pr_code rc = take_opening(f, &h, err);
    if (rc != PR_OK)
        return rc;
    if (h.repeated.kind == TEXT) {
        *ret = h.repeated.as.text;
        return PR_OK;
    }
    bool is_short = h.type == PR_MARSHAL_SHORT_ASCII ||
                    h.type == PR_MARSHAL_SHORT_ASCII_INTERNED;
    if (!is_short && h.type != PR_MARSHAL_UNICODE &&
        h.type != PR_MARSHAL_INTERNED && h.type != PR_MARSHAL_ASCII &&
        h.type != PR_MARSHAL_ASCII_INTERNED)
        return fail(f, "this is not a name", err);
    if (!take_little(f, is_short ? 1 : 4, &len) || !take(f, len, &bytes))
        return fail_end(f, err);
    *ret = (pr_text){(const char *)bytes, len};
    note(f, &h, (object){TEXT, {.text = *ret}});
    return PR_OK;
}

static pr_code
take_long(file *f, int64_t *ret, pr_err *err)
{
    uint64_t digits, value = 0, digit;
    if (!take_little(f, 4, &digits))
        return fail_end(f, err);
    if (digits > DIGITS_MAX) /* a negative number has more than 2^31 */
        return fail(f, "this number is too large, or negative", err);
    for (unsigned i = 0; i < digits; i++) {
        if (!take_little(f, 2, &digit))
            return fail_end(f, err);
        if (digit >> 15 || (i == DIGITS_MAX - 1 && digit >> 2))
            return fail(f, "this number is too large", err);
        value |= digit << 15 * i;
    }
    *ret = (int64_t)value;
    return PR_OK;
}

static pr_code
take_decimal(file *f, double *ret, pr_err *err)
{
    char text[64], *end;
    uint64_t len;
    const uint8_t *bytes;
    if (!take_little(f, 1, &len) || !take(f, len, &bytes))
        return fail_end(f, err);
    if (len == 0 || len >= sizeof text)
        return fail(f, "this is not a number", err);
    memcpy(text, bytes, len);
    text[len] = '\0';
    *ret = strtod(text, &end);
    return end == text + len ? PR_OK : fail(f, "this is not a number", err);
}

static pr_code
take_content(file *f, uint8_t type, object *ret, pr_err *err)
{
    uint64_t bits = 0;
    *ret = (object){.kind = NUMBER};
    switch (type) {
    case PR_MARSHAL_LONG:
        return take_long(f, &ret->as.number, err);
    case PR_MARSHAL_INT:
        if (!take_little(f, 4, &bits))
            return fail_end(f, err);
        ret->as.number = (int32_t)(uint32_t)bits;
        return PR_OK;
    case PR_MARSHAL_INT64:
        if (!take_little(f, 8, &bits))
            return fail_end(f, err);
        ret->as.number = (int64_t)bits;
        return PR_OK;
    case PR_MARSHAL_FLOAT:
        ret->kind = REAL;
        return take_decimal(f, &ret->as.real, err);
    case PR_MARSHAL_BINARY_FLOAT:
        ret->kind = REAL;
        if (!take_little(f, 8, &bits))
            return fail_end(f, err);
        memcpy(&ret->as.real, &bits, sizeof bits);
        return PR_OK;
    default:
        return fail(f, "this is not a number", err);
    }
}

/* The rest of a number that began with h. */
static pr_code
finish_number(file *f, const opening *h, object *ret, pr_err *err)
{
    if (h->type == PR_MARSHAL_REF) {
        *ret = h->repeated;
        return ret->kind == NUMBER || ret->kind == REAL
                   ? PR_OK
                   : fail(f, "this is not a number", err);
    }
    pr_code rc = take_content(f, h->type, ret, err);
    if (rc == PR_OK)
        note(f, h, *ret);
    return rc;
}

static pr_code
check_count(const file *f, const object *what, uint64_t *ret, pr_err *err)
{
    if (what->kind != NUMBER || what->as.number < 0 ||
        what->as.number > COUNT_MAX)
        return fail(f, "this is not a count", err);
    *ret = (uint64_t)what->as.number;
    return PR_OK;
}

static pr_code
take_count(file *f, uint64_t *ret, pr_err *err)
{
    opening h;
    object what;
    pr_code rc = take_opening(f, &h, err);
    if (rc == PR_OK)
        rc = finish_number(f, &h, &what, err);
    return rc == PR_OK ? check_count(f, &what, ret, err) : rc;
}

static pr_code
take_seconds(file *f, double *ret, pr_err *err)
{
    opening h;
    object what;
    pr_code rc = take_opening(f, &h, err);
    if (rc == PR_OK)
        rc = finish_number(f, &h, &what, err);
    if (rc != PR_OK)
        return rc;
    *ret = what.kind == REAL ? what.as.real : (double)what.as.number;
    return fabs(*ret) <= SECONDS_MAX ? PR_OK
                                     : fail(f, "this is not a time", err);
}

/* ---- functions ---- */

/* (file, line, name) after its beginning. */
static pr_code
take_place(file *f, const opening *h, uint32_t *ret, pr_err *err)
{
    pr_text path, name;
    uint64_t line;
    pr_code rc = take_text(f, &path, err);
    if (rc == PR_OK)
        rc = take_count(f, &line, err);
    if (rc == PR_OK && line > INT32_MAX)
        rc = fail(f, "this is not the number of a line", err);
    if (rc == PR_OK)
        rc = take_text(f, &name, err);
    if (rc != PR_OK)
        return rc;
    conv_place place = CONV_PLACE(path, name);
    place.first_line = (int32_t)line;
    rc = conv_stacks_frame(f->stacks, &place, ret, err);
    if (rc == PR_OK)
        note(f, h, (object){KEY, {.frame = *ret}});
    return rc;
}

static pr_code
finish_key(file *f, const opening *h, uint64_t size, uint32_t *ret, pr_err *err)
{
    if (h->repeated.kind == KEY) {
        *ret = h->repeated.as.frame;
        return PR_OK;
    }
    return size == 3 ? take_place(f, h, ret, err)
                     : fail(f, "this is not (file, line, name)", err);
}

static pr_code
take_key(file *f, uint32_t *ret, pr_err *err)
{
    opening h;
    uint64_t size;
    pr_code rc = take_opening(f, &h, err);
    if (rc == PR_OK)
        rc = take_size(f, &h, &size, err);
    return rc == PR_OK ? finish_key(f, &h, size, ret, err) : rc;
}

/* A caller begins with its calls, a function with the primitive ones. */
static pr_code
take_numbers(file *f, pr_total *total, pr_err *err)
{
    bool of_caller = total->caller != PR_NO_FRAME;
    uint64_t *first = of_caller ? &total->calls : &total->primitive_calls;
    uint64_t *second = of_caller ? &total->primitive_calls : &total->calls;
    pr_code rc = take_count(f, first, err);
    if (rc == PR_OK)
        rc = take_count(f, second, err);
    if (rc == PR_OK)
        rc = take_seconds(f, &total->self_s, err);
    if (rc == PR_OK)
        rc = take_seconds(f, &total->total_s, err);
    total->has_times = 1;
    return rc;
}

static pr_code
take_caller(file *f, uint32_t callee, pr_err *err)
{
    pr_total total = {.frame = callee};
    opening h;
    object count;
    uint64_t size = 0;
    pr_code rc = take_key(f, &total.caller, err);
    if (rc == PR_OK)
        rc = take_opening(f, &h, err);
    if (rc == PR_OK)
        rc = take_size(f, &h, &size, err);
    if (rc != PR_OK)
        return rc;
    if (size == 4) {
        rc = take_numbers(f, &total, err);
    } else {
        rc = finish_number(f, &h, &count, err);
        if (rc == PR_OK)
            rc = check_count(f, &count, &total.calls, err);
        total.primitive_calls = total.calls;
    }
    return rc == PR_OK ? conv_stacks_total(f->stacks, &total, err) : rc;
}

static pr_code
take_callers(file *f, uint32_t callee, pr_err *err)
{
    opening h;
    pr_code rc = take_opening(f, &h, err);
    if (rc == PR_OK && h.type != PR_MARSHAL_DICT)
        rc = fail(f, "these are not callers", err);
    while (rc == PR_OK && !is_end(f))
        rc = take_caller(f, callee, err);
    f->at += rc == PR_OK;
    return rc;
}

static pr_code
take_function(file *f, uint32_t frame, pr_err *err)
{
    pr_total total = {.frame = frame, .caller = PR_NO_FRAME};
    opening h;
    uint64_t size;
    pr_code rc = take_opening(f, &h, err);
    if (rc == PR_OK)
        rc = take_size(f, &h, &size, err);
    if (rc == PR_OK && size != 5)
        rc = fail(f, "this is not (cc, nc, tt, ct, callers)", err);
    if (rc == PR_OK)
        rc = take_numbers(f, &total, err);
    if (rc == PR_OK)
        rc = conv_stacks_total(f->stacks, &total, err);
    return rc == PR_OK ? take_callers(f, frame, err) : rc;
}

/* ("__sampled__",): True, after the beginning of the key. */
static pr_code
take_marker(file *f, pr_err *err)
{
    static const char marker[] = "__sampled__";
    pr_text text;
    opening h;
    pr_code rc = take_text(f, &text, err);
    if (rc == PR_OK && (text.len != sizeof marker - 1 ||
                        memcmp(text.bytes, marker, text.len) != 0))
        rc = fail(f, "this is not (file, line, name)", err);
    if (rc == PR_OK)
        rc = take_opening(f, &h, err);
    if (rc == PR_OK && h.type != PR_MARSHAL_TRUE)
        rc = fail(f, "this marker is not True", err);
    f->sampled = true;
    return rc;
}

static pr_code
take_item(file *f, pr_err *err)
{
    opening h;
    uint64_t size;
    uint32_t frame;
    pr_code rc = take_opening(f, &h, err);
    if (rc == PR_OK)
        rc = take_size(f, &h, &size, err);
    if (rc != PR_OK)
        return rc;
    if (size == 1)
        return take_marker(f, err);
    rc = finish_key(f, &h, size, &frame, err);
    return rc == PR_OK ? take_function(f, frame, err) : rc;
}

/* ---- the import ---- */

static pr_code
take_all(file *f, pr_err *err)
{
    opening h;
    pr_code rc = take_opening(f, &h, err);
    if (rc == PR_OK && h.type != PR_MARSHAL_DICT)
        rc = fail(f, "this is not a dict", err);
    while (rc == PR_OK && !is_end(f))
        rc = take_item(f, err);
    f->at += rc == PR_OK;
    if (rc == PR_OK && f->at != f->end)
        rc = fail(f, "bytes follow the end of the dict", err);
    return rc;
}

static pr_code
read_pstats(conv_content content, conv_stacks *stacks, conv_stacks_facts *facts,
            pr_err *err)
{
    static const pr_text calls = {"calls", 5}, samples = {"samples", 7};
    file f = {.begin = content.bytes,
              .at = content.bytes,
              .end = content.bytes + content.n,
              .stacks = stacks};
    pr_code rc = take_all(&f, err);
    free(f.known);
    facts->is_totals = true;
    return rc == PR_OK ? conv_stacks_meta(stacks, CONV_META_COUNTS,
                                          f.sampled ? samples : calls, err)
                       : rc;
}

/* A dict whose first key is a tuple; JSON has no such byte after a brace. */
static bool
matches_pstats(conv_content head, bool whole)
{
    if (head.n < 2 ||
        (head.bytes[0] & ~(unsigned)PR_MARSHAL_FLAG_REF) != PR_MARSHAL_DICT)
        return false;
    unsigned type = head.bytes[1] & ~(unsigned)PR_MARSHAL_FLAG_REF;
    return type == PR_MARSHAL_TUPLE || type == PR_MARSHAL_SMALL_TUPLE ||
           (whole && head.n == 2 && type == PR_MARSHAL_NULL);
}

const conv_import conv_import_pstats = {
    .info = {"pstats", "functions and their callers, of cProfile and CPython "
                       "3.15; no stacks"},
    .matches = matches_pstats,
    .read = read_pstats,
};
