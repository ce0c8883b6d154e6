/*
 * stack.c - walk, check, decode (stack.h).
 *
 * The data stack is a bump allocator (Python/pystate.c push_chunk() and
 * _PyThreadState_PushFrame, 3.11 to 3.15): a call's frame begins where the
 * caller's ends, or at the start of a newer chunk.  A stale frame that seems
 * alive breaks that rule, and so does one of another moment.
 */
#include "recorder/cpython/stack.h"

#include <base/array.h>
#include <base/hash.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WALK_MAX = 1 << 18, /* frames of one walk */
    OFF_READS_MAX = 4096,
    NO_CHUNK = UINT32_MAX,
    SEEN = 256 /* a power of two */
};

/* A direct-mapped memory of code objects: one that it forgot is met twice. */
struct rec_seen {
    uint64_t code;
    uint32_t round;
};

typedef enum raw_kind { RAW_FRAME, RAW_NATIVE, RAW_GC } raw_kind;

struct rec_raw {
    uint64_t address, code, instr;
    uint32_t chunk; /* of the source; NO_CHUNK: heap or C stack */
    uint32_t words;
    raw_kind kind;
};

void
rec_stack_release(rec_stack *stack)
{
    free(stack->v);
    *stack = (rec_stack){0};
}

void
rec_walker_release(rec_walker *walker)
{
    free(walker->raw);
    free(walker->seen);
    free(walker->met);
    free(walker->missed);
    walker->raw = NULL;
    walker->seen = NULL;
    walker->met = walker->missed = NULL;
    walker->n_raw = walker->cap_raw = 0;
    walker->n_met = walker->cap_met = 0;
    walker->n_missed = walker->cap_missed = 0;
}

/* ---- walking ---- */

typedef struct cursor {
    rec_walker *walker;
    rec_batch *batch;
    rec_data_stack *source;
    uint64_t address;   /* of the frame being walked */
    const uint8_t *at;  /* its bytes */
    size_t chunk;       /* that holds it, or the last one that held one */
    uint32_t off_reads; /* frames that had to be read one by one */
    bool on_stack;      /* it lies on the data stack */
    bool passed;        /* the walk has passed the frame it must pass */
} cursor;

/* Room for one more frame. */
static pr_code
new_raw(rec_walker *w, rec_raw **ret, pr_err *err)
{
    if (w->n_raw == WALK_MAX)
        return PR_FAIL(err, PR_LIMIT, "stack without end");
    if (w->n_raw == w->cap_raw &&
        !pr_grow(&w->raw, &w->cap_raw, w->n_raw + 1, sizeof *w->raw))
        return pr_no_memory(err);
    *ret = &w->raw[w->n_raw++];
    return PR_OK;
}

static pr_code
push_synthetic(rec_walker *w, raw_kind kind, pr_err *err)
{
    rec_raw *raw;
    pr_code code = new_raw(w, &raw, err);
    if (code == PR_OK)
        *raw = (rec_raw){.kind = kind, .chunk = NO_CHUNK};
    return code;
}

/* Frames on the C stack and in generators are not in a chunk: the batch holds
 * those of the last stack, a new one is read now. */
static pr_code
load_off_stack(cursor *c, pr_err *err)
{
    uint32_t len = c->walker->layout->frame.size;
    c->at = rec_batch_find(c->batch, c->address, len);
    if (!c->at) {
        if (c->off_reads++ == OFF_READS_MAX)
            return PR_FAIL_AT(err, PR_LIMIT, c->address,
                              "too many frames off the data stack");
        size_t piece = rec_batch_add(c->batch, c->address, len);
        pr_code code = rec_batch_read(c->batch, err);
        if (code != PR_OK)
            return code;
        c->at = rec_batch_bytes(c->batch, piece);
        if (!c->at)
            return PR_FAIL_AT(err, PR_TORN, c->address, "frame is not there");
    }
    rec_data_stack_note_off(c->source, c->address);
    return PR_OK;
}

