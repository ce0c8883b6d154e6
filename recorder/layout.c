/*
 * layout.c - the tables of offsets, and what the target's own table must obey.
 *
 * Sources: struct _Py_DebugOffsets of 3.13.18, 3.14.10 and 3.15.2
 * (Include/internal/pycore_debug_offsets.h; pycore_runtime.h in 3.13), checked
 * against the bytes of the interpreters; headers of 3.11.7 and 3.12.1 for the
 * versions without a table, the same in 3.11.2.
 */
#include "recorder/layout.h"

#include <inttypes.h>

/* Caps on the sizes that a table may give for its structs. */
enum {
    CAP_RUNTIME = 4 << 20,
    CAP_INTERP = 4 << 20,
    CAP_OBJECT = 4096,
    CAP_GC = 4096
};

#define COOKIE "xdebugpy"
enum { AT_VERSION = 8, AT_FREE_THREADED = 16, FINAL = 0xf0 };

/* One field of the target's table: where it stands in the tables of 3.13, 3.14
 * and 3.15 (0: not there), where it goes, how wide the thing described is. */
typedef struct field {
    uint16_t at[3];
    uint16_t to;
    uint16_t size_at[3]; /* the table's entry for the size of its struct */
    uint8_t width;
    bool may_be_zero; /* 0 is an offset; elsewhere it means absent */
} field;

#define TO(member) ((uint16_t)offsetof(rec_layout, member))
#define RUNTIME    \
    {              \
        24, 24, 24 \
    }
#define INTERP     \
    {              \
        48, 48, 48 \
    }
#define TSTATE        \
    {                 \
        152, 176, 176 \
    }
#define FRAME         \
    {                 \
        224, 248, 312 \
    }
#define CODE          \
    {                 \
        272, 312, 376 \
    }
#define PYOBJECT      \
    {                 \
        352, 400, 464 \
    }
#define TYPE          \
    {                 \
        368, 416, 480 \
    }
#define LONG          \
    {                 \
        488, 568, 664 \
    }
#define BYTES         \
    {                 \
        512, 592, 688 \
    }
#define UNICODE       \
    {                 \
        536, 616, 712 \
    }
#define SET         \
    {               \
        0, 496, 592 \
    }
#define GC            \
    {                 \
        568, 648, 752 \
    }
#define GEN         \
    {               \
        0, 664, 792 \
    }
#define NONE    \
    {           \
        0, 0, 0 \
    }

