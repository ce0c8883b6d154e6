/*
 * test_ptrace_stop.c - stop a real process with real threads and let it go
 * again.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "eventually.h"
#include "recorder/linux/ptrace_stop.h"

enum { WORKERS = 3 };

/* The target's own record, in memory shared with the test. */
typedef struct show {
    _Atomic uint64_t work[WORKERS];
    _Atomic uint64_t births;
    _Atomic uint64_t signals;
    _Atomic bool churn;
} show;

static show *shared;

static void *
work(void *arg)
{
    for (_Atomic uint64_t *count = arg;;)
        atomic_fetch_add(count, 1);
    return NULL;
}

static void *
be_born(void *arg)
{
    (void)arg;
    atomic_fetch_add(&shared->births, 1);
    return NULL;
}

static void
on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&shared->signals, 1);
}

static _Noreturn void
target_main(void)
{
    signal(SIGUSR1, on_signal);
    pthread_t thread;
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&thread, NULL, work, &shared->work[i]);
    for (;;) {
        if (!atomic_load(&shared->churn)) {
            usleep(1000);
            continue;
        }
        if (pthread_create(&thread, NULL, be_born, NULL) == 0)
            pthread_join(thread, NULL);
    }
}

static pid_t
start_target(void)
{
    memset(shared, 0, sizeof *shared);
    pid_t pid = fork();
    if (pid == 0)
        target_main();
    for (int i = 0; i < WORKERS; i++)
        EVENTUALLY(atomic_load(&shared->work[i]) > 0);
    return pid;
}

static void
end_target(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static uint64_t
all_work(void)
{
    uint64_t sum = atomic_load(&shared->births);
    for (int i = 0; i < WORKERS; i++)
        sum += atomic_load(&shared->work[i]);
    return sum;
}

/* Give the target every chance to move. */
static bool
stands_still(void)
{
    uint64_t before = all_work();
    for (int i = 0; i < 2000; i++)
        sched_yield();
    return all_work() == before;
}

/* A machine under load may starve a thread for longer than the limit. */
static void
stop_for_sure(rec_ptrace *pause)
{
    pr_code rc = PR_TORN;
    pr_err err;
    for (int i = 0; i < 20 && rc == PR_TORN; i++) {
        err = (pr_err)PR_ERR_INIT;
        rc = rec_ptrace_stop(pause, &err);
    }
    if (rc != PR_OK)
        fail_msg("%s", err.what);
}

static void
nothing_moves_while_it_is_paused_and_all_moves_after(void **state)
{
    (void)state;
    pid_t pid = start_target();
    rec_ptrace pause;
    rec_ptrace_init(&pause, pid);
    for (int i = 0; i < 20; i++) {
        stop_for_sure(&pause);
        assert_int_equal(pause.n, WORKERS + 1);
        assert_true(stands_still());
        uint64_t before = all_work();
        rec_ptrace_resume(&pause);
        EVENTUALLY(all_work() > before);
    }
    rec_ptrace_release(&pause);
    end_target(pid);
}

static void
threads_that_are_born_and_die_are_not_a_failure(void **state)
{
    (void)state;
    pid_t pid = start_target();
    atomic_store(&shared->churn, true);
    rec_ptrace pause;
    rec_ptrace_init(&pause, pid);
    for (int i = 0; i < 300; i++) {
        stop_for_sure(&pause);
        if (i % 50 == 0)
            assert_true(stands_still());
        uint64_t before = atomic_load(&shared->births);
        rec_ptrace_resume(&pause);
        EVENTUALLY(atomic_load(&shared->births) > before);
    }
    rec_ptrace_release(&pause);
    end_target(pid);
}

static void
signals_that_come_while_it_is_paused_are_delivered(void **state)
{
    (void)state;
    pid_t pid = start_target();
    rec_ptrace pause;
    rec_ptrace_init(&pause, pid);
    for (uint64_t i = 1; i <= 200; i++) {
        if (i % 2) /* before the stop: may be caught on its way */
            kill(pid, SIGUSR1);
        stop_for_sure(&pause);
        if (i % 2 == 0) /* during it */
            kill(pid, SIGUSR1);
        rec_ptrace_resume(&pause);
        EVENTUALLY(atomic_load(&shared->signals) == i);
    }
    rec_ptrace_release(&pause);
    end_target(pid);
}

static char
state_letter(pid_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    fclose(f);
    return strrchr(text, ')')[2];
}

static void
a_target_that_was_stopped_by_a_signal_stays_stopped(void **state)
{
    (void)state;
    pid_t pid = start_target();
    kill(pid, SIGSTOP);
    EVENTUALLY(state_letter(pid) == 'T');
    rec_ptrace pause;
    rec_ptrace_init(&pause, pid);
    stop_for_sure(&pause);
    rec_ptrace_resume(&pause);
    EVENTUALLY(state_letter(pid) == 'T');
    assert_true(stands_still());
    uint64_t before = all_work();
    kill(pid, SIGCONT);
    EVENTUALLY(all_work() > before);
    rec_ptrace_release(&pause);
    end_target(pid);
}

static void
a_pauser_that_is_killed_leaves_the_target_running(void **state)
{
    (void)state;
    pid_t pid = start_target();
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pauser = fork();
    if (pauser == 0) {
        rec_ptrace pause;
        rec_ptrace_init(&pause, pid);
        pr_code rc = PR_TORN;
        while (rc == PR_TORN)
            rc = rec_ptrace_stop(&pause, NULL);
        ssize_t taken = write(ready[1], &rc, sizeof rc);
        while (taken > 0)
            usleep(100000); /* until it is killed */
        _exit(1);
    }
    pr_code rc = PR_IO;
    assert_int_equal(read(ready[0], &rc, sizeof rc), sizeof rc);
    assert_int_equal(rc, PR_OK);
    assert_true(stands_still());
    uint64_t before = all_work();
    kill(pauser, SIGKILL);
    waitpid(pauser, NULL, 0);
    EVENTUALLY(all_work() > before);
    assert_int_not_equal(state_letter(pid), 'T');
    assert_int_not_equal(state_letter(pid), 't');
    close(ready[0]);
    close(ready[1]);
    end_target(pid);
}

static void
a_target_that_is_gone_or_traced_is_said_so(void **state)
{
    (void)state;
    pid_t pid = start_target();
    rec_ptrace first, second;
    rec_ptrace_init(&first, pid);
    rec_ptrace_init(&second, pid);
    pr_err err = PR_ERR_INIT;
    stop_for_sure(&first);
    assert_int_equal(rec_ptrace_stop(&second, &err), PR_DENIED);
    char tracer[32];
    snprintf(tracer, sizeof tracer, "%d (test_ptrace_sto) traces",
             (int)getpid());
    assert_non_null(strstr(err.what, tracer));
    rec_ptrace_release(&second);
    rec_ptrace_release(&first);
    end_target(pid);
    pr_err gone = PR_ERR_INIT;
    assert_int_equal(rec_ptrace_stop(&first, &gone), PR_NO_PROCESS);
    rec_ptrace_release(&first);
}

/* ---- the end of a target that is stopped ---- */

/* The last status of waitpid(); -1: nothing, for 20 seconds. */
static int
status_in_the_end(pid_t pid)
{
    int status = -1;
    for (time_t end = time(NULL) + 20; time(NULL) < end; sched_yield())
        if (waitpid(pid, &status, WNOHANG) != 0)
            break;
    return status;
}

/* The target is a child of this process, which traces it, too: the tracing
 * thread must not take the status that waitpid() is to return. */
static void
the_exit_status_of_a_child_is_left_to_its_parent(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        pid_t pid = start_target();
        rec_ptrace pause;
        rec_ptrace_init(&pause, pid);
        assert_true(pause.own_child);
        stop_for_sure(&pause);
        kill(pid, SIGKILL);
        if (i % 2)
            rec_ptrace_resume(&pause);
        EVENTUALLY(rec_ptrace_stop(&pause, NULL) == PR_NO_PROCESS);
        int status = status_in_the_end(pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        rec_ptrace_release(&pause);
    }
}

/* The target is the child of another process, which can wait for it as soon as
 * the tracer has seen its end; its exit status is the signal that the target
 * got. */
static void
the_parent_of_a_killed_target_can_wait_for_it(void **state)
{
    (void)state;
    int taken[2];
    assert_int_equal(pipe(taken), 0);
    pid_t parent = fork();
    if (parent == 0) {
        pid_t pid = start_target();
        if (write(taken[1], &pid, sizeof pid) != sizeof pid)
            _exit(1);
        int status = status_in_the_end(pid);
        _exit(WIFSIGNALED(status) ? WTERMSIG(status) : 1);
    }
    pid_t pid;
    assert_int_equal(read(taken[0], &pid, sizeof pid), sizeof pid);
    rec_ptrace pause;
    rec_ptrace_init(&pause, pid);
    assert_false(pause.own_child);
    stop_for_sure(&pause);
    kill(pid, SIGKILL);
    EVENTUALLY(rec_ptrace_stop(&pause, NULL) == PR_NO_PROCESS);
    int status = status_in_the_end(parent);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), SIGKILL);
    rec_ptrace_release(&pause);
    close(taken[0]);
    close(taken[1]);
}

