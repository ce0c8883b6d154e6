/*
 * encoder.c - each change as the record of the fewest bytes, and runs.
 */
#include "format/write/encoder.h"

#include "format/limits.h"

#include <base/array.h>
#include <base/hash.h>
#include <base/hash_table.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

/* delta and status */
#define PAIR_MAX (PF_VARINT_MAX + 1)

/* A run is written at the latest when it has more bytes than this.  It bounds
 * a thread's memory to 8 KiB; the 15 bytes that another record costs are
 * nothing against that. */
#define RUN_BYTES (8192 - PAIR_MAX)

void
pf_encoder_init(pf_encoder *e, size_t segment_bytes, uint64_t checkpoint_us,
                bool one_segment)
{
    *e = (pf_encoder){.segment_bytes = segment_bytes,
                      .checkpoint_us = checkpoint_us,
                      .one_segment = one_segment,
                      .close_us = UINT64_MAX};
}

void
pf_encoder_release(pf_encoder *e)
{
    for (size_t i = 0; i < e->n_lanes; i++) {
        free(e->lane[i].stack);
        free(e->lane[i].run.p);
    }
    free(e->lane);
    free(e->base);
    free(e->records.p);
    pr_table_release(&e->lanes);
    *e = (pf_encoder){0};
}

/* ---- threads ---- */

typedef struct lane_key {
    const pf_encoder *e;
    pf_ref ref;
} lane_key;

static bool
same_lane(const void *context, uint32_t value)
{
    const lane_key *key = context;
    const pf_lane *lane = &key->e->lane[value];
    return lane->ref.tid == key->ref.tid && lane->ref.interp == key->ref.interp;
}

static uint64_t
hash_ref(pf_ref ref)
{
    return pr_mix64(ref.tid ^ pr_mix64(ref.interp + 1));
}

static bool
is_thread(const pf_lane *lane, const pr_thread *t)
{
    return lane->tid == t->tid && lane->interp == t->interp &&
           lane->process == t->process;
}

/* How records name the thread: by its own numbers if these are free, else by
 * the next thread number with other upper bits (spec/format.md 5.3).  False:
 * the thread has a lane already. */
static bool
choose_ref(const pf_encoder *e, const pr_thread *t, pf_ref *ret)
{
    lane_key key = {e, {t->tid, t->interp}};
    uint64_t high = t->process;
    if (pf_ref_is_process(key.ref))
        key.ref.interp--;
    for (;; high++) {
        uint32_t at =
            pr_table_find(&e->lanes, hash_ref(key.ref), same_lane, &key);
        if (at == PR_TABLE_NONE)
            break;
        if (is_thread(&e->lane[at], t))
            return false;
        key.ref.tid = t->tid + ((high + 1) << 32);
    }
    *ret = key.ref;
    return true;
}

pr_code
pf_encoder_thread(pf_encoder *e, const pr_thread *thread, pr_err *err)
{
    pf_ref ref;
    if (!choose_ref(e, thread, &ref))
        return PR_FAIL(err, PR_INTERNAL,
                       "thread %" PRIu64 " of interpreter %" PRIu32
                       " has an id already",
                       thread->tid, thread->interp);
    if (e->n_lanes >= PR_NO_THREAD - 1)
        return PR_FAIL(err, PR_LIMIT, "too many threads");
    if (!pr_grow(&e->lane, &e->cap_lanes, e->n_lanes + 1, sizeof *e->lane) ||
        !pr_table_insert(&e->lanes, hash_ref(ref), (uint32_t)e->n_lanes))
        return pr_no_memory(err);
    e->lane[e->n_lanes++] = (pf_lane){.ref = ref,
                                      .tid = thread->tid,
                                      .interp = thread->interp,
                                      .process = thread->process,
                                      .is_main = thread->is_main != 0};
    return PR_OK;
}

/* ---- stacks ---- */

