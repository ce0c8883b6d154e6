/*
 * unwinder.c - attach, and one tick over all threads (spec/sampling.md).
 */
#include <base/array.h>
#include <base/opts.h>
#include <pyrec/unwinder.h>

#include "recorder/linux/clock.h"
#include "recorder/linux/procfs.h"
#include "recorder/linux/sched_state.h"
#include "recorder/sample/capture.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>

enum {
    LIST_TRIES = 5,
    LIST_EVERY_MS = 100, /* a change inside a list is seen this late */
    ALIVE_EVERY_MS = 500,
    SAME_WITHIN_MS = 1, /* no pid is that of another Python so soon */
    JOIN_EVERY_MS = 50,
    EXEC_PATIENCE_MS = 10000, /* for a new program to become a Python */
    BROKEN_TRIES = 3,
    NAME_AFTER_US = 1000000,
    WATCH_EVERY_US = 5000, /* eleven young collections take longer */
    REFRESH_PER_TICK = 4   /* idle threads whose state is read again */
};

static uint64_t
now_ms(void)
{
    return rec_now_ns() / 1000000;
}

/* ---- attaching ---- */

/* Within a tick: a thread that is still wanted has no sample of it so far. */
static pr_code
settle_wanted(rec_unwinder *u, pr_err *err)
{
    pr_code code = PR_OK;
    for (size_t i = 0; u->tick.begun && code == PR_OK && i < u->table.n_live;
         i++)
        if (u->table.live[i]->wanted)
            code =
                rec_emitter_settle_before(&u->emitter, u->table.live[i], err);
    return code;
}

static pr_code
list_threads(rec_unwinder *u, pr_err *err)
{
    pr_code code = settle_wanted(u, err);
    if (code == PR_OK)
        code = rec_emitter_flush(&u->emitter, &u->table, err);
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
    return PR_FAIL(err, PR_TORN,
                   "the list of threads changed during each read");
}

static pr_code
check_anchor(const rec_unwinder *u, pr_err *err)
{
    const rec_layout *l = &u->program.runtime.layout;
    if (l->tstate.last_profiled_frame == REC_ABSENT ||
        l->tstate.last_profiled_frame_seq == REC_ABSENT)
        return PR_FAIL(err, PR_UNSUPPORTED,
                       "--cache anchor needs CPython 3.15, and this is 3.%u",
                       l->minor);
    if (u->opts.strategy == REC_REMOTE)
        return PR_FAIL(err, PR_USAGE,
                       "--cache anchor writes only to a thread that is proven "
                       "still, which --strategy remote never proves");
    return PR_OK;
}

static pr_code
check_options(const rec_unwinder *u, pr_err *err)
{
    if (u->opts.threads == REC_THREADS_GIL &&
        u->program.runtime.layout.free_threaded)
        return PR_FAIL(err, PR_USAGE,
                       "--threads gil needs a GIL, and this Python is "
                       "free-threaded");
    pr_code code = PR_OK;
    if (u->opts.cache == REC_CACHE_ANCHOR)
        code = check_anchor(u, err);
    if (code == PR_OK && u->opts.gc_events)
        code = rec_gc_check(&u->program.runtime.layout, err);
    return code;
}

/* Make the part of the program that cannot fail. */
static void
begin_program(rec_unwinder *u)
{
    rec_program *p = &u->program;
    *p = (rec_program){0};
    rec_memory_init(&p->memory, u->process.pid);
    p->walker.max_depth = u->opts.max_depth;
    p->walker.native = u->opts.native != 0;
    p->walker.opcodes = u->opts.opcodes != 0;
}

/* Find the Python in the program.  On failure the program is as begin_program()
 * made it, except for parts that end_program() releases. */
static pr_code
attach(rec_unwinder *u, pr_err *err)
{
    rec_program *p = &u->program;
    pr_code code = rec_runtime_find(&u->process, &p->memory, &p->runtime, err);
    if (code == PR_OK)
        code = check_options(u, err);
    if (code == PR_OK)
        code = rec_batch_init(&p->batch, &p->memory, err);
    if (code == PR_OK)
        code = rec_codes_new(&p->runtime.layout, &u->names,
                             u->opts.opcodes != 0, &p->codes, err);
    if (code != PR_OK)
        return code;
    p->walker.layout = &p->runtime.layout;
    p->walker.codes = p->codes;
    rec_target_fill(u->process.pid, &p->runtime, &u->target);
    return PR_OK;
}