static pr_code
load_frame(cursor *c, pr_err *err)
{
    if (!rec_plausible(c->address))
        return PR_FAIL_AT(err, PR_TORN, c->address, "not a frame");
    /* a walk needs only the bytes before the locals */
    uint32_t len = c->walker->layout->frame.size;
    size_t chunk = rec_data_stack_chunk(c->source, c->chunk, c->address, len);
    c->on_stack = chunk != SIZE_MAX;
    if (!c->on_stack)
        return load_off_stack(c, err);
    c->chunk = chunk;
    const rec_chunk *in = &c->source->chunk[chunk];
    if (in->piece == REC_NO_PIECE) {
        pr_code code = rec_data_stack_load(c->source, c->batch, chunk, err);
        if (code != PR_OK)
            return code;
    }
    const uint8_t *bytes = rec_batch_bytes(c->batch, in->piece);
    uint64_t from = c->address - in->address;
    if (!bytes || from + len > c->batch->piece[in->piece].len)
        return PR_FAIL_AT(err, PR_TORN, c->address,
                          "frame above the top of the data stack");
    c->at = bytes + from;
    return PR_OK;
}

/* A frame that runs Python code. */
static pr_code
take_python(cursor *c, uint8_t owner, const rec_walk *walk, pr_err *err)
{
    rec_walker *w = c->walker;
    const rec_layout *l = w->layout;
    bool threads_own = owner == l->frame.owner_thread;
    if (threads_own != c->on_stack ||
        (!threads_own && owner != l->frame.owner_generator))
        return PR_FAIL_AT(err, PR_TORN, c->address, "owner %u of a frame",
                          owner);
    uint64_t code = rec_u64(c->at + l->frame.executable) & ~l->frame.tag_mask;
    if (!rec_plausible(code))
        return PR_FAIL_AT(err, PR_TORN, c->address, "frame without code");
    rec_raw *raw;
    pr_code r = PR_OK;
    if (walk->gc_frame && c->address == walk->gc_frame)
        r = push_synthetic(w, RAW_GC, err);
    if (r == PR_OK)
        r = new_raw(w, &raw, err);
    if (r != PR_OK)
        return r;
    raw->address = c->address;
    raw->code = code;
    raw->instr = rec_u64(c->at + l->frame.instr_ptr);
    raw->chunk = c->on_stack ? (uint32_t)c->chunk : NO_CHUNK;
    raw->words = 0;
    raw->kind = RAW_FRAME;
    return PR_OK;
}

static pr_code
take_frame(cursor *c, const rec_walk *walk, uint64_t *ret_previous, pr_err *err)
{
    const rec_layout *l = c->walker->layout;
    pr_code code = load_frame(c, err);
    if (code != PR_OK)
        return code;
    uint64_t previous = rec_u64(c->at + l->frame.previous);
    if (previous == c->address)
        return PR_FAIL_AT(err, PR_TORN, c->address, "frame calls itself");
    uint8_t owner = c->at[l->frame.owner];
    if (owner < l->frame.owner_shim)
        code = take_python(c, owner, walk, err);
    else if (c->walker->native && previous && c->walker->n_raw)
        code = push_synthetic(c->walker, RAW_NATIVE, err);
    if (code == PR_OK)
        *ret_previous = previous;
    return code;
}

/* The frames that the run below must leave to take_frame(). */
static bool
is_special(const rec_walk *walk, uint64_t address)
{
    return address == walk->gc_frame || address == walk->anchor ||
           address == walk->must_pass;
}

/* Calls from Python to Python lie one after the other in one chunk: follow them
 * in a tight loop, with the checks of take_frame().  Returns the first frame
 * that is not one of those. */