static pr_code
check_delta(const pf_encoder *e, const pr_delta *d, uint64_t n_frames,
            pr_err *err)
{
    if (d->thread >= e->n_lanes)
        return PR_FAIL(err, PR_INTERNAL,
                       "samples of thread %" PRIu32 ", which was not emitted",
                       d->thread);
    const pf_lane *lane = &e->lane[d->thread];
    uint32_t depth = lane->stack ? lane->depth : 0;
    if (d->n == 0 || d->keep > depth || d->n_push > UINT32_MAX - d->keep)
        return PR_FAIL(err, PR_INTERNAL,
                       "delta of %" PRIu32 " samples keeps %" PRIu32
                       " of %" PRIu32 " frames",
                       d->n, d->keep, depth);
    for (uint32_t i = 0; i < d->n_push; i++)
        if (d->push[i] >= n_frames)
            return PR_FAIL(err, PR_INTERNAL,
                           "frame %" PRIu32 " was not emitted", d->push[i]);
    uint64_t last = lane->last_us;
    for (uint32_t i = 0; i < d->n; i++) {
        if (d->time_us[i] < last)
            return PR_FAIL(err, PR_INTERNAL,
                           "time of a thread goes back to %" PRIu64,
                           d->time_us[i]);
        last = d->time_us[i];
    }
    if (last > PF_TIME_MAX)
        return PR_FAIL(err, PR_LIMIT, "time of a sample is %" PRIu64, last);
    return PR_OK;
}

/* The encoder trusts delta->keep as far as the depth of the lane's stack, which
 * check_delta() enforces: a delta does not carry the frames that it keeps, so
 * there is nothing to compare them with, and a comparison would make a sample
 * cost its depth instead of its change.  It does not trust keep to be the whole
 * common prefix: producers may remove frames and push them again.  The loop
 * compares each pushed frame with the one in its place and keeps it if they are
 * equal, so the record holds the least change. */
static pf_change
least_change(const pf_lane *lane, const pr_delta *d)
{
    uint32_t keep = d->keep, n = d->n_push;
    while (lane->stack && n > 0 && keep < lane->depth &&
           lane->stack[keep] == d->push[n - 1])
        keep++, n--;
    return (pf_change){d->push, keep, lane->depth - keep, n,
                       keep == lane->depth && n == 0};
}

pr_code
pf_encoder_change(pf_encoder *e, const pr_delta *delta, uint64_t n_frames,
                  pf_change *ret, pr_err *err)
{
    pr_code rc = check_delta(e, delta, n_frames, err);
    if (rc != PR_OK)
        return rc;
    pf_lane *lane = &e->lane[delta->thread];
    pf_change change = least_change(lane, delta);
    uint32_t depth = change.keep + change.n_push;
    if (depth > (e->one_segment ? PF_PIECE_DEPTH_MAX : PF_DEPTH_MAX))
        return PR_FAIL(err, PR_LIMIT, "stack of %" PRIu32 " frames", depth);
    if (!pr_grow(&lane->stack, &lane->cap, depth, sizeof *lane->stack))
        return pr_no_memory(err);
    for (uint32_t i = 0; i < change.n_push; i++)
        lane->stack[depth - 1 - i] = change.push[i];
    lane->depth = depth;
    *ret = change;
    return PR_OK;
}

/* ---- records ---- */

static uint8_t *
put_head(uint8_t *p, const pf_lane *lane, pf_record_kind kind)
{
    p = pf_put_u64(p, lane->ref.tid);
    p = pf_put_u32(p, lane->ref.interp);
    *p++ = (uint8_t)kind;
    return p;
}