static void
add_stats(const rec_program *p, rec_stats *to)
{
    uint64_t hits = 0, misses = 0, stale = 0;
    if (p->codes)
        rec_codes_counts(p->codes, &hits, &misses, &stale);
    to->memory_reads += p->memory.reads;
    to->memory_bytes_read += p->memory.bytes;
    to->batched_read_attempts += p->batch.batches;
    to->batched_read_successes += p->batch.batches_whole;
    to->batched_read_misses += p->batch.batches_missed;
    to->batched_read_segments_requested += p->batch.pieces_asked;
    to->batched_read_segments_completed += p->batch.pieces_there;
    to->code_object_cache_hits += hits;
    to->code_object_cache_misses += misses;
    to->stale_cache_invalidations += stale;
}

static uint64_t
degraded(const rec_unwinder *u)
{
    return u->ended_degraded +
           (u->program.codes ? rec_codes_degraded(u->program.codes) : 0);
}

static uint64_t
gc_lost(const rec_unwinder *u)
{
    return u->ended_gc_lost + rec_gc_watch_lost(&u->program.watch);
}

/* Release the program, whole; only its counts go on. */
static void
end_program(rec_unwinder *u)
{
    rec_program *p = &u->program;
    add_stats(p, &u->stats);
    u->ended_degraded = degraded(u);
    u->ended_gc_lost = gc_lost(u);
    rec_threads_forget(&u->table);
    rec_task_emitter_release(&p->tasks);
    rec_gc_watch_release(&p->watch);
    rec_codes_free(p->codes);
    rec_captures_release(p);
    rec_batch_release(&p->batch);
    rec_walker_release(&p->walker);
    rec_stack_release(&p->fresh);
    rec_memory_release(&p->memory);
    begin_program(u);
}

static pr_code
open_parts(rec_unwinder *u, pid_t pid, pr_err *err)
{
    pr_code code = rec_process_open(pid, &u->process, err);
    if (code != PR_OK)
        return code;
    begin_program(u);
    code = rec_threads_init(&u->table, &u->process, &u->program.runtime,
                            &u->program.memory, err);
    if (code == PR_OK)
        code = attach(u, err);
    return code;
}

pr_code
rec_unwinder_open(pid_t pid, const rec_unwinder_opts *opts, pr_sink *sink,
                  rec_unwinder **ret, pr_err *err)
{
    rec_unwinder_opts known = REC_UNWINDER_OPTS_INIT;
    pr_code code = pr_opts_take(&known, sizeof known, opts, err);
    if (code != PR_OK)
        return code;
    rec_unwinder *u = calloc(1, sizeof *u);
    if (!u)
        return pr_no_memory(err);
    u->opts = known;
    u->sink = sink;
    u->process.pidfd = -1;
    u->program.memory.mem_fd = -1;
    rec_ptrace_init(&u->pause, pid);
    rec_name_table_init(&u->names, sink);
    rec_emitter_init(&u->emitter, sink, &u->table);
    code = open_parts(u, pid, err);
    if (code != PR_OK) {
        rec_unwinder_free(u);
        return code;
    }
    rec_throttle_open(pid, &u->throttle);
    u->start_ns = known.start_ns ? known.start_ns : rec_now_ns();
    *ret = u;
    return PR_OK;
}

void
rec_unwinder_free(rec_unwinder *u)
{
    if (!u)
        return;
    rec_ptrace_release(&u->pause);
    end_program(u);
    rec_emitter_release(&u->emitter);
    rec_threads_release(&u->table);
    rec_name_table_release(&u->names);
    rec_process_release(&u->process);
    rec_throttle_release(&u->throttle);
    free(u->tick.next.v);
    free(u);
}

uint64_t
rec_unwinder_start_ns(const rec_unwinder *u)
{
    return u->start_ns;
}

const rec_target *
rec_unwinder_target(const rec_unwinder *u)
{
    return &u->target;
}

/* ---- lists ---- */

static bool
list_is_due(const rec_unwinder *u)
{
    return u->table.n_interps == 0 || u->program.listed_ms == 0 ||
           now_ms() - u->program.listed_ms >=
               LIST_EVERY_MS + u->table.n_live / 2;
}

static pr_code
read_interps(rec_unwinder *u, bool *ret_same, pr_err *err)
{
    rec_batch_reset(u->tick.batch);
    rec_interps_add(&u->table, u->tick.batch);
    pr_code code = rec_batch_read(u->tick.batch, err);
    if (code == PR_OK)
        *ret_same = rec_interps_parse(&u->table, u->tick.batch);
    return code;
}

