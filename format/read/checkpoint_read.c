/*
 * checkpoint_read.c - read a checkpoint's frame and the typed records of its
 * body.
 */
#include "format/read/checkpoint_read.h"
#include "format/limits.h"

#include <base/array.h>
#include <base/hash.h>
#include <inttypes.h>
#include <pyrec/error.h>
#include <stdint.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

/* ---- the frame ---- */

uint64_t
pf_checkpoint_length(const uint8_t *start)
{
    if (pf_load_le32(start) != PF_CHECKPOINT_SKIP ||
        memcmp(start + PF_CHECKPOINT_MAGIC_AT, PF_CHECKPOINT_MAGIC, 4) != 0)
        return 0;
    uint64_t n = PF_SKIP_HEADER_SIZE +
                 (uint64_t)pf_load_le32(start + PF_CHECKPOINT_LENGTH);
    return n < PF_CHECKPOINT_SIZE ? 0 : n;
}

/* XXH64 of the frame with the checksum's own bytes as 0. */
static uint64_t
sum_of(const uint8_t *frame, size_t n)
{
    static const uint8_t zero[sizeof(uint64_t)];
    const size_t after = PF_CHECKPOINT_CHECKSUM + sizeof zero;
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    XXH64_update(&state, frame, PF_CHECKPOINT_CHECKSUM);
    XXH64_update(&state, zero, sizeof zero);
    XXH64_update(&state, frame + after, n - after);
    return XXH64_digest(&state);
}

static pr_code
check_sum(const uint8_t *frame, size_t n, bool swapped, pr_err *err)
{
    if (sum_of(frame, n) !=
        pf_load_u64(frame + PF_CHECKPOINT_CHECKSUM, swapped))
        return PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint's checksum does not match");
    return PR_OK;
}

static pr_code
check_versions(const uint8_t *frame, pr_err *err)
{
    if (frame[PF_CHECKPOINT_READ] > PF_CHECKPOINT_VERSION)
        return PR_FAIL(err, PR_NEWER,
                       "the checkpoint needs a reader of version %u, this is "
                       "version %u",
                       frame[PF_CHECKPOINT_READ], PF_CHECKPOINT_VERSION);
    if (frame[PF_CHECKPOINT_FLAGS] & ~PF_CHECKPOINT_ZSTD)
        return PR_FAIL(err, PR_NEWER, "the checkpoint has unknown flags 0x%02x",
                       frame[PF_CHECKPOINT_FLAGS]);
    if (frame[PF_CHECKPOINT_RESERVED] != 0)
        return PR_FAIL(err, PR_DAMAGED,
                       "a reserved byte of the checkpoint is not 0");
    return PR_OK;
}

pr_code
pf_checkpoint_check(const uint8_t *frame, size_t n, bool swapped,
                    pf_checkpoint *ret, pr_err *err)
{
    if (n < PF_CHECKPOINT_SIZE || pf_checkpoint_length(frame) != n)
        return PR_FAIL(err, PR_FOREIGN, "no checkpoint");
    pr_code code = check_sum(frame, n, swapped, err);
    if (code == PR_OK)
        code = check_versions(frame, err);
    if (code != PR_OK)
        return code;
    pf_checkpoint c = {
        .number = pf_load_u32(frame + PF_CHECKPOINT_NUMBER, swapped),
        .first_check = pf_load_u64(frame + PF_CHECKPOINT_FIRST, swapped),
        .check = pf_load_u64(frame + PF_CHECKPOINT_CHECKSUM, swapped),
        .data_size = pf_load_u64(frame + PF_CHECKPOINT_DATA_SIZE, swapped),
        .data_check = pf_load_u64(frame + PF_CHECKPOINT_DATA_CHECK, swapped),
        .stored = frame + PF_CHECKPOINT_SIZE,
        .stored_size = n - PF_CHECKPOINT_SIZE,
        .body_size = pf_load_u32(frame + PF_CHECKPOINT_BODY_SIZE, swapped),
        .packed = frame[PF_CHECKPOINT_FLAGS] & PF_CHECKPOINT_ZSTD,
        .newer_rewriter = frame[PF_CHECKPOINT_REWRITE] > PF_CHECKPOINT_VERSION,
    };
    if (!c.packed && c.body_size != c.stored_size)
        return PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint's body has %zu bytes, not %zu",
                       c.stored_size, c.body_size);
    *ret = c;
    return PR_OK;
}