static uint64_t
take_run(cursor *c, const rec_walk *walk, uint64_t next)
{
    rec_walker *w = c->walker;
    const rec_layout *l = w->layout;
    if (c->chunk >= c->source->n_live)
        return next;
    const rec_chunk *in = &c->source->chunk[c->chunk];
    const uint8_t *bytes = rec_batch_bytes(c->batch, in->piece);
    uint32_t len = bytes ? c->batch->piece[in->piece].len : 0;
    uint32_t size = l->frame.size;
    while (w->n_raw < w->cap_raw && w->n_raw < WALK_MAX) {
        uint64_t from = next - in->address;
        if (from < l->chunk.head || from >= len || len - from < size ||
            (next & 7) || is_special(walk, next))
            break;
        const uint8_t *at = bytes + from;
        uint64_t code = rec_u64(at + l->frame.executable) & ~l->frame.tag_mask;
        uint64_t previous = rec_u64(at + l->frame.previous);
        if (at[l->frame.owner] != l->frame.owner_thread ||
            !rec_plausible(code) || previous == next || previous == 0)
            break;
        rec_raw *raw = &w->raw[w->n_raw++];
        raw->address = next;
        raw->code = code;
        raw->instr = rec_u64(at + l->frame.instr_ptr);
        raw->chunk = (uint32_t)c->chunk;
        raw->words = 0;
        raw->kind = RAW_FRAME;
        next = previous;
    }
    return next;
}

/* A greenlet has a stack of its own: it begins with an entry shim that has no
 * caller, and its first Python frame begins the greenlet's own first chunk,
 * which check_neighbours() holds (greenlet 3.3.2 TPythonState.cpp: a new
 * greenlet starts with an empty data stack and no current frame). */
static bool
ends_in_entry(const cursor *c)
{
    const rec_layout *l = c->walker->layout;
    return c->at[l->frame.owner] == l->frame.owner_shim && c->walker->n_raw;
}

/* The outermost frame of a whole stack. */
static pr_code
check_end(const cursor *c, const rec_walk *walk, pr_err *err)
{
    const rec_layout *l = c->walker->layout;
    if (walk->base && c->address != walk->base && !ends_in_entry(c))
        return PR_FAIL_AT(err, PR_TORN, c->address,
                          "stack does not end at its base");
    if (walk->must_pass && !c->passed)
        return PR_FAIL_AT(err, PR_TORN, walk->must_pass,
                          "stack misses a frame below a C call");
    /* a generator always has a caller: without one it was about to yield */
    if (c->at[l->frame.owner] == l->frame.owner_generator)
        return PR_FAIL_AT(err, PR_TORN, c->address,
                          "stack ends in a generator");
    return PR_OK;
}

/* The callers of the anchor, as they were.  False: the last stack does not hold
 * them, so the walk must. */
static bool
append_last(rec_walker *w, const rec_walk *walk, pr_err *err)
{
    const rec_stack *last = walk->last;
    uint32_t at = last->n;
    while (at > 0 && last->v[at - 1].address != walk->anchor)
        at--;
    for (uint32_t i = 0; i < at; i++)
        if (last->v[i].code == 0) /* synthetic: it may hide frames */
            return false;
    size_t n = w->n_raw;
    for (uint32_t i = at; i-- > 1;) {
        rec_raw *raw;
        if (new_raw(w, &raw, err) != PR_OK) {
            w->n_raw = n;
            return false;
        }
        const rec_entry *e = &last->v[i - 1];
        *raw = (rec_raw){e->address, e->code,  e->instr,
                         NO_CHUNK,   e->words, RAW_FRAME};
    }
    return at > 0;
}

pr_code
rec_stack_walk(rec_walker *w, rec_batch *batch, rec_data_stack *source,
               const rec_walk *walk, pr_err *err)
{
    cursor c = {.walker = w,
                .batch = batch,
                .source = source,
                .chunk = source->n_live - 1};
    w->n_raw = 0;
    w->anchored = false;
    source->n_off = 0;
    uint64_t next = walk->start;
    for (uint32_t steps = 0; next; steps++) {
        if (steps == WALK_MAX)
            return PR_FAIL_AT(err, PR_LIMIT, next, "stack without end");
        next = take_run(&c, walk, next);
        c.address = next;
        c.passed = c.passed || next == walk->must_pass;
        pr_code code = take_frame(&c, walk, &next, err);
        if (code != PR_OK)
            return code;
        if (walk->anchor == c.address && append_last(w, walk, NULL)) {
            w->anchored = true;
            return PR_OK;
        }
    }
    return walk->start ? check_end(&c, walk, err) : PR_OK;
}