/* List until two lists agree.  PR_TORN: they never did. */
static pr_code
list_anew(rec_unwinder *u, pr_err *err)
{
    for (int i = 0; i < LIST_TRIES; i++) {
        bool same = false;
        pr_code code = list_threads(u, err);
        if (code == PR_OK)
            code = read_interps(u, &same, err);
        if (code != PR_OK || same) {
            u->program.listed_ms = now_ms();
            return code;
        }
    }
    return PR_FAIL(err, PR_TORN,
                   "the list of threads changed during each read");
}

/* ---- the threads to sample ---- */

static bool
is_chosen(const rec_unwinder *u, const rec_thread *t)
{
    const rec_gil *gil = &u->table.interp[t->interp].gil;
    if (t->dead)
        return false;
    switch (u->opts.threads) {
    case REC_THREADS_MAIN:
        return t->is_main;
    case REC_THREADS_GIL:
        return gil->locked && gil->holder == t->tstate;
    case REC_THREADS_ALL:
        break;
    }
    return true;
}

/* Is its last stack one that need not be read again while the thread does not
 * move?  An unproven one is not, where the strategy seeks a proof. */
static bool
is_settled(const rec_unwinder *u, const rec_thread *t)
{
    return t->known && (t->proven || u->opts.strategy == REC_REMOTE);
}

/* May its stack differ from the one seen last?  With a GIL, the GIL words show
 * which threads had it since; without one, and when too many had it, the
 * kernel's count of the thread's runs decides (spec/sampling.md,
 * "Unchanged").  A thread that the kernel does not have is tried, and lost. */
static bool
may_have_moved(rec_unwinder *u, rec_thread *t)
{
    const rec_interp *in = &u->table.interp[t->interp];
    uint64_t switches = in->gil.switches - in->last_gil.switches;
    bool had_it =
        t->tstate == in->gil.holder || t->tstate == in->last_gil.holder;
    bool settled = is_settled(u, t);
    if (settled && in->gil.address && !had_it && switches <= 1)
        return false;
    bool ran;
    if (rec_sched_ran(&t->sched, u->process.pid, t->host, &ran) ==
        REC_SCHED_GONE)
        t->vanished = true;
    return !settled || ran || !t->sched.asleep;
}

/* A few idle threads a tick, in turn. */
static bool
is_refreshed(const rec_unwinder *u, size_t i)
{
    size_t n = u->table.n_live;
    return (i + n - u->program.refreshed % n) % n < REFRESH_PER_TICK;
}

/* A second after it was first emitted, a thread has the name it gave itself. */
static pr_code
refresh_name(rec_unwinder *u, rec_thread *t, pr_err *err)
{
    if (t->sink_id == PR_NO_THREAD || t->named_us == UINT64_MAX)
        return PR_OK;
    uint64_t now = rec_now_us(u);
    if (!t->named_us)
        t->named_us = now + NAME_AFTER_US;
    if (now < t->named_us)
        return PR_OK;
    t->named_us = UINT64_MAX;
    return rec_emitter_rename(&u->emitter, t, err);
}

/* Choose whether to read a thread; if it need not be read, emit its sample at
 * once. */
static pr_code
choose(rec_unwinder *u, size_t i, pr_err *err)
{
    rec_thread *t = u->table.live[i];
    bool chosen = is_chosen(u, t), refresh = is_refreshed(u, i);
    pr_code code = refresh ? refresh_name(u, t, err) : PR_OK;
    t->wanted = chosen && may_have_moved(u, t);
    if (!chosen && !t->dead && !u->tick.silent)
        rec_count_add(&t->counts, PR_COUNT_SKIPPED_THREADS, 1);
    if (code != PR_OK || t->wanted)
        return code;
    return chosen ? rec_sample_unchanged(u, t, refresh, err)
                  : rec_emitter_settle_before(&u->emitter, t, err);
}

static bool
was_sampled(const rec_unwinder *u, const rec_thread *t)
{
    return t->sink_id != PR_NO_THREAD && t->last_us >= u->tick.time_us;
}

/* Within a tick: the threads whose states were found after the listing `listed`
 * have begun since, and have no sample of it so far. */
