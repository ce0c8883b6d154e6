/*
 * decode.c - decode records into deltas.
 */
#include "format/read/decode.h"
#include "format/limits.h"

#include <inttypes.h>
#include <stdlib.h>

/* Slots of `recent`. */
enum { RECENT = 1024 };

pr_code
pf_decoder_init(pf_decoder *d, pr_sink *sink, pf_names *names, bool learn,
                pr_err *err)
{
    *d = (pf_decoder){.sink = sink,
                      .names = names,
                      .to_us = UINT64_MAX,
                      .learn = learn,
                      .depth_max = learn ? PF_PIECE_DEPTH_MAX : PF_DEPTH_MAX};
    d->recent = calloc(RECENT, sizeof *d->recent);
    d->time_us = malloc(PF_RUN_MAX * sizeof *d->time_us);
    d->status = malloc(PF_RUN_MAX);
    if (!d->recent || !d->time_us || !d->status) {
        pf_decoder_release(d);
        return pr_no_memory(err);
    }
    return PR_OK;
}

void
pf_decoder_release(pf_decoder *d)
{
    for (size_t i = 0; i < d->n_tracks; i++) {
        free(d->track[i].stack);
        pf_budget_return(d->names->budget, d->track[i].cap, sizeof(uint32_t));
    }
    free(d->track);
    if (d->names)
        pf_budget_return(d->names->budget, d->track_cap, sizeof *d->track);
    free(d->recent);
    free(d->time_us);
    free(d->status);
    *d = (pf_decoder){0};
}

/* ---- threads ---- */

static pr_code
need_track(pf_decoder *d, uint32_t thread, pr_err *err)
{
    if (thread < d->n_tracks)
        return PR_OK;
    size_t need = (size_t)thread + 1;
    pr_code code = pf_budget_grow(d->names->budget, &d->track, &d->track_cap,
                                  need, sizeof *d->track, err);
    if (code != PR_OK)
        return code;
    memset(&d->track[d->n_tracks], 0, (need - d->n_tracks) * sizeof *d->track);
    d->n_tracks = need;
    return PR_OK;
}

void
pf_decoder_begin(pf_decoder *d, uint32_t frame_end)
{
    const pf_id_map *map = &d->names->symbols.frame_map;
    uint32_t dense =
        map->n == 1 && map->range[0].first == 0 ? map->range[0].end : 0;
    d->frame_end = frame_end;
    d->frame_limit = dense < frame_end ? dense : frame_end;
    d->bases = d->entered = 0;
    d->epoch++;
    d->samples = 0;
    d->first_us = UINT64_MAX;
    d->last_us = 0;
    d->run_left = 0;
}

pr_code
pf_decoder_base(pf_decoder *d, pf_ref ref, uint64_t base_us, pr_err *err)
{
    uint32_t thread = pf_names_find_thread(d->names, ref);
    if (thread == PR_NO_THREAD)
        return PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint changed while it was read");
    pr_code code = need_track(d, thread, err);
    if (code != PR_OK)
        return code;
    pf_track *t = &d->track[thread];
    if (t->epoch == d->epoch)
        return PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint names thread %" PRIu64 " twice",
                       ref.tid);
    if (base_us < t->time_us)
        return PR_FAIL(err, PR_DAMAGED,
                       "the samples of thread %" PRIu64 " go back in time",
                       ref.tid);
    t->time_us = base_us;
    t->epoch = d->epoch;
    t->fresh = true;
    d->bases++;
    return PR_OK;
}

pr_code
pf_decoder_end(const pf_decoder *d, pr_err *err)
{
    if (d->learn || d->entered == d->bases)
        return PR_OK;
    return PR_FAIL(err, PR_DAMAGED,
                   "%" PRIu32 " threads have a base time and no records",
                   d->bases - d->entered);
}

static pr_code
find_thread(pf_decoder *d, pf_ref ref, uint32_t *ret, pr_err *err)
{
    uint32_t thread;
    if (d->learn) {
        pr_code code = pf_names_add_thread(d->names, ref, &thread, err);
        if (code != PR_OK || (code = need_track(d, thread, err)) != PR_OK)
            return code;
        pf_track *t = &d->track[thread];
        if (t->epoch != d->epoch) {
            t->epoch = d->epoch;
            t->fresh = true;
        }
    } else {
        thread = pf_names_find_thread(d->names, ref);
        if (thread >= d->n_tracks || d->track[thread].epoch != d->epoch)
            return PR_FAIL(err, PR_DAMAGED,
                           "thread %" PRIu64 " has records and no base time",
                           ref.tid);
    }
    *ret = thread;
    return PR_OK;
}

