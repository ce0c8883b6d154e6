/*
 * dict.c - the tables of dicts and instances (dict.h).
 *
 * Include/internal/pycore_dict.h and Objects/dictobject.c, 3.11 to 3.15: a
 * PyDictKeysObject is a head, a table of indices and the entries in order of
 * insertion; a split table keeps its values apart.  Keys are compared entry by
 * entry, for hashes of str differ from process to process.
 */
#include "recorder/cpython/dict.h"

#include "recorder/cpython/object.h"
#include "recorder/cpython/read_batch.h"
#include <inttypes.h>
#include <stdlib.h>

enum {
    ITEMS_MAX = 1 << 17,
    INDEX_LOG_MAX = 24,
    KEY_MAX = 64,       /* bytes of a name to find */
    KEYS_A_READ = 1000, /* their heads, read together */
    KIND_GENERAL = 0,   /* entries: hash, key, value; else key, value */
    KIND_MAX = 2
};

static pr_code
torn(uint64_t address, const char *what, pr_err *err)
{
    return PR_FAIL(err, PR_TORN, "%s at 0x%" PRIx64, what, address);
}

static pr_code
read_word(rec_memory *memory, uint64_t address, uint64_t *ret, pr_err *err)
{
    uint8_t word[8];
    if (!rec_plausible(address))
        return torn(address, "not a pointer", err);
    pr_code code = rec_memory_read(memory, address, word, sizeof word, err);
    if (code == PR_OK)
        *ret = rec_u64(word);
    return code;
}

/* ---- the table of keys ---- */

typedef struct key_table {
    uint64_t entries; /* address of the first one */
    size_t n;
    size_t entry_size, key_at; /* the value follows the key */
} key_table;

static pr_code
parse_table(const rec_layout *l, uint64_t address, const uint8_t *head,
            size_t max, key_table *ret, pr_err *err)
{
    uint8_t log = head[l->keys.log2_index_bytes], kind = head[l->keys.kind];
    uint64_t n = rec_u64(head + l->keys.n_entries);
    if (log > INDEX_LOG_MAX || kind > KIND_MAX || n > ITEMS_MAX)
        return torn(address, "not the keys of a dict", err);
    if (n > max)
        return PR_FAIL(err, PR_LIMIT, "dict of %" PRIu64 " entries", n);
    bool general = kind == KIND_GENERAL;
    *ret = (key_table){address + l->keys.indices + (UINT64_C(1) << log),
                       (size_t)n, general ? 24 : 16, general ? 8 : 0};
    return PR_OK;
}

/* Entries of the table at `keys`.  `values` is the place of a split table's
 * values, else 0. */
static pr_code
read_items(const rec_layout *l, rec_memory *memory, uint64_t keys,
           uint64_t values, size_t max, rec_item **ret, size_t *ret_n,
           pr_err *err)
{
    uint8_t head[REC_CAP_OBJECT];
    key_table t = {0};
    if (!rec_plausible(keys))
        return torn(keys, "not the keys of a dict", err);
    pr_code code = rec_memory_read(memory, keys, head, l->keys.indices, err);
    if (code == PR_OK)
        code = parse_table(l, keys, head, max, &t, err);
    if (code != PR_OK || t.n == 0) {
        *ret = NULL;
        *ret_n = 0;
        return code;
    }
    uint8_t *entries = malloc(t.n * t.entry_size);
    uint8_t *split = values ? malloc(t.n * 8) : NULL;
    rec_item *items = malloc(t.n * sizeof *items);
    if (!entries || !items || (values && !split))
        code = pr_no_memory(err);
    if (code == PR_OK)
        code = rec_memory_read(memory, t.entries, entries, t.n * t.entry_size,
                               err);
    if (code == PR_OK && values)
        code = rec_memory_read(memory, values, split, t.n * 8, err);
    for (size_t i = 0; i < t.n && code == PR_OK; i++) {
        const uint8_t *e = entries + i * t.entry_size + t.key_at;
        items[i] =
            (rec_item){rec_u64(e), rec_u64(values ? split + i * 8 : e + 8)};
    }
    free(entries);
    free(split);
    if (code != PR_OK) {
        free(items);
        return code;
    }
    *ret = items;
    *ret_n = t.n;
    return PR_OK;
}

