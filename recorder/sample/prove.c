/*
 * prove.c - one sample of one thread (prove.h).
 *
 * Three proofs that a thread stood still while it was read:
 *   still    before and after, its rseq.cpu_id is the CPU we run on, and we
 *            were not switched out: so it did not run;
 *   quiet    its count of runs is the same before and after, and in between
 *            it was off every CPU or belonged to ours: so no run began, and
 *            none went on;
 *   witness  the holder of its GIL is proven still while it holds it: so no
 *            other thread of that GIL can change a frame.
 */
#include "recorder/sample/prove.h"

#include "recorder/linux/clock.h"
#include "recorder/linux/sched_state.h"
#include "recorder/sample/frame_cache.h"
#include "recorder/sample/thread_status.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

enum {
    REMOTE_TRIES = 10,
    RUNS_FOR_US = 10000 /* kernels with 250 ticks a second, and some delay */
};

bool
rec_own_switches(uint64_t *ret)
{
    struct rusage r;
    if (getrusage(RUSAGE_THREAD, &r) != 0)
        return false;
    *ret = (uint64_t)r.ru_nvcsw + (uint64_t)r.ru_nivcsw;
    return true;
}

/* Has the calling thread run all the time since the pass began? */
static bool
ran_throughout(const rec_unwinder *u)
{
    uint64_t now;
    return u->tick.counted && rec_own_switches(&now) && now == u->tick.switches;
}

uint64_t
rec_now_us(const rec_unwinder *u)
{
    uint64_t now = rec_now_ns();
    return now > u->start_ns ? (now - u->start_ns) / 1000 : 0;
}

bool
rec_is_fatal(pr_code code)
{
    return code == PR_NO_PROCESS || code == PR_DENIED || code == PR_NOMEM ||
           code == PR_IO || code == PR_INTERNAL;
}

/* Make the error that stopped a sample the recording's error. */
static pr_code
stop(const rec_thread *t, pr_err *why, pr_err *err)
{
    pr_code code = why->code;
    pr_err_wrap(why, "cannot read thread %llu", (unsigned long long)t->tid);
    if (err && err->code == PR_OK)
        *err = *why;
    return code;
}

/* ---- results ---- */

pr_code
rec_sample_lose(rec_unwinder *u, rec_thread *t, pr_count_kind reason,
                pr_err *err)
{
    pr_code code = rec_emitter_settle_before(&u->emitter, t, err);
    t->known = false;
    t->wanted = false;
    rec_frame_cache_drop(t);
    if (!u->tick.silent) {
        rec_count_add(&t->counts, reason, 1);
        t->dead = t->vanished;
    }
    return code;
}

static pr_count_kind
reason_of(pr_code code)
{
    switch ((int)code) {
    case PR_TORN:
        return PR_COUNT_LOST_TORN;
    case PR_NAME:
        return PR_COUNT_LOST_GONE;
    case PR_LIMIT:
        return PR_COUNT_LOST_MEMORY;
    default:
        return PR_COUNT_LOST_OTHER;
    }
}

static void
count_frames(rec_unwinder *u, uint32_t keep, uint32_t depth)
{
    u->stats.total_samples++;
    u->stats.frames_read_from_cache += keep;
    u->stats.frames_read_from_memory += depth - keep;
    if (keep == depth)
        u->stats.frame_cache_hits++;
    else if (keep)
        u->stats.frame_cache_partial_hits++;
    else
        u->stats.frame_cache_misses++;
}

typedef struct found {
    uint32_t keep, omitted;
    uint8_t status;
} found;