/* The thread of a record, in the common case without a search. */
static inline pr_code
thread_of(pf_decoder *d, pf_ref ref, uint32_t *ret, pr_err *err)
{
    size_t slot = (size_t)(ref.tid * 0x9e3779b97f4a7c15u >> 32 ^ ref.interp);
    pf_recent *recent = &d->recent[slot & (RECENT - 1)];
    if (recent->ref.tid != ref.tid || recent->ref.interp != ref.interp ||
        recent->epoch != d->epoch) {
        uint32_t thread;
        pr_code code = find_thread(d, ref, &thread, err);
        if (code != PR_OK)
            return code;
        *recent = (pf_recent){ref, thread, d->epoch};
    }
    *ret = recent->thread;
    return PR_OK;
}

/* ---- stacks ---- */

/* The last n places of the array, which end with the outermost frame; NULL
 * if the track has no array, where n is 0. */
static inline uint32_t *
stack_last(const pf_track *t, size_t n)
{
    return t->cap ? t->stack + (t->cap - n) : NULL;
}

/* Make more room; the frames stay at its end. */
static pr_code
grow_stack(pf_decoder *d, pf_track *t, size_t need, pr_err *err)
{
    size_t old = t->cap;
    pr_code code = pf_budget_grow(d->names->budget, &t->stack, &t->cap, need,
                                  sizeof *t->stack, err);
    if (code == PR_OK && t->depth)
        memmove(stack_last(t, t->depth), t->stack + old - t->depth,
                t->depth * sizeof *t->stack);
    return code;
}

/* How many outermost frames two stacks that end at `a` and `b` share. */
static uint32_t
common_frames(const uint32_t *a, const uint32_t *b, uint32_t most)
{
    uint32_t n = 0;
    while (n < most && *--a == *--b)
        n++;
    return n;
}

/* A thread's first record in a segment starts from nothing. */
static void
forget_stack(pf_track *t)
{
    t->depth = 0;
    t->emitted = 0;
}

/* Note that the segment has a whole record of the thread. */
static inline void
enter(pf_decoder *d, pf_track *t)
{
    d->entered += t->fresh;
    t->fresh = false;
}

/* ---- emitting ---- */

/* The part of the run in the wanted time, and maybe the sample after it: a run
 * is in the order of time. */
static uint32_t
clip(const pf_decoder *d, const pf_track *t, uint32_t *first, uint32_t n,
     bool *ret_next)
{
    uint32_t i = 0, end = n;
    while (i < n && d->time_us[i] < d->from_us)
        i++;
    while (end > i && d->time_us[end - 1] >= d->to_us && d->to_us != UINT64_MAX)
        end--;
    *first = i;
    *ret_next = d->with_next && end < n && (end > i || t->awaits);
    return end - i + *ret_next;
}

/* Emit a thread of a CPython file with its first record, which is also the
 * order of the numbers. */
static pr_code
emit_new_thread(pf_decoder *d, uint8_t status, pr_err *err)
{
    uint32_t thread = d->thread;
    d->names->thread[thread].is_main = status & PR_MAIN_THREAD;
    pr_code code = pf_names_emit_thread(d->names, thread, d->sink, err);
    d->sink_failed = code != PR_OK;
    d->threads_emitted = thread + 1;
    return code;
}

/* Take the times for SPAN.  Threads interleave, so that a processor predicts a
 * comparison badly: each comparison chooses a value, not a branch. */
static inline void
see_times(pf_decoder *d, uint64_t first_us, uint64_t last_us, uint32_t n)
{
    d->first_us = first_us < d->first_us ? first_us : d->first_us;
    d->last_us = last_us > d->last_us ? last_us : d->last_us;
    d->samples += n;
}

