/*
 * sleeper.h - a real thread of the test that sleeps until it is woken, so that
 * the kernel's counts of its runs are exact.
 */
#ifndef TESTS_UNIT_SLEEPER_H
#define TESTS_UNIT_SLEEPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/linux/sched_state.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct sleeper {
    pthread_t thread;
    sem_t ready, go;
    pid_t tid;
    int rounds;
} sleeper;

static inline void *
sleeper_run(void *argument)
{
    sleeper *h = argument;
    h->tid = (pid_t)syscall(SYS_gettid);
    for (int i = 0; i < h->rounds; i++) {
        sem_post(&h->ready);
        sem_wait(&h->go);
    }
    return NULL;
}

/* It sleeps `rounds` times and then ends. */
static inline void
sleeper_start(sleeper *h, int rounds)
{
    h->rounds = rounds;
    sem_init(&h->ready, 0, 0);
    sem_init(&h->go, 0, 0);
    assert_int_equal(pthread_create(&h->thread, NULL, sleeper_run, h), 0);
    sem_wait(&h->ready);
}

/* Wake it; it runs, and falls asleep again. */
static inline void
sleeper_wake(sleeper *h)
{
    sem_post(&h->go);
    sem_wait(&h->ready);
}

/* Wake it for the last time.  The kernel lists a thread for a moment after it
 * has let pthread_join() return (Linux, kernel/exit.c, do_exit(): exit_mm()
 * before exit_notify()). */
static inline void
sleeper_finish(sleeper *h)
{
    sem_post(&h->go);
    pthread_join(h->thread, NULL);
    while (syscall(SYS_tgkill, getpid(), h->tid, 0) == 0)
        sched_yield();
    sem_destroy(&h->ready);
    sem_destroy(&h->go);
}

static inline bool
sleeper_is_asleep(rec_sched *s, pid_t tid)
{
    bool ran;
    assert_int_equal(rec_sched_ran(s, getpid(), tid, &ran), REC_SCHED_KNOWN);
    assert_true(rec_sched_read(s, getpid(), tid));
    return s->asleep;
}

/* After sem_post(&ready) it needs a moment to fall asleep.  That may be the
 * moment between the two reads: read once more how long it ran. */
static inline void
sleeper_wait_until_asleep(rec_sched *s, pid_t tid)
{
    while (!sleeper_is_asleep(s, tid))
        sched_yield();
    assert_true(sleeper_is_asleep(s, tid));
}

#endif
