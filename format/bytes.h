/*
 * bytes.h - the types of spec/format.md section 2, to and from bytes.
 *
 * Writing: pf_put_...() store a field at a pointer that has room, and return
 * the pointer after it; a pf_buf grows, and keeps in `failed` that it could
 * not, so that a writer of many fields checks once, after the last.
 * Reading: a pf_cur never leaves its bytes.  Its first failure is final: `bad`
 * points to the field that did not fit or was not legal, and every later read
 * fails as well.  A read that fails leaves its outputs as they were.
 */
#ifndef FORMAT_BYTES_H
#define FORMAT_BYTES_H

#include "format/wire.h"
#include <base/array.h>
#include <pyrec/profile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A thread or a process as records name it: `ref` of 5.3. */
typedef struct pf_ref {
    uint64_t tid;
    uint32_t interp;
} pf_ref;

static inline pf_ref
pf_ref_of_process(uint32_t process)
{
    return (pf_ref){process, PF_REF_PROCESS_INTERP};
}

static inline bool
pf_ref_is_process(pf_ref ref)
{
    return ref.interp == PF_REF_PROCESS_INTERP;
}

/* ---- writing ---- */

static inline uint8_t *
pf_put_u32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static inline uint8_t *
pf_put_u64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static inline uint8_t *
pf_put_f64(uint8_t *p, double v)
{
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static inline uint8_t *
pf_put_le32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        *p++ = (uint8_t)(v >> (8 * i));
    return p;
}

/* Stores up to PF_VARINT_MAX bytes. */
static inline uint8_t *
pf_put_varint(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

static inline uint32_t
pf_zigzag(int32_t v)
{
    return v < 0 ? ~((uint32_t)v << 1) : (uint32_t)v << 1;
}

static inline int32_t
pf_unzigzag(uint32_t v)
{
    uint32_t half = v >> 1;
    return v & 1 ? -(int32_t)half - 1 : (int32_t)half;
}

/* The number of bytes that pf_put_varint() stores. */
static inline size_t
pf_varint_size(uint64_t v)
{
    size_t n = 1;
    for (; v >= 0x80; v >>= 7)
        n++;
    return n;
}

/* end - start as in 4.4; pf_place_fits() must be true. */
static inline int32_t
pf_difference(int32_t start, int32_t end)
{
    return start == -1 ? 0 : (int32_t)((int64_t)end - start);
}

static inline bool
pf_place_fits(int32_t start, int32_t end)
{
    int64_t d = (int64_t)end - start;
    return start == -1 || (d >= INT32_MIN && d <= INT32_MAX);
}

/* An entry of the frame table (4.4): up to PF_FRAME_MAX bytes. */
static inline uint8_t *
pf_put_frame(uint8_t *p, const pr_frame *f)
{
    p = pf_put_varint(p, f->file);
    p = pf_put_varint(p, f->func);
    p = pf_put_varint(p, pf_zigzag(f->line));
    p = pf_put_varint(p, pf_zigzag(pf_difference(f->line, f->end_line)));
    p = pf_put_varint(p, pf_zigzag(f->column));
    p = pf_put_varint(p, pf_zigzag(pf_difference(f->column, f->end_column)));
    *p++ = f->opcode;
    return p;
}

/* A buffer that grows; zeroed is empty. */
typedef struct pf_buf {
    uint8_t *p;
    size_t n, cap;
    bool failed; /* out of memory: later bytes may be missing */
} pf_buf;

/* Make room for `more` bytes after the present end; false: out of memory. */
static inline bool
pf_buf_reserve(pf_buf *b, size_t more)
{
    if (more <= b->cap - b->n)
        return true;
    if (more > SIZE_MAX - b->n || !pr_grow(&b->p, &b->cap, b->n + more, 1))
        b->failed = true;
    return !b->failed;
}

/* Take the bytes up to `end` into the buffer, after pf_buf_reserve(). */
static inline void
pf_buf_end(pf_buf *b, const uint8_t *end)
{
    b->n = (size_t)(end - b->p);
}

static inline void
pf_buf_u8(pf_buf *b, uint8_t v)
{
    if (pf_buf_reserve(b, 1))
        b->p[b->n++] = v;
}

static inline void
pf_buf_varint(pf_buf *b, uint64_t v)
{
    if (pf_buf_reserve(b, PF_VARINT_MAX))
        pf_buf_end(b, pf_put_varint(b->p + b->n, v));
}

static inline void
pf_buf_bytes(pf_buf *b, const void *bytes, size_t n)
{
    if (n == 0 || !pf_buf_reserve(b, n))
        return;
    memcpy(b->p + b->n, bytes, n);
    b->n += n;
}

/* A string: its length, then its bytes. */
static inline void
pf_buf_string(pf_buf *b, const char *bytes, size_t n)
{
    pf_buf_varint(b, n);
    pf_buf_bytes(b, bytes, n);
}

/* ---- reading ---- */

typedef struct pf_cur {
    const uint8_t *p, *end;
    const uint8_t *bad; /* NULL, or where the first failure began */
    bool swapped;       /* fixed-width integers are in the other order */
} pf_cur;

static inline pf_cur
pf_cur_of(const void *bytes, size_t n, bool swapped)
{
    const uint8_t *p = bytes;
    return (pf_cur){p, n ? p + n : p, NULL, swapped}; /* p may be NULL */
}

static inline size_t
pf_left(const pf_cur *c)
{
    return (size_t)(c->end - c->p);
}

/* Fail at the field `at`; callers use it for values that they refuse. */
static inline bool
pf_refuse(pf_cur *c, const uint8_t *at)
{
    if (!c->bad)
        c->bad = at;
    c->p = c->end;
    return false;
}

static inline uint32_t
pf_order32(uint32_t v, bool swapped)
{
    return swapped ? __builtin_bswap32(v) : v;
}

static inline uint64_t
pf_order64(uint64_t v, bool swapped)
{
    return swapped ? __builtin_bswap64(v) : v;
}

/* Load from a pointer; the caller has checked that the bytes exist. */
static inline uint32_t
pf_load_u32(const uint8_t *p, bool swapped)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return pf_order32(v, swapped);
}