/* Make the stack in u->program.fresh the thread's. */
static pr_code
accept(rec_unwinder *u, rec_thread *t, const found *f, pr_count_kind kind,
       pr_err *err)
{
    pr_code code = rec_emitter_settle_before(&u->emitter, t, err);
    if (code != PR_OK)
        return code;
    count_frames(u, f->keep, u->program.fresh.n);
    rec_stack old = t->stack;
    t->stack = u->program.fresh;
    u->program.fresh = old;
    t->shared = f->keep < t->shared ? f->keep : t->shared;
    t->known = true;
    t->proven = kind != PR_COUNT_UNPROVEN;
    rec_frame_cache_drop(t); /* until it is written anew */
    t->omitted = f->omitted;
    t->wanted = false;
    t->status = f->status;
    if (u->tick.silent)
        return rec_emitter_introduce(&u->emitter, t, err);
    if (!rec_status_matches(&u->opts, f->status)) {
        rec_count_add(&t->counts, PR_COUNT_SKIPPED_MODE, 1);
        return PR_OK;
    }
    rec_count_add(&t->counts, kind, 1);
    rec_count_omitted(&t->counts, t->omitted);
    return rec_emitter_sample(&u->emitter, t, rec_now_us(u), f->status, err);
}

/* A thread that slept may have run C code without the GIL, come to wait for it,
 * or been woken and not run so far: its stack is the same, its state is not. */
static pr_code
refresh_state(rec_unwinder *u, rec_thread *t, pr_err *err)
{
    bool ran;
    if (rec_sched_ran(&t->sched, u->process.pid, t->host, &ran) ==
        REC_SCHED_GONE) {
        t->vanished = true;
        return PR_OK;
    }
    bool rests = !ran && t->sched.asleep;
    if (rests)
        rec_sched_read_letter(&t->sched, u->process.pid, t->host);
    else
        rec_sched_read(&t->sched, u->process.pid, t->host);
    uint8_t status = rec_status_again(u, t, !rests);
    if (status == t->status)
        return PR_OK;
    pr_code code = rec_emitter_settle_before(&u->emitter, t, err);
    t->status = status;
    return code;
}

pr_code
rec_sample_unchanged(rec_unwinder *u, rec_thread *t, bool refresh, pr_err *err)
{
    pr_code code = refresh ? refresh_state(u, t, err) : PR_OK;
    if (code != PR_OK)
        return code;
    if (t->vanished)
        return rec_sample_lose(u, t, PR_COUNT_LOST_GONE, err);
    if (!rec_status_matches(&u->opts, t->status)) {
        rec_count_add(&t->counts, PR_COUNT_SKIPPED_MODE, 1);
        return rec_emitter_settle_before(&u->emitter, t, err);
    }
    count_frames(u, t->stack.n, t->stack.n);
    rec_count_add(&t->counts, t->proven ? PR_COUNT_SLEEPING : PR_COUNT_UNPROVEN,
                  1);
    rec_count_omitted(&t->counts, t->omitted);
    return rec_emitter_idle(&u->emitter, t, err);
}

/* A read found memory that no living thread has, or no thread at all.  A thread
 * that ended is not a loss: list the threads anew and try again before the
 * sample counts as lost. */
static pr_code
list_or_lose(rec_unwinder *u, rec_thread *t, pr_code why, rec_sampled *ret,
             pr_err *err)
{
    *ret = REC_SAMPLED;
    if (why == PR_NAME && !u->tick.exhausted) {
        u->program.listed_ms = 0;
        *ret = REC_BROKEN;
        return PR_OK;
    }
    return rec_sample_lose(u, t, reason_of(why), err);
}

/* ---- reading ---- */

bool
rec_sample_add(rec_unwinder *u, rec_thread *t, uint64_t guard, rec_read *ret)
{
    rec_read r = {guard, REC_NO_PIECE, REC_NO_PIECE, {0}};
    if (guard)
        r.before = rec_batch_add(u->tick.batch, guard, 4);
    rec_stack_ask(&u->program.walker, &t->codes, u->tick.batch);
    /* unguarded: the current frame, read again, shows whether it moved */
    if (!rec_data_stack_add(&t->source, &u->program.runtime.layout,
                            u->tick.batch, !guard, &r.shot))
        return false;
    if (guard)
        r.after = rec_batch_add(u->tick.batch, guard, 4);
    *ret = r;
    return true;
}