/* Offsets that are not in any table are computed in complete(). */
static const field fields[] = {
    {{32, 32, 32}, TO(runtime.finalizing), RUNTIME, 8, false},
    {{40, 40, 40}, TO(runtime.interpreters_head), RUNTIME, 8, false},
    {{56, 56, 56}, TO(interp.id), INTERP, 8, false},
    {{64, 64, 64}, TO(interp.next), INTERP, 8, true},
    {{72, 72, 72}, TO(interp.threads_head), INTERP, 8, false},
    {{0, 80, 80}, TO(interp.threads_main), INTERP, 8, false},
    {{80, 88, 88}, TO(interp.gc), INTERP, 8, false},
    {{112, 120, 120}, TO(interp.ceval_gil), INTERP, 8, false},
    {{0, 160, 160}, TO(interp.code_generation), INTERP, 8, false},
    {{0, 168, 168}, TO(interp.tlbc_generation), INTERP, 4, false},
    {{160, 184, 184}, TO(tstate.prev), TSTATE, 8, true},
    {{168, 192, 192}, TO(tstate.next), TSTATE, 8, true},
    {{176, 200, 200}, TO(tstate.interp), TSTATE, 8, true},
    {{184, 208, 208}, TO(tstate.current_frame), TSTATE, 8, false},
    {{0, 0, 216}, TO(tstate.base_frame), TSTATE, 8, false},
    {{0, 0, 224}, TO(tstate.last_profiled_frame), TSTATE, 8, false},
    {{0, 0, 232}, TO(tstate.last_profiled_frame_seq), TSTATE, 8, false},
    {{192, 216, 240}, TO(tstate.thread_id), TSTATE, 8, false},
    {{200, 224, 248}, TO(tstate.native_thread_id), TSTATE, 8, false},
    {{208, 232, 256}, TO(tstate.datastack_chunk), TSTATE, 8, false},
    {{216, 240, 264}, TO(tstate.status), TSTATE, 4, false},
    {{0, 0, 272}, TO(tstate.holds_gil), TSTATE, 4, false},
    {{0, 0, 280}, TO(tstate.gil_requested), TSTATE, 4, false},
    {{0, 0, 288}, TO(tstate.current_exception), TSTATE, 8, false},
    {{0, 0, 296}, TO(tstate.exc_state), TSTATE, 16, false},
    {{0, 0, 304}, TO(exc.exc_value), NONE, 8, true},
    {{232, 256, 320}, TO(frame.previous), FRAME, 8, true},
    {{240, 264, 328}, TO(frame.executable), FRAME, 8, true},
    {{248, 272, 336}, TO(frame.instr_ptr), FRAME, 8, false},
    {{256, 280, 344}, TO(frame.localsplus), FRAME, 8, false},
    {{264, 288, 352}, TO(frame.owner), FRAME, 1, false},
    {{0, 296, 360}, TO(frame.stackpointer), FRAME, 8, false},
    {{0, 304, 368}, TO(frame.tlbc_index), FRAME, 4, false},
    {{280, 320, 384}, TO(code.filename), CODE, 8, false},
    {{288, 328, 392}, TO(code.name), CODE, 8, false},
    {{296, 336, 400}, TO(code.qualname), CODE, 8, false},
    {{304, 344, 408}, TO(code.linetable), CODE, 8, false},
    {{312, 352, 416}, TO(code.firstlineno), CODE, 4, false},
    {{344, 384, 448}, TO(code.code_adaptive), CODE, 1, false},
    {{0, 392, 456}, TO(code.tlbc), CODE, 8, false},
    {{360, 408, 472}, TO(object.ob_type), PYOBJECT, 8, false},
    {{376, 424, 488}, TO(object.type_name), TYPE, 8, false},
    {{392, 440, 504}, TO(object.type_flags), TYPE, 8, false},
    {{544, 624, 720}, TO(object.unicode_state), UNICODE, 4, false},
    {{552, 632, 728}, TO(object.unicode_length), UNICODE, 8, false},
    {{560, 640, 736}, TO(object.ascii_data), UNICODE, 1, false},
    {{0, 0, 744}, TO(object.compact_data), UNICODE, 1, false},
    {{520, 600, 696}, TO(object.bytes_size), BYTES, 8, false},
    {{528, 608, 704}, TO(object.bytes_data), BYTES, 1, false},
    {{496, 576, 672}, TO(object.long_tag), LONG, 8, false},
    {{504, 584, 680}, TO(object.long_digit), LONG, 4, false},
    {{0, 504, 600}, TO(object.set_used), SET, 8, false},
    {{0, 520, 616}, TO(object.set_mask), SET, 8, false},
    {{0, 512, 608}, TO(object.set_table), SET, 8, false},
    {{576, 656, 760}, TO(gc.collecting), GC, 4, false},
    {{0, 0, 768}, TO(gc.frame), GC, 8, false},
    {{0, 0, 784}, TO(gc.stats), GC, 8, false},
    {{0, 680, 808}, TO(gen.iframe), GEN, 8, false},
    {{0, 688, 816}, TO(gen.state), GEN, 1, false},
};

/* Sizes: a struct that we copy whole must fit its buffer. */
typedef struct size_rule {
    uint16_t at[3];
    uint16_t to; /* 0: checked, not kept */
    uint32_t cap;
} size_rule;

static const size_rule sizes[] = {
    {RUNTIME, 0, CAP_RUNTIME},
    {INTERP, TO(interp.size), CAP_INTERP},
    {TSTATE, TO(tstate.size), REC_CAP_TSTATE},
    {FRAME, TO(frame.size), REC_CAP_FRAME},
    {CODE, TO(code.size), REC_CAP_CODE},
    {PYOBJECT, 0, CAP_OBJECT},
    {TYPE, 0, CAP_OBJECT},
    {LONG, 0, CAP_OBJECT},
    {BYTES, 0, CAP_OBJECT},
    {UNICODE, 0, CAP_OBJECT},
    {SET, 0, CAP_OBJECT},
    {GC, TO(gc.size), CAP_GC},
    {GEN, TO(gen.size), CAP_OBJECT},
};

