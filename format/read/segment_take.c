/*
 * segment_take.c - take the body of a whole checkpoint into the reader.
 *
 * The reader walks a body twice: once to check all of it, so that nothing of a
 * wrong body stays, and once to take it.
 */
#include "format/read/segment_take.h"

#include "format/limits.h"

#include <inttypes.h>
#include <stdlib.h>

void
pf_taking_begin(pf_taking *t, pf_reader *r)
{
    *t = (pf_taking){.r = r};
}

void
pf_taking_end(pf_taking *t)
{
    free(t->frame.p);
    free(t->body.p);
}

/* ---- the frame ---- */

pr_code
pf_taking_load(pf_taking *t, pf_segment *s, pf_checkpoint *ret, pr_err *err)
{
    pf_checkpoint c;
    if (s->checkpoint_size < PF_CHECKPOINT_SIZE ||
        s->checkpoint_size >
            PF_CHECKPOINT_SIZE + PF_ZSTD_BOUND(PF_CHECKPOINT_BODY_MAX))
        return PR_FAIL(err, PR_DAMAGED,
                       "a checkpoint cannot have %" PRIu64 " bytes",
                       s->checkpoint_size);
    size_t size = (size_t)s->checkpoint_size;
    t->frame.n = 0;
    if (!pf_buf_reserve(&t->frame, size))
        return pr_no_memory(err);
    pr_code code = pf_input_read(&t->r->in, s->data_at + s->data_size,
                                 t->frame.p, size, err);
    if (code == PR_OK)
        code = pf_checkpoint_check(t->frame.p, size, t->r->swapped, &c, err);
    if (code != PR_OK)
        return code;
    uint64_t family = c.number ? c.first_check : c.check;
    if (c.data_size != s->data_size || (t->family_known && family != t->family))
        return PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint belongs to another segment");
    t->family = family;
    t->family_known = true;
    s->number = c.number;
    s->data_check = c.data_check;
    *ret = c;
    return PR_OK;
}

/* ---- the body, checked ---- */

typedef struct check {
    const pf_taking *t;
    bool exact;    /* no checkpoint before this one is lost */
    uint32_t seen; /* bits: critical types */
    pf_span span;
    bool has_span;
    const uint8_t *header;
    uint32_t string_end, frame_end; /* ids that exist */
} check;

static pr_code
check_span(void *context, const pf_span *span, pr_err *err)
{
    check *c = context;
    /* a sample takes at least two bytes */
    if (span->record_bytes > PF_RECORDS_MAX ||
        span->samples > span->record_bytes / 2 ||
        span->first_us > span->last_us || span->last_us > PF_TIME_MAX ||
        (span->samples == 0 && span->last_us != 0))
        return PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint's numbers of samples are impossible");
    c->span = *span;
    c->has_span = true;
    return PR_OK;
}

static pr_code
check_header(void *context, const uint8_t *bytes, pr_err *err)
{
    (void)err;
    check *c = context;
    c->header = bytes;
    return PR_OK;
}

/* Ids go on where the last checkpoint ended; after a lost checkpoint, at that
 * id or a later one. */
static pr_code
check_ids(const check *c, uint32_t *end, uint32_t first, uint32_t n,
          pr_err *err)
{
    if (c->exact ? first != *end : first < *end)
        return PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint's ids begin at %" PRIu32
                       ", not at %" PRIu32,
                       first, *end);
    *end = first + n;
    return PR_OK;
}

static pr_code
check_strings(void *context, uint32_t first, uint32_t n, pr_err *err)
{
    check *c = context;
    return check_ids(c, &c->string_end, first, n, err);
}

static pr_code
check_frames(void *context, uint32_t first, uint32_t n, pr_err *err)
{
    check *c = context;
    return check_ids(c, &c->frame_end, first, n, err);
}

static pr_code
check_frame(void *context, uint32_t id, const pr_frame *frame, pr_err *err)
{
    const check *c = context;
    if (c->exact &&
        (frame->file >= c->string_end || frame->func >= c->string_end))
        return PR_FAIL(err, PR_DAMAGED,
                       "frame %" PRIu32 " names a string that does not exist",
                       id);
    return PR_OK;
}