static pr_code
flush_run(pf_encoder *e, pf_lane *lane, pr_err *err)
{
    if (lane->run_samples == 0)
        return PR_OK;
    pf_buf *out = &e->records;
    if (!pf_buf_reserve(out, PF_RECORD_SIZE + PF_VARINT_MAX + lane->run.n))
        return pr_no_memory(err);
    uint8_t *p = put_head(out->p + out->n, lane, PF_REPEAT);
    p = pf_put_varint(p, lane->run_samples);
    memcpy(p, lane->run.p, lane->run.n);
    pf_buf_end(out, p + lane->run.n);
    e->waiting -= lane->run.n;
    e->stats.repeat_records++;
    e->stats.repeat_samples += lane->run_samples;
    lane->run.n = 0;
    lane->run_samples = 0;
    return PR_OK;
}

static uint8_t *
put_full(pf_encoder *e, uint8_t *p, const pf_lane *lane)
{
    p = pf_put_varint(p, lane->depth);
    for (uint32_t i = lane->depth; i-- > 0;)
        p = pf_put_varint(p, lane->stack[i]);
    e->stats.full_records++;
    e->stats.total_frames_written += lane->depth;
    return p;
}

static uint8_t *
put_change(pf_encoder *e, uint8_t *p, const pf_change *c, pf_record_kind kind)
{
    p = pf_put_varint(p, kind == PF_SUFFIX ? c->keep : c->pop);
    p = pf_put_varint(p, c->n_push);
    for (uint32_t i = 0; i < c->n_push; i++)
        p = pf_put_varint(p, c->push[i]);
    if (kind == PF_SUFFIX)
        e->stats.suffix_records++;
    else
        e->stats.pop_push_records++;
    e->stats.total_frames_written += c->n_push;
    e->stats.frames_saved += c->keep;
    return p;
}

pr_code
pf_encoder_leave(pf_encoder *e, uint32_t thread, pr_err *err)
{
    if (thread >= e->n_lanes)
        return PR_FAIL(err, PR_INTERNAL,
                       "end of thread %" PRIu32 ", which was not emitted",
                       thread);
    pf_lane *lane = &e->lane[thread];
    pr_code rc = flush_run(e, lane, err);
    if (rc != PR_OK)
        return rc;
    free(lane->stack);
    free(lane->run.p);
    lane->stack = NULL; /* a reader still has lane->depth frames */
    lane->cap = 0;
    lane->run = (pf_buf){0};
    return PR_OK;
}

/* The record of the fewest bytes.  Among equals POP_PUSH: the same call and
 * return has the same bytes at any depth, so it compresses better.  No SUFFIX
 * without a new frame: CPython 3.15.2
 * (Modules/_remote_debugging/binary_io_reader.c) then keeps the innermost
 * frames and not the outermost. */
static pf_record_kind
cheapest(const pf_change *change)
{
    if (change->keep == 0)
        return PF_FULL;
    bool shared_is_less =
        pf_varint_size(change->keep) < pf_varint_size(change->pop);
    return shared_is_less && change->n_push > 0 ? PF_SUFFIX : PF_POP_PUSH;
}

/* The thread's first record in this segment: remember where it starts. */
static pr_code
enter_segment(pf_encoder *e, pf_lane *lane, uint64_t time_us, pr_err *err)
{
    if (!pr_grow(&e->base, &e->cap_bases, e->n_bases + 1, sizeof *e->base))
        return pr_no_memory(err);
    if (e->n_bases == 0) {
        e->close_us = time_us > UINT64_MAX - e->checkpoint_us
                          ? UINT64_MAX
                          : time_us + e->checkpoint_us;
        e->first_us = time_us;
    }
    if (time_us < e->first_us)
        e->first_us = time_us;
    if (lane->segment == 0)
        e->threads++;
    lane->segment = e->number + 1;
    e->base[e->n_bases++] =
        (pf_base){(uint32_t)(lane - e->lane), lane->last_us};
    return PR_OK;
}