static pr_code
unpack(const pf_checkpoint *c, const pf_budget *budget, pf_buf *scratch,
       pr_err *err)
{
    /* allocate nothing that the stored bytes cannot hold */
    uint64_t most =
        (c->stored_size / PF_ZSTD_BLOCK_MIN) * (uint64_t)PF_ZSTD_BLOCK_MAX;
    if (c->body_size > PF_CHECKPOINT_BODY_MAX || c->body_size > most ||
        ZSTD_getFrameContentSize(c->stored, c->stored_size) != c->body_size)
        return PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint's body cannot have %zu bytes",
                       c->body_size);
    pr_code code = pf_budget_check(budget, c->body_size, err);
    if (code != PR_OK)
        return code;
    scratch->n = 0;
    if (!pf_buf_reserve(scratch, c->body_size + 1))
        return pr_no_memory(err);
    size_t n =
        ZSTD_decompress(scratch->p, c->body_size, c->stored, c->stored_size);
    if (ZSTD_isError(n) || n != c->body_size)
        return PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint's body does not decompress: %s",
                       ZSTD_isError(n) ? ZSTD_getErrorName(n) : "too short");
    scratch->n = n;
    return PR_OK;
}

pr_code
pf_checkpoint_body(const pf_checkpoint *c, bool swapped,
                   const pf_budget *budget, pf_buf *scratch, pf_cur *ret,
                   pr_err *err)
{
    if (!c->packed) {
        *ret = pf_cur_of(c->stored, c->stored_size, swapped);
        return PR_OK;
    }
    pr_code code = unpack(c, budget, scratch, err);
    if (code == PR_OK)
        *ret = pf_cur_of(scratch->p, scratch->n, swapped);
    return code;
}

/* ---- the records ---- */

typedef struct walk {
    const pf_checkpoint_ops *ops;
    void *context;
    pr_err *err;
} walk;

/* Call `op` with it, if it was read and the caller has such a call. */
#define EMIT(w, op, ...) \
    ((w)->ops->op ? (w)->ops->op((w)->context, __VA_ARGS__, (w)->err) : PR_OK)

/* The index of a process. */
static bool
get_process_index(pf_cur *c, uint32_t *ret)
{
    const uint8_t *start = c->p;
    uint32_t index;
    if (!pf_get_varint32(c, &index))
        return false;
    if (index == UINT32_MAX)
        return pf_refuse(c, start);
    *ret = index;
    return true;
}

/* A thread or a process. */
static bool
get_ref(pf_cur *c, pf_ref *ret)
{
    const uint8_t *start = c->p;
    if (!pf_get_varint(c, &ret->tid) || !pf_get_varint32(c, &ret->interp))
        return false;
    return !pf_ref_is_process(*ret) || ret->tid < UINT32_MAX ||
           pf_refuse(c, start);
}

static bool
get_thread_ref(pf_cur *c, pf_ref *ret)
{
    const uint8_t *start = c->p;
    return get_ref(c, ret) && (!pf_ref_is_process(*ret) || pf_refuse(c, start));
}

static bool
get_text(pf_cur *c, pr_text *ret)
{
    return pf_get_string(c, &ret->bytes, &ret->len);
}

/* A key of metadata has 1 to PF_META_KEY_MAX bytes and no NUL. */
static bool
get_pair(pf_cur *c, pr_pair *ret)
{
    const uint8_t *start = c->p;
    pr_pair pair;
    if (!get_text(c, &pair.key) || !get_text(c, &pair.value))
        return false;
    if (pair.key.len == 0 || pair.key.len > PF_META_KEY_MAX ||
        memchr(pair.key.bytes, 0, pair.key.len))
        return pf_refuse(c, start);
    *ret = pair;
    return true;
}

/* STRINGS and FRAMES begin alike; all ids must be below 2^32-1. */
static bool
get_id_range(pf_cur *c, size_t min_size, uint32_t *ret_first, uint64_t *ret_n)
{
    const uint8_t *start = c->p;
    if (!pf_get_varint32(c, ret_first) || !pf_get_count(c, min_size, ret_n))
        return false;
    if (*ret_n > UINT32_MAX - (uint64_t)*ret_first)
        return pf_refuse(c, start);
    return true;
}