/* All that becomes a sample passes here.  A thread that the kernel does not
 * have is at rest by every word of its memory: its rseq keeps the CPU that it
 * had last. */
static pr_code
check_thread(rec_unwinder *u, rec_thread *t, const rec_read *r, pr_err *err)
{
    const uint8_t *tstate = rec_batch_bytes(u->tick.batch, r->shot.tstate);
    if (!t->vanished && tstate &&
        rec_thread_matches(t, &u->program.runtime.layout, tstate))
        return PR_OK;
    return PR_FAIL_AT(err, PR_NAME, t->tstate, "thread is gone");
}

/* Read a thread together with the words of its interpreter: those that the pass
 * began with may be of another moment, and its <GC> frame would then stand in
 * another stack. */
static pr_code
read_thread(rec_unwinder *u, rec_thread *t, uint64_t guard, rec_read *ret,
            pr_err *err)
{
    rec_interp_words words;
    rec_batch_reset(u->tick.batch);
    rec_interp_add(&u->table, t->interp, u->tick.batch, &words);
    if (!rec_sample_add(u, t, guard, ret))
        return pr_no_memory(err);
    pr_code code = rec_batch_read(u->tick.batch, err);
    if (code == PR_OK &&
        !rec_interp_parse(&u->table, t->interp, u->tick.batch, &words))
        u->program.listed_ms = 0; /* the list has changed */
    return code;
}

static uint64_t
base_frame(const rec_unwinder *u, const uint8_t *tstate)
{
    uint32_t at = u->program.runtime.layout.tstate.base_frame;
    return at == REC_ABSENT ? 0 : rec_u64(tstate + at);
}

/* The interpreter's count of freed code objects, as the batch has it. */
static void
begin_codes(rec_unwinder *u, const rec_thread *t)
{
    uint32_t at = u->program.runtime.layout.interp.code_generation;
    uint64_t interp = u->table.interp[t->interp].address, generation;
    const uint8_t *p =
        at == REC_ABSENT ? NULL : rec_batch_find(u->tick.batch, interp + at, 8);
    if (p)
        generation = rec_u64(p);
    rec_codes_begin(u->program.codes, interp, p ? &generation : NULL);
}

static pr_code
walk_and_decode(rec_unwinder *u, rec_thread *t, const rec_shot *shot,
                uint64_t start, found *ret, pr_err *err)
{
    const uint8_t *tstate = rec_batch_bytes(u->tick.batch, shot->tstate);
    rec_walk walk = {start,
                     base_frame(u, tstate),
                     shot->outer_frame,
                     u->opts.gc ? u->table.interp[t->interp].gc_frame : 0,
                     rec_frame_cache_get(t, &u->program.runtime.layout, tstate),
                     &t->stack};
    begin_codes(u, t);
    pr_code code = rec_stack_walk(&u->program.walker, u->tick.batch, &t->source,
                                  &walk, err);
    if (code != PR_OK)
        return code;
    return rec_stack_decode(&u->program.walker, u->tick.batch, &t->source,
                            &t->codes, &t->stack, &u->program.fresh, &ret->keep,
                            &ret->omitted, err);
}

/* Walk the stack that was read of a thread that stood still.  3.12 sets its
 * current frame before that is whole; the frame below the C call is then the
 * innermost whole one (spec/sampling.md, "Repair"). */
static pr_code
take_stack(rec_unwinder *u, rec_thread *t, rec_read *r, found *ret, pr_err *err)
{
    pr_code code = check_thread(u, t, r, err);
    if (code == PR_OK)
        code = rec_data_stack_follow(&t->source, &u->program.runtime.layout,
                                     u->tick.batch, &r->shot, err);
    if (code != PR_OK)
        return code;
    code = walk_and_decode(u, t, &r->shot, r->shot.current_frame, ret, err);
    if (code == PR_TORN && r->shot.outer_frame) {
        pr_err_clear(err);
        code = walk_and_decode(u, t, &r->shot, r->shot.outer_frame, ret, err);
    }
    if (code != PR_OK)
        return code;
    ret->status = rec_status_of(u, t, r->shot.tstate);
    return PR_OK;
}

