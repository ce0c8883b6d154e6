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

/* Wake it for the last time. */
static inline void
sleeper_finish(sleeper *h)
{
    sem_post(&h->go);
    pthread_join(h->thread, NULL);
    sem_destroy(&h->ready);
    sem_destroy(&h->go);
}

/* After sem_post(&ready) it needs a moment to fall asleep. */
static inline void
sleeper_wait_until_asleep(rec_sched *s, pid_t tid)
{
    bool ran;
    do {
        sched_yield();
        assert_int_equal(rec_sched_ran(s, getpid(), tid, &ran),
                         REC_SCHED_KNOWN);
        assert_true(rec_sched_read(s, getpid(), tid));
    } while (!s->asleep);
}

#endif