static pr_code
raw_items(const rec_layout *l, rec_memory *memory, uint64_t dict, size_t max,
          rec_item **ret, size_t *ret_n, pr_err *err)
{
    uint64_t type, flags, keys = 0, values = 0;
    pr_code code = rec_object_type(l, memory, dict, &type, &flags, err);
    if (code == PR_OK && !(flags & REC_TYPE_DICT))
        code = torn(dict, "not a dict", err);
    if (code == PR_OK)
        code = read_word(memory, dict + l->object.dict_keys, &keys, err);
    if (code == PR_OK)
        code = read_word(memory, dict + l->object.dict_values, &values, err);
    if (code != PR_OK)
        return code;
    return read_items(l, memory, keys, values ? values + l->keys.values : 0,
                      max, ret, ret_n, err);
}

pr_code
rec_dict_items(const rec_layout *l, rec_memory *memory, uint64_t dict,
               size_t max, rec_item **ret, size_t *ret_n, pr_err *err)
{
    rec_item *items;
    size_t n, kept = 0;
    pr_code code = raw_items(l, memory, dict, max, &items, &n, err);
    if (code != PR_OK)
        return code;
    for (size_t i = 0; i < n; i++) /* deleted entries have no value */
        if (items[i].key && items[i].value)
            items[kept++] = items[i];
    if (kept == 0) {
        free(items);
        items = NULL;
    }
    *ret = items;
    *ret_n = kept;
    return PR_OK;
}

/* ---- a key by its name ---- */

/* Is the str whose head and first bytes are `p` this ASCII name? */
static bool
is_name(const rec_layout *l, const uint8_t *p, const char *name, size_t len)
{
    uint32_t state = rec_u32(p + l->object.unicode_state);
    return rec_u64(p + l->object.unicode_length) == len &&
           (state >> l->object.unicode_ascii_bit & 1) &&
           (state >> l->object.unicode_compact_bit & 1) &&
           memcmp(p + l->object.ascii_data, name, len) == 0;
}

/* Compare the keys of a piece of the items; *ret is n if none is the name. */
static pr_code
find_in_piece(const rec_layout *l, rec_batch *batch, const rec_item *items,
              size_t n, const char *name, size_t len, size_t *ret, pr_err *err)
{
    size_t bytes = l->object.ascii_data + len;
    size_t first = REC_NO_PIECE;
    rec_batch_reset(batch);
    for (size_t i = 0; i < n; i++) {
        /* an address that cannot be read keeps the numbering of pieces */
        size_t piece = rec_batch_add(
            batch, rec_plausible(items[i].key) ? items[i].key : 0, bytes);
        if (piece == REC_NO_PIECE)
            return pr_no_memory(err);
        first = i ? first : piece;
    }
    pr_code code = rec_batch_read(batch, err);
    if (code != PR_OK)
        return code;
    size_t i = 0;
    for (; i < n; i++) {
        const uint8_t *p = rec_batch_bytes(batch, first + i);
        if (p && is_name(l, p, name, len))
            break;
    }
    *ret = i;
    return PR_OK;
}

/* The index of the item whose key is `name`; PR_NAME: none. */
static pr_code
find_name(const rec_layout *l, rec_memory *memory, const rec_item *items,
          size_t n, const char *name, size_t *ret, pr_err *err)
{
    rec_batch batch;
    size_t len = strlen(name);
    if (len > KEY_MAX)
        return PR_FAIL(err, PR_INTERNAL, "name too long");
    pr_code code = rec_batch_init(&batch, memory, err);
    if (code != PR_OK)
        return code;
    code = PR_NAME;
    for (size_t at = 0; at < n && code == PR_NAME; at += KEYS_A_READ) {
        size_t count = n - at < KEYS_A_READ ? n - at : KEYS_A_READ;
        size_t i = count;
        pr_code read =
            find_in_piece(l, &batch, items + at, count, name, len, &i, err);
        if (read != PR_OK)
            code = read;
        else if (i < count) {
            *ret = at + i;
            code = PR_OK;
        }
    }
    rec_batch_release(&batch);
    if (code == PR_NAME)
        return PR_FAIL(err, PR_NAME, "no key %s", name);
    return code;
}