/* ---- proof: still ---- */

/* Read the guard once more if anything was read after it. */
static pr_code
close_guard(rec_unwinder *u, rec_read *r, uint32_t calls, pr_err *err)
{
    if (u->tick.batch->calls == calls)
        return PR_OK;
    r->after = rec_batch_add(u->tick.batch, r->guard, 4);
    return rec_batch_read(u->tick.batch, err);
}

static uint32_t
guard_word(const rec_unwinder *u, size_t piece)
{
    const uint8_t *p = rec_batch_bytes(u->tick.batch, piece);
    return p ? rec_u32(p) : UINT32_MAX;
}

static bool
guard_is(const rec_unwinder *u, const rec_read *r, int cpu)
{
    return guard_word(u, r->before) == (uint32_t)cpu &&
           guard_word(u, r->after) == (uint32_t)cpu;
}

static bool
guard_holds(const rec_unwinder *u, const rec_read *r)
{
    return u->tick.cpu != REC_NO_CPU && guard_is(u, r, u->tick.cpu);
}

/* A thread that held the GIL and ran since its last sample lost its CPU to the
 * sampler: that counts as on a CPU, and its state need not be read. */
static void
add_cpu_state(rec_unwinder *u, rec_thread *t, found *f)
{
    if (!(f->status & PR_HAS_GIL) || !t->sched.ran)
        rec_sched_read(&t->sched, u->process.pid, t->host);
    else
        t->sched.letter = 'R';
    if (t->sched.letter == 'R')
        f->status |= PR_ON_CPU;
}

/* Write the anchor of a thread that stands still. */
static pr_code
set_anchor(rec_unwinder *u, rec_thread *t, const rec_read *r, pr_err *err)
{
    const uint8_t *tstate = rec_batch_bytes(u->tick.batch, r->shot.tstate);
    if (rec_frame_cache_set(t, &u->program.runtime.layout, u->process.pid,
                            tstate))
        return PR_OK;
    return PR_FAIL_SYS(err, PR_DENIED, errno,
                       "cannot write the anchor of thread %llu",
                       (unsigned long long)t->tid);
}

/* Did it stand still from the first read of the guard to the last? */
static pr_code
close_proof(rec_unwinder *u, rec_read *r, uint32_t calls, bool *ret_proven,
            pr_err *err)
{
    pr_code code = close_guard(u, r, calls, err);
    if (code == PR_OK)
        *ret_proven = ran_throughout(u) && guard_holds(u, r);
    return code;
}

/* While it stands still, no other thread has its GIL. */
static void
note_witness(rec_unwinder *u, const rec_thread *t, uint8_t status)
{
    rec_interp *in = &u->table.interp[t->interp];
    if (in->gil.address && (status & PR_HAS_GIL))
        in->witness = t->rseq;
}

static pr_code
accept_still(rec_unwinder *u, rec_thread *t, const rec_read *r, const found *f,
             pr_err *err)
{
    note_witness(u, t, f->status);
    pr_code code = accept(u, t, f, PR_COUNT_PROVEN, err);
    if (code != PR_OK || u->opts.cache != REC_CACHE_ANCHOR)
        return code;
    code = set_anchor(u, t, r, err);
    if (!ran_throughout(u))
        rec_frame_cache_drop(t); /* it may have run before the write */
    return code;
}