/* HEADER, STRINGS, FRAMES, BASES and SPAN stand in a body once at most. */
static pr_code
check_record(void *context, uint8_t type, const uint8_t *bytes, size_t n,
             pr_err *err)
{
    (void)bytes, (void)n;
    check *c = context;
    if (!(type & PF_TYPE_CRITICAL) || type & PF_TYPE_PRIVATE)
        return PR_OK;
    uint32_t bit = 1u << (type & 31);
    if (c->seen & bit)
        return PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint has two records of type 0x%02x", type);
    c->seen |= bit;
    return PR_OK;
}

static const pf_checkpoint_ops check_ops = {
    .strings = check_strings,
    .frames = check_frames,
    .frame = check_frame,
    .span = check_span,
    .header = check_header,
    .record = check_record,
};

static pr_code
check_body(check *c, pf_cur body, uint32_t number, pr_err *err)
{
    pr_code code = pf_checkpoint_walk(body, &check_ops, c, err);
    if (code != PR_OK)
        return code;
    if (!c->has_span || (number == 0 && !c->header))
        return PR_FAIL(err, PR_DAMAGED, "the checkpoint has no %s",
                       c->has_span ? "HEADER" : "SPAN");
    return PR_OK;
}

/* ---- the body, taken ---- */

/* Add each process that a record names: it is emitted before the samples. */
static pr_code
see_process(void *context, uint32_t file_index, pr_err *err)
{
    pf_reader *r = context;
    uint32_t process;
    return pf_processes_add(&r->names.processes, file_index, &process, err);
}

static pr_code
take_gc(void *context, const pr_gc_event *event, pr_err *err)
{
    return see_process(context, event->process, err);
}

static pr_code
take_mark(void *context, const pr_mark *mark, pr_err *err)
{
    return see_process(context, mark->process, err);
}

static pr_code
take_task(void *context, pf_ref ref, const pr_task *task, pr_err *err)
{
    (void)task;
    pf_reader *r = context;
    uint32_t owner;
    return pf_ref_is_process(ref)
               ? pf_names_process_of(&r->names, ref, &owner, err)
               : pf_names_add_thread(&r->names, ref, &owner, err);
}

#define TAKE_NAME(op, params, args)                                           \
    static pr_code take_##op(void *context, PR_SINK_LIST params, pr_err *err) \
    {                                                                         \
        return pf_names_##op(&((pf_reader *)context)->names,                  \
                             PR_SINK_LIST args, err);                         \
    }
TAKE_NAME(string, (uint32_t id, const char *bytes, size_t n), (id, bytes, n))
TAKE_NAME(frame, (uint32_t id, const pr_frame *frame), (id, frame))
TAKE_NAME(base, (pf_ref ref, uint64_t base_us), (ref, base_us))
TAKE_NAME(process, (const pr_process *process), (process))
TAKE_NAME(thread, (pf_ref ref, const pr_thread *thread), (ref, thread))
TAKE_NAME(meta, (const pr_pair *pair), (pair))
TAKE_NAME(count, (pf_ref ref, const pr_count *count), (ref, count))
#define TAKE_LISTED(op, type) TAKE_NAME(op, (const type *entry), (entry))
PF_LISTED_MAP(TAKE_LISTED)
#undef TAKE_LISTED
#undef TAKE_NAME

static bool
is_kept(uint8_t type)
{
    switch (type) {
    case PF_TYPE_BASES:
    case PF_TYPE_COUNTS:
    case PF_TYPE_GC:
    case PF_TYPE_TASKS:
    case PF_TYPE_MARKS:
        return true;
    default:
        return false;
    }
}

/* Keep a record for the replay, as in the file. */
static pr_code
keep_record(void *context, uint8_t type, const uint8_t *bytes, size_t n,
            pr_err *err)
{
    pf_reader *r = context;
    if (!is_kept(type))
        return PR_OK;
    pr_code code = pf_budget_grow(&r->budget, &r->kept.p, &r->kept.cap,
                                  r->kept.n + n + 1 + PF_VARINT_MAX, 1, err);
    if (code != PR_OK)
        return code;
    pf_buf_u8(&r->kept, type);
    pf_buf_varint(&r->kept, n);
    pf_buf_bytes(&r->kept, bytes, n);
    return PR_OK;
}