static pr_code
walk_strings(walk *w, pf_cur *c)
{
    uint32_t first;
    uint64_t n;
    pr_code code = PR_OK;
    if (!get_id_range(c, 1, &first, &n))
        return PR_OK;
    code = EMIT(w, strings, first, (uint32_t)n);
    for (uint32_t i = 0; i < n && code == PR_OK; i++) {
        const char *bytes;
        size_t len;
        if (!pf_get_string(c, &bytes, &len))
            break;
        code = EMIT(w, string, first + i, bytes, len);
    }
    return code;
}

static pr_code
walk_frames(walk *w, pf_cur *c)
{
    uint32_t first, line;
    uint64_t n;
    pr_code code = PR_OK;
    if (!get_id_range(c, PF_FRAME_MIN + 1, &first, &n))
        return PR_OK;
    code = EMIT(w, frames, first, (uint32_t)n);
    for (uint32_t i = 0; i < n && code == PR_OK; i++) {
        pr_frame frame;
        const uint8_t *start = c->p;
        if (!pf_get_frame(c, &frame) || !pf_get_varint32(c, &line))
            break;
        if (line > INT32_MAX) {
            pf_refuse(c, start);
            break;
        }
        frame.first_line = (int32_t)line;
        code = EMIT(w, frame, first + i, &frame);
    }
    return code;
}

static pr_code
walk_bases(walk *w, pf_cur *c)
{
    uint64_t n = 0, base;
    pr_code code = PR_OK;
    pf_ref ref;
    pf_get_count(c, 3, &n);
    for (uint64_t i = 0; i < n && code == PR_OK; i++) {
        if (!get_thread_ref(c, &ref) || !pf_get_varint(c, &base))
            break;
        code = EMIT(w, base, ref, base);
    }
    return code;
}

static pr_code
walk_span(walk *w, pf_cur *c)
{
    pf_span s;
    if (!pf_get_varint(c, &s.first_us) || !pf_get_varint(c, &s.last_us) ||
        !pf_get_varint(c, &s.samples) || !pf_get_varint(c, &s.samples_so_far) ||
        !pf_get_varint(c, &s.threads_so_far) ||
        !pf_get_varint(c, &s.record_bytes))
        return PR_OK;
    return EMIT(w, span, &s);
}

static pr_code
walk_header(walk *w, pf_cur *c)
{
    const uint8_t *bytes = pf_get_bytes(c, PF_HEADER_SIZE);
    return bytes ? EMIT(w, header, bytes) : PR_OK;
}

static pr_code
walk_threads(walk *w, pf_cur *c)
{
    uint64_t n = 0;
    pr_code code = PR_OK;
    pf_get_count(c, 4, &n);
    for (uint64_t i = 0; i < n && code == PR_OK; i++) {
        pf_ref ref;
        uint8_t flags;
        pr_thread t = {0};
        if (!get_thread_ref(c, &ref) || !pf_get_u8(c, &flags) ||
            !pf_get_string(c, &t.name, &t.name_len))
            break;
        t.tid = ref.tid;
        t.interp = ref.interp;
        if (flags & PF_THREAD_IDENTITY &&
            (!get_process_index(c, &t.process) || !pf_get_varint(c, &t.tid) ||
             !pf_get_varint32(c, &t.interp)))
            break;
        t.is_main = flags & PF_THREAD_MAIN;
        code = EMIT(w, thread, ref, &t);
    }
    return code;
}

/* Make room for the items of a list, each of at least `least` bytes, in an
 * array that lives as long as the call. */
static bool
get_room(pf_cur *c, uint64_t least, void *array, size_t *cap, size_t size,
         uint32_t *ret_n, bool *no_memory)
{
    uint64_t n;
    if (!pf_get_count(c, least, &n))
        return false;
    *no_memory = n > UINT32_MAX || !pr_grow(array, cap, (size_t)n, size);
    *ret_n = (uint32_t)n;
    return !*no_memory;
}

