/*
 * object.c - small objects, read with their lengths checked first.
 */
#include "recorder/cpython/object.h"

#include <base/array.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
    SET_MASK_MAX = 1 << 20,
    SET_ENTRY = 16,     /* setentry: key, hash */
    SET_PIECE = 256,    /* entries read at once */
    LONG_SHIFT = 30,    /* PyLong_SHIFT on 64-bit builds */
    LONG_SIGN_MASK = 3, /* of lv_tag, 3.12 on; 2 is negative */
    LONG_NEGATIVE = 2,
    LONG_SIZE_SHIFT = 3 /* lv_tag >> 3: number of digits */
};

/* Read the first len bytes of the object at `address`. */
static pr_code
read_head(rec_memory *memory, uint64_t address, uint8_t *to, size_t len,
          pr_err *err)
{
    if (!rec_plausible(address))
        return PR_FAIL(err, PR_TORN, "0x%" PRIx64 " is not an object", address);
    return rec_memory_read(memory, address, to, len, err);
}

/* ---- str ---- */

typedef struct text {
    uint64_t data;   /* address of its code points */
    uint64_t length; /* in code points */
    uint32_t kind;   /* bytes of one */
    bool ascii;
} text;

static pr_code
parse_text(const rec_layout *l, uint64_t address, const uint8_t *head,
           text *ret, pr_err *err)
{
    uint32_t state = rec_u32(head + l->object.unicode_state);
    uint64_t length = rec_u64(head + l->object.unicode_length);
    uint32_t kind = state >> l->object.unicode_kind_shift & 7;
    bool compact = state >> l->object.unicode_compact_bit & 1;
    bool ascii = state >> l->object.unicode_ascii_bit & 1;
    if (!compact || (kind != 1 && kind != 2 && kind != 4) ||
        (ascii && kind != 1) || length > INT64_MAX / 4)
        return PR_FAIL(err, PR_TORN, "0x%" PRIx64 " is not a str", address);
    *ret = (text){address +
                      (ascii ? l->object.ascii_data : l->object.compact_data),
                  length, kind, ascii};
    return PR_OK;
}

static uint32_t
point_at(const uint8_t *p, uint32_t kind)
{
    return kind == 1 ? *p : kind == 2 ? rec_u16(p) : rec_u32(p);
}

static size_t
put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 63));
        to[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* n code points into UTF-8; SIZE_MAX if one of them cannot be. */
static size_t
encode(const uint8_t *from, size_t n, const text *t, char *to)
{
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = point_at(from + i * t->kind, t->kind);
        if (c > 0x10ffff || (t->ascii && c > 0x7f))
            return SIZE_MAX;
        len += put_utf8(to + len, c);
    }
    return len;
}

static const char ellipsis[] = "\xe2\x80\xa6";

/* Read and encode the first n code points. */
static pr_code
read_text(rec_memory *memory, const text *t, size_t n, char **ret,
          size_t *ret_len, pr_err *err)
{
    size_t bytes = n * t->kind;
    /* at most 4 bytes of UTF-8 a code point, 2 if it has one byte itself */
    size_t most = n * (t->kind == 1 ? 2 : 4) + sizeof ellipsis;
    uint8_t *raw = malloc(bytes + 1);
    char *to = malloc(most);
    pr_code code = raw && to ? PR_OK : pr_no_memory(err);
    if (code == PR_OK && bytes)
        code = rec_memory_read(memory, t->data, raw, bytes, err);
    size_t len = code == PR_OK ? encode(raw, n, t, to) : 0;
    if (len == SIZE_MAX)
        code = PR_FAIL(err, PR_TORN, "str at 0x%" PRIx64 " holds no text",
                       t->data);
    free(raw);
    if (code != PR_OK) {
        free(to);
        return code;
    }
    if (n < t->length) {
        memcpy(to + len, ellipsis, sizeof ellipsis - 1);
        len += sizeof ellipsis - 1;
    }
    to[len] = '\0';
    *ret = to;
    *ret_len = len;
    return PR_OK;
}