#define N(array) (sizeof(array) / sizeof(array)[0])

static void
put_u32(rec_layout *l, uint16_t to, uint32_t value)
{
    memcpy((uint8_t *)l + to, &value, sizeof value);
}

static pr_code
bad_table(const rec_layout *l, size_t at, uint64_t value, pr_err *err)
{
    return PR_FAIL(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                   "the table of offsets of CPython 3.%u cannot be right: "
                   "entry at %zu is %" PRIu64,
                   l->minor, at, value);
}

static pr_code
load_sizes(const uint8_t *table, unsigned column, rec_layout *l, pr_err *err)
{
    for (size_t i = 0; i < N(sizes); i++) {
        uint16_t at = sizes[i].at[column];
        uint64_t value = at ? rec_u64(table + at) : 0;
        if (at && (value == 0 || value > sizes[i].cap))
            return bad_table(l, at, value, err);
        if (sizes[i].to)
            put_u32(l, sizes[i].to, (uint32_t)value);
    }
    return PR_OK;
}

static pr_code
load_field(const uint8_t *table, unsigned column, const field *f, rec_layout *l,
           pr_err *err)
{
    uint16_t at = f->at[column];
    uint64_t value = at ? rec_u64(table + at) : 0;
    if (!at || (value == 0 && !f->may_be_zero)) {
        put_u32(l, f->to, REC_ABSENT);
        return PR_OK;
    }
    uint16_t size_at = f->size_at[column];
    uint64_t size = size_at ? rec_u64(table + size_at) : 64;
    unsigned align = f->width > 8 ? 8 : f->width;
    if (value % align != 0 || f->width > size || value > size - f->width)
        return bad_table(l, at, value, err);
    put_u32(l, f->to, (uint32_t)value);
    return PR_OK;
}

/* Inside struct _gil_runtime_state: the table gives places relative to the
 * interpreter; switch_number follows `locked` (an int, padded to 8) in
 * Include/internal/pycore_gil.h of all three versions. */
static pr_code
load_gil(const uint8_t *table, unsigned column, rec_layout *l, pr_err *err)
{
    static const uint16_t state_at[] = {120, 128, 128};
    static const uint16_t locked_at[] = {136, 144, 144};
    static const uint16_t holder_at[] = {144, 152, 152};
    uint64_t state = rec_u64(table + state_at[column]);
    uint64_t locked = rec_u64(table + locked_at[column]);
    uint64_t holder = rec_u64(table + holder_at[column]);
    if (locked < state || locked - state > 256)
        return bad_table(l, locked_at[column], locked, err);
    if (holder < state || holder - state > 256)
        return bad_table(l, holder_at[column], holder, err);
    l->gil.holder = (uint32_t)(holder - state);
    l->gil.locked = (uint32_t)(locked - state);
    l->gil.switch_number = l->gil.holder + 16;
    return PR_OK;
}

/* What no table of 3.13 to 3.15 has: distances to fields it does have, the
 * same with and without a GIL (headers of 3.13.5, 3.13.18, 3.14.10, 3.15.2). */
static void
complete(rec_layout *l)
{
    l->runtime.gil_holder = l->runtime.gil_locked = REC_ABSENT;
    l->runtime.gil_switch = REC_ABSENT;
    l->interp.asyncio_tasks_head = REC_ABSENT;
    l->tstate.cframe = REC_ABSENT;
    l->tstate.running_loop = l->tstate.running_task = REC_ABSENT;
    l->tstate.tasks_head = REC_ABSENT;
    l->cframe.current_frame = l->cframe.previous = REC_ABSENT;
    l->tstate.datastack_top = l->tstate.datastack_chunk + 8;
    if (l->minor < 15) {
        l->tstate.current_exception = 112;
        l->exc.exc_value = 0;
    }
    l->tstate.exc_info = l->tstate.current_exception + 8;
    l->exc.previous_item = l->exc.exc_value + 8;
    l->code.framesize = l->code.firstlineno + 8;
    l->code.stacksize = l->code.nlocalsplus = REC_ABSENT;
    l->code.frame_specials = 0;
    if (l->object.compact_data == REC_ABSENT)
        l->object.compact_data = l->object.ascii_data + 16;
    bool wide = l->free_threaded && l->minor >= 14;
    l->object.unicode_kind_shift = wide ? 8 : 2;
    l->object.unicode_compact_bit = wide ? 11 : 5;
    l->object.unicode_ascii_bit = wide ? 12 : 6;
    l->frame.owner_thread = 0;
    l->frame.owner_generator = 1;
    l->frame.owner_shim = 3;
    l->frame.tag_mask = l->minor >= 14 ? 3 : 1;
    l->gen.cleared = l->minor >= 15 ? 5 : 4;
    l->gen.yield_from = l->minor >= 15 ? 2 : -1;
    l->gen.yield_from_locked = l->minor >= 15 ? 3 : -1;
}

