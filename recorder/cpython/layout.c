/*
 * layout.c - the layouts of CPython 3.11 to 3.15.
 *
 * 3.13, 3.14 and 3.15 publish struct _Py_DebugOffsets at the start of
 * _PyRuntime: 8-byte words whose meaning depends on the minor version alone
 * (3.13.18, 3.14.10 and 3.15.2, Include/internal/pycore_debug_offsets.h).
 * Their values differ between builds of one version, so nothing that is in
 * the table is written down here.
 */
#include "recorder/cpython/layout.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- versions that have no table ---- */

/* 3.11.2, 3.11.7: offsetof() over Include/cpython/{pystate,code,unicodeobject}.h
 * and Include/internal/pycore_{runtime,interp,frame}.h; released minors keep
 * them. */
static const rec_layout layout_3_11 = {
    .minor = 11,
    .runtime = {.interpreters_head = 40,
                .finalizing = 24,
                .gil_holder = 368,
                .gil_locked = 376,
                .gil_switch = 384},
    .interp = {.size = 107752,
               .id = 48,
               .next = 0,
               .threads_head = 16,
               .threads_main = REC_ABSENT,
               .ceval_gil = REC_ABSENT,
               .code_generation = REC_ABSENT,
               .tlbc_generation = REC_ABSENT,
               .gc = 648,
               .asyncio_tasks_head = REC_ABSENT},
    .gil = {.holder = 8, .locked = 16, .switch_number = 24},
    .tstate = {.size = 360,
               .prev = 0,
               .next = 8,
               .interp = 16,
               .current_frame = REC_ABSENT,
               .cframe = 56,
               .base_frame = REC_ABSENT,
               .last_profiled_frame = REC_ABSENT,
               .last_profiled_frame_seq = REC_ABSENT,
               .thread_id = 152,
               .native_thread_id = 160,
               .datastack_chunk = 296,
               .datastack_top = 304,
               .status = REC_ABSENT,
               .holds_gil = REC_ABSENT,
               .gil_requested = REC_ABSENT,
               .current_exception = 96, /* curexc_type */
               .exc_info = 120,
               .exc_state = 320,
               .running_loop = REC_ABSENT,
               .running_task = REC_ABSENT,
               .tasks_head = REC_ABSENT},
    .cframe = {.current_frame = 8, .previous = 16},
    .exc = {.exc_value = 0, .previous_item = 8},
    .frame = {.size = 80,
              .executable = 32,
              .previous = 48,
              .instr_ptr = 56,
              .localsplus = 72,
              .owner = 69,
              .stackpointer = REC_ABSENT,
              .tlbc_index = REC_ABSENT,
              .owner_thread = 0,
              .owner_generator = 1,
              .owner_shim = 255},
    .code = {.size = 192,
             .filename = 112,
             .name = 120,
             .qualname = 128,
             .linetable = 136,
             .firstlineno = 72,
             .framesize = REC_ABSENT,
             .stacksize = 68,
             .nlocalsplus = 76,
             .frame_specials = 9, /* FRAME_SPECIALS_SIZE */
             .n_units = 16,
             .code_adaptive = 184,
             .tlbc = REC_ABSENT},
    .object = {.ob_type = 8,
               .type_name = 24,
               .type_flags = 168,
               .unicode_state = 32,
               .unicode_length = 16,
               .ascii_data = 48,
               .compact_data = 72,
               .unicode_kind_shift = 2,
               .unicode_compact_bit = 5,
               .unicode_ascii_bit = 6,
               .bytes_size = 16,
               .bytes_data = 32,
               .long_tag = REC_ABSENT,
               .long_digit = REC_ABSENT,
               .set_used = REC_ABSENT,
               .set_mask = REC_ABSENT,
               .set_table = REC_ABSENT},
    .gc = {.collecting = REC_ABSENT,
           .frame = REC_ABSENT,
           .stats = REC_ABSENT,
           .stats_size = REC_ABSENT},
    .gen = {.iframe = REC_ABSENT, .state = REC_ABSENT},
};

