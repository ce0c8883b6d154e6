/*
 * retention.c - the oldest recordings go first (retention.h).
 */
#include "recorder/retention.h"

#include <base/array.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
compare_times(const void *x, const void *y)
{
    const rec_kept *a = x, *b = y;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void
count(const rec_kept *file, size_t n, rec_folder_state *state)
{
    state->files = state->bytes = 0;
    for (size_t i = 0; i < n; i++) {
        state->files += !file[i].removed;
        state->bytes += file[i].removed ? 0 : file[i].bytes;
        if (file[i].bytes > state->largest)
            state->largest = file[i].bytes;
    }
}

void
rec_retention_choose(const rec_retention *bounds, rec_kept *file, size_t n,
                     uint64_t now_ns, uint64_t reserved,
                     rec_folder_state *state)
{
    if (n)
        qsort(file, n, sizeof *file, compare_times);
    for (size_t i = 0; i < n; i++) {
        uint64_t age = now_ns > file[i].time_ns ? now_ns - file[i].time_ns : 0;
        file[i].removed = bounds->keep_ns && age > bounds->keep_ns;
        state->removed_age += file[i].removed;
    }
    count(file, n, state);
    for (size_t i = 0; bounds->max_bytes && i < n &&
                       state->bytes + reserved > bounds->max_bytes;
         i++) {
        if (file[i].removed)
            continue;
        file[i].removed = true;
        state->bytes -= file[i].bytes;
        state->files--;
        state->removed_size++;
    }
}

static bool
is_recording(const char *name)
{
    return fnmatch("pyrec-*.bin", name, 0) == 0 ||
           fnmatch("pyrec-*.bin.part", name, 0) == 0;
}

typedef struct listing {
    rec_kept *file;
    size_t n, cap;
} listing;

static pr_code
add_file(listing *l, const char *name, const struct stat *st, pr_err *err)
{
    char *copy = strdup(name);
    if (!copy || !pr_grow(&l->file, &l->cap, l->n + 1, sizeof *l->file)) {
        free(copy);
        return pr_no_memory(err);
    }
    l->file[l->n++] =
        (rec_kept){.name = copy,
                   .time_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000 +
                              (uint64_t)st->st_mtim.tv_nsec,
                   .bytes = (uint64_t)st->st_size};
    return PR_OK;
}

static pr_code
list_folder(DIR *dir, listing *ret, pr_err *err)
{
    struct stat st;
    pr_code rc = PR_OK;
    for (struct dirent *d; rc == PR_OK && (d = readdir(dir)) != NULL;)
        if (is_recording(d->d_name) &&
            fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            rc = add_file(ret, d->d_name, &st, err);
    return rc;
}

pr_code
rec_retention_apply(const rec_retention *bounds, const char *folder,
                    uint64_t now_ns, uint64_t reserved, rec_folder_state *state,
                    pr_err *err)
{
    listing l = {0};
    DIR *dir = opendir(folder);
    if (!dir)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot read the folder '%s'",
                           folder);
    pr_code rc = list_folder(dir, &l, err);
    if (rc == PR_OK)
        rec_retention_choose(bounds, l.file, l.n, now_ns, reserved, state);
    for (size_t i = 0; i < l.n; i++) {
        if (l.file[i].removed && unlinkat(dirfd(dir), l.file[i].name, 0) != 0 &&
            errno != ENOENT && rc == PR_OK)
            rc = PR_FAIL_SYS(err, PR_IO, errno, "cannot remove '%s/%s'", folder,
                             l.file[i].name);
        free(l.file[i].name);
    }
    free(l.file);
    closedir(dir);
    return rc;
}