/* ---- decoding ---- */

/* The walked frames that are emitted: all, or both ends around a marker. */
typedef struct emit_plan {
    uint32_t depth; /* of the emitted stack */
    uint32_t outer; /* emitted frames before the marker; depth: no marker */
    uint32_t omitted;
} emit_plan;

static emit_plan
plan_of(const rec_walker *w)
{
    uint32_t max = w->max_depth ? w->max_depth : REC_DEPTH_DEFAULT;
    uint32_t n = (uint32_t)w->n_raw;
    if (n <= max)
        return (emit_plan){n, n, 0};
    return (emit_plan){max, max / 2, n - (max - 1)};
}

/* The walked frame that is emitted at position p, counted from the outermost;
 * NULL: the marker. */
static rec_raw *
raw_at(const rec_walker *w, const emit_plan *plan, uint32_t p)
{
    if (p < plan->outer)
        return &w->raw[w->n_raw - 1 - p];
    if (plan->omitted && p == plan->outer)
        return NULL;
    return &w->raw[plan->depth - 1 - p];
}

static uint32_t
match_old(const rec_walker *w, const emit_plan *plan, const rec_stack *old)
{
    uint32_t p = 0;
    for (; p < plan->outer && p < old->n; p++) {
        rec_raw *raw = raw_at(w, plan, p);
        if (raw->kind != RAW_FRAME || raw->code != old->v[p].code ||
            raw->instr != old->v[p].instr)
            break;
        raw->words = old->v[p].words;
    }
    return p;
}

/* ---- the code objects of a stack ---- */

static bool
is_counted(const rec_walker *w)
{
    return w->layout->interp.code_generation != REC_ABSENT;
}

/* Begin a pass over frames. */
static bool
begin_round(rec_walker *w)
{
    if (!w->seen)
        w->seen = calloc(SEEN, sizeof *w->seen);
    w->round++;
    return w->seen != NULL;
}

/* Is it met for the first time in this round? */
static bool
is_first(rec_walker *w, uint64_t code)
{
    rec_seen *s = &w->seen[pr_mix64(code) & (SEEN - 1)];
    if (s->code == code && s->round == w->round)
        return false;
    *s = (rec_seen){code, w->round};
    return true;
}

void
rec_stack_ask(const rec_walker *w, rec_code_set *codes, rec_batch *batch)
{
    if (codes->ahead || !is_counted(w))
        rec_code_set_ask(codes, batch);
}

static bool
note(uint64_t **list, size_t *n, size_t *cap, uint64_t code)
{
    if (!pr_grow(list, cap, *n + 1, sizeof **list))
        return false;
    (*list)[(*n)++] = code;
    return true;
}

/* List the code objects of all frames from position `from` on that are not
 * verified, each once, and ask for those that the batch lacks. */
static bool
list_codes(rec_walker *w, rec_batch *batch, uint32_t from)
{
    uint64_t last = 0;
    w->n_met = w->n_missed = 0;
    if (!begin_round(w))
        return false;
    for (size_t i = w->n_raw - from; i-- > 0;) {
        const rec_raw *raw = &w->raw[i];
        if (raw->kind != RAW_FRAME || raw->code == last)
            continue;
        last = raw->code;
        if (!is_first(w, last) || rec_codes_is_verified(w->codes, last))
            continue;
        if (!note(&w->met, &w->n_met, &w->cap_met, last))
            return false;
        if (rec_batch_find(batch, last, w->layout->code.size))
            continue;
        rec_codes_ask(w->codes, batch, last);
        if (!note(&w->missed, &w->n_missed, &w->cap_missed, last))
            return false;
    }
    return true;
}