/* Everything a walk cannot do without. */
static pr_code
require(const rec_layout *l, pr_err *err)
{
    const uint32_t needed[] = {
        l->runtime.interpreters_head,
        l->interp.id,
        l->interp.threads_head,
        l->tstate.current_frame,
        l->tstate.thread_id,
        l->tstate.native_thread_id,
        l->tstate.datastack_chunk,
        l->frame.instr_ptr,
        l->frame.localsplus,
        l->frame.owner,
        l->code.filename,
        l->code.qualname,
        l->code.linetable,
        l->code.firstlineno,
        l->code.code_adaptive,
        l->object.ob_type,
        l->object.type_name,
        l->object.unicode_state,
        l->object.unicode_length,
        l->object.ascii_data,
        l->object.bytes_size,
        l->object.bytes_data,
    };
    for (size_t i = 0; i < N(needed); i++)
        if (needed[i] == REC_ABSENT)
            return PR_FAIL(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                           "the table of offsets of CPython 3.%u lacks "
                           "needed entry %zu",
                           l->minor, i);
    return PR_OK;
}

static pr_code
load_table(const uint8_t *table, rec_layout *l, pr_err *err)
{
    unsigned column = l->minor - 13u;
    l->free_threaded = rec_u64(table + AT_FREE_THREADED) != 0;
    pr_code rc = load_sizes(table, column, l, err);
    for (size_t i = 0; i < N(fields) && rc == PR_OK; i++)
        rc = load_field(table, column, &fields[i], l, err);
    if (rc == PR_OK)
        rc = load_gil(table, column, l, err);
    if (rc != PR_OK)
        return rc;
    l->gc.stats_size = 0;
    if (l->gc.stats != REC_ABSENT) {
        uint64_t size = rec_u64(table + 776); /* gc.generation_stats_size */
        if (size > CAP_GC)
            return bad_table(l, 776, size, err);
        l->gc.stats_size = (uint32_t)size;
    }
    complete(l);
    return require(l, err);
}

/* All that 3.11 and 3.12 share, and everything absent. */
static void
set_old(rec_layout *l)
{
    for (size_t i = 0; i < N(fields); i++)
        put_u32(l, fields[i].to, REC_ABSENT);
    l->minor = (uint8_t)(l->version >> 16);
    complete(l);
    l->interp.next = 0;
    l->tstate.next = 8;
    l->tstate.prev = 0;
    l->tstate.interp = 16;
    l->tstate.cframe = 56;
    l->exc.exc_value = 0;
    l->exc.previous_item = 8;
    l->frame.instr_ptr = 56; /* prev_instr: the last one executed */
    l->frame.localsplus = 72;
    l->frame.size = 80;
    l->frame.tag_mask = 0;
    l->code.filename = 112;
    l->code.name = 120;
    l->code.qualname = 128;
    l->code.linetable = 136;
    l->object.ob_type = 8;
    l->object.type_name = 24;
    l->object.type_flags = 168;
    l->object.unicode_state = 32;
    l->object.unicode_length = 16;
    l->object.bytes_size = 16;
    l->object.bytes_data = 32;
    l->gil.holder = l->gil.locked = l->gil.switch_number = REC_ABSENT;
    l->gc.size = l->gen.size = l->gc.stats_size = 0;
}