/* 3.12.1, the same headers: what differs from 3.11. */
static void
fill_3_12(rec_layout *l)
{
    *l = layout_3_11;
    l->minor = 12;
    l->runtime.gil_holder = l->runtime.gil_locked = REC_ABSENT;
    l->runtime.gil_switch = REC_ABSENT;
    l->interp.size = 383552;
    l->interp.id = 8;
    l->interp.threads_head = 72;
    l->interp.ceval_gil = 384;
    l->interp.gc = 112;
    l->tstate.size = 288;
    l->tstate.thread_id = 136;
    l->tstate.native_thread_id = 144;
    l->tstate.datastack_chunk = 232;
    l->tstate.datastack_top = 240;
    l->tstate.status = 24;
    l->tstate.exc_info = 104;
    l->tstate.exc_state = 256;
    l->cframe.current_frame = 0;
    l->cframe.previous = 8;
    l->frame.executable = 0;
    l->frame.previous = 8;
    l->frame.owner = 70;
    l->frame.owner_shim = 3; /* FRAME_OWNED_BY_CSTACK */
    l->code.size = 200;
    l->code.firstlineno = 68;
    l->code.framesize = 76;
    l->code.stacksize = l->code.nlocalsplus = REC_ABSENT;
    l->code.frame_specials = REC_ABSENT;
    l->code.code_adaptive = 192;
    l->object.ascii_data = 40;
    l->object.compact_data = 56;
}

/* ---- the table ---- */

enum { TABLES = 3, FIRST_MINOR = 13 };

static const uint8_t cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};

typedef enum section {
    IN_RUNTIME,
    IN_INTERP,
    IN_TSTATE,
    IN_EXC,
    IN_FRAME,
    IN_CODE,
    IN_OBJECT,
    IN_TYPE,
    IN_SET,
    IN_LONG,
    IN_BYTES,
    IN_UNICODE,
    IN_GC,
    IN_GEN,
    N_SECTIONS
} section;

/* Where the table of each version gives the size of a struct (0: it does not
 * know the struct), and what we believe at most. */
typedef struct size_row {
    uint16_t at[TABLES];
    uint32_t cap;
    const char *name;
} size_row;

static const size_row sizes[N_SECTIONS] = {
    [IN_RUNTIME] = {{24, 24, 24}, 4 << 20, "runtime_state"},
    [IN_INTERP] = {{48, 48, 48}, 4 << 20, "interpreter_state"},
    [IN_TSTATE] = {{152, 176, 176}, REC_CAP_TSTATE, "thread_state"},
    [IN_EXC] = {{0, 0, 0}, 16, "err_stackitem"}, /* it has no size there */
    [IN_FRAME] = {{224, 248, 312}, REC_CAP_FRAME, "interpreter_frame"},
    [IN_CODE] = {{272, 312, 376}, REC_CAP_CODE, "code_object"},
    [IN_OBJECT] = {{352, 400, 464}, REC_CAP_OBJECT, "pyobject"},
    [IN_TYPE] = {{368, 416, 480}, REC_CAP_CODE, "type_object"},
    [IN_SET] = {{0, 496, 592}, REC_CAP_OBJECT, "set_object"},
    [IN_LONG] = {{488, 568, 664}, REC_CAP_OBJECT, "long_object"},
    [IN_BYTES] = {{512, 592, 688}, REC_CAP_OBJECT, "bytes_object"},
    [IN_UNICODE] = {{536, 616, 712}, REC_CAP_OBJECT, "unicode_object"},
    [IN_GC] = {{568, 648, 752}, REC_CAP_TSTATE, "gc"},
    [IN_GEN] = {{0, 664, 792}, REC_CAP_OBJECT, "gen_object"},
};

/* One offset: where the tables have it, its width, where it goes. */
typedef struct row {
    uint16_t at[TABLES]; /* 0: this version does not have it */
    uint8_t in;          /* section */
    uint8_t width;
    bool zero_absent; /* a value of 0 says that this build has no such field */
    uint16_t to;      /* in rec_layout */
    const char *name;
} row;

#define ROW(field, a, b, c, in, width)                                   \
    {                                                                    \
        {a, b, c}, in, width, false, offsetof(rec_layout, field), #field \
    }
