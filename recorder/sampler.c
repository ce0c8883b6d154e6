/*
 * sampler.c - the clock, the baton, and the losses (sampler.h).
 */
#include "recorder/sampler.h"

#include "recorder/linux/clock.h"
#include "recorder/linux/procfs.h"
#include "recorder/queue.h"
#include "recorder/sample/capture.h"

#include <base/hash.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SLEEP_MAX_NS = 100000000, /* a stop is seen this late at low rates */
    POLL_BELOW_NS = 50000,    /* periods too short to sleep through */
    SLICE_NS = 100000,
    STALL_LEAST_NS = 100000000,
    REALTIME_PRIORITY = 1
};

/* ---- the schedule ---- */

uint64_t
rec_schedule_grid(const rec_schedule *s, uint64_t tick)
{
    return s->start_ns + tick * s->period_ns;
}

uint64_t
rec_schedule_due(const rec_schedule *s, uint64_t tick)
{
    uint64_t half = s->period_ns / 2;
    uint64_t random = pr_mix64(s->seed ^ pr_mix64(tick + 1));
    return rec_schedule_grid(s, tick) + (half ? random % half : 0);
}

uint64_t
rec_schedule_present(const rec_schedule *s, uint64_t now_ns)
{
    return now_ns > s->start_ns ? (now_ns - s->start_ns) / s->period_ns : 0;
}

uint64_t
rec_schedule_next(const rec_schedule *s, uint64_t tick, uint64_t now_ns)
{
    uint64_t present = rec_schedule_present(s, now_ns);
    uint64_t next = present > tick ? present : tick + 1;
    return rec_schedule_due(s, next) < now_ns ? next + 1 : next;
}

uint64_t
rec_schedule_stall_ns(const rec_schedule *s)
{
    uint64_t ten = 10 * s->period_ns;
    return ten > STALL_LEAST_NS ? ten : STALL_LEAST_NS;
}

/* ---- the parts ---- */

typedef struct seat {
    rec_sampler *sampler;
    int cpu; /* REC_NO_CPU: anywhere */
    pthread_t thread;
    sem_t baton;
    atomic_bool made;  /* its thread is there */
    _Atomic pid_t tid; /* 0: it did not run so far */
    bool broken;
} seat;

struct rec_sampler {
    rec_unwinder *unwinder;
    pr_sink *queue;
    rec_sampler_opts opts;
    rec_schedule schedule;      /* of the present rate */
    _Atomic uint64_t period_ns; /* wanted */
    seat *seat; /* one a CPU, and after them the one that is anywhere */
    int n_cpus;
    atomic_bool stop, ticked;
    int event_fd;
    const char *policy;
    pthread_mutex_t ending; /* guards cpu_ns */
    /* owned by the holder of the baton */
    uint64_t tick;
    uint64_t stop_ns;     /* known when the first tick begins */
    int pass;             /* of the tick; 0: none is under way */
    bool reading;         /* several threads read for it, ... */
    atomic_int n_reading; /* ... this many are not done, ... */
    bool gathering;       /* ... and the last one gathers */
    uint64_t begun_ns;    /* when the present tick was */
    uint64_t ended_ns;    /* when the last one did */
    uint64_t sampled_ns;  /* up to here nothing held up the sampling */
    bool starved;         /* since then the queue had no room */
    rec_spans gaps;
    rec_suspension standstill;
    uint64_t flushed_us;
    uint64_t cpu_ns; /* added by each thread that ends */
    uint64_t end_ns;
    bool ended;
    pr_code result;
    pr_err error;
};

static uint64_t
to_us(const rec_sampler *s, uint64_t ns)
{
    return (ns - s->opts.start_ns) / 1000;
}

/* ---- how a sampling thread is scheduled ---- */