/* Emit n decoded samples of the present stack of d->thread. */
static inline pr_code
emit_run(pf_decoder *d, uint32_t n, pr_err *err)
{
    pf_track *t = &d->track[d->thread];
    uint64_t first_us = d->time_us[0], last_us = d->time_us[n - 1];
    uint32_t first = 0;
    bool next = false;
    pr_code code;
    see_times(d, first_us, last_us, n);
    if (d->thread >= d->threads_emitted &&
        (code = emit_new_thread(d, d->status[0], err)) != PR_OK)
        return code;
    if (first_us < d->from_us ||
        (last_us >= d->to_us && d->to_us != UINT64_MAX)) {
        n = clip(d, t, &first, n, &next);
        if (n == 0)
            return PR_OK;
    }
    pr_delta delta = {.thread = d->thread,
                      .keep = t->emitted,
                      .n_push = t->depth - t->emitted,
                      .n = n,
                      .push = stack_last(t, t->depth),
                      .time_us = d->time_us + first,
                      .status = d->status + first};
    code = PR_SINK_CALL(d->sink, delta, &delta, err);
    d->sink_failed = code != PR_OK;
    d->emitted += n - next;
    t->awaits = !next;
    t->emitted = t->depth;
    return code;
}

/* ---- records ---- */

/* A delta that leads beyond the latest time is one of a clock that stepped
 * back, if CPython wrote it: it stores the difference modulo 2^64
 * (Modules/_remote_debugging/binary_io_writer.c of 3.15.2). */
static inline bool
add_delta(const pf_decoder *d, uint64_t delta, uint64_t *time_us,
          uint64_t *debt)
{
    if (delta <= PF_TIME_MAX - *time_us && *debt == 0) {
        *time_us += delta;
        return true;
    }
    if (!d->learn)
        return false;
    if (delta > PF_TIME_MAX) {
        *debt += -delta;
    } else if (delta <= *debt) {
        *debt -= delta;
    } else {
        delta -= *debt;
        *debt = 0;
        if (delta > PF_TIME_MAX - *time_us)
            return false;
        *time_us += delta;
    }
    return *debt <= PF_TIME_MAX;
}

/* Most deltas between two samples take one byte (less than 128 us) or two
 * (less than 16 ms). */
static inline bool
get_time(const pf_decoder *d, pf_cur *c, uint64_t *time_us, uint64_t *debt)
{
    const uint8_t *p = c->p;
    uint64_t delta;
    if (pf_left(c) >= 2 && p[0] < 0x80) {
        delta = p[0];
        c->p += 1;
    } else if (pf_left(c) >= 2 && p[1] < 0x80) {
        delta = (p[0] & 0x7f) | (uint64_t)p[1] << 7;
        c->p += 2;
    } else if (!pf_get_long_varint(c, &delta)) {
        return false;
    }
    if (!add_delta(d, delta, time_us, debt))
        return pf_refuse(c, c->p);
    return true;
}

/* Pairs whose delta has one or two bytes, as nearly all have, while bytes for
 * one are there for sure and the time cannot leave 64 bits. */
static uint32_t
get_short_samples(pf_decoder *d, pf_cur *c, uint64_t *time_us, uint32_t max)
{
    const uint8_t *p = c->p, *safe = c->end - 2;
    uint64_t time = *time_us, *times = d->time_us;
    uint8_t *status = d->status;
    uint32_t n = 0;
    if (pf_left(c) < 3 || time > PF_TIME_MAX - ((uint64_t)max << 14))
        return 0;
    for (; n < max && p < safe; n++) {
        uint64_t delta = p[0];
        if (delta >= 0x80) {
            if (p[1] >= 0x80)
                break;
            delta = (delta & 0x7f) | (uint64_t)p[1] << 7;
            p++;
        }
        time += delta;
        times[n] = time;
        status[n] = p[1];
        p += 2;
    }
    c->p = p;
    *time_us = time;
    return n;
}

/* One pair of any length, if it is whole. */
static bool
get_sample(pf_decoder *d, pf_cur *c, pf_track *t, uint8_t *status)
{
    pf_cur next = *c;
    uint64_t time_us = t->time_us, debt = t->debt;
    if (!get_time(d, &next, &time_us, &debt) || !pf_get_u8(&next, status))
        return false;
    d->moved += debt > 0;
    t->time_us = time_us;
    t->debt = debt;
    *c = next;
    return true;
}

/* Up to `max` (<= PF_RUN_MAX) whole (delta, status) pairs; the cursor is after
 * them, and the thread has the last one's time. */
static uint32_t
get_samples(pf_decoder *d, pf_cur *c, pf_track *t, uint32_t max)
{
    uint32_t n = t->debt ? 0 : get_short_samples(d, c, &t->time_us, max);
    for (; n < max && get_sample(d, c, t, &d->status[n]); n++)
        d->time_us[n] = t->time_us;
    return n;
}

