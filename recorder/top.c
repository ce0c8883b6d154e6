/*
 * top.c - pyquery is known by its name alone.
 */
#include "recorder/top.h"

#include "recorder/linux/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_PATH = 4096 };

/* The program beside this one, or that of the PATH. */
static void
become_pyquery(char *const *argv)
{
    char path[LONGEST_PATH];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    if (n > 0) {
        path[n] = '\0';
        char *slash = strrchr(path, '/');
        if (slash) {
            memcpy(slash + 1, "pyquery", sizeof "pyquery");
            execv(path, argv);
        }
    }
    execvp("pyquery", argv);
}

static pr_code
make_output(rec_options *o, pr_err *err)
{
    const char *folder = getenv("TMPDIR");
    char *path = o->temporary;
    snprintf(path, sizeof o->temporary, "%s/pyrec-top-XXXXXX",
             folder && folder[0] ? folder : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot create '%s'", path);
    close(fd);
    o->output = path;
    o->force = true;
    return PR_OK;
}

/* Messages of the recorder would be written across the view. */
static void
be_silent(rec_options *o)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    o->quiet = true;
    if (fd < 0)
        return;
    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
}

static pr_code
show(const rec_options *o, pid_t recorder, bool keep, pr_err *err)
{
    char number[48], name[64], title[128];
    snprintf(number, sizeof number, "%ld%s", (long)recorder,
             keep ? ",keep" : "");
    rec_procfs_name(o->pid, name, sizeof name);
    snprintf(title, sizeof title, "%s (process %ld)", name, (long)o->pid);
    const char *argv[] = {"pyquery", "--follow",       o->output, "--title",
                          title,     "--end-recorder", number,    NULL};
    become_pyquery((char *const *)(uintptr_t)argv);
    PR_FAIL_SYS(err, PR_IO, errno, "cannot start pyquery");
    pr_err_hint(err, "install it beside pyrec, or record with -o FILE");
    kill(recorder, SIGTERM);
    if (!keep)
        unlink(o->output);
    return PR_IO;
}

pr_code
rec_top_split(rec_options *o, pr_err *err)
{
    bool keep = o->output != NULL;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return PR_FAIL(err, PR_USAGE, "--top needs a terminal");
    pr_code code = keep ? PR_OK : make_output(o, err);
    if (code != PR_OK)
        return code;
    pid_t child = fork();
    if (child < 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot start a process");
    if (child > 0)
        return show(o, child, keep, err);
    be_silent(o);
    return PR_OK;
}
