/*
 * create.c - the hint when a file cannot be made.
 */
#include <base/create.h>

#include <errno.h>

pr_code
pr_fail_to_create(const char *path, int sys, pr_err *err)
{
    PR_FAIL_SYS(err, PR_IO, sys, "cannot create '%s'", path);
    if (sys == ENOENT)
        pr_err_hint(err, "does its folder exist?");
    return PR_IO;
}