static pr_code
choose_new(rec_unwinder *u, uint32_t listed, pr_err *err)
{
    pr_code code = PR_OK;
    for (size_t i = 0;
         u->table.listings != listed && i < u->table.n_live && code == PR_OK;
         i++)
        if (u->table.live[i]->bound_in > listed &&
            !was_sampled(u, u->table.live[i]))
            code = choose(u, i, err);
    return code;
}

static pr_code
choose_all(rec_unwinder *u, pr_err *err)
{
    for (size_t i = 0; i < u->table.n_live; i++) {
        pr_code code = choose(u, i, err);
        if (code != PR_OK)
            return code;
    }
    u->program.refreshed += REFRESH_PER_TICK;
    for (size_t i = 0; i < u->table.n_interps; i++)
        u->table.interp[i].last_gil = u->table.interp[i].gil;
    return PR_OK;
}

/* ---- a tick ---- */

/* Does it run, by its last sample?  With a GIL, its holder does; without one, a
 * thread that used a CPU.  Within a tick only wanted threads count. */
static bool
likely_runs(const rec_unwinder *u, const rec_thread *t)
{
    const rec_gil *gil = &u->table.interp[t->interp].gil;
    if (u->tick.begun && !t->wanted)
        return false;
    return gil->address ? gil->locked && gil->holder == t->tstate
                        : t->sched.ran;
}

/* The first thread that likely runs; unless `anywhere`, on this CPU.  Where
 * there are GILs only their holders do. */
static rec_thread *
find_runner(const rec_unwinder *u, bool anywhere)
{
    const rec_threads_table *table = &u->table;
    bool each = u->program.runtime.layout.free_threaded;
    size_t n = each ? table->n_live : table->n_interps;
    for (size_t i = 0; i < n; i++) {
        rec_thread *t =
            each ? table->live[i]
                 : rec_threads_find(table, table->interp[i].gil.holder);
        if (!t || !likely_runs(u, t) || !is_chosen(u, t))
            continue;
        if (anywhere || (t->rseq && t->sched.cpu == (uint32_t)u->tick.cpu))
            return t;
    }
    return NULL;
}

/* The thread to read at once with the words of the interpreters: one that
 * likely runs, and on this CPU, or the read would be in vain.  It would be in
 * vain, too, if the target is stopped first or tasks are sampled. */
static rec_thread *
predicted(const rec_unwinder *u)
{
    if (u->opts.strategy == REC_BLOCKING || u->opts.async_mode != REC_ASYNC_OFF)
        return NULL;
    bool remote = u->opts.strategy == REC_REMOTE;
    bool provable = u->tick.cpu != REC_NO_CPU && u->tick.counted;
    return remote || provable ? find_runner(u, remote) : NULL;
}

/* The words of all interpreters and, in the same read, the thread that most
 * likely runs. */
static pr_code
read_first(rec_unwinder *u, rec_thread *likely, rec_read *ret, bool *ret_same,
           pr_err *err)
{
    rec_batch_reset(u->tick.batch);
    rec_interps_add(&u->table, u->tick.batch);
    uint64_t guard =
        likely && u->opts.strategy != REC_REMOTE ? likely->rseq : 0;
    if (likely && !rec_sample_add(u, likely, guard, ret))
        return pr_no_memory(err);
    pr_code code = rec_batch_read(u->tick.batch, err);
    if (code != PR_OK)
        return code;
    *ret_same = rec_interps_parse(&u->table, u->tick.batch);
    for (size_t i = 0; i < u->table.n_interps; i++)
        u->table.interp[i].witness = 0;
    return PR_OK;
}

/* The first read of a pass.  *ret_likely is the thread that was read with it,
 * or NULL. */
static pr_code
open_pass(rec_unwinder *u, rec_thread **ret_likely, rec_read *ret, pr_err *err)
{
    u->tick.counted = rec_own_switches(&u->tick.switches);
    rec_thread *likely = NULL;
    bool same = false;
    pr_code code = PR_OK;
    if (!list_is_due(u)) {
        likely = predicted(u);
        code = read_first(u, likely, ret, &same, err);
    }
    if (code == PR_OK && !same) {
        likely = NULL;
        code = list_anew(u, err);
        u->tick.counted = rec_own_switches(&u->tick.switches);
    }
    if (code == PR_OK)
        *ret_likely = likely;
    return code;
}

static pr_code
begin(rec_unwinder *u, pr_err *err)
{
    u->tick.begun = true;
    pr_code code = rec_emitter_tick(&u->emitter, u->tick.time_us, err);
    if (code != PR_OK)
        return code;
    return choose_all(u, err);
}