pr_code
rec_sample_still(rec_unwinder *u, rec_thread *t, const rec_read *read,
                 rec_sampled *ret, pr_err *err)
{
    rec_read r = *read;
    t->sched.cpu = guard_word(u, r.before);
    *ret = REC_ELSEWHERE;
    if (t->sched.cpu != (uint32_t)u->tick.cpu)
        return PR_OK;
    uint32_t calls = u->tick.batch->calls;
    found f = {0};
    pr_err why = PR_ERR_INIT;
    pr_code taken = take_stack(u, t, &r, &f, &why);
    if (rec_is_fatal(taken))
        return stop(t, &why, err);
    if (taken == PR_OK)
        add_cpu_state(u, t, &f);
    bool proven;
    pr_code code = close_proof(u, &r, calls, &proven, err);
    if (code != PR_OK)
        return code;
    *ret = proven ? REC_SAMPLED : REC_BROKEN;
    if (!proven)
        return PR_OK;
    if (taken != PR_OK)
        return list_or_lose(u, t, taken, ret, err);
    return accept_still(u, t, &r, &f, err);
}

/* ---- proof: quiet, or by a witness ---- */

static bool
is_at_rest(const rec_unwinder *u, const rec_thread *t)
{
    return t->sched.asleep || (t->sched.counted && u->tick.cpu != REC_NO_CPU &&
                               t->sched.cpu == (uint32_t)u->tick.cpu);
}

static pr_code
sample_quiet(rec_unwinder *u, rec_thread *t, rec_sampled *ret, pr_err *err)
{
    pid_t pid = u->process.pid;
    bool ran;
    *ret = REC_SAMPLED;
    rec_sched_answer answer = rec_sched_ran(&t->sched, pid, t->host, &ran);
    if (answer == REC_SCHED_GONE || !rec_sched_read(&t->sched, pid, t->host)) {
        t->vanished = true;
        return list_or_lose(u, t, PR_NAME, ret, err);
    }
    uint64_t witness = u->table.interp[t->interp].witness;
    bool rest = is_at_rest(u, t);
    if (!rest && !witness) {
        *ret = REC_ELSEWHERE;
        return PR_OK;
    }
    rec_read r;
    found f = {0};
    pr_code code = read_thread(u, t, rest ? 0 : witness, &r, err);
    if (code != PR_OK)
        return code;
    pr_err why = PR_ERR_INIT;
    pr_code taken = take_stack(u, t, &r, &f, &why);
    if (rec_is_fatal(taken))
        return stop(t, &why, err);
    bool proven;
    if (rest) {
        proven =
            rec_sched_ran(&t->sched, pid, t->host, &ran) == REC_SCHED_KNOWN &&
            !ran;
    } else {
        code = close_proof(u, &r, 0, &proven, err);
        if (code != PR_OK)
            return code;
    }
    if (!proven) {
        *ret = REC_BROKEN;
        return PR_OK;
    }
    if (taken != PR_OK)
        return list_or_lose(u, t, taken, ret, err);
    if (t->sched.letter == 'R')
        f.status |= PR_ON_CPU;
    return accept(u, t, &f,
                  t->sched.asleep ? PR_COUNT_SLEEPING : PR_COUNT_PROVEN, err);
}

/* ---- read from its own CPU ---- */

/* Bytes that the batch lacked were read later, from another CPU: they prove
 * nothing, but the next batch asks for them. */
pr_code
rec_sample_captured(rec_unwinder *u, const rec_capture *c, pr_err *err)
{
    rec_thread *t = c->thread;
    rec_read r = c->read;
    bool still = c->still && rec_interp_parse(&u->table, t->interp,
                                              u->tick.batch, &c->words);
    if (r.guard) {
        still = still && guard_is(u, &r, c->cpu);
        t->sched.cpu = guard_word(u, r.after);
    }
    if (!still)
        return PR_OK;
    uint32_t calls = u->tick.batch->calls;
    found f = {0};
    pr_err why = PR_ERR_INIT;
    pr_code code = take_stack(u, t, &r, &f, &why);
    if (rec_is_fatal(code))
        return stop(t, &why, err);
    if (u->tick.batch->calls != calls)
        return PR_OK;
    rec_sampled ignored;
    if (code != PR_OK)
        return list_or_lose(u, t, code, &ignored, err);
    if (t->sched.letter == 'R')
        f.status |= PR_ON_CPU;
    return accept(u, t, &f,
                  t->sched.asleep ? PR_COUNT_SLEEPING : PR_COUNT_PROVEN, err);
}

