/*
 * unwinder.c - attach, and one tick over all threads (spec/sampling.md).
 */
#include <pyrec/unwinder.h>

#include "recorder/teller.h"
#include "recorder/tick.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum {
    REMOTE_TRIES = 10,
    LIST_TRIES = 5,
    LIST_EVERY_MS = 100, /* who left the middle of a list is seen this late */
    ALIVE_EVERY_MS = 500,
    /* tstate._status, 3.12 on: attached to the interpreter */
    STATUS_ACTIVE = 1 << 4
};

struct rec_unwinder {
    rec_unwinder_opts opts;
    pr_sink *sink;
    rec_process process;
    rec_memory memory;
    rec_runtime runtime;
    rec_codes *codes;
    rec_threads_table table;
    rec_teller teller;
    rec_window window;
    rec_walker walker;
    rec_stack fresh;     /* scratch: the stack being decoded */
    uint64_t generation; /* sum over the interpreters */
    uint64_t epoch;      /* changes when code objects may have gone */
    uint64_t start_ns;   /* zero of the samples' clock */
    uint64_t listed_ms, alive_ms;
    rec_target target;
    rec_stats stats;
};

static uint64_t
now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t
now_us(const rec_unwinder *u)
{
    uint64_t now = now_ns();
    return now > u->start_ns ? (now - u->start_ns) / 1000 : 0;
}

/* ---- attaching ---- */

static void
fill_target(const rec_process *process, const rec_runtime *runtime,
            rec_target *ret)
{
    rec_target t = {.pid = process->pid,
                    .free_threaded = runtime->layout.free_threaded,
                    .runtime = runtime->address};
    t.python[0] = (uint8_t)(runtime->layout.version >> 24);
    t.python[1] = (uint8_t)(runtime->layout.version >> 16);
    t.python[2] = (uint8_t)(runtime->layout.version >> 8);
    memcpy(t.runtime_path, runtime->path, sizeof t.runtime_path);
    t.runtime_path[sizeof t.runtime_path - 1] = '\0';
    *ret = t;
}

pr_code
rec_is_python(pid_t pid, rec_target *ret, pr_err *err)
{
    rec_process process;
    pr_code code = rec_process_open(pid, &process, err);
    if (code != PR_OK)
        return code;
    rec_memory memory;
    rec_memory_init(&memory, pid);
    rec_runtime runtime;
    code = rec_runtime_find(&process, &memory, &runtime, err);
    if (code == PR_OK)
        fill_target(&process, &runtime, ret);
    rec_memory_release(&memory);
    rec_process_release(&process);
    return code;
}

static pr_code
list_threads(rec_unwinder *u, pr_err *err)
{
    pr_code code = rec_teller_flush(&u->teller, &u->table, err);
    if (code != PR_OK)
        return code;
    for (int i = 0; i < LIST_TRIES; i++) {
        pr_err try = PR_ERR_INIT;
        code = rec_threads_list(&u->table, &try);
        if (code != PR_TORN) {
            if (code != PR_OK && err && err->code == PR_OK)
                *err = try;
            return code;
        }
    }
    return PR_FAIL(err, PR_TORN, 0, PR_NO_OFFSET,
                   "the list of threads would not hold still");
}

static pr_code
check_options(const rec_unwinder *u, pr_err *err)
{
    if (u->opts.threads == REC_THREADS_GIL && u->runtime.layout.free_threaded)
        return PR_FAIL(err, PR_USAGE, 0, PR_NO_OFFSET,
                       "--threads gil needs a GIL, and this Python is "
                       "free-threaded");
    return PR_OK;
}

/* All that hangs on the program that runs in the process now. */
static pr_code
attach(rec_unwinder *u, pr_err *err)
{
    pr_code code = rec_runtime_find(&u->process, &u->memory, &u->runtime, err);
    if (code == PR_OK)
        code = check_options(u, err);
    if (code == PR_OK)
        code = rec_codes_new(&u->runtime.layout, u->sink, u->opts.opcodes != 0,
                             &u->codes, err);
    if (code == PR_OK)
        code = rec_threads_init(&u->table, &u->process, &u->runtime, &u->memory,
                                err);
    if (code != PR_OK)
        return code;
    u->walker.layout = &u->runtime.layout;
    u->walker.codes = u->codes;
    fill_target(&u->process, &u->runtime, &u->target);
    return PR_OK;
}