/* Verify the code objects of all frames from position `from` on.  Only those:
 * no frame keeps another one alive. */
static pr_code
verify_codes(rec_walker *w, rec_batch *batch, uint32_t from, pr_err *err)
{
    if (!list_codes(w, batch, from))
        return pr_no_memory(err);
    pr_code code = rec_batch_read(batch, err);
    for (size_t i = 0; code == PR_OK && i < w->n_met; i++) {
        const rec_code *ignored;
        code = rec_codes_get(w->codes, batch, w->met[i], &ignored, err);
    }
    return code;
}

static void
note_missed(const rec_walker *w, rec_code_set *codes)
{
    for (size_t i = 0; i < w->n_missed; i++)
        rec_code_set_miss(codes, w->missed[i]);
    for (size_t i = 0; i < w->n_missed; i++)
        rec_codes_note(w->codes, codes, w->missed[i]);
}

/* Verify the code objects that need it.  *ret: equal frames of `last` and of
 * the walk have equal code; *ret_same: so many outermost frames are equal. */
static pr_code
compare_with_last(rec_walker *w, rec_batch *batch, const emit_plan *plan,
                  const rec_stack *last, bool *ret, uint32_t *ret_same,
                  pr_err *err)
{
    pr_code code = PR_OK;
    bool holds = rec_codes_hold(w->codes, &last->stamp);
    *ret_same = holds ? match_old(w, plan, last) : 0;
    code = verify_codes(w, batch, *ret_same, err);
    if (code != PR_OK)
        return code;
    *ret = holds || last->stamp.epoch == rec_codes_stamp(w->codes).epoch;
    if (*ret && !holds)
        *ret_same = match_old(w, plan, last);
    return PR_OK;
}

/* ---- the places of frames ---- */

/* Sizes of all frames from position `from` on, emitted or not. */
static pr_code
find_words(rec_walker *w, rec_batch *batch, uint32_t from, pr_err *err)
{
    uint64_t last = 0;
    uint32_t words = 0;
    for (size_t i = w->n_raw - from; i-- > 0;) {
        rec_raw *raw = &w->raw[i];
        if (raw->kind != RAW_FRAME)
            continue;
        if (raw->code != last) {
            const rec_code *code;
            pr_code r = rec_codes_get(w->codes, batch, raw->code, &code, err);
            if (r != PR_OK)
                return r;
            last = raw->code;
            words = code->frame_words;
        }
        raw->words = words;
    }
    return PR_OK;
}

/* Where a call from `outer` whose frame is in the inner one's chunk begins; 0:
 * it cannot be there. */
static uint64_t
place_of_callee(const rec_data_stack *s, const rec_raw *outer,
                const rec_raw *inner)
{
    if (outer->chunk == inner->chunk)
        return outer->address + 8 * (uint64_t)outer->words;
    if (inner->chunk == outer->chunk + 1)
        return s->chunk[inner->chunk].address + s->head;
    return 0;
}

/* A function that returns clears its locals while its frame is still there, but
 * no longer linked (clear_thread_frame() of Python/ceval.c, 3.11 to 3.15).  The
 * frames of its finalizers lie after that frame, but their links lead to its
 * caller: does the frame of such a function lie between the two? */
static bool
is_leaving(rec_walker *w, rec_batch *batch, const rec_data_stack *s,
           const rec_raw *outer, const rec_raw *inner, uint64_t at)
{
    const rec_layout *l = w->layout;
    const rec_chunk *c = &s->chunk[inner->chunk];
    const uint8_t *bytes = rec_batch_bytes(batch, c->piece);
    uint64_t from = at - c->address;
    if (!bytes || inner->address - c->address < from + l->frame.size ||
        from + l->frame.size > batch->piece[c->piece].len)
        return false;
    const uint8_t *frame = bytes + from;
    uint64_t executable =
        rec_u64(frame + l->frame.executable) & ~l->frame.tag_mask;
    if (rec_u64(frame + l->frame.previous) != outer->address ||
        frame[l->frame.owner] != l->frame.owner_thread ||
        !rec_plausible(executable))
        return false;
    const rec_code *code;
    return rec_codes_get(w->codes, batch, executable, &code, NULL) == PR_OK &&
           at + 8 * (uint64_t)code->frame_words == inner->address;
}