/* Open a pass and choose its threads: all in the first pass of a tick, later
 * the new ones. */
static pr_code
open_and_choose(rec_unwinder *u, rec_thread **ret_likely, rec_read *ret,
                pr_err *err)
{
    uint32_t listed = u->table.listings;
    pr_code code = open_pass(u, ret_likely, ret, err);
    if (code != PR_OK)
        return code;
    return u->tick.begun ? choose_new(u, listed, err) : begin(u, err);
}

/* A broken read: the pass ends, and the next one tries it again. */
static pr_code
note_broken(rec_thread *t, bool *ret_broken)
{
    rec_count_add(&t->counts, PR_COUNT_RETRIES, 1);
    *ret_broken = true;
    return PR_OK;
}

static pr_code
sample_all(rec_unwinder *u, bool *ret_broken, pr_err *err)
{
    for (size_t i = 0; i < u->table.n_live; i++) {
        rec_thread *t = u->table.live[i];
        if (!t->wanted)
            continue;
        rec_sampled sampled;
        pr_code code = rec_sample(u, t, &sampled, err);
        if (code != PR_OK)
            return code;
        if (sampled == REC_BROKEN)
            return note_broken(t, ret_broken);
    }
    return PR_OK;
}

static pr_code
run_pass(rec_unwinder *u, bool *ret_broken, pr_err *err)
{
    rec_thread *likely;
    rec_read read;
    *ret_broken = false;
    pr_code code = open_and_choose(u, &likely, &read, err);
    if (code != PR_OK)
        return code;
    if (likely && likely->wanted) {
        rec_sampled sampled;
        code = u->opts.strategy == REC_REMOTE
                   ? rec_sample_running(u, likely, &read, &sampled, err)
                   : rec_sample_still(u, likely, &read, &sampled, err);
        *ret_broken = sampled == REC_BROKEN && !u->tick.exhausted;
        if (code != PR_OK || *ret_broken)
            return code;
    }
    return sample_all(u, ret_broken, err);
}

/* A pass while the target is stopped. */
static pr_code
run_stopped_pass(rec_unwinder *u, bool *ret_broken, pr_err *err)
{
    rec_thread *likely;
    rec_read read;
    *ret_broken = false;
    pr_code code = open_and_choose(u, &likely, &read, err);
    for (size_t i = 0; code == PR_OK && i < u->table.n_live; i++) {
        rec_thread *t = u->table.live[i];
        rec_sampled sampled = REC_SAMPLED;
        if (t->wanted)
            code = rec_sample_stopped(u, t, &sampled, err);
        if (sampled == REC_BROKEN)
            return note_broken(t, ret_broken);
    }
    return code;
}

static pr_code
try_pass(rec_unwinder *u,
         pr_code (*run)(rec_unwinder *u, bool *ret_broken, pr_err *err),
         pr_err *err)
{
    bool broken = true;
    pr_code code = PR_OK;
    for (int i = 0; i < BROKEN_TRIES && broken && code == PR_OK; i++) {
        u->tick.exhausted = i + 1 == BROKEN_TRIES;
        code = run(u, &broken, err);
    }
    return code;
}

/* The CPU of a thread that likely runs. */
static int
runners_cpu(rec_unwinder *u)
{
    rec_thread *t = find_runner(u, true);
    uint32_t cpu = t && t->rseq ? rec_sample_cpu(u, t) : UINT32_MAX;
    return cpu <= INT_MAX ? (int)cpu : REC_NO_CPU;
}

/* Move the calling thread to one CPU. */
static bool
move_to(int cpu)
{
    cpu_set_t set;
    if (cpu >= CPU_SETSIZE)
        return false;
    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

/* Stop the target, from the CPU of the thread that most likely runs: from
 * another one, a running thread goes on until its next system call ends.  One
 * thread traces all the time, so it moves itself. */
static pr_code
run_stopped(rec_unwinder *u, pr_err *err)
{
    int cpu = runners_cpu(u);
    if (cpu != REC_NO_CPU && cpu != sched_getcpu())
        move_to(cpu);
    uint64_t begun_ns = rec_now_ns();
    uint64_t used_ns = rec_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    pr_code code = rec_ptrace_stop(&u->pause, err);
    if (code == PR_OK)
        code = try_pass(u, run_stopped_pass, err);
    rec_ptrace_resume(&u->pause);
    uint64_t stopped_ns = rec_now_ns() - begun_ns;
    used_ns = rec_clock_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns;
    u->held_ns += stopped_ns > used_ns ? stopped_ns - used_ns : 0;
    return code;
}

/* ---- where a tick continues ---- */

static bool
add_cpu(rec_cpu_list *list, int cpu)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i] == cpu)
            return true;
    if (!pr_grow(&list->v, &list->cap, list->n + 1, sizeof *list->v))
        return false;
    list->v[list->n++] = cpu;
    return true;
}