static pr_code
open_parts(rec_unwinder *u, pid_t pid, pr_err *err)
{
    pr_code code = rec_process_open(pid, &u->process, err);
    if (code != PR_OK)
        return code;
    code = rec_window_init(&u->window, &u->memory, err);
    if (code == PR_OK)
        code = attach(u, err);
    return code;
}

pr_code
rec_unwinder_open(pid_t pid, const rec_unwinder_opts *opts, pr_sink *sink,
                  rec_unwinder **ret, pr_err *err)
{
    rec_unwinder *u = calloc(1, sizeof *u);
    if (!u)
        return PR_FAIL(err, PR_NOMEM, 0, PR_NO_OFFSET, "no memory");
    u->opts = *opts;
    u->sink = sink;
    u->process.pidfd = -1;
    u->start_ns = now_ns();
    u->walker.max_depth = opts->max_depth;
    u->walker.native = opts->native != 0;
    u->walker.opcodes = opts->opcodes != 0;
    rec_memory_init(&u->memory, pid);
    rec_teller_init(&u->teller, sink);
    pr_code code = open_parts(u, pid, err);
    if (code != PR_OK) {
        rec_unwinder_free(u);
        return code;
    }
    *ret = u;
    return PR_OK;
}

void
rec_unwinder_free(rec_unwinder *u)
{
    if (!u)
        return;
    rec_teller_release(&u->teller);
    rec_threads_release(&u->table);
    rec_codes_free(u->codes);
    rec_window_release(&u->window);
    rec_walker_release(&u->walker);
    rec_stack_release(&u->fresh);
    rec_memory_release(&u->memory);
    rec_process_release(&u->process);
    free(u);
}

const rec_target *
rec_unwinder_target(const rec_unwinder *u)
{
    return &u->target;
}

/* ---- state of a thread ---- */

static rec_interp *
interp_of(rec_unwinder *u, const rec_thread *t)
{
    return &u->table.interp[t->interp];
}

static bool
holds_gil(const rec_unwinder *u, const rec_interp *in, const rec_thread *t,
          const uint8_t *tstate)
{
    const rec_layout *l = &u->runtime.layout;
    if (!l->free_threaded)
        return in->gil.locked && in->gil.holder == t->tstate;
    return l->tstate.status != REC_ABSENT &&
           (tstate[l->tstate.status] & STATUS_ACTIVE);
}

static bool
requests_gil(const rec_unwinder *u, const uint8_t *tstate)
{
    const rec_layout *l = &u->runtime.layout;
    return l->tstate.gil_requested != REC_ABSENT &&
           rec_u32(tstate + l->tstate.gil_requested) != 0;
}

/* Raised and not caught yet, or being handled: then a value lies in one of
 * the linked _PyErr_StackItem, of which the first is in the thread state. */
static bool
has_exception(rec_unwinder *u, const rec_thread *t, const uint8_t *tstate)
{
    const rec_layout *l = &u->runtime.layout;
    if (l->tstate.current_exception != REC_ABSENT &&
        rec_u64(tstate + l->tstate.current_exception))
        return true;
    if (l->tstate.exc_info == REC_ABSENT)
        return false;
    uint64_t item = rec_u64(tstate + l->tstate.exc_info);
    (void)t;
    (void)item;
    return l->tstate.exc_state != REC_ABSENT &&
           rec_u64(tstate + l->tstate.exc_state + l->exc.exc_value) != 0;
}

/* A thread that did not run since it was seen asleep sleeps still; of another
 * one the letter tells (R: it runs, or would if it had a CPU). */
static bool
on_cpu(rec_unwinder *u, rec_thread *t)
{
    bool ran = true;
    if (!rec_thread_ran(t, u->process.pid, &ran))
        return false;
    if (!ran && t->asleep)
        return false;
    char letter = rec_thread_letter(t, u->process.pid);
    t->asleep = letter == 'S' || letter == 'D';
    return letter == 'R';
}

static uint8_t
status_of(rec_unwinder *u, rec_thread *t, const uint8_t *tstate)
{
    const rec_interp *in = interp_of(u, t);
    unsigned status = 0;
    if (holds_gil(u, in, t, tstate))
        status |= PR_HAS_GIL;
    else if (requests_gil(u, tstate))
        status |= PR_GIL_REQUESTED;
    if (has_exception(u, t, tstate))
        status |= PR_HAS_EXCEPTION;
    if (t->is_main)
        status |= PR_MAIN_THREAD;
    if (on_cpu(u, t))
        status |= PR_ON_CPU;
    return (uint8_t)status;
}

