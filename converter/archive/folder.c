/*
 * folder.c - one pass over a folder, one fstatat() for each profile.
 */
#include "converter/archive/folder.h"

#include <base/array.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Linux stamps files by the tick (current_time() in fs/inode.c), of at most
 * 10 ms; twice that. */
#define COARSEST_NS INT64_C(20000000)

static int64_t
ns_of(const struct timespec *time)
{
    return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

static bool
is_profile(const char *name)
{
    static const char suffix[] = ".bin";
    size_t n = strlen(name), end = sizeof suffix - 1;
    return n > end && strcmp(name + n - end, suffix) == 0;
}

static conv_mark
mark_of(const struct stat *st, int64_t now_ns)
{
    const conv_mark mark = {st->st_size, ns_of(&st->st_mtim),
                            ns_of(&st->st_ctim), (int64_t)st->st_ino};
    bool settled = llabs(now_ns - mark.mtime_ns) > COARSEST_NS &&
                   llabs(now_ns - mark.ctime_ns) > COARSEST_NS;
    return settled ? mark : (conv_mark){-1, 0, 0, 0};
}

bool
conv_mark_is(const conv_mark *a, const conv_mark *b)
{
    return a->size >= 0 && a->size == b->size && a->mtime_ns == b->mtime_ns &&
           a->ctime_ns == b->ctime_ns && a->inode == b->inode;
}

pr_code
conv_files_add(conv_files *files, char *name, const conv_mark *mark,
               int64_t profile, pr_err *err)
{
    if (!name ||
        !pr_grow(&files->at, &files->cap, files->n + 1, sizeof *files->at)) {
        free(name);
        return pr_no_memory(err);
    }
    files->at[files->n++] = (conv_file){name, *mark, profile};
    return PR_OK;
}

/* A link that leads nowhere is a file that cannot be read. */
static bool
find_file(int folder, const char *name, struct stat *ret)
{
    if (fstatat(folder, name, ret, 0) == 0)
        return S_ISREG(ret->st_mode);
    return fstatat(folder, name, ret, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISLNK(ret->st_mode);
}

static pr_code
read_folder(DIR *dir, conv_files *files, pr_err *err)
{
    struct timespec now;
    struct stat st;
    pr_code rc = PR_OK;
    clock_gettime(CLOCK_REALTIME, &now);
    for (struct dirent *d; rc == PR_OK && (d = readdir(dir)) != NULL;) {
        if (!is_profile(d->d_name) || !find_file(dirfd(dir), d->d_name, &st))
            continue;
        const conv_mark mark = mark_of(&st, ns_of(&now));
        rc = conv_files_add(files, strdup(d->d_name), &mark, 0, err);
    }
    return rc;
}

static int
compare_files(const void *x, const void *y)
{
    return strcmp(((const conv_file *)x)->name, ((const conv_file *)y)->name);
}

pr_code
conv_folder_scan(const char *folder, conv_files *ret, pr_err *err)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot read the folder '%s'",
                           folder);
    pr_code rc = read_folder(dir, ret, err);
    closedir(dir);
    if (rc == PR_OK && ret->n)
        qsort(ret->at, ret->n, sizeof *ret->at, compare_files);
    return rc;
}

void
conv_files_release(conv_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->at[i].name);
    free(files->at);
    *files = (conv_files){0};
}