static void
set_3_11(rec_layout *l)
{
    l->runtime.interpreters_head = 40;
    l->runtime.gil_holder = 368; /* _PyRuntime.ceval.gil, one for all */
    l->runtime.gil_locked = 376;
    l->runtime.gil_switch = 384;
    l->interp.size = 64;
    l->interp.threads_head = 16;
    l->interp.id = 48;
    l->tstate.size = 360;
    l->tstate.current_exception = 96; /* curexc_type */
    l->tstate.exc_info = 120;
    l->tstate.thread_id = 152;
    l->tstate.native_thread_id = 160;
    l->tstate.datastack_chunk = 296;
    l->tstate.datastack_top = 304;
    l->cframe.current_frame = 8;
    l->cframe.previous = 16;
    l->frame.executable = 32;
    l->frame.previous = 48;
    l->frame.owner = 69;
    l->frame.owner_shim = UINT8_MAX;
    l->code.size = 192;
    l->code.stacksize = 68;
    l->code.firstlineno = 72;
    l->code.nlocalsplus = 76;
    l->code.frame_specials = 9; /* FRAME_SPECIALS_SIZE */
    l->code.framesize = REC_ABSENT;
    l->code.code_adaptive = 184;
    l->object.ascii_data = 48;
    l->object.compact_data = 72;
}

static void
set_3_12(rec_layout *l)
{
    l->runtime.interpreters_head = 40;
    l->interp.size = 400;
    l->interp.id = 8;
    l->interp.threads_head = 72;
    l->interp.ceval_gil = 384;
    l->gil.holder = 8;
    l->gil.locked = 16;
    l->gil.switch_number = 24;
    l->tstate.size = 288;
    l->tstate.current_exception = 96;
    l->tstate.exc_info = 104;
    l->tstate.thread_id = 136;
    l->tstate.native_thread_id = 144;
    l->tstate.datastack_chunk = 232;
    l->tstate.datastack_top = 240;
    l->cframe.current_frame = 0;
    l->cframe.previous = 8;
    l->frame.executable = 0;
    l->frame.previous = 8;
    l->frame.owner = 70;
    l->code.size = 200;
    l->code.firstlineno = 68;
    l->code.framesize = 76;
    l->code.code_adaptive = 192;
    l->object.ascii_data = 40;
    l->object.compact_data = 56;
}

/* Field layouts move between alphas; only finished versions are known. */
static pr_code
check_version(uint32_t version, pr_err *err)
{
    unsigned major = version >> 24, minor = version >> 16 & 255;
    if (major != 3 || minor < 11 || minor > 15) {
        pr_err_set(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                   "CPython %u.%u is not known", major, minor);
        pr_err_hint(err, "3.11 to 3.15 are");
        return PR_NOT_PYTHON;
    }
    if ((version & FINAL) != FINAL) {
        pr_err_set(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                   "this is a pre-release of CPython 3.%u (version 0x%08x), "
                   "whose memory layout is not known",
                   minor, version);
        pr_err_hint(err, "run the final release");
        return PR_NOT_PYTHON;
    }
    return PR_OK;
}

pr_code
rec_layout_load(const uint8_t *table, uint32_t version_hint, rec_layout *ret,
                pr_err *err)
{
    bool has_table = memcmp(table, COOKIE, sizeof COOKIE - 1) == 0;
    uint64_t version = has_table ? rec_u64(table + AT_VERSION) : version_hint;
    if (version == 0 || version > UINT32_MAX)
        return PR_FAIL(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                       "no table of offsets and no version");
    pr_code rc = check_version((uint32_t)version, err);
    if (rc != PR_OK)
        return rc;
    rec_layout l = {.version = (uint32_t)version,
                    .minor = (uint8_t)(version >> 16)};
    if (has_table != (l.minor >= 13))
        return PR_FAIL(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                       "CPython 3.%u %s a table of offsets", l.minor,
                       has_table ? "has no such thing as" : "without");
    if (has_table) {
        rc = load_table(table, &l, err);
        if (rc != PR_OK)
            return rc;
    } else {
        set_old(&l);
        if (l.minor == 11)
            set_3_11(&l);
        else
            set_3_12(&l);
    }
    *ret = l;
    return PR_OK;
}