struct sched_attr_0 { /* struct sched_attr of linux/sched/types.h, size 48 */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static bool
set_policy(uint32_t policy, int32_t nice, uint32_t priority)
{
    struct sched_attr_0 a = {.size = sizeof a,
                             .policy = policy,
                             .nice = nice,
                             .priority = priority,
                             .runtime = policy == SCHED_OTHER ? SLICE_NS : 0};
    return syscall(SYS_sched_setattr, 0, &a, 0u) == 0;
}

/* Never on the CPU of the target. */
static bool
polls(const rec_sampler *s)
{
    return s->opts.polls && s->opts.period_ns < POLL_BELOW_NS;
}

/* A short slice lets a waking sampler on its CPU at once; only together with
 * the lowest nice value it is unbiased (spec/sampling.md, "Policy"). */
static const char *
choose_policy(const rec_sampler *s)
{
    if (polls(s)) /* a sampler that polls must not starve the encoder */
        return "other";
    if (s->opts.realtime && set_policy(SCHED_FIFO, 0, REALTIME_PRIORITY))
        return "fifo";
    if (set_policy(SCHED_OTHER, -20, 0))
        return "nslice";
    if (set_policy(SCHED_OTHER, 0, 0))
        return "slice";
    return "other";
}

static bool
pin(int cpu)
{
    if (cpu == REC_NO_CPU)
        return true;
    cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
    if (!set)
        return false;
    size_t size = CPU_ALLOC_SIZE((size_t)cpu + 1);
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)cpu, size, set);
    bool ok = sched_setaffinity(0, size, set) == 0;
    CPU_FREE(set);
    return ok;
}

/* ---- one tick ---- */