#define MAYBE(field, a, b, c, in, width)                                \
    {                                                                   \
        {a, b, c}, in, width, true, offsetof(rec_layout, field), #field \
    }

static const row rows[] = {
    ROW(runtime.finalizing, 32, 32, 32, IN_RUNTIME, 8),
    ROW(runtime.interpreters_head, 40, 40, 40, IN_RUNTIME, 8),
    ROW(interp.id, 56, 56, 56, IN_INTERP, 8),
    ROW(interp.next, 64, 64, 64, IN_INTERP, 8),
    ROW(interp.threads_head, 72, 72, 72, IN_INTERP, 8),
    ROW(interp.threads_main, 0, 80, 80, IN_INTERP, 8),
    ROW(interp.gc, 80, 88, 88, IN_INTERP, 8),
    ROW(interp.ceval_gil, 112, 120, 120, IN_INTERP, 8),
    ROW(interp.code_generation, 0, 160, 160, IN_INTERP, 8),
    MAYBE(interp.tlbc_generation, 0, 168, 168, IN_INTERP, 4),
    ROW(tstate.prev, 160, 184, 184, IN_TSTATE, 8),
    ROW(tstate.next, 168, 192, 192, IN_TSTATE, 8),
    ROW(tstate.interp, 176, 200, 200, IN_TSTATE, 8),
    ROW(tstate.current_frame, 184, 208, 208, IN_TSTATE, 8),
    ROW(tstate.base_frame, 0, 0, 216, IN_TSTATE, 8),
    ROW(tstate.last_profiled_frame, 0, 0, 224, IN_TSTATE, 8),
    ROW(tstate.last_profiled_frame_seq, 0, 0, 232, IN_TSTATE, 8),
    ROW(tstate.thread_id, 192, 216, 240, IN_TSTATE, 8),
    ROW(tstate.native_thread_id, 200, 224, 248, IN_TSTATE, 8),
    ROW(tstate.datastack_chunk, 208, 232, 256, IN_TSTATE, 8),
    ROW(tstate.status, 216, 240, 264, IN_TSTATE, 4),
    ROW(tstate.holds_gil, 0, 0, 272, IN_TSTATE, 4),
    ROW(tstate.gil_requested, 0, 0, 280, IN_TSTATE, 4),
    ROW(tstate.current_exception, 0, 0, 288, IN_TSTATE, 8),
    ROW(tstate.exc_state, 0, 0, 296, IN_TSTATE, 16),
    ROW(exc.exc_value, 0, 0, 304, IN_EXC, 8),
    ROW(frame.previous, 232, 256, 320, IN_FRAME, 8),
    ROW(frame.executable, 240, 264, 328, IN_FRAME, 8),
    ROW(frame.instr_ptr, 248, 272, 336, IN_FRAME, 8),
    ROW(frame.localsplus, 256, 280, 344, IN_FRAME, 8),
    ROW(frame.owner, 264, 288, 352, IN_FRAME, 1),
    ROW(frame.stackpointer, 0, 296, 360, IN_FRAME, 8),
    MAYBE(frame.tlbc_index, 0, 304, 368, IN_FRAME, 4),
    ROW(code.filename, 280, 320, 384, IN_CODE, 8),
    ROW(code.name, 288, 328, 392, IN_CODE, 8),
    ROW(code.qualname, 296, 336, 400, IN_CODE, 8),
    ROW(code.linetable, 304, 344, 408, IN_CODE, 8),
    ROW(code.firstlineno, 312, 352, 416, IN_CODE, 4),
    ROW(code.code_adaptive, 344, 384, 448, IN_CODE, 1),
    MAYBE(code.tlbc, 0, 392, 456, IN_CODE, 8),
    ROW(object.ob_type, 360, 408, 472, IN_OBJECT, 8),
    ROW(object.type_name, 376, 424, 488, IN_TYPE, 8),
    ROW(object.type_flags, 392, 440, 504, IN_TYPE, 8),
    ROW(object.set_used, 0, 504, 600, IN_SET, 8),
    ROW(object.set_table, 0, 512, 608, IN_SET, 8),
    ROW(object.set_mask, 0, 520, 616, IN_SET, 8),
    ROW(object.long_tag, 496, 576, 672, IN_LONG, 8),
    ROW(object.long_digit, 504, 584, 680, IN_LONG, 4),
    ROW(object.bytes_size, 520, 600, 696, IN_BYTES, 8),
    ROW(object.bytes_data, 528, 608, 704, IN_BYTES, 1),
    ROW(object.unicode_state, 544, 624, 720, IN_UNICODE, 4),
    ROW(object.unicode_length, 552, 632, 728, IN_UNICODE, 8),
    ROW(object.ascii_data, 560, 640, 736, IN_UNICODE, 1),
    ROW(object.compact_data, 0, 0, 744, IN_UNICODE, 1),
    ROW(gc.collecting, 576, 656, 760, IN_GC, 4),
    ROW(gc.frame, 0, 0, 768, IN_GC, 8),
    ROW(gc.stats, 0, 0, 784, IN_GC, 8),
    ROW(gen.iframe, 0, 680, 808, IN_GEN, 8),
    ROW(gen.state, 0, 688, 816, IN_GEN, 1),
};

