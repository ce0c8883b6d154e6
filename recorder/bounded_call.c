/*
 * bounded_call.c - the thread of a call, and its caller's wait
 * (bounded_call.h).
 */
#include "recorder/bounded_call.h"

#include "recorder/linux/clock.h"
#include "recorder/linux/sched_state.h"
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CHECK_EVERY_MS = 100,
    HELD_MS = 500,      /* without progress, once an end is wanted */
    PATIENCE_MS = 10000 /* without progress, before */
};

typedef enum fate { RUNS, RETURNED, LEFT } fate;

typedef struct call {
    rec_job job;
    pthread_t thread;
    int done_fd;
    _Atomic int fate;
    _Atomic pid_t tid; /* 0: it did not run so far */
} call;

bool
rec_bound_is_over(uint64_t now_ns, uint64_t end_ns, uint64_t moved_ns)
{
    uint64_t patience_ms = now_ns >= end_ns ? HELD_MS : PATIENCE_MS;
    return now_ns >= moved_ns + patience_ms * 1000000;
}

static void
free_call(call *c)
{
    close(c->done_fd);
    free(c);
}

static void *
work(void *argument)
{
    call *c = argument;
    atomic_store(&c->tid, (pid_t)syscall(SYS_gettid));
    c->job.run(c->job.context);
    if (atomic_exchange(&c->fate, RETURNED) == LEFT) {
        c->job.release(c->job.context);
        free_call(c);
        return NULL;
    }
    uint64_t one = 1;
    (void)!write(c->done_fd, &one, sizeof one);
    return NULL;
}

/* Has it run since the last call, or does it wait for a processor? */
static bool
has_moved(const call *c, rec_sched *sched)
{
    bool ran;
    pid_t tid = atomic_load(&c->tid);
    if (!tid)
        return true;
    rec_sched_answer answer = rec_sched_ran(sched, getpid(), tid, &ran);
    return (answer == REC_SCHED_KNOWN && ran) ||
           !rec_sched_read_letter(sched, getpid(), tid) || sched->letter == 'R';
}

/* False: the kernel holds it. */
static bool
wait_for(call *c, const rec_bound *bound)
{
    struct pollfd fds[] = {{c->done_fd, POLLIN, 0},
                           {bound->signal_fd, POLLIN, 0}};
    rec_sched sched;
    rec_sched_init(&sched, 0); /* it keeps no file open */
    uint64_t end_ns = bound->end_ns, moved_ns = rec_now_ns();
    for (;;) {
        poll(fds, sizeof fds / sizeof *fds, CHECK_EVERY_MS);
        if (fds[0].revents & POLLIN)
            return true;
        uint64_t now = rec_now_ns();
        if ((fds[1].revents & POLLIN) && now < end_ns)
            end_ns = now;
        if (fds[1].revents)
            fds[1].fd = -1; /* it stays readable */
        if (has_moved(c, &sched))
            moved_ns = now;
        else if (rec_bound_is_over(now, end_ns, moved_ns))
            return false;
    }
}

/* NULL: no memory, no descriptor, or no thread. */
static call *
start(const rec_job *job)
{
    call *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->job = *job;
    c->done_fd = eventfd(0, EFD_CLOEXEC);
    if (c->done_fd >= 0 && pthread_create(&c->thread, NULL, work, c) == 0)
        return c;
    if (c->done_fd >= 0)
        close(c->done_fd);
    free(c);
    return NULL;
}

bool
rec_bounded_call(const rec_job *job, const rec_bound *bound)
{
    call *c = start(job);
    if (!c) {
        job->run(job->context);
        return true;
    }
    pthread_t thread = c->thread;
    if (!wait_for(c, bound) && atomic_exchange(&c->fate, LEFT) == RUNS) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    free_call(c);
    return true;
}