static void
sleep_until(const rec_sampler *s, uint64_t due)
{
    if (polls(s)) {
        while (rec_now_ns() < due && !atomic_load(&s->stop))
            ;
        return;
    }
    for (uint64_t now = rec_now_ns(); now < due && !atomic_load(&s->stop);
         now = rec_now_ns()) {
        uint64_t until = due - now > SLEEP_MAX_NS ? now + SLEEP_MAX_NS : due;
        struct timespec t = {(time_t)(until / 1000000000),
                             (long)(until % 1000000000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        rec_tick_idle(s->unwinder);
    }
}

static void
end(rec_sampler *s, pr_code result)
{
    s->ended = true;
    s->result = result;
    s->end_ns = rec_now_ns();
}

/* After a stall the present tick is the first to be attempted: samples at the
 * time of an earlier one would lie in the missed part. */
static void
skip_overdue(rec_sampler *s, uint64_t now)
{
    uint64_t present = rec_schedule_present(&s->schedule, now);
    if (present <= s->tick)
        return;
    rec_tick_count(s->unwinder, PR_COUNT_MISSED, present - s->tick);
    s->tick = present;
}

/* Sampling goes on at to_ns.  Emit a gap if it was held up. */
static pr_code
mark_gap(rec_sampler *s, uint64_t to_ns)
{
    uint64_t from_ns = s->sampled_ns;
    const char *text =
        s->starved ? "writing was too slow" : "the sampler was held up";
    s->starved = false;
    if (to_ns < from_ns + rec_schedule_stall_ns(&s->schedule))
        return PR_OK;
    s->sampled_ns = to_ns; /* an interval is emitted once */
    s->gaps.n++;
    s->gaps.ns += to_ns - from_ns;
    pr_mark mark = {PR_MARK_GAP, to_us(s, from_ns), to_us(s, to_ns), text,
                    strlen(text)};
    return PR_SINK_CALL(s->queue, mark, &mark, &s->error);
}

/* Wait for the next tick and begin it.  False: the sampler has ended. */
static bool
begin_tick(rec_sampler *s)
{
    uint64_t due = rec_schedule_due(&s->schedule, s->tick);
    sleep_until(s, due < s->stop_ns ? due : s->stop_ns);
    uint64_t now = rec_now_ns();
    if (atomic_load(&s->stop) || now >= s->stop_ns) {
        end(s, PR_OK);
        return false;
    }
    if (s->stop_ns == UINT64_MAX && s->opts.duration_ns)
        s->stop_ns = now + s->opts.duration_ns;
    s->begun_ns = now;
    if (now - due > s->schedule.period_ns / 2)
        rec_tick_count(s->unwinder, PR_COUNT_LATE, 1);
    if (now - due >= rec_schedule_stall_ns(&s->schedule))
        skip_overdue(s, now);
    return true;
}

static pr_code
flush(rec_sampler *s, uint64_t now_us)
{
    s->flushed_us = now_us;
    pr_code code = rec_unwinder_emit_counts(s->unwinder, &s->error);
    if (code == PR_OK)
        code = rec_queue_tick(s->queue, now_us, &s->error);
    return code;
}

/* A new grid begins where the rate changes. */
static pr_code
change_rate(rec_sampler *s, uint64_t now)
{
    uint64_t period_ns = atomic_load(&s->period_ns);
    if (period_ns == s->schedule.period_ns)
        return PR_OK;
    s->schedule.start_ns = now;
    s->schedule.period_ns = period_ns;
    s->tick = 0;
    pr_rate rate = {.time_us = to_us(s, now),
                    .interval_us = period_ns < 1000 ? 1 : period_ns / 1000};
    return PR_SINK_CALL(s->queue, rate, &rate, &s->error);
}

static void
end_tick(rec_sampler *s)
{
    uint64_t now = s->ended_ns = rec_now_ns();
    pr_code changed = change_rate(s, now);
    if (changed != PR_OK)
        end(s, changed);
    uint64_t next = rec_schedule_next(&s->schedule, s->tick, now);
    if (next > s->tick + 1)
        rec_tick_count(s->unwinder, PR_COUNT_MISSED, next - s->tick - 1);
    s->tick = next;
    s->pass = 0;
    atomic_store(&s->ticked, true);
    /* a tick that took so long lies in the gap */
    bool stalled = now - s->begun_ns >= rec_schedule_stall_ns(&s->schedule);
    if (!s->starved)
        s->sampled_ns = stalled ? s->begun_ns : now;
    uint64_t now_us = to_us(s, now);
    pr_code code =
        rec_suspension_tick(&s->standstill, now_us, s->queue, &s->error);
    if (code == PR_OK && now_us - s->flushed_us >= REC_FLUSH_US)
        code = flush(s, now_us);
    if (code != PR_OK)
        end(s, code);
}

/* Emit the gap and the suspension that last when the sampling ends. */
static void
emit_last_marks(rec_sampler *s)
{
    pr_code code = mark_gap(s, s->end_ns);
    if (code == PR_OK)
        code = rec_suspension_end(&s->standstill, s->queue, &s->error);
    if (s->result == PR_OK)
        s->result = code;
}

/* The time of the samples of threads that did not run: that of the grid, unless
 * the last tick ended later. */
static uint64_t
nominal_time(const rec_sampler *s)
{
    uint64_t grid = rec_schedule_grid(&s->schedule, s->tick);
    return grid > s->ended_ns ? grid : s->ended_ns;
}

/* Before the first pass of a tick.  False: it is missed, or the sampler has
 * ended. */
static bool
attempt(rec_sampler *s)
{
    if (rec_queue_free(s->queue) < rec_queue_size(s->queue) / 4) {
        rec_tick_count(s->unwinder, PR_COUNT_MISSED, 1);
        rec_tick_count(s->unwinder, PR_COUNT_MISSED_QUEUE, 1);
        s->starved = true;
        return false;
    }
    uint64_t time = nominal_time(s);
    pr_code code = mark_gap(s, time);
    if (code != PR_OK) {
        end(s, code);
        return false;
    }
    rec_tick_begin(s->unwinder, to_us(s, time));
    return true;
}

/* A pass of the present tick.  False: the tick ends here. */
static bool
work(rec_sampler *s, int cpu, bool last)
{
    if (s->pass == 0 && !attempt(s))
        return false;
    pr_code code = rec_tick_pass(s->unwinder, cpu, last, &s->error);
    if (code != PR_OK)
        end(s, code);
    s->pass++;
    return code == PR_OK && rec_tick_next(s->unwinder)->n > 0;
}

/* ---- the baton ---- */

static void *sit(void *argument);

static bool
make_seat(seat *self)
{
    if (self->made)
        return true;
    if (pthread_create(&self->thread, NULL, sit, self) != 0)
        return false;
    self->made = true;
    return true;
}

static seat *
seat_of(rec_sampler *s, int cpu)
{
    if (cpu < 0 || cpu >= s->n_cpus || s->seat[cpu].broken)
        return NULL;
    return make_seat(&s->seat[cpu]) ? &s->seat[cpu] : NULL;
}

static void
hand_over(rec_sampler *s, seat *to)
{
    rec_tick_count(s->unwinder, PR_COUNT_HOPS, 1);
    sem_post(&to->baton);
}

/* This thread has read.  True: all others have, and the baton is here. */
static bool
is_last_reader(rec_sampler *s)
{
    if (atomic_fetch_sub(&s->n_reading, 1) != 1)
        return false;
    s->reading = false;
    s->gathering = true;
    return true;
}

/* Wake the threads of all listed CPUs at once.  True: the baton is still here,
 * and this thread gathers the captures; else the last of them has it. */
static bool
scatter(rec_sampler *s, seat *self)
{
    const rec_cpu_list *next = rec_tick_next(s->unwinder);
    pr_code code = rec_tick_scatter(s->unwinder, &s->error);
    if (code != PR_OK) {
        end(s, code);
        return true;
    }
    s->reading = true;
    atomic_store(&s->n_reading, (int)next->n + 1); /* and this thread */
    bool here = false;
    for (size_t i = 0; i < next->n; i++) {
        seat *to = seat_of(s, next->v[i]);
        here = here || to == self;
        if (to && to != self)
            hand_over(s, to);
        else
            atomic_fetch_sub(&s->n_reading, 1);
    }
    if (here)
        rec_captures_read(s->unwinder, self->cpu);
    return is_last_reader(s);
}

static void
gather(rec_sampler *s)
{
    s->gathering = false;
    pr_code code = rec_tick_gather(s->unwinder, &s->error);
    if (code != PR_OK)
        end(s, code);
    s->pass++;
}

/* Let the tick continue where its threads are.  False: the baton is passed on;
 * true: it is here, and either there is more to do or the tick is complete. */
static bool
go_on(rec_sampler *s, seat *self)
{
    const rec_cpu_list *next = rec_tick_next(s->unwinder);
    if (s->pass + 1 >= REC_PASSES_MAX || self->cpu == REC_NO_CPU) {
        work(s, self->cpu, true);
        return true;
    }
    if (next->n > 1) {
        if (!scatter(s, self))
            return false;
        if (s->gathering)
            gather(s);
        return true;
    }
    seat *to = seat_of(s, next->v[0]);
    if (to && to != self) {
        hand_over(s, to);
        return false;
    }
    work(s, self->cpu, !to);
    return true;
}

/* Hold the baton: tick after tick, until it is passed on (false) or the sampler
 * ends (true). */
static bool
lead(rec_sampler *s, seat *self)
{
    if (s->gathering)
        gather(s);
    else if (s->pass > 0 && !s->ended)
        work(s, self->cpu, false);
    for (;;) {
        while (!s->ended && s->pass > 0 && rec_tick_next(s->unwinder)->n > 0)
            if (!go_on(s, self))
                return false;
        if (!s->ended && s->pass > 0)
            end_tick(s);
        if (s->ended || !begin_tick(s))
            break;
        if (!work(s, self->cpu, self->cpu == REC_NO_CPU) && s->pass == 0 &&
            !s->ended)
            end_tick(s); /* it was not attempted */
    }
    emit_last_marks(s);
    return true;
}

static void
release_all(rec_sampler *s)
{
    for (int i = 0; i <= s->n_cpus; i++)
        if (s->seat[i].made)
            sem_post(&s->seat[i].baton);
    uint64_t one = 1;
    (void)!write(s->event_fd, &one, sizeof one);
}

static void *
leave(rec_sampler *s)
{
    uint64_t used_ns = rec_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    pthread_mutex_lock(&s->ending);
    s->cpu_ns += used_ns;
    pthread_mutex_unlock(&s->ending);
    return NULL;
}

/* On a CPU that this thread may not run on. */
static bool
stray(rec_sampler *s)
{
    seat *next = &s->seat[s->n_cpus];
    if (!make_seat(next)) {
        end(s, PR_INTERNAL);
        return true;
    }
    sem_post(&next->baton);
    return false;
}

static void *
sit(void *argument)
{
    seat *self = argument;
    rec_sampler *s = self->sampler;
    atomic_store(&self->tid, (pid_t)syscall(SYS_gettid));
    bool pinned = pin(self->cpu);
    const char *policy = choose_policy(s);
    prctl(PR_SET_TIMERSLACK, 1);
    for (;;) {
        while (sem_wait(&self->baton) != 0)
            ;
        if (s->ended)
            return leave(s);
        self->broken = !pinned && self->cpu != REC_NO_CPU;
        if (s->reading) {
            if (pinned)
                rec_captures_read(s->unwinder, self->cpu);
            if (!is_last_reader(s))
                continue;
        }
        s->policy = policy;
        if (pinned ? lead(s, self) : stray(s)) {
            release_all(s);
            return leave(s);
        }
    }
}

/* ---- the life of a sampler ---- */

static void
release(rec_sampler *s)
{
    for (int i = 0; s->seat && i <= s->n_cpus; i++)
        sem_destroy(&s->seat[i].baton);
    pthread_mutex_destroy(&s->ending);
    if (s->event_fd >= 0)
        close(s->event_fd);
    free(s->seat);
    free(s);
}

static pr_code
make_seats(rec_sampler *s, pr_err *err)
{
    long n = sysconf(_SC_NPROCESSORS_CONF);
    s->n_cpus = n < 1 ? 1 : (int)n;
    s->seat = calloc((size_t)s->n_cpus + 1, sizeof *s->seat);
    s->event_fd = eventfd(0, EFD_CLOEXEC);
    if (!s->seat || s->event_fd < 0)
        return PR_FAIL_SYS(err, PR_NOMEM, errno, "cannot make the sampler");
    for (int i = 0; i <= s->n_cpus; i++) {
        s->seat[i].sampler = s;
        s->seat[i].cpu = i < s->n_cpus ? i : REC_NO_CPU;
        sem_init(&s->seat[i].baton, 0, 0);
    }
    return PR_OK;
}

pr_code
rec_sampler_start(rec_unwinder *unwinder, pr_sink *queue,
                  const rec_sampler_opts *opts, rec_sampler **ret, pr_err *err)
{
    rec_sampler *s = calloc(1, sizeof *s);
    if (!s)
        return pr_no_memory(err);
    s->unwinder = unwinder;
    s->queue = queue;
    s->opts = *opts;
    s->schedule = (rec_schedule){opts->start_ns, opts->period_ns, opts->seed};
    atomic_init(&s->period_ns, opts->period_ns);
    s->event_fd = -1;
    s->stop_ns = UINT64_MAX;
    s->policy = "other";
    pthread_mutex_init(&s->ending, NULL);
    s->error = (pr_err)PR_ERR_INIT;
    pr_code code = make_seats(s, err);
    rec_suspension_init(&s->standstill, rec_unwinder_target(unwinder)->pid);
    s->sampled_ns = rec_now_ns();
    if (rec_schedule_due(&s->schedule, 0) < s->sampled_ns)
        s->tick = rec_schedule_next(&s->schedule, 0, s->sampled_ns);
    int home = opts->pinned ? sched_getcpu() : REC_NO_CPU;
    seat *first = code == PR_OK ? seat_of(s, home) : NULL;
    if (code == PR_OK && !first) {
        first = &s->seat[s->n_cpus];
        if (!make_seat(first))
            code =
                PR_FAIL(err, PR_INTERNAL, "cannot start the sampler's thread");
    }
    if (code != PR_OK) {
        release(s);
        return code;
    }
    sem_post(&first->baton);
    *ret = s;
    return PR_OK;
}

int
rec_sampler_fd(const rec_sampler *s)
{
    return s->event_fd;
}

void
rec_sampler_stop(rec_sampler *s)
{
    atomic_store(&s->stop, true);
}

bool
rec_sampler_has_ended(const rec_sampler *s, int wait_ms)
{
    struct pollfd p = {s->event_fd, POLLIN, 0};
    return poll(&p, 1, wait_ms) > 0;
}

bool
rec_sampler_has_ticked(const rec_sampler *s)
{
    return atomic_load(&s->ticked);
}

bool
rec_sampler_is_runnable(const rec_sampler *s)
{
    for (int i = 0; i <= s->n_cpus; i++) {
        rec_stat stat;
        pid_t tid = atomic_load(&s->seat[i].tid);
        if (atomic_load(&s->seat[i].made) &&
            (!tid ||
             (rec_stat_read(getpid(), tid, &stat) && stat.state == 'R')))
            return true;
    }
    return false;
}

void
rec_sampler_set_period(rec_sampler *s, uint64_t period_ns)
{
    atomic_store(&s->period_ns, period_ns);
}

uint64_t
rec_sampler_cpu_ns(const rec_sampler *s)
{
    uint64_t sum = 0;
    for (int i = 0; i <= s->n_cpus; i++) {
        clockid_t clock;
        if (atomic_load(&s->seat[i].made) &&
            pthread_getcpuclockid(s->seat[i].thread, &clock) == 0)
            sum += rec_clock_ns(clock);
    }
    return sum;
}

/* The order: "fifo" is better than "nslice", and so on. */
static int
rank_of(const char *policy)
{
    static const char *const order[] = {"fifo", "nslice", "slice", "other"};
    int rank = 0;
    while (rank < 3 && strcmp(order[rank], policy) != 0)
        rank++;
    return rank;
}

void
rec_sampler_report_add(rec_sampler_report *sum, const rec_sampler_report *r)
{
    if (r->policy &&
        (!sum->policy || rank_of(r->policy) > rank_of(sum->policy)))
        sum->policy = r->policy;
    sum->strayed = sum->strayed || r->strayed;
    sum->polled = sum->polled || r->polled;
    sum->cpu_ns += r->cpu_ns;
    sum->gaps.n += r->gaps.n;
    sum->gaps.ns += r->gaps.ns;
    sum->stood.n += r->stood.n;
    sum->stood.ns += r->stood.ns;
}

static bool
has_strayed(const rec_sampler *s)
{
    bool strayed = false;
    for (int i = 0; i < s->n_cpus; i++)
        strayed = strayed || s->seat[i].broken;
    return strayed;
}

pr_code
rec_sampler_join(rec_sampler *s, rec_sampler_report *ret, pr_err *err)
{
    /* the holder of the baton may still make seats: wait for the end first */
    uint64_t one;
    while (read(s->event_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    for (int i = 0; i <= s->n_cpus; i++)
        if (s->seat[i].made)
            pthread_join(s->seat[i].thread, NULL);
    pr_code code = s->result;
    *ret = (rec_sampler_report){s->policy,          has_strayed(s), polls(s),
                                s->cpu_ns,          s->end_ns,      s->gaps,
                                s->standstill.spans};
    if (code != PR_OK && err && err->code == PR_OK)
        *err = s->error;
    release(s);
    return code;
}
