/*
 * command.c - fork, exec, and the report of whether exec worked.
 */
#include "recorder/linux/command.h"

#include "recorder/linux/procfs.h"
#include <base/create.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the new process.  exec resets caught signals by itself, but signals that
 * are ignored or blocked here would stay so.  The pipe carries the errno of a
 * failed exec; a successful exec closes it. */
static _Noreturn void
become(char *const argv[], int report)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], argv);
    int error = errno;
    while (write(report, &error, sizeof error) < 0 && errno == EINTR)
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
        *ret = (rec_command){.pid = pid,
                             .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
        return PR_OK;
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return PR_FAIL_SYS(err, PR_IO, error, "cannot run '%s'", argv[0]);
}

/* ---- the file of a command ---- */

/* The file that execvp() executes, without symbolic links: `to` has PATH_MAX
 * bytes. */
static bool
find_file(const char *name, char *to)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/') || !path)
        return realpath(name, to) != NULL;
    for (size_t len; *path; path += len + (path[len] == ':')) {
        char file[PATH_MAX];
        len = strcspn(path, ":");
        int n = snprintf(file, sizeof file, "%.*s%s%s", (int)len, path,
                         len ? "/" : "", name);
        if (n > 0 && (size_t)n < sizeof file && access(file, X_OK) == 0)
            return realpath(file, to) != NULL;
    }
    return false;
}

static bool
is_named_python(const char *path)
{
    return strncmp(pr_path_name(path), "python", 6) == 0;
}

bool
rec_command_may_be_python(const char *name)
{
    char file[PATH_MAX], magic[SELFMAG + 1];
    if (is_named_python(name) || !find_file(name, file) ||
        is_named_python(file) ||
        !rec_procfs_read(file, magic, sizeof magic, NULL))
        return true;
    return strcmp(magic, ELFMAG) != 0;
}

/* ---- its end ---- */

/* Linux kernel/exit.c, wait_consider_task(): a wait for a traced child of ours
 * takes the stops that are for the tracing thread, whatever its flags.  So
 * pyrec waits only for a process that has ended. */
static bool
is_zombie(const rec_command *child)
{
    struct pollfd p = {child->pidfd, POLLIN, 0};
    if (child->pidfd >= 0)
        return poll(&p, 1, 0) > 0;
    rec_stat stat;
    return !rec_stat_read(child->pid, 0, &stat) || rec_stat_ended(stat.state);
}

void
rec_command_poll(rec_command *child)
{
    siginfo_t info = {0};
    if (child->ended || !is_zombie(child))
        return;
    int got = waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG);
    if (got == 0 && info.si_pid == 0)
        return; /* some of its threads are still on their way out */
    child->ended = true;
    child->status = info.si_code == CLD_EXITED ? info.si_status
                    : got == 0                 ? 128 + info.si_status
                                               : REC_COMMAND_UNKNOWN;
}

void
rec_command_signal(const rec_command *child, int signal)
{
    if (!child->ended)
        kill(child->pid, signal);
}

void
rec_command_release(rec_command *child)
{
    if (child->pidfd >= 0)
        close(child->pidfd);
    child->pidfd = -1;
}