/* The record of a sample with a stack of its own. */
static pr_code
put_stack(pf_encoder *e, pf_lane *lane, const pf_change *change,
          uint64_t time_us, uint8_t status, pr_err *err)
{
    pr_code rc = flush_run(e, lane, err);
    if (rc != PR_OK)
        return rc;
    bool first = lane->segment != e->number + 1;
    if (first && (rc = enter_segment(e, lane, time_us, err)) != PR_OK)
        return rc;
    pf_record_kind kind = first ? PF_FULL : cheapest(change);
    size_t frames = kind == PF_FULL ? lane->depth : change->n_push;
    pf_buf *out = &e->records;
    if (!pf_buf_reserve(out, PF_RECORD_SIZE + PAIR_MAX + 2 * PF_VARINT_MAX +
                                 frames * PF_VARINT_U32_MAX))
        return pr_no_memory(err);
    uint8_t *p = put_head(out->p + out->n, lane, kind);
    p = pf_put_varint(p, time_us - lane->last_us);
    *p++ = status;
    pf_buf_end(out, kind == PF_FULL ? put_full(e, p, lane)
                                    : put_change(e, p, change, kind));
    lane->last_us = time_us;
    return PR_OK;
}

/* Samples that repeat the stack, as many as fit into the run before the
 * segment's time is up. */
static pr_code
put_run(pf_encoder *e, pf_lane *lane, const pr_delta *d, uint32_t *done,
        pr_err *err)
{
    pr_code rc;
    if (lane->run.n > RUN_BYTES && (rc = flush_run(e, lane, err)) != PR_OK)
        return rc;
    pf_buf *run = &lane->run;
    size_t room = RUN_BYTES + PAIR_MAX - run->n;
    size_t wanted = (size_t)(d->n - *done) * PAIR_MAX;
    if (!pf_buf_reserve(run, wanted < room ? wanted : room))
        return pr_no_memory(err);
    uint32_t i = *done;
    uint8_t *p = run->p + run->n;
    const uint8_t *stop = run->p + run->cap - PAIR_MAX;
    uint64_t last = lane->last_us;
    for (; i < d->n && p <= stop && d->time_us[i] < e->close_us; i++) {
        p = pf_put_varint(p, d->time_us[i] - last);
        last = d->time_us[i];
        *p++ = d->status[i];
    }
    lane->run_samples += i - *done;
    e->stats.frames_saved += (uint64_t)(i - *done) * lane->depth;
    e->waiting += (size_t)(p - (run->p + run->n));
    pf_buf_end(run, p);
    lane->last_us = last;
    *done = i;
    return PR_OK;
}

bool
pf_encoder_full(const pf_encoder *e)
{
    return e->records.n + e->waiting >= e->segment_bytes;
}

pr_code
pf_encoder_put(pf_encoder *e, const pr_delta *delta, const pf_change *change,
               uint32_t *done, pr_err *err)
{
    pf_lane *lane = &e->lane[delta->thread];
    uint32_t i = *done;
    while (i < delta->n && delta->time_us[i] < e->close_us &&
           !pf_encoder_full(e)) {
        bool own = (i == 0 && !change->same) || lane->segment != e->number + 1;
        pr_code rc = own ? put_stack(e, lane, change, delta->time_us[i],
                                     delta->status[i], err)
                         : put_run(e, lane, delta, &i, err);
        if (rc != PR_OK)
            return rc;
        if (own)
            i++;
    }
    uint64_t n = i - *done;
    e->samples += n;
    e->stats.total_samples += n;
    lane->samples += n;
    if (n > 0 && lane->last_us > e->last_us)
        e->last_us = lane->last_us;
    *done = i;
    return PR_OK;
}

pr_code
pf_encoder_flush(pf_encoder *e, pr_err *err)
{
    for (size_t i = 0; i < e->n_bases; i++) {
        pr_code rc = flush_run(e, &e->lane[e->base[i].lane], err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

void
pf_encoder_next(pf_encoder *e)
{
    e->stats.bytes_written += e->records.n;
    e->records.n = 0;
    if (e->one_segment)
        return;
    e->number++;
    e->n_bases = 0;
    e->close_us = UINT64_MAX;
    e->first_us = e->last_us = 0;
    e->samples = 0;
}