static pr_code
list_cpus(rec_unwinder *u, bool holders, pr_err *err)
{
    for (size_t i = 0; i < u->table.n_live; i++) {
        const rec_thread *t = u->table.live[i];
        if (!t->wanted || t->sched.cpu > INT_MAX)
            continue;
        const rec_gil *gil = &u->table.interp[t->interp].gil;
        bool holds = gil->address && gil->locked && gil->holder == t->tstate;
        if (holds == holders && !add_cpu(&u->tick.next, (int)t->sched.cpu))
            return pr_no_memory(err);
    }
    return PR_OK;
}

/* The holders of GILs first: they are witnesses for the others. */
static pr_code
find_next(rec_unwinder *u, pr_err *err)
{
    u->tick.next.n = 0;
    pr_code code = list_cpus(u, true, err);
    if (code == PR_OK && u->tick.next.n == 0)
        code = list_cpus(u, false, err);
    return code;
}

const rec_cpu_list *
rec_tick_next(const rec_unwinder *u)
{
    return &u->tick.next;
}

pr_code
rec_tick_scatter(rec_unwinder *u, pr_err *err)
{
    return rec_captures_prepare(u, err);
}

void
rec_tick_begin(rec_unwinder *u, uint64_t time_us)
{
    rec_count_add(&u->emitter.counts, PR_COUNT_TICKS, 1);
    u->tick.time_us = time_us;
    u->tick.begun = false;
}

/* ---- the end of the target, and its beginning as another program ---- */

static pr_code
mark_exec(rec_unwinder *u, pr_err *err)
{
    char name[64];
    rec_procfs_name(u->process.pid, name, sizeof name);
    uint64_t now = rec_now_us(u);
    pr_mark mark = {PR_MARK_EXEC, now, now, name, strlen(name)};
    return PR_SINK_CALL(u->sink, mark, &mark, err);
}

/* The process runs another program: the last one ends, whole. */
static pr_code
leave_program(rec_unwinder *u, pr_err *err)
{
    pr_code code = rec_emitter_flush(&u->emitter, &u->table, err);
    if (code == PR_OK)
        code = mark_exec(u, err);
    if (code != PR_OK)
        return code;
    end_program(u);
    u->detached = true;
    u->execed_ms = now_ms();
    return PR_OK;
}

/* Try to find a Python in the new program. */
static pr_code
join_program(rec_unwinder *u, pr_err *err)
{
    pr_err try = PR_ERR_INIT;
    pr_code code = rec_process_renew(&u->process, &try);
    if (code == PR_OK)
        code = attach(u, &try);
    if (code == PR_OK) {
        u->detached = false;
        return PR_OK;
    }
    end_program(u);
    u->alive_ms = now_ms();
    if (code == PR_UNSUPPORTED || code == PR_USAGE) { /* a refused option */
        if (err && err->code == PR_OK)
            *err = try;
        return code;
    }
    bool passing = code == PR_NOT_PYTHON || code == PR_TORN;
    if (passing && now_ms() - u->execed_ms < EXEC_PATIENCE_MS)
        return PR_OK;
    if (code == PR_NO_PROCESS)
        return PR_FAIL(err, PR_NO_PROCESS, "process %d has ended",
                       (int)u->process.pid);
    return PR_FAIL(err, PR_NO_PROCESS,
                   "process %d executed a program that is not a Python",
                   (int)u->process.pid);
}

/* Check whether the target is still the same process and program. */
static pr_code
check_alive(rec_unwinder *u, pr_err *err)
{
    u->alive_ms = now_ms();
    switch (rec_process_check(&u->process)) {
    case REC_ENDED:
        return PR_FAIL(err, PR_NO_PROCESS, "process %d has ended",
                       (int)u->process.pid);
    case REC_EXECED:
        return leave_program(u, err);
    case REC_ALIVE:
        break;
    }
    return PR_OK;
}

/* After a while without a read the pid may be that of another process. */
static pr_code
check_same(const rec_unwinder *u, pr_err *err)
{
    if (rec_process_is_same(&u->process))
        return PR_OK;
    return PR_FAIL(err, PR_NO_PROCESS, "process %d has ended",
                   (int)u->process.pid);
}