static bool
adjoin(rec_walker *w, rec_batch *batch, const rec_data_stack *s,
       const rec_raw *outer, const rec_raw *inner)
{
    uint64_t at = place_of_callee(s, outer, inner);
    return at &&
           (at == inner->address || is_leaving(w, batch, s, outer, inner, at));
}

/* The first frame of a thread lies at the start of its first chunk, after the
 * slot that push_chunk() leaves out so that the chunk is never freed. */
static bool
begins(const rec_data_stack *s, const rec_raw *outermost)
{
    return outermost->chunk == 0 &&
           outermost->address == s->chunk[0].address + s->head + 8;
}

static pr_code
check_neighbours(rec_walker *w, rec_batch *batch, const rec_data_stack *source,
                 pr_err *err)
{
    const rec_raw *outer = NULL;
    for (size_t i = w->n_raw; i-- > 0;) {
        const rec_raw *raw = &w->raw[i];
        if (raw->chunk == NO_CHUNK)
            continue;
        if (outer ? !adjoin(w, batch, source, outer, raw)
                  : !w->anchored && !begins(source, raw))
            return PR_FAIL_AT(err, PR_TORN, raw->address,
                              "gap between two frames");
        outer = raw;
    }
    return PR_OK;
}

static pr_code
synthetic(rec_walker *w, const char *func, uint32_t *ret, pr_err *err)
{
    return rec_codes_synthetic(w->codes, PR_SYNTHETIC_FILE, func, strlen(func),
                               ret, err);
}

static pr_code
marker(rec_walker *w, uint32_t omitted, uint32_t *ret, pr_err *err)
{
    char text[48];
    snprintf(text, sizeof text, "<%" PRIu32 " frames omitted>", omitted);
    return synthetic(w, text, ret, err);
}

static uint8_t
opcode_at(rec_batch *batch, uint64_t instr)
{
    const uint8_t *p = rec_batch_find(batch, instr, 1);
    return p ? *p : PR_NO_OPCODE;
}

/* A thread's own copy of the instructions may have been made after the code
 * object was read: the second try reads it again. */
static pr_code
python_frame(rec_walker *w, rec_batch *batch, const rec_raw *raw, uint32_t *ret,
             pr_err *err)
{
    uint8_t opcode = w->opcodes ? opcode_at(batch, raw->instr) : PR_NO_OPCODE;
    pr_err why;
    pr_code r = PR_TORN;
    for (int i = 0; i < 2 && r == PR_TORN; i++) {
        const rec_code *code;
        why = (pr_err)PR_ERR_INIT;
        r = rec_codes_get(w->codes, batch, raw->code, &code, &why);
        if (r == PR_OK)
            r = rec_codes_frame(w->codes, code, raw->instr, opcode, ret, &why);
    }
    if (r != PR_OK && err && err->code == PR_OK)
        *err = why;
    return r;
}

static pr_code
entry_of(rec_walker *w, rec_batch *batch, const rec_raw *raw, rec_entry *ret,
         pr_err *err)
{
    rec_entry e = {raw->code, raw->instr, raw->address, raw->words, 0};
    pr_code r =
        raw->kind == RAW_FRAME
            ? python_frame(w, batch, raw, &e.id, err)
            : synthetic(w, raw->kind == RAW_GC ? PR_GC_FUNC : PR_NATIVE_FUNC,
                        &e.id, err);
    if (r == PR_OK)
        *ret = e;
    return r;
}

