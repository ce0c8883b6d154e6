/*
 * layout.c - from the table of a target, or from the known offsets of its
 * version, to a validated rec_layout.
 */
#include "recorder/cpython/layout.h"

#include "recorder/cpython/offsets.h"
#include <inttypes.h>
#include <stdio.h>

#define REC_ROW(version) &rec_offsets_##version,
static const rec_offsets *const versions[] = {REC_VERSIONS(REC_ROW)};
#undef REC_ROW
enum { N_VERSIONS = sizeof versions / sizeof *versions };

static const uint8_t cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};

/* ---- the table ---- */

typedef struct size_row {
    const char *name;
    uint32_t cap;
} size_row;

#define REC_ROW(name, cap) {#name, cap},
static const size_row sizes[REC_N_SIZES] = {REC_SIZES(REC_ROW)};
#undef REC_ROW

typedef struct word_row {
    const char *name;
    uint16_t to; /* in rec_layout */
    uint8_t in;  /* REC_SIZE_*: the struct that holds the field */
    uint8_t width;
    bool zero_absent; /* the value 0 says that the build has no such field */
} word_row;

#define REC_ROW(name, to, in, width, maybe) \
    {#name, offsetof(rec_layout, to), REC_SIZE_##in, width, maybe},
static const word_row words[REC_N_WORDS] = {REC_WORDS(REC_ROW)};
#undef REC_ROW

static pr_code
bad_table(pr_err *err, const char *name, uint64_t value)
{
    return PR_FAIL(err, PR_NOT_PYTHON,
                   "the target's table of offsets is not valid: %s is %" PRIu64,
                   name, value);
}

/* Does a field of `width` bytes at `offset` lie inside `size`? */
static bool
fits(uint64_t offset, uint32_t width, uint64_t size)
{
    return offset % (width > 8 ? 8 : width) == 0 && width <= size &&
           offset <= size - width;
}

static pr_code
load_sizes(const uint8_t *table, const rec_published *at, uint32_t *size,
           pr_err *err)
{
    for (unsigned i = 0; i < REC_N_SIZES; i++) {
        size[i] = 0;
        if (!at->size[i])
            continue;
        uint64_t value = rec_u64(table + at->size[i]);
        if (value == 0 || value > sizes[i].cap)
            return bad_table(err, sizes[i].name, value);
        size[i] = (uint32_t)value;
    }
    return PR_OK;
}

static pr_code
load_words(const uint8_t *table, const rec_published *at, const uint32_t *size,
           rec_layout *l, pr_err *err)
{
    for (size_t i = 0; i < REC_N_WORDS; i++) {
        const word_row *w = &words[i];
        uint64_t value = at->word[i] ? rec_u64(table + at->word[i]) : 0;
        if (!at->word[i] || (!value && w->zero_absent))
            continue;
        if (!fits(value, w->width, size[w->in]))
            return bad_table(err, w->name, value);
        uint32_t offset = (uint32_t)value;
        memcpy((char *)l + w->to, &offset, sizeof offset);
    }
    return PR_OK;
}

/* struct _gil_runtime_state (Include/internal/pycore_gil.h): the number of
 * switches lies 16 bytes after the last holder in every version. */
static pr_code
load_gil(const uint8_t *table, const rec_published *at, rec_layout *l,
         pr_err *err)
{
    uint64_t state = rec_u64(table + at->gil);
    uint64_t holder = rec_u64(table + at->gil_holder) - state;
    uint64_t locked = rec_u64(table + at->gil_locked) - state;
    if (!fits(holder, 24, REC_CAP_GIL) || !fits(locked, 4, REC_CAP_GIL))
        return bad_table(err, "gil_runtime_state_holder", holder);
    l->gil.holder = (uint32_t)holder;
    l->gil.locked = (uint32_t)locked;
    l->gil.switch_number = (uint32_t)holder + 16;
    return PR_OK;
}

static pr_code
load_stats_size(const uint8_t *table, const rec_published *at, rec_layout *l,
                pr_err *err)
{
    uint64_t size = at->gc_stats_size ? rec_u64(table + at->gc_stats_size) : 0;
    if (size >= REC_ABSENT)
        return bad_table(err, "gc_generation_stats_size", size);
    l->gc.stats_size = (uint32_t)size;
    return PR_OK;
}

/* Derived offsets obey the rules of published ones. */
static pr_code
check_derived(const rec_layout *l, const uint32_t *size, pr_err *err)
{
    uint32_t tstate = l->tstate.size, type = size[REC_SIZE_type_object];
    if (!fits(l->tstate.datastack_top, 8, tstate) ||
        !fits(l->tstate.current_exception, 8, tstate) ||
        !fits(l->tstate.exc_info, 8, tstate) ||
        !fits(l->tstate.exc_state, 16, tstate))
        return bad_table(err, "thread_state", tstate);
    if (!fits(l->code.framesize, 4, l->code.size) ||
        !fits(l->code.n_units, 8, l->code.size))
        return bad_table(err, "code_object", l->code.size);
    if (!fits(l->object.type_basicsize, 8, type) ||
        !fits(l->object.type_dictoffset, 8, type))
        return bad_table(err, "type_object", type);
    uint32_t interp = size[REC_SIZE_interpreter_state];
    if (!fits(l->interp.gc, 8, interp - size[REC_SIZE_gc]))
        return bad_table(err, "interpreter_state_gc", l->interp.gc);
    return PR_OK;
}

static pr_code
load_table(const uint8_t *table, const rec_offsets *version, rec_layout *l,
           pr_err *err)
{
    const rec_published *at = version->published;
    uint32_t size[REC_N_SIZES];
    pr_code code = load_sizes(table, at, size, err);
    if (code == PR_OK)
        code = load_words(table, at, size, l, err);
    if (code == PR_OK)
        code = load_gil(table, at, l, err);
    if (code == PR_OK)
        code = load_stats_size(table, at, l, err);
    if (code != PR_OK)
        return code;
    l->tstate.size = size[REC_SIZE_thread_state];
    l->frame.size = size[REC_SIZE_interpreter_frame];
    l->code.size = size[REC_SIZE_code_object];
    l->object.size = size[REC_SIZE_pyobject];
    l->gen.size = size[REC_SIZE_gen_object];
    /* the values of an instance, and the cached keys of its type, are found
     * by the size of the type (Include/cpython/object.h PyHeapTypeObject) */
    l->object.type_cached_keys = size[REC_SIZE_type_object] + 464;
    version->complete(l);
    return check_derived(l, size, err);
}

/* ---- common to versions ---- */

/* Include/cpython/pystate.h struct _ts, Include/cpython/code.h _PyCode_DEF,
 * Include/cpython/unicodeobject.h, Include/cpython/object.h and
 * Include/internal/pycore_object.h of 3.13 to 3.15, with a GIL or without. */
void
rec_offsets_complete_common(rec_layout *l)
{
    l->tstate.datastack_top = l->tstate.datastack_chunk + 8;
    if (l->tstate.current_exception == REC_ABSENT)
        l->tstate.current_exception = l->tstate.thread_id - 40;
    l->tstate.exc_info = l->tstate.current_exception + 8;
    if (l->tstate.exc_state == REC_ABSENT)
        l->tstate.exc_state = l->tstate.datastack_chunk + 24;
    l->tstate.status_active = 1 << 4;
    l->tstate.status_over = 1 << 6 | 1 << 7;
    l->exc.exc_value = 0;
    l->exc.previous_item = 8;
    l->frame.owner_thread = 0;
    l->frame.owner_generator = 1;
    l->frame.owner_shim = 3; /* owned by the C stack or the interpreter */
    l->code.framesize = l->code.firstlineno + 8;
    l->code.n_units = l->object.bytes_size; /* ob_size of any object */
    l->object.compact_data = l->object.ascii_data + 16;
    l->object.type_basicsize = l->object.type_name + 8;
    l->object.type_dictoffset = l->object.type_flags + 120;
    l->object.module_dict = l->object.size;
    /* `interned` has two bits; free-threaded 3.14 made a byte of it */
    uint32_t first = l->free_threaded && l->minor >= 14 ? 8 : 2;
    l->object.unicode_kind_shift = first;
    l->object.unicode_compact_bit = first + 3;
    l->object.unicode_ascii_bit = first + 4;
    l->keys.values = 8;
    l->keys.values_valid = 3;
    l->attributes.form = REC_ATTRIBUTES_INLINE;
    l->attributes.dict_before = l->free_threaded ? 8 : 24;
}

/* offsetof() over the headers that offsets_3_11.c names, of 3.11.2, 3.11.7 and
 * 3.12.1. */
void
rec_offsets_complete_unpublished(rec_layout *l)
{
    l->runtime.interpreters_head = 40;
    l->interp.next = 0;
    l->gil.holder = 8;
    l->gil.locked = 16;
    l->gil.switch_number = 24;
    l->tstate.prev = 0;
    l->tstate.next = 8;
    l->tstate.interp = 16;
    l->tstate.cframe = 56;
    l->tstate.current_exception = 96; /* curexc_type */
    l->exc.exc_value = 0;
    l->exc.previous_item = 8;
    l->exc.may_be_none = true;
    l->frame.size = 80;
    l->frame.instr_ptr = 56; /* prev_instr */
    l->frame.localsplus = 72;
    l->frame.owner_thread = 0;
    l->frame.owner_generator = 1;
    l->code.filename = 112;
    l->code.qualname = 128;
    l->code.linetable = 136;
    l->code.n_units = 16;
    l->object.size = 16;
    l->object.ob_type = 8;
    l->object.type_name = 24;
    l->object.type_flags = 168;
    l->object.type_basicsize = 32;
    l->object.type_dictoffset = 288;
    l->object.unicode_state = 32;
    l->object.unicode_length = 16;
    l->object.unicode_kind_shift = 2;
    l->object.unicode_compact_bit = 5;
    l->object.unicode_ascii_bit = 6;
    l->object.bytes_size = 16;
    l->object.bytes_data = 32;
    l->object.long_digit = 24;
    l->object.dict_keys = 32;
    l->object.dict_values = 40;
    l->object.module_dict = 16;
    l->keys.values = 0;
    l->attributes.dict_before = 24;
}

/* Include/cpython/pystate.h _PyStackChunk and Include/internal/pycore_dict.h
 * struct _dictkeysobject: the same in 3.11 to 3.15. */
static void
set_same_everywhere(rec_layout *l)
{
    l->chunk.previous = 0;
    l->chunk.size = 8;
    l->chunk.head = 24;
    l->chunk.usual_size = 16384; /* DATA_STACK_CHUNK_SIZE */
    l->keys.log2_index_bytes = 9;
    l->keys.kind = 10;
    l->keys.n_entries = 24;
    l->keys.indices = 32;
}

/* REC_ABSENT in every offset, 0 in every value. */
static void
clear(rec_layout *l)
{
    for (size_t i = 0; i < REC_N_WORDS; i++) {
        uint32_t absent = REC_ABSENT;
        memcpy((char *)l + words[i].to, &absent, sizeof absent);
    }
    l->runtime.gil = REC_ABSENT;
    l->tstate.cframe = l->tstate.datastack_top = l->tstate.exc_info =
        REC_ABSENT;
    l->cframe.current_frame = l->cframe.previous = REC_ABSENT;
    l->code.framesize = l->code.stacksize = l->code.nlocalsplus = REC_ABSENT;
    l->code.frame_specials = REC_ABSENT;
    l->object.long_size = REC_ABSENT;
    l->keys.values_valid = REC_ABSENT;
}

/* ---- versions ---- */

enum { LEVEL_FINAL = 0xf };

static const rec_offsets *
find_version(uint32_t version)
{
    for (size_t i = 0; i < N_VERSIONS; i++)
        if (version >> 16 == (0x300u | versions[i]->minor))
            return versions[i];
    return NULL;
}

uint32_t
rec_layout_without_table(size_t i)
{
    if (i >= N_VERSIONS || versions[i]->published)
        return 0;
    return 0x030000f0u | (uint32_t)versions[i]->minor << 16;
}

/* "3.15.0b4"; "3.15" without a micro version and a level */
static void
version_text(uint32_t version, char *to, size_t size)
{
    static const char *const level[16] = {
        [0xa] = "a", [0xb] = "b", [0xc] = "rc"};
    uint32_t l = version >> 4 & 15;
    snprintf(to, size, "%u.%u", version >> 24, version >> 16 & 255);
    if (!(version & 0xffff))
        return;
    int n = snprintf(to, size, "%u.%u.%u", version >> 24, version >> 16 & 255,
                     version >> 8 & 255);
    if (l != LEVEL_FINAL && n > 0 && (size_t)n < size)
        snprintf(to + n, size - (size_t)n, "%s%u", level[l] ? level[l] : "?",
                 version & 15);
}

pr_code
rec_layout_check_version(uint32_t version, pr_err *err)
{
    char text[32];
    version_text(version, text, sizeof text);
    unsigned oldest = versions[0]->minor;
    unsigned newest = versions[N_VERSIONS - 1]->minor;
    uint32_t major = version >> 24, minor = version >> 16 & 255;
    if (major < 3 || (major == 3 && minor < oldest))
        return PR_FAIL(err, PR_NOT_PYTHON,
                       "CPython %s is too old; 3.%u to 3.%u are supported",
                       text, oldest, newest);
    if (major > 3 || minor > newest)
        return PR_FAIL(err, PR_NOT_PYTHON,
                       "CPython %s is newer than this program; 3.%u to 3.%u "
                       "are supported",
                       text, oldest, newest);
    if ((version & 0xffff) && (version >> 4 & 15) != LEVEL_FINAL)
        return PR_FAIL(err, PR_NOT_PYTHON,
                       "CPython %s is a pre-release; layouts change from one "
                       "pre-release to the next, only final releases are "
                       "supported",
                       text);
    return PR_OK;
}

bool
rec_layout_has_cookie(const uint8_t *table)
{
    return memcmp(table, cookie, sizeof cookie) == 0;
}

/* 3.11 and 3.12 begin with five int: _initialized, preinitializing,
 * preinitialized, core_initialized, initialized (Include/internal/
 * pycore_runtime.h). */
bool
rec_layout_may_begin(const uint8_t *bytes)
{
    static const uint32_t initialized[] = {1, 0, 1, 1, 1};
    return rec_layout_has_cookie(bytes) ||
           memcmp(bytes, initialized, sizeof initialized) == 0;
}

/* The version and the build of a target with a table are in the table. */
static pr_code
load_published(const uint8_t *table, rec_layout *l, pr_err *err)
{
    uint64_t version = rec_u64(table + 8), free_threaded = rec_u64(table + 16);
    if (version > UINT32_MAX || free_threaded > 1)
        return bad_table(err, "version", version);
    pr_code code = rec_layout_check_version((uint32_t)version, err);
    if (code != PR_OK)
        return code;
    const rec_offsets *known = find_version((uint32_t)version);
    if (!known || !known->published)
        return bad_table(err, "version", version);
    l->version = (uint32_t)version;
    l->minor = known->minor;
    l->free_threaded = free_threaded;
    return load_table(table, known, l, err);
}

static pr_code
load_known(uint32_t version, rec_layout *l, pr_err *err)
{
    if (!version)
        return PR_FAIL(err, PR_NOT_PYTHON, "its version is not known");
    pr_code code = rec_layout_check_version(version, err);
    if (code != PR_OK)
        return code;
    const rec_offsets *known = find_version(version);
    if (!known || known->published)
        return PR_FAIL(err, PR_NOT_PYTHON,
                       "CPython 3.%u without its table of offsets",
                       version >> 16 & 255);
    l->version = version;
    l->minor = known->minor;
    known->complete(l);
    return PR_OK;
}

pr_code
rec_layout_load(const uint8_t *table, uint32_t version_hint, rec_layout *ret,
                pr_err *err)
{
    rec_layout l = {0};
    clear(&l);
    set_same_everywhere(&l);
    pr_code code = rec_layout_has_cookie(table)
                       ? load_published(table, &l, err)
                       : load_known(version_hint, &l, err);
    if (code == PR_OK)
        *ret = l;
    return code;
}
