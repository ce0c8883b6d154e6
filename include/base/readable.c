/*
 * readable.c - a path that is not an input, and what to do.
 */
#include <base/readable.h>

#include <string.h>

static void
hint_copy(pr_err *err)
{
    pr_err_hint(err, "a profile is read from its end as well: copy it to a "
                     "file first");
}

pr_code
pr_refuse_stdin(const char *path, pr_err *err)
{
    if (strcmp(path, "-") != 0)
        return PR_OK;
    PR_FAIL(err, PR_USAGE, "an input is a file, not standard input");
    hint_copy(err);
    return PR_USAGE;
}

pr_code
pr_refuse_stream(const char *path, const struct stat *st, pr_err *err)
{
    if (S_ISREG(st->st_mode))
        return PR_OK;
    if (S_ISDIR(st->st_mode))
        return PR_FAIL(err, PR_USAGE, "'%s' is a directory", path);
    PR_FAIL(err, PR_USAGE, "'%s' is not a regular file", path);
    hint_copy(err);
    return PR_USAGE;
}