static inline uint64_t
pf_load_u64(const uint8_t *p, bool swapped)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return pf_order64(v, swapped);
}

static inline double
pf_load_f64(const uint8_t *p, bool swapped)
{
    uint64_t bits = pf_load_u64(p, swapped);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline uint32_t
pf_load_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static inline uint64_t
pf_load_le64(const uint8_t *p)
{
    return pf_load_le32(p) | (uint64_t)pf_load_le32(p + 4) << 32;
}

/* Borrow n bytes; NULL: fewer are left. */
static inline const uint8_t *
pf_get_bytes(pf_cur *c, uint64_t n)
{
    const uint8_t *p = c->p;
    if (n > pf_left(c)) {
        pf_refuse(c, p);
        return NULL;
    }
    c->p += n;
    return p;
}

static inline bool
pf_get_u8(pf_cur *c, uint8_t *ret)
{
    if (c->p == c->end)
        return pf_refuse(c, c->p);
    *ret = *c->p++;
    return true;
}

static inline bool
pf_get_u32(pf_cur *c, uint32_t *ret)
{
    const uint8_t *p = pf_get_bytes(c, sizeof *ret);
    if (!p)
        return false;
    *ret = pf_load_u32(p, c->swapped);
    return true;
}

static inline bool
pf_get_u64(pf_cur *c, uint64_t *ret)
{
    const uint8_t *p = pf_get_bytes(c, sizeof *ret);
    if (!p)
        return false;
    *ret = pf_load_u64(p, c->swapped);
    return true;
}

/* A varint of more than one byte; fails if no byte is left. */
static inline bool
pf_get_long_varint(pf_cur *c, uint64_t *ret)
{
    const uint8_t *start = c->p, *p = start;
    uint64_t v = 0;
    for (unsigned shift = 0; p < c->end && shift < 64; shift += 7) {
        uint64_t byte = *p++;
        if (shift == 63 && byte > 1)
            break; /* more than 64 bits, or an eleventh byte */
        v |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            c->p = p;
            *ret = v;
            return true;
        }
    }
    return pf_refuse(c, start);
}

static inline bool
pf_get_varint(pf_cur *c, uint64_t *ret)
{
    if (c->p == c->end || *c->p >= 0x80)
        return pf_get_long_varint(c, ret);
    *ret = *c->p++;
    return true;
}

static inline bool
pf_get_varint32(pf_cur *c, uint32_t *ret)
{
    const uint8_t *start = c->p;
    uint64_t v;
    if (!pf_get_varint(c, &v))
        return false;
    if (v > UINT32_MAX)
        return pf_refuse(c, start);
    *ret = (uint32_t)v;
    return true;
}

static inline bool
pf_get_svarint(pf_cur *c, int32_t *ret)
{
    uint32_t v;
    if (!pf_get_varint32(c, &v))
        return false;
    *ret = pf_unzigzag(v);
    return true;
}

/* A count of entries of at least `min_size` (not 0) bytes each.  Fails if the
 * bytes that are left cannot hold so many, so an allocation by it is safe. */
static inline bool
pf_get_count(pf_cur *c, size_t min_size, uint64_t *ret)
{
    const uint8_t *start = c->p;
    uint64_t n;
    if (!pf_get_varint(c, &n))
        return false;
    if (n > pf_left(c) / min_size)
        return pf_refuse(c, start);
    *ret = n;
    return true;
}

/* A string, borrowed.  It may hold any byte. */
static inline bool
pf_get_string(pf_cur *c, const char **ret, size_t *ret_len)
{
    const uint8_t *start = c->p;
    uint64_t n;
    if (!pf_get_varint(c, &n))
        return false;
    if (n > pf_left(c))
        return pf_refuse(c, start);
    *ret = (const char *)c->p;
    *ret_len = (size_t)n;
    c->p += n;
    return true;
}

/* A start and its difference to the end (4.4); fails beyond an int32. */
static inline bool
pf_get_place(pf_cur *c, int32_t *ret_start, int32_t *ret_end)
{
    const uint8_t *at = c->p;
    int32_t start, difference;
    if (!pf_get_svarint(c, &start) || !pf_get_svarint(c, &difference))
        return false;
    int64_t end = start == -1 ? -1 : (int64_t)start + difference;
    if (end < INT32_MIN || end > INT32_MAX)
        return pf_refuse(c, at);
    *ret_start = start;
    *ret_end = (int32_t)end;
    return true;
}

/* An entry of the frame table.  It has no first_line, which becomes 0.  The
 * caller checks that the string ids exist. */
static inline bool
pf_get_frame(pf_cur *c, pr_frame *ret)
{
    pr_frame f = {0};
    if (!pf_get_varint32(c, &f.file) || !pf_get_varint32(c, &f.func) ||
        !pf_get_place(c, &f.line, &f.end_line) ||
        !pf_get_place(c, &f.column, &f.end_column) || !pf_get_u8(c, &f.opcode))
        return false;
    *ret = f;
    return true;
}

#endif
