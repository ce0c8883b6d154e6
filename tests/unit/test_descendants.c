/*
 * test_descendants.c - the processes that this one starts, and that those start.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/linux/descendants.h"

/* Or the test is skipped where the kernel reports nothing: before it started
 * a process, which the last test would find. */
static rec_descendants *
open_listener(void)
{
    rec_descendants *c;
    assert_int_equal(rec_descendants_open(&c, NULL), PR_OK);
    if (rec_descendants_fd(c) >= 0)
        return c;
    rec_descendants_free(c);
    skip();
    return NULL;
}

static rec_descendants *
listen_to(pid_t root)
{
    rec_descendants *c = open_listener();
    rec_descendants_watch(c, root);
    return c;
}

static size_t
check_now(rec_descendants *c, const rec_descendant_event **ret)
{
    size_t n = 0;
    assert_int_equal(rec_descendants_check(c, ret, &n, NULL), PR_OK);
    return n;
}

/* One that does nothing, and has been waited for. */
static pid_t
short_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

static pid_t
long_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        for (;;)
            pause();
    }
    return pid;
}

static void
end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static bool
was_born(const rec_descendant_event *event, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (event[i].pid == pid && !event[i].execed)
            return true;
    return false;
}

/* ---- the kernel reports ---- */

static void
no_child_is_too_short_lived_to_be_seen(void **state)
{
    (void)state;
    enum { CHILDREN = 100 };
    rec_descendants *c = listen_to(getpid());
    const rec_descendant_event *event;
    assert_int_equal(check_now(c, &event), 0);
    pid_t born[CHILDREN];
    for (int i = 0; i < CHILDREN; i++)
        born[i] = short_child();
    assert_int_equal(check_now(c, &event), CHILDREN);
    for (int i = 0; i < CHILDREN; i++) {
        assert_int_equal(event[i].pid, born[i]);
        assert_false(event[i].execed);
    }
    assert_int_equal(check_now(c, &event), 0);
    rec_descendants_report r = rec_descendants_count(c);
    assert_true(r.announced);
    assert_int_equal(r.seen, CHILDREN);
    assert_int_equal(r.overruns, 0);
    rec_descendants_free(c);
}

static void
a_child_that_becomes_another_program_is_reported_twice(void **state)
{
    (void)state;
    rec_descendants *c = listen_to(getpid());
    pid_t pid = fork();
    if (pid == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
    const rec_descendant_event *event;
    assert_int_equal(check_now(c, &event), 2);
    assert_int_equal(event[0].pid, pid);
    assert_false(event[0].execed);
    assert_int_equal(event[1].pid, pid);
    assert_true(event[1].execed);
    assert_int_equal(rec_descendants_count(c).seen, 1);
    rec_descendants_free(c);
}

/* In a child: a grandchild outlives it and has one more. */
static _Noreturn void
leave_an_orphan(void)
{
    int gone[2];
    char byte;
    if (pipe(gone) != 0)
        _exit(1);
    if (fork() > 0)
        _exit(0);
    close(gone[1]);
    /* the end of the pipe is ours alone once the parent has ended */
    while (read(gone[0], &byte, 1) > 0)
        continue;
    short_child();
    _exit(0);
}

static void
children_of_children_are_seen_whoever_adopts_them(void **state)
{
    (void)state;
    int over[2];
    char byte;
    assert_int_equal(pipe(over), 0);
    rec_descendants *c = listen_to(getpid());
    pid_t pid = fork();
    if (pid == 0) {
        close(over[0]);
        leave_an_orphan();
    }
    close(over[1]);
    while (read(over[0], &byte, 1) > 0) /* until all of them have ended */
        continue;
    close(over[0]);
    waitpid(pid, NULL, 0);
    const rec_descendant_event *event;
    assert_int_equal(check_now(c, &event), 3);
    assert_int_equal(rec_descendants_count(c).seen, 3);
    rec_descendants_free(c);
}

static void *
do_nothing(void *unused)
{
    return unused;
}

static void
threads_and_strangers_are_not_reported(void **state)
{
    (void)state;
    rec_descendants *c = open_listener();
    pid_t root = long_child();
    rec_descendants_watch(c, root);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, do_nothing, NULL), 0);
    pthread_join(thread, NULL);
    short_child();
    const rec_descendant_event *event;
    assert_int_equal(check_now(c, &event), 0);
    assert_int_equal(rec_descendants_count(c).seen, 0);
    rec_descendants_free(c);
    end_child(root);
}

static void
more_forks_than_there_is_room_for_are_said_and_the_living_found(void **state)
{
    (void)state;
    enum { TOO_MANY = 6000 };
    rec_descendants *c = listen_to(getpid());
    for (int i = 0; i < TOO_MANY; i++) {
        pid_t pid = vfork();
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
    }
    pid_t alive = long_child();
    const rec_descendant_event *event;
    size_t n = check_now(c, &event);
    assert_true(was_born(event, n, alive));
    rec_descendants_report r = rec_descendants_count(c);
    assert_true(r.overruns > 0);
    assert_true(r.seen > 0 && r.seen < TOO_MANY);
    /* and it goes on as before */
    pid_t next = short_child();
    n = check_now(c, &event);
    assert_true(was_born(event, n, next));
    rec_descendants_free(c);
    end_child(alive);
}

/* ---- the kernel does not report ---- */

/* Until `pid` is found: searches have their time. */
static size_t
search_until_found(rec_descendants *c, pid_t pid)
{
    time_t end = time(NULL) + 20;
    size_t taken = 0;
    const rec_descendant_event *event;
    while (time(NULL) < end) {
        size_t n = check_now(c, &event);
        taken += n;
        if (was_born(event, n, pid))
            return taken;
        sched_yield();
    }
    fail_msg("process %d was not found", (int)pid);
    return 0;
}

/* The last test: it takes this process to a network of its own, where the
 * kernel has no connector. */
static void
without_the_kernels_word_the_living_are_found_one_by_one(void **state)
{
    (void)state;
    pid_t before = long_child();
    if (unshare(CLONE_NEWNET) != 0) {
        end_child(before);
        skip();
    }
    rec_descendants *c;
    assert_int_equal(rec_descendants_open(&c, NULL), PR_OK);
    rec_descendants_watch(c, getpid());
    assert_int_equal(rec_descendants_fd(c), -1);
    assert_true(rec_descendants_every_ms(c) > 0);
    assert_int_equal(search_until_found(c, before), 1);
    pid_t after = long_child();
    assert_int_equal(search_until_found(c, after), 1);
    rec_descendants_report r = rec_descendants_count(c);
    assert_false(r.announced);
    assert_int_equal(r.seen, 2);
    assert_true(r.blind_ms >= rec_descendants_every_ms(c));
    rec_descendants_free(c);
    end_child(before);
    end_child(after);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_child_is_too_short_lived_to_be_seen),
        cmocka_unit_test(
            a_child_that_becomes_another_program_is_reported_twice),
        cmocka_unit_test(children_of_children_are_seen_whoever_adopts_them),
        cmocka_unit_test(threads_and_strangers_are_not_reported),
        cmocka_unit_test(
            more_forks_than_there_is_room_for_are_said_and_the_living_found),
        cmocka_unit_test(
            without_the_kernels_word_the_living_are_found_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