/* The words of the GIL inside the interpreter, and the size of its ring. */
static const uint16_t gil_state_at[TABLES] = {120, 128, 128};
static const uint16_t gil_locked_at[TABLES] = {136, 144, 144};
static const uint16_t gil_holder_at[TABLES] = {144, 152, 152};
static const uint16_t gc_stats_size_at[TABLES] = {0, 0, 776};

enum { GIL_MAX = 64 }; /* what anybody reads of struct _gil_runtime_state */

static pr_code
bad_table(pr_err *err, const char *name, uint64_t value)
{
    return PR_FAIL(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                   "table of offsets makes no sense: %s is %" PRIu64, name,
                   value);
}

/* Is a field of `width` bytes at `offset` inside `size`? */
static bool
fits(uint64_t offset, uint32_t width, uint64_t size)
{
    return offset % (width > 8 ? 8 : width) == 0 && width <= size &&
           offset <= size - width;
}

static pr_code
load_sizes(const uint8_t *table, unsigned v, uint32_t *size, pr_err *err)
{
    for (unsigned i = 0; i < N_SECTIONS; i++) {
        const size_row *r = &sizes[i];
        size[i] = i == IN_EXC ? r->cap : 0;
        if (!r->at[v])
            continue;
        uint64_t value = rec_u64(table + r->at[v]);
        if (value == 0 || value > r->cap)
            return bad_table(err, r->name, value);
        size[i] = (uint32_t)value;
    }
    return PR_OK;
}

static pr_code
load_rows(const uint8_t *table, unsigned v, const uint32_t *size, rec_layout *l,
          pr_err *err)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        uint32_t offset = REC_ABSENT;
        if (r->at[v]) {
            uint64_t value = rec_u64(table + r->at[v]);
            if (value || !r->zero_absent) {
                if (!fits(value, r->width, size[r->in]))
                    return bad_table(err, r->name, value);
                offset = (uint32_t)value;
            }
        }
        memcpy((char *)l + r->to, &offset, sizeof offset);
    }
    return PR_OK;
}

/* struct _gil_runtime_state (Include/internal/pycore_gil.h): the number of
 * switches lies 16 bytes behind the last holder, in every version. */
static pr_code
load_gil(const uint8_t *table, unsigned v, rec_layout *l, pr_err *err)
{
    uint64_t state = rec_u64(table + gil_state_at[v]);
    uint64_t holder = rec_u64(table + gil_holder_at[v]) - state;
    uint64_t locked = rec_u64(table + gil_locked_at[v]) - state;
    if (!fits(holder, 24, GIL_MAX) || !fits(locked, 4, GIL_MAX))
        return bad_table(err, "gil_runtime_state_holder", holder);
    l->gil.holder = (uint32_t)holder;
    l->gil.locked = (uint32_t)locked;
    l->gil.switch_number = (uint32_t)holder + 16;
    return PR_OK;
}

/* ---- what the tables leave out ---- */