/* Decode samples of a run, as many as the arrays hold. */
static uint32_t
decode_run(pf_decoder *d, pf_cur *c)
{
    uint32_t max =
        d->run_left < PF_RUN_MAX ? (uint32_t)d->run_left : PF_RUN_MAX;
    uint32_t n = get_samples(d, c, &d->track[d->thread], max);
    if (n == 0)
        pf_refuse(c, c->p);
    d->run_left -= n;
    d->stats.repeat_samples += n;
    return n;
}

static pr_code
decode_repeat(pf_decoder *d, pf_cur *c, pr_err *err)
{
    pf_track *t = &d->track[d->thread];
    uint64_t count;
    if (!pf_get_varint(c, &count))
        return PR_OK;
    if (count == 0)
        return PR_FAIL(err, PR_DAMAGED, "a record repeats a stack 0 times");
    if (t->fresh)
        forget_stack(t);
    enter(d, t);
    d->records[PF_REPEAT]++;
    d->run_left = count;
    return PR_OK;
}

/* A varint up to its last byte, whose bit 7 is the lowest of `stop`, as a frame
 * id; false: it has more than three bytes (two million frames), or is not its
 * own number. */
static inline bool
take_id(const pf_decoder *d, uint64_t bytes, uint64_t stop, uint32_t *ret)
{
    bytes &= stop ^ (stop - 1);
    *ret = (uint32_t)((bytes & 0x7f) | (bytes >> 1 & 0x3f80) |
                      (bytes >> 2 & 0x1fc000));
    return bytes <= 0xffffff && *ret < d->frame_limit;
}

/* Frame ids by the words of take_id(), while eight bytes can be read.  The end
 * of a record depends on the lengths of its ids, which a processor predicts
 * badly: so there is no branch on a length, and one word gives two ids.
 * Returns how many of the n. */
static inline uint32_t
get_short_ids(const pf_decoder *d, pf_cur *c, uint32_t *into, uint32_t n)
{
    const uint8_t *p = c->p;
    uint32_t i = 0;
    if (pf_left(c) < 8)
        return 0;
    size_t safe = (pf_left(c) - 8) / 3 + 1;
    if (n > safe)
        n = (uint32_t)safe;
    while (i < n) {
        uint64_t bytes = pf_load_le64(p), stop = ~bytes & 0x8080808080808080u;
        if (!take_id(d, bytes, stop, &into[i]))
            break;
        unsigned bits = (unsigned)__builtin_ctzll(stop) + 1;
        stop &= stop - 1;
        if (++i < n && take_id(d, bytes >> bits, stop >> bits, &into[i])) {
            bits = (unsigned)__builtin_ctzll(stop) + 1;
            i++;
        }
        p += bits >> 3;
    }
    c->p = p;
    return i;
}

/* n frame ids as numbers by arrival. */
static pr_code
get_ids(const pf_decoder *d, pf_cur *c, uint32_t *into, uint32_t n, pr_err *err)
{
    for (uint32_t i = get_short_ids(d, c, into, n); i < n; i++) {
        uint32_t id;
        if (!pf_get_varint32(c, &id))
            return PR_OK;
        into[i] = id < d->frame_end ? pf_symbols_frame(&d->names->symbols, id)
                                    : UINT32_MAX;
        if (into[i] == UINT32_MAX)
            return PR_FAIL(
                err, PR_DAMAGED,
                "a stack names frame %" PRIu32 ", which does not exist", id);
    }
    return PR_OK;
}

/* The number of outermost frames that stay, from the record. */
static pr_code
kept_frames(pf_track *t, pf_record_kind kind, uint32_t said, uint32_t *ret,
            pr_err *err)
{
    if (t->fresh)
        forget_stack(t);
    if (said > t->depth)
        return PR_FAIL(err, PR_DAMAGED,
                       "a record %s %" PRIu32 " frames of a stack of %" PRIu32,
                       kind == PF_SUFFIX ? "keeps" : "removes", said, t->depth);
    *ret = kind == PF_SUFFIX ? said : t->depth - said;
    return PR_OK;
}

/* The place for n ids on top of `keep` frames: for a whole stack beside the
 * present one, to compare both, and for others in the present one.  A record
 * that turns out to be cut then overwrites frames that no record uses.
 * PR_LIMIT, PR_NOMEM. */