#define OP_LISTED(op, type) .op = take_##op,
/* clang-format off */
static const pf_checkpoint_ops take_ops = {
    PF_LISTED_MAP(OP_LISTED)
    .string = take_string,
    .frame = take_frame,
    .base = take_base,
    .process = take_process,
    .thread = take_thread,
    .meta = take_meta,
    .count = take_count,
    .gc = take_gc,
    .task = take_task,
    .mark = take_mark,
    .record = keep_record,
};
/* clang-format on */
#undef OP_LISTED

/* Compare the counts of a checkpoint with the reader's, while nothing is
 * lost. */
static void
check_counts(const pf_taking *t, const check *c, uint64_t at)
{
    pf_reader *r = t->r;
    if (!c->exact)
        return;
    if (c->span.samples_so_far != t->samples + c->span.samples ||
        c->span.threads_so_far != r->names.n_sampled)
        pf_fault_add(r, PR_DAMAGED, at,
                     "a checkpoint counts %" PRIu64 " samples of %" PRIu64
                     " threads, and they are %" PRIu64 " of %zu",
                     c->span.samples_so_far, c->span.threads_so_far,
                     t->samples + c->span.samples, r->names.n_sampled);
}

static void
take_header(pf_taking *t, const uint8_t *header, uint64_t at)
{
    if (!header)
        return;
    if (t->has_header && memcmp(t->header, header, PF_HEADER_SIZE) != 0)
        pf_fault_add(t->r, PR_DAMAGED, at, "two copies of the header differ");
    if (!t->has_header)
        memcpy(t->header, header, PF_HEADER_SIZE);
    t->has_header = true;
}

static pr_code
add_segment(pf_taking *t, pf_segment *s, const check *c, size_t kept_at,
            pr_err *err)
{
    pf_reader *r = t->r;
    pr_code code = pf_budget_grow(&r->budget, &r->segment, &r->segment_cap,
                                  r->n_segments + 1, sizeof *r->segment, err);
    if (code != PR_OK)
        return code;
    s->first_us = c->span.first_us;
    s->last_us = c->span.last_us;
    s->samples = c->span.samples;
    s->samples_so_far = c->span.samples_so_far;
    s->record_bytes = c->span.record_bytes;
    s->kept_at = kept_at;
    s->kept_size = r->kept.n - kept_at;
    s->frame_end = r->names.symbols.holes ? UINT32_MAX : c->frame_end;
    r->segment[r->n_segments++] = *s;
    return PR_OK;
}

pr_code
pf_taking_take(pf_taking *t, pf_segment *s, const pf_checkpoint *checkpoint,
               pr_err *err)
{
    pf_reader *r = t->r;
    uint64_t at = s->data_at + s->data_size;
    size_t kept_at = r->kept.n;
    check c = {.t = t,
               .exact = s->number == t->next_number && !r->names.symbols.holes,
               .string_end = t->next_string,
               .frame_end = t->next_frame};
    pf_cur body;
    t->unpacked += checkpoint->body_size;
    pr_code code = pf_budget_check_unpacked(&r->budget, t->unpacked, err);
    if (code == PR_OK)
        code = pf_checkpoint_body(checkpoint, r->swapped, &r->budget, &t->body,
                                  &body, err);
    if (code == PR_OK)
        code = check_body(&c, body, s->number, err);
    if (code != PR_OK)
        return code;
    t->unpacked += c.span.record_bytes;
    code = pf_budget_check_unpacked(&r->budget, t->unpacked, err);
    if (s->number != t->next_number)
        r->names.symbols.holes = true;
    if (code == PR_OK)
        code = pf_checkpoint_walk(body, &take_ops, r, err);
    if (code == PR_OK)
        code = add_segment(t, s, &c, kept_at, err);
    if (code != PR_OK)
        return code;
    check_counts(t, &c, at);
    take_header(t, c.header, at);
    r->info.newer_rewriter |= checkpoint->newer_rewriter;
    t->next_number = s->number + 1;
    t->next_string = c.string_end;
    t->next_frame = c.frame_end;
    t->samples = c.span.samples_so_far;
    return PR_OK;
}