pr_code
rec_object_str(const rec_layout *layout, rec_memory *memory, uint64_t address,
               size_t max_points, char **ret, size_t *ret_len, pr_err *err)
{
    uint8_t head[REC_CAP_OBJECT];
    text t;
    pr_code code =
        read_head(memory, address, head, layout->object.ascii_data, err);
    if (code == PR_OK)
        code = parse_text(layout, address, head, &t, err);
    if (code != PR_OK)
        return code;
    size_t n = t.length < max_points ? (size_t)t.length : max_points;
    return read_text(memory, &t, n, ret, ret_len, err);
}

/* ---- bytes, int, type ---- */

pr_code
rec_object_bytes(const rec_layout *layout, rec_memory *memory, uint64_t address,
                 size_t max_len, uint8_t **ret, size_t *ret_len, pr_err *err)
{
    uint8_t head[REC_CAP_OBJECT];
    pr_code code =
        read_head(memory, address, head, layout->object.bytes_data, err);
    if (code != PR_OK)
        return code;
    uint64_t len = rec_u64(head + layout->object.bytes_size);
    if (len > INT64_MAX)
        return PR_FAIL(err, PR_TORN, "bytes of negative size at 0x%" PRIx64,
                       address);
    if (len > max_len)
        return PR_FAIL(err, PR_LIMIT, "bytes of size %" PRIu64 " at 0x%" PRIx64,
                       len, address);
    uint8_t *bytes = malloc(len + 1);
    if (!bytes)
        return pr_no_memory(err);
    code = rec_memory_read(memory, address + layout->object.bytes_data, bytes,
                           len, err);
    if (code != PR_OK) {
        free(bytes);
        return code;
    }
    *ret = bytes;
    *ret_len = len;
    return PR_OK;
}

/* The sign and the number of digits: lv_tag (3.12 on), ob_size before. */
static uint64_t
digits_of(const rec_layout *l, const uint8_t *head, bool *ret_negative)
{
    if (l->object.long_tag == REC_ABSENT) {
        uint64_t size = rec_u64(head + l->object.long_size);
        *ret_negative = size >> 63;
        return *ret_negative ? 0 - size : size;
    }
    uint64_t tag = rec_u64(head + l->object.long_tag);
    *ret_negative = (tag & LONG_SIGN_MASK) == LONG_NEGATIVE;
    return tag >> LONG_SIZE_SHIFT;
}

size_t
rec_object_int_bytes(const rec_layout *l)
{
    return l->object.long_digit + 8;
}