static bool
matches_mode(const rec_unwinder *u, uint8_t status)
{
    if (u->opts.keep_idle)
        return true;
    switch (u->opts.mode) {
    case PR_MODE_CPU:
        return status & PR_ON_CPU;
    case PR_MODE_GIL:
        return status & PR_HAS_GIL;
    case PR_MODE_EXCEPTION:
        return status & PR_HAS_EXCEPTION;
    case PR_MODE_WALL:
    case PR_MODE_ALL:
    case PR_MODE_UNKNOWN:
        break;
    }
    return true;
}

static bool
is_chosen(rec_unwinder *u, const rec_thread *t)
{
    switch (u->opts.threads) {
    case REC_THREADS_MAIN:
        return t->is_main;
    case REC_THREADS_GIL: {
        const rec_gil *gil = &interp_of(u, t)->gil;
        return gil->locked && gil->holder == t->tstate;
    }
    case REC_THREADS_ALL:
        break;
    }
    return true;
}

/* May its stack differ from the one seen last?  With a GIL its own words say
 * who had it since; without, the kernel's count of its runs does
 * (spec/sampling.md, "Unchanged threads"). */
static bool
may_have_moved(rec_unwinder *u, rec_thread *t)
{
    if (!t->known)
        return true;
    const rec_interp *in = interp_of(u, t);
    if (in->gil.address) {
        uint64_t switches = in->gil.switches - in->last_gil.switches;
        if (t->tstate == in->gil.holder || t->tstate == in->last_gil.holder)
            return true;
        if (switches <= 1)
            return false;
    }
    bool ran = true;
    if (!rec_thread_ran(t, u->process.pid, &ran))
        return true;
    return ran || !t->asleep;
}

/* ---- results ---- */

