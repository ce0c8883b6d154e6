/*
 * test_command.c - a command's start, end and signals are passed on.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/linux/command.h"

/* Its pidfd says when; then a poll has the status at once. */
static void
wait_for_end(rec_command *child)
{
    struct pollfd p = {child->pidfd, POLLIN, 0};
    assert_true(child->pidfd >= 0);
    assert_int_equal(poll(&p, 1, 20000), 1);
    rec_command_poll(child);
    assert_true(child->ended);
    rec_command_release(child);
}

static int
status_of(const char *script)
{
    char name[] = "sh", flag[] = "-c", text[256];
    snprintf(text, sizeof text, "%s", script);
    char *argv[] = {name, flag, text, NULL};
    rec_command child;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_command_start(argv, &child, &err), PR_OK);
    wait_for_end(&child);
    return child.status;
}

static void
the_exit_status_and_the_signal_are_returned(void **state)
{
    (void)state;
    assert_int_equal(status_of("exit 0"), 0);
    assert_int_equal(status_of("exit 37"), 37);
    assert_int_equal(status_of("kill -TERM $$"), 128 + SIGTERM);
}

static void
a_command_that_cannot_run_is_an_error_at_the_start(void **state)
{
    (void)state;
    char missing[] = "no-such-command-anywhere", folder[] = "/";
    char *argv[] = {missing, NULL};
    rec_command child = {.pid = -7};
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_command_start(argv, &child, &err), PR_IO);
    assert_int_equal(err.sys, ENOENT);
    assert_int_equal(child.pid, -7);
    argv[0] = folder;
    pr_err_clear(&err);
    assert_int_equal(rec_command_start(argv, &child, &err), PR_IO);
    assert_int_equal(err.sys, EACCES);
}

static void
signals_are_passed_on_and_not_inherited_as_ignored(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    sigset_t term, old;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &old);
    char name[] = "sleep", long_time[] = "1000";
    char *argv[] = {name, long_time, NULL};
    for (int i = 0; i < 2; i++) {
        rec_command child;
        int number = i ? SIGTERM : SIGPIPE;
        assert_int_equal(rec_command_start(argv, &child, NULL), PR_OK);
        rec_command_poll(&child);
        assert_false(child.ended);
        rec_command_signal(&child, number);
        wait_for_end(&child);
        assert_int_equal(child.status, 128 + number);
        rec_command_signal(&child, SIGKILL); /* no such process: no harm */
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
}

static void
a_command_that_was_never_a_python_is_known_by_its_file(void **state)
{
    (void)state;
    char script[] = "/tmp/test_command.XXXXXX";
    int fd = mkstemp(script);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
    close(fd);
    assert_true(rec_command_may_be_python(script));
    unlink(script);
    assert_true(rec_command_may_be_python(script));
    assert_true(rec_command_may_be_python("python3"));
    assert_true(rec_command_may_be_python("/no/such/python3.11"));
    assert_false(rec_command_may_be_python("sh"));
    assert_false(rec_command_may_be_python("/proc/self/exe"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exit_status_and_the_signal_are_returned),
        cmocka_unit_test(
            a_command_that_was_never_a_python_is_known_by_its_file),
        cmocka_unit_test(a_command_that_cannot_run_is_an_error_at_the_start),
        cmocka_unit_test(signals_are_passed_on_and_not_inherited_as_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
