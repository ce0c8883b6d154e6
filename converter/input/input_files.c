/*
 * input_files.c - directories by scandir().
 */
#include "converter/input/input_files.h"

#include <base/array.h>
#include <base/quote.h>
#include <base/readable.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pr_code
add_path(conv_paths *paths, char *path, pr_err *err)
{
    if (path &&
        pr_grow(&paths->at, &paths->cap, paths->n + 1, sizeof *paths->at)) {
        paths->at[paths->n++] = path;
        return PR_OK;
    }
    free(path);
    return pr_no_memory(err);
}

static int
is_profile(const struct dirent *entry)
{
    static const char suffix[] = ".bin";
    size_t n = strlen(entry->d_name), end = sizeof suffix - 1;
    return n > end && strcmp(entry->d_name + n - end, suffix) == 0;
}

static char *
join(const char *directory, const char *name)
{
    size_t n = strlen(directory) + strlen(name) + 2;
    char *path = malloc(n);
    if (path)
        snprintf(path, n, "%s/%s", directory, name);
    return path;
}

static pr_code
add_directory(conv_paths *paths, const char *directory, pr_err *err)
{
    struct dirent **entry;
    pr_code rc = PR_OK;
    int n = scandir(directory, &entry, is_profile, alphasort);
    if (n < 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot read the directory '%s'",
                           directory);
    for (int i = 0; i < n; i++) {
        if (rc == PR_OK)
            rc = add_path(paths, join(directory, entry[i]->d_name), err);
        free(entry[i]);
    }
    free(entry);
    if (rc == PR_OK && n == 0)
        return PR_FAIL(err, PR_USAGE, "no profile (*.bin) in '%s'", directory);
    return rc;
}

/* The command can be pasted: a name that is too long for a hint is left out. */
static void
hint_merge(const char *directory, pr_err *err)
{
    enum { MOST = 160 };
    pr_buffer word = {0};
    pr_quote_path(&word, directory, strlen(directory));
    bool fits = !word.failed && word.len <= MOST;
    pr_err_hint(err,
                "'pyconv %.*s --to bin -o old.bin' makes one profile of those "
                "in it",
                fits ? (int)word.len : MOST, fits ? word.at : "DIRECTORY");
    pr_buffer_release(&word);
}

/* The base of a comparison is one profile. */
static pr_code
add_base(conv_paths *paths, const char *path, pr_err *err)
{
    struct stat st;
    if (pr_refuse_stdin(path, err) != PR_OK)
        return PR_USAGE;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return add_path(paths, strdup(path), err);
    PR_FAIL(err, PR_USAGE, "'%s' is a directory, and --diff takes one profile",
            path);
    hint_merge(path, err);
    return PR_USAGE;
}

pr_code
conv_paths_expand(const char *base, const char *const *input, size_t n,
                  conv_paths *ret, pr_err *err)
{
    struct stat st;
    pr_code rc = PR_OK;
    *ret = (conv_paths){0};
    if (n == 0)
        return PR_FAIL(err, PR_USAGE, "no input given");
    if (base)
        rc = add_base(ret, base, err);
    for (size_t i = 0; i < n && rc == PR_OK; i++) {
        bool directory = stat(input[i], &st) == 0 && S_ISDIR(st.st_mode);
        rc = pr_refuse_stdin(input[i], err);
        if (rc == PR_OK)
            rc = directory ? add_directory(ret, input[i], err)
                           : add_path(ret, strdup(input[i]), err);
    }
    return rc;
}

void
conv_paths_release(conv_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        free(paths->at[i]);
    free(paths->at);
    *paths = (conv_paths){0};
}

pr_code
conv_paths_check(const conv_paths *paths, pr_err *err)
{
    for (size_t i = 0; i < paths->n; i++)
        if (access(paths->at[i], R_OK) != 0)
            return PR_FAIL_SYS(err, PR_IO, errno, "cannot open '%s'",
                               paths->at[i]);
    return PR_OK;
}

unsigned
conv_paths_mode(const conv_paths *paths)
{
    struct stat st;
    unsigned mode = 0666;
    for (size_t i = 0; i < paths->n; i++)
        mode &= stat(paths->at[i], &st) == 0 ? st.st_mode | 0600u : 0600u;
    return mode;
}

uint64_t
conv_paths_bytes(const conv_paths *paths)
{
    struct stat st;
    uint64_t bytes = 0;
    for (size_t i = 0; i < paths->n; i++)
        if (stat(paths->at[i], &st) == 0 && st.st_size > 0)
            bytes += (uint64_t)st.st_size;
    return bytes;
}