static pr_code
lose(rec_unwinder *u, rec_thread *t, pr_count_kind reason, pr_err *err)
{
    pr_code code = rec_teller_settle_before(&u->teller, t, err);
    t->known = false;
    t->wanted = false;
    t->count[reason]++;
    return code;
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

/* The stack in u->fresh is the thread's now. */
static pr_code
accept(rec_unwinder *u, rec_thread *t, uint32_t keep, uint32_t omitted,
       uint8_t status, pr_count_kind kind, pr_err *err)
{
    rec_stack old = t->stack;
    pr_code code = rec_teller_settle_before(&u->teller, t, err);
    if (code != PR_OK)
        return code;
    count_frames(u, keep, u->fresh.n);
    t->stack = u->fresh;
    u->fresh = old;
    t->shared = keep < t->shared ? keep : t->shared;
    t->epoch = u->epoch;
    t->known = true;
    t->proven = kind != PR_COUNT_UNPROVEN;
    t->truncated = omitted != 0;
    t->wanted = false;
    t->status = status;
    if (!matches_mode(u, status))
        return PR_OK;
    t->count[kind]++;
    if (omitted)
        t->count[PR_COUNT_TRUNCATED]++;
    return rec_teller_sample(&u->teller, t, u->process.pid, now_us(u), status,
                             err);
}

static pr_code
stay(rec_unwinder *u, rec_thread *t, pr_err *err)
{
    if (!matches_mode(u, t->status))
        return PR_OK;
    count_frames(u, t->stack.n, t->stack.n);
    t->count[t->proven ? PR_COUNT_SLEEPING : PR_COUNT_UNPROVEN]++;
    if (t->truncated)
        t->count[PR_COUNT_TRUNCATED]++;
    return rec_teller_idle(&u->teller, t, u->process.pid, err);
}

/* ---- one look from another CPU ---- */

static uint64_t
base_frame(const rec_unwinder *u, const uint8_t *tstate)
{
    uint32_t at = u->runtime.layout.tstate.base_frame;
    return at == REC_ABSENT ? 0 : rec_u64(tstate + at);
}

static pr_code
walk_and_decode(rec_unwinder *u, rec_thread *t, const rec_shot *shot,
                uint64_t start, uint32_t *ret_keep, uint32_t *ret_omitted,
                pr_err *err)
{
    const uint8_t *tstate = rec_window_bytes(&u->window, shot->tstate);
    rec_walk walk = {start, base_frame(u, tstate), shot->outer_frame,
                     u->opts.gc ? interp_of(u, t)->gc_frame : 0};
    pr_code code =
        rec_stack_walk(&u->walker, &u->window, &t->source, &walk, err);
    if (code != PR_OK)
        return code;
    return rec_stack_decode(&u->walker, &u->window, &t->source, &t->stack,
                            t->epoch == u->epoch, &u->fresh, ret_keep,
                            ret_omitted, err);
}

/* Where to begin when the target ran on while it was read: the lower of the
 * two current frames is the one that was there all the time. */
static void
choose_starts(const rec_unwinder *u, const rec_thread *t, const rec_shot *shot,
              uint64_t start[2])
{
    const uint8_t *p = rec_window_bytes(&u->window, shot->again);
    uint64_t first = shot->current_frame, again = p ? rec_u64(p) : first;
    size_t a = rec_source_chunk(&t->source, 0, first, 1);
    size_t b = rec_source_chunk(&t->source, 0, again, 1);
    bool lower =
        a != SIZE_MAX && b != SIZE_MAX && (b < a || (b == a && again < first));
    start[0] = lower ? again : first;
    start[1] = lower ? first : again;
}

static pr_code
read_thread(rec_unwinder *u, rec_thread *t, rec_shot *shot, pr_err *err)
{
    rec_window_reset(&u->window);
    if (!rec_source_add(&t->source, &u->runtime.layout, &u->window, true, shot))
        return PR_FAIL(err, PR_NOMEM, 0, PR_NO_OFFSET, "no memory");
    pr_code code = rec_window_read(&u->window, err);
    if (code != PR_OK)
        return code;
    const uint8_t *tstate = rec_window_bytes(&u->window, shot->tstate);
    if (!tstate || !rec_thread_matches(t, &u->runtime.layout, tstate)) {
        u->listed_ms = 0; /* list again before the next tick */
        return PR_FAIL(err, PR_NAME, 0, t->tstate, "thread is gone");
    }
    return rec_source_follow(&t->source, &u->runtime.layout, &u->window, shot,
                             err);
}

static pr_code
try_remote(rec_unwinder *u, rec_thread *t, rec_shot *shot, uint32_t *ret_keep,
           uint32_t *ret_omitted, pr_err *err)
{
    pr_code code = read_thread(u, t, shot, err);
    if (code != PR_OK)
        return code;
    uint64_t start[2];
    choose_starts(u, t, shot, start);
    code = walk_and_decode(u, t, shot, start[0], ret_keep, ret_omitted, err);
    if (code == PR_TORN && start[1] != start[0])
        code =
            walk_and_decode(u, t, shot, start[1], ret_keep, ret_omitted, err);
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

/* What is no property of one sample ends the recording. */
static bool
is_fatal(pr_code code)
{
    return code == PR_NO_PROCESS || code == PR_DENIED || code == PR_NOMEM;
}

static pr_code
look_remote(rec_unwinder *u, rec_thread *t, pr_err *err)
{
    rec_shot shot;
    uint32_t keep = 0, omitted = 0;
    pr_code code = PR_TORN;
    for (int i = 0; i < REMOTE_TRIES && code == PR_TORN; i++) {
        if (i)
            t->count[PR_COUNT_RETRIES]++;
        code = try_remote(u, t, &shot, &keep, &omitted, NULL);
    }
    if (is_fatal(code))
        return PR_FAIL(err, code, 0, PR_NO_OFFSET, "cannot read thread %llu",
                       (unsigned long long)t->tid);
    if (code != PR_OK)
        return lose(u, t, reason_of(code), err);
    uint8_t status = status_of(u, t, rec_window_bytes(&u->window, shot.tstate));
    return accept(u, t, keep, omitted, status, PR_COUNT_UNPROVEN, err);
}

/* ---- a tick ---- */

static pr_code
read_interps(rec_unwinder *u, bool *ret_same, pr_err *err)
{
    rec_window_reset(&u->window);
    rec_interps_add(&u->table, &u->window);
    pr_code code = rec_window_read(&u->window, err);
    if (code == PR_OK)
        *ret_same = rec_interps_parse(&u->table, &u->window);
    return code;
}

static bool
list_is_due(const rec_unwinder *u, uint64_t now_ms)
{
    return u->table.n_interps == 0 || u->listed_ms == 0 ||
           now_ms - u->listed_ms >= LIST_EVERY_MS + u->table.n_live / 2;
}

/* Interpreters and threads as they are now. */
static pr_code
look_at_lists(rec_unwinder *u, pr_err *err)
{
    uint64_t now_ms = now_ns() / 1000000;
    bool same = false;
    pr_code code = PR_OK;
    if (!list_is_due(u, now_ms))
        code = read_interps(u, &same, err);
    for (int i = 0; code == PR_OK && !same && i < LIST_TRIES; i++) {
        code = list_threads(u, err);
        if (code == PR_OK)
            code = read_interps(u, &same, err);
        u->listed_ms = now_ms;
    }
    if (code == PR_OK && !same)
        return PR_FAIL(err, PR_TORN, 0, PR_NO_OFFSET,
                       "the list of threads would not hold still");
    return code;
}

static void
note_generation(rec_unwinder *u)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < u->table.n_interps; i++)
        sum += u->table.interp[i].generation + u->table.interp[i].address;
    if (sum != u->generation)
        u->epoch++;
    u->generation = sum;
    rec_codes_tick(u->codes, sum);
}

