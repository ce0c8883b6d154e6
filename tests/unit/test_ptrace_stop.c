/*
 * test_ptrace_stop.c - stop a real process with real threads and let it go again.
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
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "eventually.h"
#include "recorder/linux/ptrace_stop.h"

enum { WORKERS = 3 };

/* What the target shows of itself, in memory shared with the test. */
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

static void
nothing_moves_while_it_is_paused_and_all_moves_after(void **state)
{
    (void)state;
    pid_t pid = start_target();
    rec_ptrace pause;
    rec_ptrace_init(&pause, pid);
    for (int i = 0; i < 20; i++) {
        pr_err err = PR_ERR_INIT;
        assert_int_equal(rec_ptrace_stop(&pause, &err), PR_OK);
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
threads_that_are_born_and_die_are_no_failure(void **state)
{
    (void)state;
    pid_t pid = start_target();
    atomic_store(&shared->churn, true);
    rec_ptrace pause;
    rec_ptrace_init(&pause, pid);
    for (int i = 0; i < 300; i++) {
        pr_err err = PR_ERR_INIT;
        pr_code rc = rec_ptrace_stop(&pause, &err);
        if (rc != PR_OK)
            fail_msg("stop %d: %s", i, err.what);
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
        pr_err err = PR_ERR_INIT;
        if (i % 2) /* before the stop: may be caught on its way */
            kill(pid, SIGUSR1);
        assert_int_equal(rec_ptrace_stop(&pause, &err), PR_OK);
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
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_ptrace_stop(&pause, &err), PR_OK);
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
        pr_code rc = rec_ptrace_stop(&pause, NULL);
        ssize_t told = write(ready[1], &rc, sizeof rc);
        while (told > 0)
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
    assert_int_equal(rec_ptrace_stop(&first, &err), PR_OK);
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
        cmocka_unit_test(threads_that_are_born_and_die_are_no_failure),
        cmocka_unit_test(signals_that_come_while_it_is_paused_are_delivered),
        cmocka_unit_test(a_target_that_was_stopped_by_a_signal_stays_stopped),
        cmocka_unit_test(a_pauser_that_is_killed_leaves_the_target_running),
        cmocka_unit_test(a_target_that_is_gone_or_traced_is_said_so),
    };
    return cmocka_run_group_tests(tests, share_memory, NULL);
}