/* ---- a target that the kernel holds ---- */

/* Held by vfork(): the parent is in state D until the child ends. */
static void
a_thread_that_is_held_in_the_kernel_is_let_go_when_it_leaves_it(void **state)
{
    (void)state;
    memset(shared, 0, sizeof *shared);
    int hold[2];
    assert_int_equal(pipe(hold), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(hold[1]);
        pid_t child = vfork();
        if (child == 0) {
            char byte;
            (void)!read(hold[0], &byte, 1);
            _exit(0);
        }
        for (;;)
            atomic_fetch_add(&shared->work[0], 1);
    }
    close(hold[0]);
    EVENTUALLY(state_letter(pid) == 'D');
    rec_ptrace pause;
    rec_ptrace_init(&pause, pid);
    for (int i = 0; i < 3; i++) {
        stop_for_sure(&pause);
        rec_ptrace_resume(&pause);
        assert_int_equal(pause.n, 1);
    }
    close(hold[1]);
    EVENTUALLY((rec_ptrace_serve(&pause), pause.n == 0));
    EVENTUALLY(atomic_load(&shared->work[0]) > 0);
    rec_ptrace_release(&pause);
    end_target(pid);
}

static int
share_memory(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moves_while_it_is_paused_and_all_moves_after),
        cmocka_unit_test(threads_that_are_born_and_die_are_not_a_failure),
        cmocka_unit_test(signals_that_come_while_it_is_paused_are_delivered),
        cmocka_unit_test(a_target_that_was_stopped_by_a_signal_stays_stopped),
        cmocka_unit_test(a_pauser_that_is_killed_leaves_the_target_running),
        cmocka_unit_test(a_target_that_is_gone_or_traced_is_said_so),
        cmocka_unit_test(the_exit_status_of_a_child_is_left_to_its_parent),
        cmocka_unit_test(the_parent_of_a_killed_target_can_wait_for_it),
        cmocka_unit_test(
            a_thread_that_is_held_in_the_kernel_is_let_go_when_it_leaves_it),
    };
    return cmocka_run_group_tests(tests, share_memory, NULL);
}