/* Fields whose place follows from that of a neighbour in all of 3.13 to 3.15
 * (Include/cpython/pystate.h struct _ts; Include/cpython/code.h _PyCode_DEF;
 * Include/cpython/unicodeobject.h). */
static void
derive(rec_layout *l)
{
    l->tstate.cframe = REC_ABSENT;
    l->tstate.datastack_top = l->tstate.datastack_chunk + 8;
    if (l->tstate.current_exception == REC_ABSENT)
        l->tstate.current_exception = l->tstate.thread_id - 40;
    l->tstate.exc_info = l->tstate.current_exception + 8;
    if (l->tstate.exc_state == REC_ABSENT)
        l->tstate.exc_state = l->tstate.datastack_chunk + 24;
    if (l->exc.exc_value == REC_ABSENT)
        l->exc.exc_value = 0;
    l->exc.previous_item = l->exc.exc_value + 8;
    l->code.framesize = l->code.firstlineno + 8;
    l->code.stacksize = l->code.nlocalsplus = REC_ABSENT;
    l->code.frame_specials = REC_ABSENT;
    l->code.n_units = l->object.bytes_size; /* ob_size of any object */
    if (l->object.compact_data == REC_ABSENT)
        l->object.compact_data = l->object.ascii_data + 16;
    l->cframe.current_frame = l->cframe.previous = REC_ABSENT;
    l->runtime.gil_holder = l->runtime.gil_locked = REC_ABSENT;
    l->runtime.gil_switch = REC_ABSENT;
    l->interp.asyncio_tasks_head = REC_ABSENT;
    l->tstate.running_loop = l->tstate.running_task = REC_ABSENT;
    l->tstate.tasks_head = REC_ABSENT;
}

/* Values that changed their meaning from version to version. */
static void
set_constants(rec_layout *l)
{
    l->frame.owner_thread = 0;
    l->frame.owner_generator = 1;
    l->frame.owner_shim = 3; /* by the C stack or the interpreter */
    /* the low bits of a _PyStackRef (3.14); 3.13 marks a borrowed pointer */
    l->frame.tag_mask = l->minor == 13 ? 1 : 3;
    /* `interned` has two bits; free-threaded 3.14 made a byte of it */
    uint32_t first = l->free_threaded && l->minor >= 14 ? 8 : 2;
    l->object.unicode_kind_shift = first;
    l->object.unicode_compact_bit = first + 3;
    l->object.unicode_ascii_bit = first + 4;
    /* FRAME_CLEARED, FRAME_SUSPENDED_YIELD_FROM[_LOCKED] (pycore_frame.h) */
    bool renumbered = l->minor >= 15;
    l->gen.cleared = renumbered ? 5 : 4;
    l->gen.yield_from = renumbered ? 2 : -1;
    l->gen.yield_from_locked = renumbered ? 3 : -1;
}

/* The derived fields obey the rules of the others. */
static pr_code
check_derived(const rec_layout *l, pr_err *err)
{
    uint32_t tstate = l->tstate.size;
    if (!fits(l->tstate.datastack_top, 8, tstate) ||
        !fits(l->tstate.current_exception, 8, tstate) ||
        !fits(l->tstate.exc_info, 8, tstate) ||
        !fits(l->tstate.exc_state, 16, tstate))
        return bad_table(err, "thread_state.size", tstate);
    if (!fits(l->code.framesize, 4, l->code.size) ||
        !fits(l->code.n_units, 8, l->code.size))
        return bad_table(err, "code_object.size", l->code.size);
    if (l->exc.exc_value > 8)
        return bad_table(err, "err_stackitem.exc_value", l->exc.exc_value);
    if (!fits(l->interp.gc, 8, l->interp.size - l->gc.size))
        return bad_table(err, "interpreter_state.gc", l->interp.gc);
    return PR_OK;
}