/* A pass failed: either the target is another one, or the failure passes. */
static pr_code
recover(rec_unwinder *u, pr_code failed, const pr_err *why, pr_err *err)
{
    bool passing = failed == PR_TORN || failed == PR_LIMIT ||
                   failed == PR_NO_PROCESS || failed == PR_DENIED;
    if (!passing) {
        if (err && err->code == PR_OK)
            *err = *why;
        return failed;
    }
    pr_code code = check_alive(u, err);
    if (code != PR_OK || u->detached)
        return code;
    if (failed == PR_NO_PROCESS || failed == PR_DENIED) {
        if (err && err->code == PR_OK)
            *err = *why;
        return failed;
    }
    u->program.listed_ms = 0;
    rec_count_add(&u->emitter.counts, PR_COUNT_LOST_TORN, 1);
    return PR_OK;
}

/* Collections are read more rarely than threads: the ring holds several. */
static pr_code
watch_collections(rec_unwinder *u, pr_err *err)
{
    uint64_t now = rec_now_us(u);
    if (!u->opts.gc_events || u->tick.silent ||
        now - u->program.watched_us < WATCH_EVERY_US)
        return PR_OK;
    u->program.watched_us = now;
    return rec_gc_watch_poll(&u->program.watch, &u->table, u->start_ns / 1000,
                             u->sink, err);
}

/* Tasks in the place of threads. */
static pr_code
pass_of_tasks(rec_unwinder *u, pr_err *err)
{
    rec_thread *likely;
    rec_read read;
    pr_code code = open_pass(u, &likely, &read, err);
    if (code == PR_OK)
        code = rec_emitter_tick(&u->emitter, u->tick.time_us, err);
    if (code != PR_OK)
        return code;
    return rec_task_emitter_tick(&u->program.tasks, u, err);
}

/* A thread that is listed and was not sampled is lost, never absent. */
static pr_code
lose_rest(rec_unwinder *u, pr_err *err)
{
    pr_code code = PR_OK;
    for (size_t i = 0; i < u->table.n_live && code == PR_OK; i++)
        if (u->table.live[i]->wanted)
            code =
                rec_sample_lose(u, u->table.live[i], PR_COUNT_LOST_MOVED, err);
    return code;
}

/* One pass over all threads, by the strategy. */
static pr_code
pass(rec_unwinder *u, pr_err *err)
{
    if (u->opts.async_mode != REC_ASYNC_OFF && !u->tick.silent)
        return pass_of_tasks(u, err);
    if (u->opts.strategy == REC_BLOCKING && !u->tick.silent)
        return run_stopped(u, err);
    pr_code code = try_pass(u, run_pass, err);
    if (code == PR_OK && u->tick.last)
        code = lose_rest(u, err);
    return code == PR_OK ? find_next(u, err) : code;
}

pr_code
rec_tick_pass(rec_unwinder *u, int cpu, bool last, pr_err *err)
{
    u->tick.cpu = cpu;
    u->tick.last = last;
    u->tick.batch = &u->program.batch;
    u->tick.next.n = 0;
    pr_code code = PR_OK;
    uint64_t now = now_ms(), idle_ms = now - u->read_ms;
    u->read_ms = now;
    if (now - u->alive_ms >= (u->detached ? JOIN_EVERY_MS : ALIVE_EVERY_MS))
        code = u->detached ? join_program(u, err) : check_alive(u, err);
    else if (idle_ms > SAME_WITHIN_MS)
        code = check_same(u, err);
    if (code != PR_OK || u->detached)
        return code;
    pr_err why = PR_ERR_INIT;
    code = pass(u, &why);
    if (code == PR_OK && u->tick.next.n == 0)
        code = watch_collections(u, &why);
    return code == PR_OK ? PR_OK : recover(u, code, &why, err);
}

pr_code
rec_tick_gather(rec_unwinder *u, pr_err *err)
{
    pr_err why = PR_ERR_INIT;
    pr_code code = rec_captures_judge(u, &why);
    if (code == PR_OK)
        code = find_next(u, &why);
    if (code == PR_OK && u->tick.next.n == 0)
        code = watch_collections(u, &why);
    if (code != PR_OK)
        u->tick.next.n = 0;
    return code == PR_OK ? PR_OK : recover(u, code, &why, err);
}