/* The opcodes of the frames to be decoded, in one read. */
static pr_code
load_opcodes(rec_walker *w, rec_batch *batch, const emit_plan *plan,
             uint32_t from, pr_err *err)
{
    for (uint32_t p = from; p < plan->depth; p++) {
        const rec_raw *raw = raw_at(w, plan, p);
        if (raw && raw->kind == RAW_FRAME)
            rec_batch_add(batch, raw->instr, 1);
    }
    return rec_batch_read(batch, err);
}

/* A frame that equals the earlier one at its position is that one: in a cut
 * stack this mostly holds for the inner part, whatever frames are left out
 * before it. */
static bool
reuse(const rec_stack *old, uint32_t p, const rec_raw *raw, rec_stack *fresh)
{
    if (p >= old->n || raw->kind != RAW_FRAME || old->v[p].code != raw->code ||
        old->v[p].instr != raw->instr)
        return false;
    fresh->v[p] = old->v[p];
    return true;
}

/* `old` is NULL if its code objects may have gone. */
static pr_code
decode_rest(rec_walker *w, rec_batch *batch, const emit_plan *plan,
            uint32_t from, const rec_stack *old, rec_stack *fresh, pr_err *err)
{
    for (uint32_t p = from; p < plan->depth; p++) {
        const rec_raw *raw = raw_at(w, plan, p);
        pr_code code = PR_OK;
        if (raw && old && reuse(old, p, raw, fresh))
            continue;
        if (raw) {
            code = entry_of(w, batch, raw, &fresh->v[p], err);
        } else {
            fresh->v[p] = (rec_entry){0};
            code = marker(w, plan->omitted, &fresh->v[p].id, err);
        }
        if (code != PR_OK)
            return code;
    }
    return PR_OK;
}

static uint32_t
common_prefix(const rec_stack *a, const rec_stack *b, uint32_t from)
{
    uint32_t n = a->n < b->n ? a->n : b->n;
    uint32_t p = from;
    while (p < n && a->v[p].id == b->v[p].id)
        p++;
    return p;
}

/* Where code is freed now and then, it pays to read a set in vain: to find that
 * it was needed costs two reads more. */
enum { FORESEEN = 16 };

static void
foresee(const rec_walker *w, rec_code_set *codes, const rec_stack *last)
{
    if (last->n && !rec_codes_hold(w->codes, &last->stamp))
        codes->ahead = FORESEEN;
    else if (codes->ahead)
        codes->ahead--;
}

pr_code
rec_stack_decode(rec_walker *w, rec_batch *batch, const rec_data_stack *source,
                 rec_code_set *codes, const rec_stack *last, rec_stack *fresh,
                 uint32_t *ret_keep, uint32_t *ret_omitted, pr_err *err)
{
    emit_plan plan = plan_of(w);
    if (!pr_grow(&fresh->v, &fresh->cap, plan.depth, sizeof *fresh->v))
        return pr_no_memory(err);
    bool trusted;
    uint32_t same;
    foresee(w, codes, last);
    pr_code code =
        compare_with_last(w, batch, &plan, last, &trusted, &same, err);
    if (code == PR_OK)
        code = find_words(w, batch, same, err);
    if (code == PR_OK)
        code = check_neighbours(w, batch, source, err);
    if (code == PR_OK && w->opcodes)
        code = load_opcodes(w, batch, &plan, same, err);
    if (code != PR_OK)
        return code;
    if (same)
        memcpy(fresh->v, last->v, same * sizeof *last->v);
    code =
        decode_rest(w, batch, &plan, same, trusted ? last : NULL, fresh, err);
    if (code != PR_OK)
        return code;
    fresh->n = plan.depth;
    fresh->stamp = rec_codes_stamp(w->codes);
    note_missed(w, codes);
    *ret_keep = common_prefix(last, fresh, same);
    *ret_omitted = plan.omitted;
    return PR_OK;
}