static pr_code
load_table(const uint8_t *table, rec_layout *l, pr_err *err)
{
    unsigned v = l->minor - FIRST_MINOR;
    uint32_t size[N_SECTIONS];
    pr_code code = load_sizes(table, v, size, err);
    if (code == PR_OK)
        code = load_rows(table, v, size, l, err);
    if (code == PR_OK)
        code = load_gil(table, v, l, err);
    if (code != PR_OK)
        return code;
    l->interp.size = size[IN_INTERP];
    l->tstate.size = size[IN_TSTATE];
    l->frame.size = size[IN_FRAME];
    l->code.size = size[IN_CODE];
    l->gc.size = size[IN_GC];
    l->gen.size = size[IN_GEN];
    uint64_t stats =
        gc_stats_size_at[v] ? rec_u64(table + gc_stats_size_at[v]) : REC_ABSENT;
    if (stats > REC_ABSENT)
        return bad_table(err, "gc.generation_stats_size", stats);
    l->gc.stats_size = (uint32_t)stats;
    derive(l);
    set_constants(l);
    return check_derived(l, err);
}

/* ---- versions ---- */

enum { LEVEL_FINAL = 0xf, OLDEST = 11, NEWEST = 15 };

/* "3.15.0b4" */
static void
version_text(uint32_t version, char *to, size_t size)
{
    static const char *const level[16] = {
        [0xa] = "a", [0xb] = "b", [0xc] = "rc"};
    uint32_t l = version >> 4 & 15;
    int n = snprintf(to, size, "%u.%u.%u", version >> 24, version >> 16 & 255,
                     version >> 8 & 255);
    if (l != LEVEL_FINAL && n > 0 && (size_t)n < size)
        snprintf(to + n, size - (size_t)n, "%s%u", level[l] ? level[l] : "?",
                 version & 15);
}

static pr_code
check_version(uint32_t version, pr_err *err)
{
    char text[32];
    version_text(version, text, sizeof text);
    uint32_t major = version >> 24, minor = version >> 16 & 255;
    if (major == 3 && minor < OLDEST)
        return PR_FAIL(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                       "CPython %s is too old; 3.%d to 3.%d are supported",
                       text, OLDEST, NEWEST);
    if (major != 3 || minor > NEWEST)
        return PR_FAIL(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                       "CPython %s is newer than this program; 3.%d to 3.%d "
                       "are supported",
                       text, OLDEST, NEWEST);
    if ((version >> 4 & 15) != LEVEL_FINAL)
        return PR_FAIL(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                       "CPython %s is a pre-release; their layouts change "
                       "from one to the next, only final releases are "
                       "supported",
                       text);
    return PR_OK;
}

bool
rec_layout_has_cookie(const uint8_t *table)
{
    return memcmp(table, cookie, sizeof cookie) == 0;
}

/* 3.13 on: the version and the build are in the table. */
static pr_code
load_published(const uint8_t *table, rec_layout *l, pr_err *err)
{
    uint64_t version = rec_u64(table + 8), free_threaded = rec_u64(table + 16);
    if (version > UINT32_MAX || free_threaded > 1)
        return bad_table(err, "version", version);
    pr_code code = check_version((uint32_t)version, err);
    if (code != PR_OK)
        return code;
    l->version = (uint32_t)version;
    l->minor = version >> 16 & 255;
    l->free_threaded = free_threaded;
    if (l->minor < FIRST_MINOR)
        return bad_table(err, "version", version);
    return load_table(table, l, err);
}

static pr_code
load_known(uint32_t version, rec_layout *l, pr_err *err)
{
    if (!version)
        return PR_FAIL(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                       "its version is not known");
    pr_code code = check_version(version, err);
    if (code != PR_OK)
        return code;
    switch (version >> 16 & 255) {
    case 11:
        *l = layout_3_11;
        break;
    case 12:
        fill_3_12(l);
        break;
    default:
        return PR_FAIL(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                       "CPython 3.%u without its table of offsets",
                       version >> 16 & 255);
    }
    l->version = version;
    return PR_OK;
}

pr_code
rec_layout_load(const uint8_t *table, uint32_t version_hint, rec_layout *ret,
                pr_err *err)
{
    rec_layout l = {0};
    pr_code code = rec_layout_has_cookie(table)
                       ? load_published(table, &l, err)
                       : load_known(version_hint, &l, err);
    if (code == PR_OK)
        *ret = l;
    return code;
}
