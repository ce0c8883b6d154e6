/*
 * command.c - fork, exec, and the truth about whether exec worked.
 */
#include "recorder/linux/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the new process.  exec resets caught signals by itself, but what is
 * ignored or blocked here would stay so.  A failed exec is told through the
 * pipe, which a good one closes. */
static _Noreturn void
become(char *const argv[], int tell)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], argv);
    int error = errno;
    while (write(tell, &error, sizeof error) < 0 && errno == EINTR)
        continue;
    _exit(127);
}

/* The errno of a failed exec, or 0. */
static int
hear(int pipe_end)
{
    int error = 0;
    ssize_t n;
    do
        n = read(pipe_end, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    return n == sizeof error ? error : 0;
}

pr_code
rec_command_start(char *const argv[], rec_command *ret, pr_err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot make a pipe");
    pid_t pid = fork();
    if (pid == 0)
        become(argv, ends[1]);
    int fork_error = errno;
    close(ends[1]);
    int error = pid < 0 ? fork_error : hear(ends[0]);
    close(ends[0]);
    if (error == 0) {
        *ret = (rec_command){.pid = pid};
        return PR_OK;
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return PR_FAIL_SYS(err, PR_IO, error, "cannot run '%s'", argv[0]);
}

static void
note_end(rec_command *child, int status)
{
    child->ended = true;
    child->status =
        WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void
rec_command_poll(rec_command *child)
{
    int status;
    if (!child->ended && waitpid(child->pid, &status, WNOHANG) == child->pid)
        note_end(child, status);
}

void
rec_command_wait(rec_command *child)
{
    int status;
    pid_t got;
    while (!child->ended) {
        got = waitpid(child->pid, &status, 0);
        if (got == child->pid)
            note_end(child, status);
        else if (got < 0 && errno != EINTR)
            return;
    }
}

void
rec_command_signal(const rec_command *child, int signal)
{
    if (!child->ended)
        kill(child->pid, signal);
}
