/*
 * report_file.c - what a report may replace, and how it does.
 */
#include "query/report_file.h"

#include "query/render/reports.h"

#include <base/create.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- refusals ---- */

/* Would two files that do not exist yet be one? */
static bool
is_same_place(const char *a, const char *b)
{
    struct stat st;
    char *folder = pr_path_folder(a), *other = pr_path_folder(b);
    bool same = folder && other &&
                strcmp(pr_path_name(a), pr_path_name(b)) == 0 &&
                stat(folder, &st) == 0 && pr_is_same_file(other, &st);
    free(folder);
    free(other);
    return same;
}

/* A terminal or /dev/null may get several reports. */
static bool
is_same_output(const char *a, const char *b)
{
    struct stat st;
    if (stat(a, &st) == 0)
        return !S_ISCHR(st.st_mode) && pr_is_same_file(b, &st);
    return stat(b, &st) != 0 && is_same_place(a, b);
}

static pr_code
refuse_pairs(const char *const *path, size_t n, pr_err *err)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            if (!path[i] || !path[j] || !is_same_output(path[i], path[j]))
                continue;
            PR_FAIL(err, PR_USAGE, "two reports would be the one file '%s'",
                    path[j]);
            pr_err_hint(err, "give each report its own name");
            return PR_USAGE;
        }
    return PR_OK;
}

/* Is the regular file empty, or an earlier report? */
static bool
may_go(const char *path)
{
    char start[64] = "";
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    size_t n = fread(start, 1, sizeof start - 1, file);
    bool may = !ferror(file) && (n == 0 || q_report_is_one(start));
    fclose(file);
    return may;
}

static bool
is_input(const struct stat *st, const q_inputs *inputs)
{
    for (size_t i = 0; i < inputs->n; i++)
        if (pr_is_same_file(inputs->path[i], st))
            return true;
    return false;
}

static bool
is_standard_output(const struct stat *st)
{
    struct stat out;
    return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == st->st_dev &&
           out.st_ino == st->st_ino;
}

static pr_code
refuse(const char *path, const q_inputs *inputs, pr_err *err)
{
    struct stat st;
    const char *what = NULL;
    if (pr_descriptor_of(path) >= 0 || stat(path, &st) != 0 ||
        !S_ISREG(st.st_mode))
        return PR_OK;
    if (is_input(&st, inputs))
        what = "an input";
    else if (is_standard_output(&st))
        what = "the standard output";
    else if (!may_go(path))
        what = "no report";
    if (!what)
        return PR_OK;
    PR_FAIL(err, PR_USAGE, "a report would replace '%s', which is %s", path,
            what);
    pr_err_hint(err, "give another name");
    return PR_USAGE;
}

pr_code
q_report_files_refuse(const char *const *path, size_t n, const q_inputs *inputs,
                      pr_err *err)
{
    pr_code rc = refuse_pairs(path, n, err);
    for (size_t i = 0; rc == PR_OK && i < n; i++)
        if (path[i])
            rc = refuse(path[i], inputs, err);
    return rc;
}

/* ---- writing ---- */

static pr_code
fail_to_write(const char *path, int sys, pr_err *err)
{
    PR_FAIL_SYS(err, PR_IO, sys, "cannot write '%s'", path);
    pr_hint_room(sys, err);
    return PR_IO;
}

/* All bytes, and the errno of whatever fails; fd is closed. */
static int
write_and_close(int fd, const char *text, size_t n)
{
    int sys = pr_write_whole(fd, text, n);
    if (close(fd) != 0 && sys == 0)
        sys = errno; /* some file systems report a full disk here */
    return sys;
}

static pr_code
write_stream(const char *path, const char *text, size_t n, pr_err *err)
{
    int fd = pr_descriptor_of(path);
    fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0)
                 : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return pr_fail_to_create(path, errno, err);
    int sys = write_and_close(fd, text, n);
    return sys ? fail_to_write(path, sys, err) : PR_OK;
}

/* A new file beside `path`, under a name that the caller frees. */
static int
create_beside(const char *path, char **ret_name)
{
    int fd = -1;
    char end[48];
    *ret_name = NULL;
    errno = EEXIST;
    for (unsigned i = 0; i < 100 && fd < 0 && errno == EEXIST; i++) {
        free(*ret_name);
        snprintf(end, sizeof end, ".part-%ld-%u", (long)getpid(), i);
        *ret_name = pr_unfinished_name(path, end);
        if (*ret_name)
            fd = open(*ret_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        else
            errno = ENOMEM;
    }
    return fd;
}

/* `old`: the file that goes, whose permissions stay; NULL: there is none.  0 or
 * an errno. */
static int
write_and_rename(int fd, const char *name, const char *path,
                 const struct stat *old, const char *text, size_t n)
{
    int sys = old && fchmod(fd, old->st_mode & 0777) != 0 ? errno : 0;
    int unwritten = write_and_close(fd, text, n);
    sys = sys ? sys : unwritten;
    if (sys == 0 && rename(name, path) != 0)
        sys = errno;
    if (sys != 0)
        unlink(name);
    return sys;
}

/* `shown`: the path as the user names it. */
static pr_code
write_file(const char *path, const char *shown, const struct stat *old,
           const char *text, size_t n, pr_err *err)
{
    char *name;
    int fd = create_beside(path, &name);
    if (fd < 0) {
        pr_fail_to_create(shown, errno, err);
        free(name);
        return PR_IO;
    }
    int sys = write_and_rename(fd, name, path, old, text, n);
    free(name);
    return sys ? fail_to_write(shown, sys, err) : PR_OK;
}

/* The file itself is replaced, not a link to it. */
static pr_code
replace(const char *path, const struct stat *old, const char *text, size_t n,
        pr_err *err)
{
    char *real = access(path, W_OK) == 0 ? realpath(path, NULL) : NULL;
    if (!real)
        return fail_to_write(path, errno, err);
    pr_code rc = write_file(real, path, old, text, n, err);
    free(real);
    return rc;
}

pr_code
q_report_file_write(const char *path, const char *text, size_t n, pr_err *err)
{
    struct stat st;
    if (pr_descriptor_of(path) >= 0)
        return write_stream(path, text, n, err);
    if (stat(path, &st) != 0)
        return write_file(path, path, NULL, text, n, err);
    return S_ISREG(st.st_mode) ? replace(path, &st, text, n, err)
                               : write_stream(path, text, n, err);
}
