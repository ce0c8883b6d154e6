/*
 * printed.c - the standard descriptors; a stream at its end.
 */
#include <base/printed.h>

#include <base/message.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void
pr_hold_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_CLOEXEC) != fd)
            return; /* no descriptor is left: the program will say so */
}

pr_code
pr_flush(FILE *to, const char *what, pr_err *err)
{
    errno = 0; /* of an earlier write only its failure is known */
    if (fflush(to) == 0 && !ferror(to))
        return PR_OK;
    return PR_FAIL_SYS(err, PR_IO, errno, "cannot write %s", what);
}

int
pr_finish_stdout(const char *program, int status)
{
    pr_err err = PR_ERR_INIT;
    int failed = pr_exit_status(PR_IO);
    if (pr_flush(stdout, "to standard output", &err) == PR_OK ||
        status == failed)
        return status;
    pr_message_error(stderr, program, &err);
    return failed;
}