/* ---- stopped ---- */

/* The letter of its state shows only that it is stopped: it counts as on a CPU
 * if it ran since its last sample. */
pr_code
rec_sample_stopped(rec_unwinder *u, rec_thread *t, rec_sampled *ret,
                   pr_err *err)
{
    rec_read r;
    found f = {0};
    *ret = REC_SAMPLED;
    pr_code code = read_thread(u, t, 0, &r, err);
    if (code != PR_OK)
        return code;
    pr_err why = PR_ERR_INIT;
    code = take_stack(u, t, &r, &f, &why);
    if (rec_is_fatal(code))
        return stop(t, &why, err);
    if (code != PR_OK) {
        u->program.listed_ms = 0;
        return list_or_lose(u, t, code, ret, err);
    }
    if (t->sched.ran)
        f.status |= PR_ON_CPU;
    code = accept(u, t, &f, PR_COUNT_STOPPED, err);
    if (code == PR_OK && u->opts.cache == REC_CACHE_ANCHOR)
        code = set_anchor(u, t, &r, err);
    return code;
}

/* ---- no proof: from another CPU ---- */

/* The frames to begin at when the target ran on during the read: the lower of
 * the two current frames is the one that was there all the time. */
static void
choose_starts(const rec_unwinder *u, const rec_thread *t, const rec_shot *shot,
              uint64_t start[2])
{
    const uint8_t *p = rec_batch_bytes(u->tick.batch, shot->again);
    uint64_t first = shot->current_frame, again = p ? rec_u64(p) : first;
    size_t a = rec_data_stack_chunk(&t->source, 0, first, 1);
    size_t b = rec_data_stack_chunk(&t->source, 0, again, 1);
    bool lower =
        a != SIZE_MAX && b != SIZE_MAX && (b < a || (b == a && again < first));
    start[0] = lower ? again : first;
    start[1] = lower ? first : again;
}

/* `read` holds the bytes of an earlier read of it, or NULL. */
static pr_code
try_remote(rec_unwinder *u, rec_thread *t, const rec_read *read, found *ret,
           pr_err *err)
{
    rec_read r;
    pr_code code = PR_OK;
    if (read)
        r = *read;
    else
        code = read_thread(u, t, 0, &r, err);
    if (code == PR_OK)
        code = check_thread(u, t, &r, err);
    if (code == PR_OK)
        code = rec_data_stack_follow(&t->source, &u->program.runtime.layout,
                                     u->tick.batch, &r.shot, err);
    if (code != PR_OK)
        return code;
    uint64_t start[2];
    choose_starts(u, t, &r.shot, start);
    code = walk_and_decode(u, t, &r.shot, start[0], ret, err);
    if (code == PR_TORN && start[1] != start[0]) {
        pr_err_clear(err);
        code = walk_and_decode(u, t, &r.shot, start[1], ret, err);
    }
    if (code == PR_OK)
        ret->status = rec_status_of(u, t, r.shot.tstate);
    return code;
}

/* Up to 3.13 popped frames stay whole, so that a stack that never existed may
 * pass every check: there an unproven sample is lost. */
static bool
believes_remote(const rec_unwinder *u)
{
    if (u->opts.strategy == REC_REMOTE)
        return true;
    return u->opts.strategy != REC_COLOCATED &&
           u->program.runtime.layout.frame.cleared_on_pop;
}

static pr_code
sample_remote(rec_unwinder *u, rec_thread *t, const rec_read *read,
              rec_sampled *ret, pr_err *err)
{
    *ret = REC_SAMPLED;
    if (!believes_remote(u))
        return rec_sample_lose(u, t, PR_COUNT_LOST_MOVED, err);
    found f = {0};
    pr_code code = PR_TORN;
    pr_err why;
    for (int i = 0; i < REMOTE_TRIES && code == PR_TORN; i++) {
        if (i)
            rec_count_add(&t->counts, PR_COUNT_RETRIES, 1);
        why = (pr_err)PR_ERR_INIT;
        code = try_remote(u, t, i == 0 ? read : NULL, &f, &why);
    }
    if (rec_is_fatal(code))
        return stop(t, &why, err);
    if (code != PR_OK)
        return list_or_lose(u, t, code, ret, err);
    if (t->sched.letter == 'R')
        f.status |= PR_ON_CPU;
    return accept(u, t, &f, PR_COUNT_UNPROVEN, err);
}

