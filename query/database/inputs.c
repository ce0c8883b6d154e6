/*
 * inputs.c - one level of folders.
 */
#include "query/database/inputs.h"

#include <base/array.h>
#include <base/readable.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static pr_code
add_path(q_inputs *inputs, char *path, pr_err *err)
{
    if (!path || !pr_grow(&inputs->path, &inputs->cap, inputs->n + 1,
                          sizeof *inputs->path)) {
        free(path);
        return pr_no_memory(err);
    }
    inputs->path[inputs->n++] = path;
    return PR_OK;
}

static char *
join(const char *folder, const char *name)
{
    size_t n = strlen(folder), len = n + strlen(name) + 2;
    char *path = malloc(len);
    if (!path)
        return NULL;
    memcpy(path, folder, n);
    if (n && folder[n - 1] != '/')
        path[n++] = '/';
    memcpy(path + n, name, strlen(name) + 1);
    return path;
}

static bool
is_profile(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, ".bin") == 0;
}

static int
compare_paths(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static pr_code
add_folder(q_inputs *inputs, const char *folder, pr_err *err)
{
    size_t first = inputs->n;
    DIR *dir = opendir(folder);
    if (!dir)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot read the folder '%s'",
                           folder);
    pr_code rc = PR_OK;
    for (struct dirent *d; rc == PR_OK && (d = readdir(dir)) != NULL;)
        if (is_profile(d->d_name))
            rc = add_path(inputs, join(folder, d->d_name), err);
    closedir(dir);
    if (rc != PR_OK)
        return rc;
    if (inputs->n == first) {
        PR_FAIL(err, PR_NAME, "the folder '%s' has no profile", folder);
        pr_err_hint(err, "profiles are files that end in .bin");
        return PR_NAME;
    }
    qsort(inputs->path + first, inputs->n - first, sizeof *inputs->path,
          compare_paths);
    return PR_OK;
}

pr_code
q_inputs_expand(const char *const *path, size_t n, q_inputs *ret, pr_err *err)
{
    struct stat st;
    pr_code rc = PR_OK;
    for (size_t i = 0; i < n && rc == PR_OK; i++) {
        bool folder = stat(path[i], &st) == 0 && S_ISDIR(st.st_mode);
        rc = pr_refuse_stdin(path[i], err);
        if (rc == PR_OK)
            rc = folder ? add_folder(ret, path[i], err)
                        : add_path(ret, strdup(path[i]), err);
    }
    return rc;
}

pr_code
q_inputs_match(const char *pattern, uint64_t at, q_inputs *ret, pr_err *err)
{
    glob_t found = {0};
    int rc = glob(pattern, GLOB_NOCHECK, NULL, &found);
    pr_code code = rc == 0 ? PR_OK
                   : rc == GLOB_NOSPACE
                       ? pr_no_memory(err)
                       : PR_FAIL_AT(err, PR_IO, at,
                                    "cannot read the folders of '%s'", pattern);
    for (size_t i = 0; code == PR_OK && i < found.gl_pathc; i++)
        code = add_path(ret, strdup(found.gl_pathv[i]), err);
    globfree(&found);
    return code;
}

void
q_inputs_release(q_inputs *inputs)
{
    for (size_t i = 0; i < inputs->n; i++)
        free(inputs->path[i]);
    free(inputs->path);
    *inputs = (q_inputs){0};
}