static bool
get_pairs(pf_cur *c, pr_pair **pair, size_t *cap, pr_process *p,
          bool *no_memory)
{
    uint32_t n;
    if (!get_room(c, 2, pair, cap, sizeof **pair, &n, no_memory))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!get_pair(c, &(*pair)[i]))
            return false;
    p->meta = *pair;
    p->n_meta = n;
    return true;
}

static bool
get_process(pf_cur *c, pr_process *ret)
{
    pr_process p = {0};
    if (!get_process_index(c, &p.index) || !pf_get_varint(c, &p.pid) ||
        !pf_get_varint(c, &p.parent) || !pf_get_varint(c, &p.start_us) ||
        !pf_get_varint(c, &p.end_us))
        return false;
    const uint8_t *python = pf_get_bytes(c, sizeof p.python);
    if (!python || !get_text(c, &p.command) || !get_text(c, &p.host) ||
        !get_text(c, &p.scope))
        return false;
    memcpy(p.python, python, sizeof p.python);
    *ret = p;
    return true;
}

static pr_code
walk_processes(walk *w, pf_cur *c)
{
    uint64_t n = 0;
    pr_pair *pair = NULL;
    size_t cap = 0;
    bool no_memory = false;
    pr_code code = PR_OK;
    pf_get_count(c, 12, &n);
    for (uint64_t i = 0; i < n && code == PR_OK; i++) {
        pr_process p;
        if (!get_process(c, &p) || !get_pairs(c, &pair, &cap, &p, &no_memory))
            break;
        code = EMIT(w, process, &p);
    }
    free(pair);
    if (no_memory)
        return pr_no_memory(w->err);
    return code;
}

static pr_code
walk_rates(walk *w, pf_cur *c)
{
    uint64_t n = 0;
    pr_code code = PR_OK;
    pf_get_count(c, 3, &n);
    for (uint64_t i = 0; i < n && code == PR_OK; i++) {
        pr_rate r;
        const uint8_t *start = c->p;
        if (!get_process_index(c, &r.process) ||
            !pf_get_varint(c, &r.time_us) || !pf_get_varint(c, &r.interval_us))
            break;
        if (r.interval_us == 0)
            pf_refuse(c, start);
        else
            code = EMIT(w, rate, &r);
    }
    return code;
}

static pr_code
walk_meta(walk *w, pf_cur *c)
{
    uint64_t n = 0;
    pr_code code = PR_OK;
    pf_get_count(c, 2, &n);
    for (uint64_t i = 0; i < n && code == PR_OK; i++) {
        pr_pair pair;
        if (!get_pair(c, &pair))
            break;
        code = EMIT(w, meta, &pair);
    }
    return code;
}

static pr_code
walk_counts(walk *w, pf_cur *c)
{
    uint64_t n = 0;
    pr_code code = PR_OK;
    pr_count count = {.thread = PR_NO_THREAD};
    if (!pf_get_varint(c, &count.time_us) || !pf_get_count(c, 4, &n))
        return PR_OK;
    for (uint64_t i = 0; i < n && code == PR_OK; i++) {
        pf_ref ref;
        if (!get_ref(c, &ref) || !pf_get_varint32(c, &count.kind) ||
            !pf_get_varint(c, &count.value))
            break;
        code = EMIT(w, count, ref, &count);
    }
    return code;
}

static pr_code
walk_gc(walk *w, pf_cur *c)
{
    uint64_t n = 0;
    pr_code code = PR_OK;
    pf_get_count(c, 11, &n);
    for (uint64_t i = 0; i < n && code == PR_OK; i++) {
        pr_gc_event e;
        if (!get_process_index(c, &e.process) ||
            !pf_get_varint32(c, &e.interp) ||
            !pf_get_varint32(c, &e.generation) ||
            !pf_get_varint(c, &e.start_us) || !pf_get_varint(c, &e.stop_us) ||
            !pf_get_varint(c, &e.collections) ||
            !pf_get_varint(c, &e.collected) ||
            !pf_get_varint(c, &e.uncollectable) ||
            !pf_get_varint(c, &e.candidates) ||
            !pf_get_varint(c, &e.heap_size) ||
            !pf_get_varint(c, &e.duration_ns))
            break;
        code = EMIT(w, gc, &e);
    }
    return code;
}