/* The value of `name` among items, which are freed. */
static pr_code
take_value(const rec_layout *l, rec_memory *memory, rec_item *items, size_t n,
           const char *name, uint64_t *ret, pr_err *err)
{
    size_t i = 0;
    pr_code code = find_name(l, memory, items, n, name, &i, err);
    uint64_t value = code == PR_OK ? items[i].value : 0;
    free(items);
    if (code != PR_OK)
        return code;
    if (!value)
        return PR_FAIL(err, PR_NAME, "no value of %s", name);
    *ret = value;
    return PR_OK;
}

pr_code
rec_dict_get(const rec_layout *l, rec_memory *memory, uint64_t dict,
             const char *key, uint64_t *ret, pr_err *err)
{
    rec_item *items;
    size_t n;
    pr_code code = raw_items(l, memory, dict, ITEMS_MAX, &items, &n, err);
    if (code != PR_OK)
        return code;
    return take_value(l, memory, items, n, key, ret, err);
}

/* ---- instances ---- */

typedef struct place {
    uint64_t values; /* address of the first inline value, or 0 ... */
    uint64_t dict;   /* ... then the dict, or 0 */
} place;

/* 3.13 on: values after the object, as long as their head says so. */
static pr_code
find_inline(const rec_layout *l, rec_memory *memory, uint64_t object,
            uint64_t type, place *ret, pr_err *err)
{
    uint64_t size = 0;
    uint8_t valid = 0;
    pr_code code =
        read_word(memory, type + l->object.type_basicsize, &size, err);
    if (code == PR_OK && (size % 8 || size > REC_CAP_TSTATE))
        code = torn(type, "size of an instance", err);
    if (code == PR_OK)
        code = rec_memory_read(memory, object + size + l->keys.values_valid,
                               &valid, 1, err);
    if (code == PR_OK && valid)
        ret->values = object + size + l->keys.values;
    return code;
}

/* The dict of an object whose type manages it. */
static pr_code
find_managed(const rec_layout *l, rec_memory *memory, uint64_t object,
             uint64_t type, uint64_t flags, place *ret, pr_err *err)
{
    uint64_t at = object - l->attributes.dict_before, word = 0;
    pr_code code = PR_OK;
    if (l->attributes.form == REC_ATTRIBUTES_INLINE) {
        if (flags & REC_TYPE_INLINE_VALUES)
            code = find_inline(l, memory, object, type, ret, err);
    } else if (l->attributes.form == REC_ATTRIBUTES_POINTER) {
        code = read_word(memory, at - 8, &ret->values, err);
    }
    if (code != PR_OK || ret->values)
        return code;
    code = read_word(memory, at, &word, err);
    if (l->attributes.form == REC_ATTRIBUTES_TAGGED && (word & 1))
        ret->values = word + 1 + l->keys.values;
    else
        ret->dict = word;
    return code;
}

static pr_code
find_place(const rec_layout *l, rec_memory *memory, uint64_t object,
           uint64_t type, uint64_t flags, place *ret, pr_err *err)
{
    *ret = (place){0};
    if (flags & REC_TYPE_MANAGED_DICT)
        return find_managed(l, memory, object, type, flags, ret, err);
    uint64_t offset;
    pr_code code =
        read_word(memory, type + l->object.type_dictoffset, &offset, err);
    if (code == PR_OK && (offset == 0 || offset > REC_CAP_TSTATE))
        return torn(object, "no attributes", err);
    return code == PR_OK ? read_word(memory, object + offset, &ret->dict, err)
                         : code;
}

pr_code
rec_instance_get(const rec_layout *l, rec_memory *memory, uint64_t object,
                 const char *name, uint64_t *ret, pr_err *err)
{
    uint64_t type, flags, keys = 0;
    place at;
    pr_code code = rec_object_type(l, memory, object, &type, &flags, err);
    if (code == PR_OK && !(flags & REC_TYPE_HEAP))
        code = torn(object, "not an instance of a Python class", err);
    if (code == PR_OK)
        code = find_place(l, memory, object, type, flags, &at, err);
    if (code != PR_OK)
        return code;
    if (!at.values)
        return rec_dict_get(l, memory, at.dict, name, ret, err);
    rec_item *items;
    size_t n;
    code = read_word(memory, type + l->object.type_cached_keys, &keys, err);
    if (code == PR_OK)
        code =
            read_items(l, memory, keys, at.values, ITEMS_MAX, &items, &n, err);
    if (code != PR_OK)
        return code;
    return take_value(l, memory, items, n, name, ret, err);
}