static pr_code
place_for_ids(pf_decoder *d, pf_track *t, pf_record_kind kind, uint32_t keep,
              uint32_t n, uint32_t **ret, pr_err *err)
{
    uint32_t below = kind == PF_FULL ? t->depth : keep;
    size_t need = (size_t)below + n;
    if (need > t->cap) {
        pr_code code = grow_stack(d, t, need, err);
        if (code != PR_OK)
            return code;
    }
    if (kind != PF_FULL && t->emitted > keep)
        t->emitted = keep;
    *ret = stack_last(t, need);
    return PR_OK;
}

/* Put the whole stack beside the present one in its place. */
static void
settle_whole(pf_track *t, const uint32_t *whole, uint32_t n)
{
    uint32_t *end = stack_last(t, 0);
    if (!end)
        return; /* no frame so far, and none in this record */
    t->emitted = common_frames(end, whole + n, t->emitted < n ? t->emitted : n);
    if (t->depth > 0)
        memmove(end - n, whole, n * sizeof *whole);
}

/* *ret_n: the number of samples, which is 1 if the record is whole. */
static pr_code
decode_change(pf_decoder *d, pf_cur *c, pf_record_kind kind, uint32_t *ret_n,
              pr_err *err)
{
    pf_track *t = &d->track[d->thread];
    uint64_t time_us = t->time_us, debt = t->debt;
    uint32_t said = 0, n, keep = 0;
    uint8_t status;
    pr_code code;
    if (!get_time(d, c, &time_us, &debt) || !pf_get_u8(c, &status) ||
        (kind != PF_FULL && !pf_get_varint32(c, &said)) ||
        !pf_get_varint32(c, &n))
        return PR_OK;
    if (kind != PF_FULL &&
        (code = kept_frames(t, kind, said, &keep, err)) != PR_OK)
        return code;
    if (keep + (uint64_t)n > d->depth_max)
        return PR_FAIL(err, PR_DAMAGED,
                       "a stack has more than %" PRIu32 " frames",
                       d->depth_max);
    if (n > pf_left(c)) {
        pf_refuse(c, c->p);
        return PR_OK;
    }
    uint32_t *ids;
    code = place_for_ids(d, t, kind, keep, n, &ids, err);
    if (code == PR_OK)
        code = get_ids(d, c, ids, n, err);
    if (code != PR_OK || c->bad)
        return code;
    if (kind == PF_FULL)
        settle_whole(t, ids, n);
    t->depth = keep + n;
    enter(d, t);
    t->time_us = d->time_us[0] = time_us;
    t->debt = debt;
    d->moved += debt > 0;
    d->status[0] = status;
    d->records[kind]++;
    *ret_n = 1;
    return PR_OK;
}

static pr_code
decode_record(pf_decoder *d, pf_cur *c, uint32_t *ret_n, pr_err *err)
{
    const uint8_t *head = pf_get_bytes(c, PF_RECORD_SIZE);
    if (!head)
        return PR_OK;
    pf_ref ref = {pf_load_u64(head + PF_RECORD_THREAD, c->swapped),
                  pf_load_u32(head + PF_RECORD_INTERP, c->swapped)};
    uint8_t kind = head[PF_RECORD_KIND];
    pr_code code = thread_of(d, ref, &d->thread, err);
    if (code != PR_OK)
        return code;
    if (kind == PF_REPEAT)
        return decode_repeat(d, c, err);
    if (kind > PF_POP_PUSH)
        return PR_FAIL(err, PR_DAMAGED, "a record of unknown kind %u", kind);
    return decode_change(d, c, (pf_record_kind)kind, ret_n, err);
}

pr_code
pf_decoder_piece(pf_decoder *d, pf_cur piece, bool more, size_t *ret_used,
                 pr_err *err)
{
    pf_cur c = piece;
    const uint8_t *at = c.p;
    while (at < piece.end) {
        pr_code code = PR_OK;
        uint32_t n = 0;
        if (d->run_left)
            n = decode_run(d, &c);
        else
            code = decode_record(d, &c, &n, err);
        if (n > 0)
            code = emit_run(d, n, err);
        if (code != PR_OK) {
            if (err && err->offset == PR_NO_OFFSET && !d->sink_failed)
                err->offset = (uint64_t)(at - piece.p);
            return code;
        }
        if (c.bad)
            break;
        at = c.p;
    }
    if (!more && (at < piece.end || d->run_left))
        return PR_FAIL_AT(err, PR_DAMAGED, (uint64_t)(at - piece.p),
                          "the last record is not whole");
    *ret_used = (size_t)(at - piece.p);
    return PR_OK;
}