pr_code
rec_tick_prepare(rec_unwinder *u, pr_err *err)
{
    u->tick.silent = true;
    u->tick.time_us = rec_now_us(u);
    u->tick.begun = false;
    pr_code code = rec_tick_pass(u, REC_NO_CPU, true, err);
    u->tick.silent = false;
    rec_emitter_begin_times(&u->table);
    u->emitter.n_ticks = 0; /* no thread has a pending sample */
    u->stats = (rec_stats){0};
    return code;
}

/* Read threads on several CPUs, one CPU after the other. */
static pr_code
visit_all(rec_unwinder *u, pr_err *err)
{
    pr_code code = rec_tick_scatter(u, err);
    for (size_t i = 0; code == PR_OK && i < u->tick.next.n; i++)
        if (move_to(u->tick.next.v[i]))
            rec_captures_read(u, u->tick.next.v[i]);
    return code == PR_OK ? rec_tick_gather(u, err) : code;
}

pr_code
rec_unwinder_tick(rec_unwinder *u, uint64_t time_us, pr_err *err)
{
    cpu_set_t own;
    bool moves = u->opts.strategy != REC_REMOTE &&
                 sched_getaffinity(0, sizeof own, &own) == 0;
    rec_tick_begin(u, time_us);
    pr_code code = rec_tick_pass(u, REC_NO_CPU, !moves, err);
    for (int i = 1; code == PR_OK && u->tick.next.n && i < REC_PASSES_MAX;
         i++) {
        bool last = i + 1 == REC_PASSES_MAX;
        int cpu = REC_NO_CPU;
        if (!last && u->tick.next.n > 1) {
            code = visit_all(u, err);
            continue;
        }
        if (move_to(u->tick.next.v[0]))
            cpu = u->tick.next.v[0];
        code = rec_tick_pass(u, cpu, last || cpu == REC_NO_CPU, err);
    }
    if (moves)
        sched_setaffinity(0, sizeof own, &own);
    return code;
}

void
rec_tick_idle(rec_unwinder *u)
{
    rec_ptrace_serve(&u->pause);
}

pr_code
rec_tick_flush(rec_unwinder *u, pr_err *err)
{
    return rec_emitter_flush(&u->emitter, &u->table, err);
}

/* How often and how long the cgroup's limit took the CPUs from the process. */
static pr_code
emit_bandwidth(rec_unwinder *u, pr_err *err)
{
    rec_bandwidth now;
    if (!rec_throttle_read(&u->throttle, &now))
        return PR_OK;
    const pr_count counts[] = {
        {PR_NO_THREAD, PR_COUNT_CGROUP_PERIODS, now.periods},
        {PR_NO_THREAD, PR_COUNT_CGROUP_THROTTLED, now.throttled},
        {PR_NO_THREAD, PR_COUNT_CGROUP_THROTTLED_US, now.throttled_us}};
    pr_code code = PR_OK;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && code == PR_OK; i++)
        code = PR_SINK_CALL(u->sink, count, &counts[i], err);
    return code;
}

pr_code
rec_unwinder_emit_counts(rec_unwinder *u, pr_err *err)
{
    rec_count_set(&u->emitter.counts, PR_COUNT_DEGRADED, degraded(u));
    rec_count_set(&u->emitter.counts, PR_COUNT_GC_LOST, gc_lost(u));
    pr_code code = rec_tick_flush(u, err);
    if (code == PR_OK)
        code = rec_emitter_counts(&u->emitter, &u->table, err);
    return code == PR_OK ? emit_bandwidth(u, err) : code;
}

void
rec_tick_count(rec_unwinder *u, pr_count_kind kind, uint64_t n)
{
    rec_count_add(&u->emitter.counts, kind, n);
}

uint64_t
rec_tick_total(const rec_unwinder *u, pr_count_kind kind)
{
    uint64_t sum = rec_count_get(&u->emitter.counts, kind) +
                   rec_count_get(&u->table.ended_counts, kind);
    for (size_t i = 0; i < u->table.n_all; i++)
        sum += rec_count_get(&u->table.all[i]->counts, kind);
    return sum;
}

uint64_t
rec_tick_held_ns(const rec_unwinder *u)
{
    return u->held_ns;
}

bool
rec_tick_has_rseq(const rec_unwinder *u)
{
    return u->program.runtime.rseq_offset != 0;
}

void
rec_unwinder_get_stats(const rec_unwinder *u, rec_stats *ret)
{
    *ret = u->stats;
    add_stats(&u->program, ret);
}
