/*
 * test_suspension.c - stopped and frozen targets, and the marks about them.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "eventually.h"
#include "recorder/linux/procfs.h"
#include "recorder/suspension_watch.h"

/* ---- the machine ---- */

static const uint64_t ms = 1000000;

static void
one_clock_ahead_of_the_other_is_a_suspension(void **state)
{
    (void)state;
    rec_clock_gap then = rec_clock_gap_of(5000 * ms, 7000 * ms, 5001 * ms);
    rec_clock_gap now = rec_clock_gap_of(6000 * ms, 38000 * ms, 6002 * ms);
    assert_int_equal(rec_clock_suspended(&then, &now), 29998 * ms);
    assert_int_equal(rec_clock_suspended(&now, &now), 0);
}

static void
a_delay_between_two_clocks_is_not_a_suspension(void **state)
{
    (void)state;
    rec_clock_gap quick = rec_clock_gap_of(5000 * ms, 7000 * ms, 5000 * ms);
    rec_clock_gap first = rec_clock_gap_of(6000 * ms, 68000 * ms, 66000 * ms);
    rec_clock_gap second = rec_clock_gap_of(6000 * ms, 8000 * ms, 66000 * ms);
    assert_int_equal(rec_clock_suspended(&quick, &first), 0);
    assert_int_equal(rec_clock_suspended(&quick, &second), 0);
    /* nor is a gap that a slow first reading of the clocks leaves uncertain */
    assert_int_equal(rec_clock_suspended(&first, &quick), 0);
}

/* ---- the target ---- */

static void *
wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static _Noreturn void
target_main(bool leave)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
        _exit(1);
    if (leave)
        pthread_exit(NULL);
    wait_for_ever(NULL);
    _exit(0);
}

static size_t
threads_of(pid_t pid)
{
    char path[32];
    pid_t *tids;
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    if (rec_procfs_numbers(path, &tids, &n, NULL) == PR_OK)
        free(tids);
    return n;
}

static pid_t
start_target(bool leave)
{
    pid_t pid = fork();
    if (pid == 0)
        target_main(leave);
    EVENTUALLY(threads_of(pid) == 2);
    return pid;
}

static void
end_target(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, __WALL);
}

static bool
says(pid_t pid, const char *why)
{
    const char *text = rec_is_suspended(pid);
    return text && strcmp(text, why) == 0;
}

static void
a_sleeping_process_does_not_stand_still_and_a_stopped_one_does(void **state)
{
    (void)state;
    pid_t pid = start_target(false);
    assert_null(rec_is_suspended(pid));
    kill(pid, SIGSTOP);
    EVENTUALLY(says(pid, "stopped by a signal"));
    kill(pid, SIGCONT);
    EVENTUALLY(!rec_is_suspended(pid));
    end_target(pid);
    assert_null(rec_is_suspended(pid));
}

static void
the_other_threads_decide_when_the_first_has_ended(void **state)
{
    (void)state;
    pid_t pid = start_target(true);
    rec_stat stat;
    EVENTUALLY(rec_stat_read(pid, 0, &stat) && stat.state == 'Z');
    assert_null(rec_is_suspended(pid));
    kill(pid, SIGSTOP);
    EVENTUALLY(says(pid, "stopped by a signal"));
    end_target(pid);
}

static void
one_thread_in_a_debugger_is_not_the_process(void **state)
{
    (void)state;
    pid_t pid = start_target(false);
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0) {
        end_target(pid);
        skip();
    }
    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
    rec_stat stat;
    EVENTUALLY(rec_stat_read(pid, 0, &stat) && stat.state == 't');
    assert_null(rec_is_suspended(pid));
    end_target(pid);
}

/* ---- the marks ---- */

typedef struct listener {
    pr_sink sink;
    pr_mark last;
    int n;
} listener;

static pr_code
hear(pr_sink *sink, const pr_mark *mark, pr_err *err)
{
    (void)err;
    listener *l = (listener *)sink;
    l->last = *mark;
    l->n++;
    return PR_OK;
}

static const pr_sink_ops listening = {.mark = hear};

static void
a_standstill_is_marked_once_and_when_it_is_over(void **state)
{
    (void)state;
    listener l = {.sink = {&listening}};
    pid_t pid = start_target(false);
    rec_suspension s;
    rec_suspension_init(&s, pid);
    rec_suspension_tick(&s, 0, &l.sink, NULL);
    kill(pid, SIGSTOP);
    EVENTUALLY(rec_is_suspended(pid));
    rec_suspension_tick(&s, 1000, &l.sink, NULL); /* not asked so soon */
    for (uint64_t us = 200000; us <= 900000; us += 100000)
        rec_suspension_tick(&s, us, &l.sink, NULL);
    assert_int_equal(l.n, 0);
    kill(pid, SIGCONT);
    EVENTUALLY(!rec_is_suspended(pid));
    rec_suspension_tick(&s, 1000000, &l.sink, NULL);
    rec_suspension_tick(&s, 1100000, &l.sink, NULL);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.last.kind, PR_MARK_SUSPENDED);
    assert_int_equal(l.last.time_us, 200000);
    assert_int_equal(l.last.end_us, 900000);
    assert_int_equal(s.spans.n, 1);
    assert_int_equal(s.spans.ns, 700 * ms);
    end_target(pid);
}

static void
a_standstill_that_lasts_is_marked_at_the_end(void **state)
{
    (void)state;
    listener l = {.sink = {&listening}};
    pid_t pid = start_target(false);
    rec_suspension s;
    rec_suspension_init(&s, pid);
    kill(pid, SIGSTOP);
    EVENTUALLY(rec_is_suspended(pid));
    rec_suspension_tick(&s, 5000, &l.sink, NULL);
    rec_suspension_tick(&s, 405000, &l.sink, NULL);
    rec_suspension_end(&s, &l.sink, NULL);
    rec_suspension_end(&s, &l.sink, NULL);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.last.time_us, 5000);
    assert_int_equal(l.last.end_us, 405000);
    end_target(pid);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_clock_ahead_of_the_other_is_a_suspension),
        cmocka_unit_test(a_delay_between_two_clocks_is_not_a_suspension),
        cmocka_unit_test(
            a_sleeping_process_does_not_stand_still_and_a_stopped_one_does),
        cmocka_unit_test(the_other_threads_decide_when_the_first_has_ended),
        cmocka_unit_test(one_thread_in_a_debugger_is_not_the_process),
        cmocka_unit_test(a_standstill_is_marked_once_and_when_it_is_over),
        cmocka_unit_test(a_standstill_that_lasts_is_marked_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