/* The holder of a GIL that used its CPU just now runs; the kernel adds up its
 * time at its ticks only, so "just now" spans some ticks.  This is not a proof,
 * but reading its state would not give one either. */
static bool
surely_runs(const rec_unwinder *u, rec_thread *t)
{
    const rec_gil *gil = &u->table.interp[t->interp].gil;
    if (t->sched.ran)
        t->ran_us = u->tick.time_us;
    return t->known && gil->address && gil->locked &&
           gil->holder == t->tstate && !t->sched.asleep &&
           u->tick.time_us - t->ran_us < RUNS_FOR_US;
}

pr_code
rec_sample_running(rec_unwinder *u, rec_thread *t, const rec_read *read,
                   rec_sampled *ret, pr_err *err)
{
    *ret = REC_ELSEWHERE;
    if (!surely_runs(u, t))
        return PR_OK;
    t->sched.letter = 'R';
    return sample_remote(u, t, read, ret, err);
}

/* ---- the best way there is ---- */

/* Read between its own guards at once: a thread that is likely to run, and one
 * of which the kernel does not count the runs. */
static bool
is_runner(const rec_unwinder *u, const rec_thread *t)
{
    const rec_interp *in = &u->table.interp[t->interp];
    if (u->tick.cpu == REC_NO_CPU || !t->rseq || !u->tick.counted)
        return false;
    return !in->gil.address || !t->sched.counted ||
           (in->gil.locked && in->gil.holder == t->tstate);
}

uint32_t
rec_sample_cpu(rec_unwinder *u, rec_thread *t)
{
    uint32_t cpu;
    if (rec_memory_read(&u->program.memory, t->rseq, &cpu, sizeof cpu, NULL) ==
        PR_OK)
        t->sched.cpu = cpu;
    return t->sched.cpu;
}

/* Is it on our CPU?  Checked first, so that it is not read in vain. */
static bool
is_here(rec_unwinder *u, rec_thread *t)
{
    return t->sched.cpu == (uint32_t)u->tick.cpu ||
           rec_sample_cpu(u, t) == (uint32_t)u->tick.cpu;
}

static pr_code
sample_runner(rec_unwinder *u, rec_thread *t, rec_sampled *ret, pr_err *err)
{
    *ret = REC_ELSEWHERE;
    if (!is_here(u, t))
        return PR_OK;
    rec_read r;
    pr_code code = read_thread(u, t, t->rseq, &r, err);
    if (code != PR_OK)
        return code;
    return rec_sample_still(u, t, &r, ret, err);
}

/* Neither another try nor another pass follows. */
static bool
is_final(const rec_unwinder *u)
{
    return u->tick.last && u->tick.exhausted;
}

pr_code
rec_sample(rec_unwinder *u, rec_thread *t, rec_sampled *ret, pr_err *err)
{
    pr_code code;
    if (u->opts.strategy == REC_REMOTE) {
        code = rec_sample_running(u, t, NULL, ret, err);
        if (code != PR_OK || *ret == REC_SAMPLED)
            return code;
    } else if (is_runner(u, t)) {
        code = sample_runner(u, t, ret, err);
        if (code != PR_OK || *ret == REC_SAMPLED ||
            (*ret == REC_BROKEN && !is_final(u)))
            return code;
    }
    code = sample_quiet(u, t, ret, err);
    if (code != PR_OK || *ret == REC_SAMPLED || !u->tick.last ||
        (*ret == REC_BROKEN && !u->tick.exhausted))
        return code;
    return sample_remote(u, t, NULL, ret, err);
}