/* Sort out who must be looked at; the others are as they were. */
static pr_code
choose_wanted(rec_unwinder *u, pr_err *err)
{
    for (size_t i = 0; i < u->table.n_live; i++) {
        rec_thread *t = u->table.live[i];
        t->wanted = is_chosen(u, t) && may_have_moved(u, t);
        if (t->wanted || !is_chosen(u, t))
            continue;
        pr_code code = stay(u, t, err);
        if (code != PR_OK)
            return code;
    }
    for (size_t i = 0; i < u->table.n_interps; i++)
        u->table.interp[i].last_gil = u->table.interp[i].gil;
    return PR_OK;
}

pr_code
rec_tick_begin(rec_unwinder *u, uint64_t time_us, pr_err *err)
{
    u->teller.count[PR_COUNT_TICKS]++;
    pr_code code = look_at_lists(u, err);
    if (code == PR_OK)
        code = rec_teller_tick(&u->teller, time_us, err);
    if (code != PR_OK)
        return code;
    note_generation(u);
    return choose_wanted(u, err);
}

pr_code
rec_tick_pass(rec_unwinder *u, int cpu, bool last, int *ret_next, pr_err *err)
{
    (void)cpu;
    (void)last;
    pr_code code = PR_OK;
    for (size_t i = 0; code == PR_OK && i < u->table.n_live; i++)
        if (u->table.live[i]->wanted)
            code = look_remote(u, u->table.live[i], err);
    *ret_next = REC_NO_CPU;
    return code;
}

pr_code
rec_unwinder_tick(rec_unwinder *u, uint64_t time_us, uint64_t period_us,
                  pr_err *err)
{
    (void)period_us;
    int next;
    pr_code code = rec_tick_begin(u, time_us, err);
    if (code == PR_OK)
        code = rec_tick_pass(u, REC_NO_CPU, true, &next, err);
    return code;
}

pr_code
rec_tick_flush(rec_unwinder *u, bool counters, pr_err *err)
{
    pr_code code = rec_teller_flush(&u->teller, &u->table, err);
    if (code == PR_OK && counters)
        code = rec_teller_counts(&u->teller, &u->table, err);
    return code;
}

pr_code
rec_unwinder_tell_counts(rec_unwinder *u, pr_err *err)
{
    return rec_tick_flush(u, true, err);
}

void
rec_tick_count(rec_unwinder *u, pr_count_kind kind, uint64_t n)
{
    u->teller.count[kind] += n;
}

uint64_t
rec_tick_total(const rec_unwinder *u, pr_count_kind kind)
{
    uint64_t sum = u->teller.count[kind];
    for (size_t i = 0; i < u->table.n_all; i++)
        sum += u->table.all[i]->count[kind];
    return sum;
}

void
rec_tick_set_start(rec_unwinder *u, uint64_t start_ns)
{
    u->start_ns = start_ns;
}

int
rec_tick_home(const rec_unwinder *u)
{
    (void)u;
    return REC_NO_CPU;
}

void
rec_unwinder_get_stats(const rec_unwinder *u, rec_stats *ret)
{
    rec_stats s = u->stats;
    s.memory_reads = u->memory.reads;
    s.memory_bytes_read = u->memory.bytes;
    s.batched_read_attempts = u->window.batches;
    s.batched_read_successes = u->window.batches_whole;
    s.batched_read_misses = u->window.batches_missed;
    s.batched_read_segments_requested = u->window.pieces_asked;
    s.batched_read_segments_completed = u->window.pieces_there;
    if (u->codes)
        rec_codes_counts(u->codes, &s.code_object_cache_hits,
                         &s.code_object_cache_misses,
                         &s.stale_cache_invalidations);
    *ret = s;
}