bool
rec_object_parse_int(const rec_layout *l, const uint8_t *bytes, int64_t *ret)
{
    bool negative;
    uint64_t n = digits_of(l, bytes, &negative);
    const uint8_t *digit = bytes + l->object.long_digit;
    if (n > 2)
        return false;
    uint64_t value = n ? rec_u32(digit) : 0;
    if (n == 2)
        value |= (uint64_t)rec_u32(digit + 4) << LONG_SHIFT;
    if (value >> (2 * LONG_SHIFT))
        return false;
    *ret = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

pr_code
rec_object_int(const rec_layout *layout, rec_memory *memory, uint64_t address,
               int64_t *ret, pr_err *err)
{
    uint8_t bytes[REC_CAP_OBJECT + 8];
    uint32_t digits = layout->object.long_digit;
    bool negative;
    pr_code code = read_head(memory, address, bytes, digits + 4, err);
    if (code != PR_OK)
        return code;
    uint64_t n = digits_of(layout, bytes, &negative);
    if (n > 2)
        return PR_FAIL(err, PR_LIMIT, "int of %" PRIu64 " digits at 0x%" PRIx64,
                       n, address);
    if (n == 2) /* the second digit of a small int may not be there */
        code = rec_memory_read(memory, address + digits + 4, bytes + digits + 4,
                               4, err);
    if (code == PR_OK && !rec_object_parse_int(layout, bytes, ret))
        return PR_FAIL(err, PR_TORN, "0x%" PRIx64 " is not an int", address);
    return code;
}

pr_code
rec_object_type(const rec_layout *layout, rec_memory *memory, uint64_t address,
                uint64_t *ret_type, uint64_t *ret_flags, pr_err *err)
{
    uint8_t word[8];
    if (!rec_plausible(address))
        return PR_FAIL(err, PR_TORN, "0x%" PRIx64 " is not an object", address);
    pr_code code = rec_memory_read(memory, address + layout->object.ob_type,
                                   word, sizeof word, err);
    if (code != PR_OK)
        return code;
    uint64_t type = rec_u64(word);
    if (!rec_plausible(type))
        return PR_FAIL(err, PR_TORN, "object at 0x%" PRIx64 " without a type",
                       address);
    code = rec_memory_read(memory, type + layout->object.type_flags, word,
                           sizeof word, err);
    if (code != PR_OK)
        return code;
    *ret_type = type;
    *ret_flags = rec_u64(word);
    return PR_OK;
}

/* ---- set ---- */

typedef struct key_list {
    uint64_t *v;
    size_t n, cap, max, want;
} key_list;

/* An empty slot has no key, a deleted slot has the hash -1. */
static pr_code
take_keys(const uint8_t *entries, size_t n, key_list *keys, pr_err *err)
{
    for (size_t i = 0; i < n && keys->n < keys->want; i++) {
        uint64_t key = rec_u64(entries + i * SET_ENTRY);
        uint64_t hash = rec_u64(entries + i * SET_ENTRY + 8);
        if (!key || hash == UINT64_MAX)
            continue;
        if (keys->n == keys->max)
            return PR_FAIL(err, PR_LIMIT, "set of more than %zu keys",
                           keys->max);
        if (!pr_grow(&keys->v, &keys->cap, keys->n + 1, sizeof *keys->v))
            return pr_no_memory(err);
        keys->v[keys->n++] = key;
    }
    return PR_OK;
}

static pr_code
read_keys(rec_memory *memory, uint64_t table, uint64_t slots, key_list *keys,
          pr_err *err)
{
    uint8_t piece[SET_PIECE * SET_ENTRY];
    pr_code code = PR_OK;
    for (uint64_t at = 0; at < slots && keys->n < keys->want && code == PR_OK;
         at += SET_PIECE) {
        size_t n = slots - at < SET_PIECE ? (size_t)(slots - at) : SET_PIECE;
        code = rec_memory_read(memory, table + at * SET_ENTRY, piece,
                               n * SET_ENTRY, err);
        if (code == PR_OK)
            code = take_keys(piece, n, keys, err);
    }
    return code;
}

pr_code
rec_object_set(const rec_layout *layout, rec_memory *memory, uint64_t address,
               size_t max, uint64_t **ret, size_t *ret_n, pr_err *err)
{
    uint8_t head[REC_CAP_OBJECT];
    pr_code code =
        read_head(memory, address, head, layout->object.set_table + 8, err);
    if (code != PR_OK)
        return code;
    uint64_t used = rec_u64(head + layout->object.set_used);
    uint64_t mask = rec_u64(head + layout->object.set_mask);
    uint64_t table = rec_u64(head + layout->object.set_table);
    if (mask >= SET_MASK_MAX || used > mask + 1 || !rec_plausible(table))
        return PR_FAIL(err, PR_TORN, "0x%" PRIx64 " is not a set", address);
    key_list k = {.max = max, .want = (size_t)used};
    code = read_keys(memory, table, mask + 1, &k, err);
    if (code != PR_OK) {
        free(k.v);
        return code;
    }
    *ret = k.v;
    *ret_n = k.n;
    return PR_OK;
}