static bool
get_parents(pf_cur *c, uint64_t **parent, size_t *cap, pr_task *task,
            bool *no_memory)
{
    uint32_t n;
    if (!get_room(c, 1, parent, cap, sizeof **parent, &n, no_memory))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!pf_get_varint(c, &(*parent)[i]))
            return false;
    task->parent = *parent;
    task->n_parents = n;
    return true;
}

static pr_code
walk_tasks(walk *w, pf_cur *c)
{
    uint64_t n = 0, *parent = NULL;
    size_t cap = 0;
    bool no_memory = false;
    pr_code code = PR_OK;
    pf_get_count(c, 6, &n);
    for (uint64_t i = 0; i < n && code == PR_OK; i++) {
        pf_ref ref;
        pr_task task = {.thread = PR_NO_THREAD};
        if (!pf_get_varint(c, &task.key) || !pf_get_varint(c, &task.time_us) ||
            !get_ref(c, &ref) ||
            !pf_get_string(c, &task.name, &task.name_len) ||
            !get_parents(c, &parent, &cap, &task, &no_memory))
            break;
        code = EMIT(w, task, ref, &task);
    }
    free(parent);
    if (no_memory)
        return pr_no_memory(w->err);
    return code;
}

static pr_code
walk_marks(walk *w, pf_cur *c)
{
    uint64_t n = 0;
    pr_code code = PR_OK;
    pf_get_count(c, 5, &n);
    for (uint64_t i = 0; i < n && code == PR_OK; i++) {
        pr_mark m;
        if (!get_process_index(c, &m.process) || !pf_get_varint32(c, &m.kind) ||
            !pf_get_varint(c, &m.time_us) || !pf_get_varint(c, &m.end_us) ||
            !pf_get_string(c, &m.text, &m.text_len))
            break;
        code = EMIT(w, mark, &m);
    }
    return code;
}

typedef struct record_type {
    uint8_t type;
    pr_code (*walk)(walk *, pf_cur *);
} record_type;

static const record_type record_types[] = {
    {PF_TYPE_HEADER, walk_header}, {PF_TYPE_STRINGS, walk_strings},
    {PF_TYPE_FRAMES, walk_frames}, {PF_TYPE_BASES, walk_bases},
    {PF_TYPE_SPAN, walk_span},     {PF_TYPE_THREADS, walk_threads},
    {PF_TYPE_META, walk_meta},     {PF_TYPE_COUNTS, walk_counts},
    {PF_TYPE_GC, walk_gc},         {PF_TYPE_TASKS, walk_tasks},
    {PF_TYPE_MARKS, walk_marks},   {PF_TYPE_PROCESSES, walk_processes},
    {PF_TYPE_RATES, walk_rates},
};

static pr_code
walk_record(walk *w, uint8_t type, pf_cur *c)
{
    size_t n = sizeof record_types / sizeof record_types[0];
    for (size_t i = 0; i < n; i++) {
        if (record_types[i].type != type)
            continue;
        pr_code code = record_types[i].walk(w, c);
        if (code == PR_OK && c->bad)
            return PR_FAIL(w->err, PR_DAMAGED,
                           "the checkpoint's record 0x%02x does not hold what "
                           "it says",
                           type);
        return code;
    }
    if (type & PF_TYPE_CRITICAL)
        return PR_FAIL(w->err, PR_NEWER,
                       "the checkpoint has a critical record 0x%02x that "
                       "this reader does not know",
                       type);
    return PR_OK;
}

pr_code
pf_checkpoint_walk(pf_cur body, const pf_checkpoint_ops *ops, void *context,
                   pr_err *err)
{
    walk w = {ops, context, err};
    while (pf_left(&body) > 0) {
        uint8_t type;
        uint64_t n;
        const uint8_t *bytes = NULL; /* of the record */
        if (pf_get_u8(&body, &type) && pf_get_varint(&body, &n))
            bytes = pf_get_bytes(&body, n);
        if (!bytes)
            return PR_FAIL(err, PR_DAMAGED,
                           "the checkpoint's records do not fill its body");
        pf_cur record = pf_cur_of(bytes, (size_t)n, body.swapped);
        pr_code code = walk_record(&w, type, &record);
        if (code == PR_OK && ops->record)
            code = ops->record(context, type, bytes, (size_t)n, err);
        if (code != PR_OK)
            return code;
    }
    return PR_OK;
}
