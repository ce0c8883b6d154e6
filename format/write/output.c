/*
 * output.c - creating, growing and completing the file of a profile.
 */
#include "format/write/output.h"

#include "format/wire.h"

#include <base/create.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A profile names files and functions, and holds command lines: it is for its
 * owner. */
static int
create(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* The name is taken: may the file go? */
static pr_code
make_way(const char *path, bool force, pr_err *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return pr_fail_to_create(path, errno, err);
    pr_code rc = pr_refuse_irregular(path, &st, err);
    if (rc != PR_OK)
        return rc;
    if (!force)
        return pr_refuse_existing(path, err);
    if (unlink(path) != 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot replace '%s'", path);
    return PR_OK;
}

static pr_code
replace(const char *path, bool force, int *ret_fd, pr_err *err)
{
    pr_code rc = make_way(path, force, err);
    int fd = -1;
    if (rc == PR_OK && (fd = create(path)) < 0)
        rc = pr_fail_to_create(path, errno, err);
    if (rc == PR_OK)
        *ret_fd = fd;
    return rc;
}

/* Take away what was created: not a file that another program put in its
 * place. */
static void
remove_file(int fd, const char *path)
{
    struct stat ours, there;
    if (fstat(fd, &ours) == 0 && lstat(path, &there) == 0 &&
        ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
        unlink(path);
}

/* The new name itself must survive a power cut as well. */
static pr_code
sync_folder(const char *path, pr_err *err)
{
    char *folder = pr_path_folder(path);
    if (!folder)
        return pr_no_memory(err);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    bool done = fd >= 0 && fsync(fd) == 0;
    int sys = errno;
    if (fd >= 0)
        close(fd);
    if (!done)
        return PR_FAIL_SYS(err, PR_IO, sys, "cannot sync the folder of '%s'",
                           path);
    return PR_OK;
}

pr_code
pf_output_open(pf_output *out, const char *path, bool force, bool sync,
               pr_err *err)
{
    char *copy = strdup(path);
    if (!copy)
        return pr_no_memory(err);
    pr_code rc = PR_OK;
    int fd = create(path);
    if (fd < 0 && errno == EEXIST)
        rc = replace(path, force, &fd, err);
    else if (fd < 0)
        rc = pr_fail_to_create(path, errno, err);
    if (rc == PR_OK && sync && (rc = sync_folder(path, err)) != PR_OK) {
        remove_file(fd, path);
        close(fd);
    }
    if (rc != PR_OK) {
        free(copy);
        return rc;
    }
    *out = (pf_output){.fd = fd, .sync = sync, .path = copy};
    return PR_OK;
}

static pr_code
write_failed(pf_output *out, int sys, pr_err *err)
{
    pf_output_cut(out, out->size);
    if (out->kept && out->size > PF_HEADER_SIZE)
        PR_FAIL_SYS(err, PR_IO, sys,
                    "cannot write '%s' after its first %" PRIu64
                    " bytes, which are whole",
                    out->path, out->size);
    else /* the writer removes it */
        PR_FAIL_SYS(err, PR_IO, sys,
                    "cannot write '%s'; it holds no sample that can be read, "
                    "and is removed",
                    out->path);
    pr_hint_room(sys, err);
    return PR_IO;
}

pr_code
pf_output_append(pf_output *out, const void *bytes, size_t n, pr_err *err)
{
    int sys = pr_write_whole(out->fd, bytes, n);
    if (sys != 0)
        return write_failed(out, sys, err);
    if (out->sync && fdatasync(out->fd) != 0)
        return write_failed(out, errno, err);
    out->size += n;
    return PR_OK;
}

pr_code
pf_output_patch(pf_output *out, uint64_t at, const void *bytes, size_t n,
                pr_err *err)
{
    const char *p = bytes;
    for (size_t done = 0; done < n;) {
        ssize_t got = pwrite(out->fd, p + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return PR_FAIL_SYS_AT(err, PR_IO, got < 0 ? errno : ENOSPC, at,
                                  "cannot complete '%s'", out->path);
        done += (size_t)got;
    }
    if (out->sync && fdatasync(out->fd) != 0)
        return PR_FAIL_SYS_AT(err, PR_IO, errno, at, "cannot complete '%s'",
                              out->path);
    return PR_OK;
}

void
pf_output_cut(pf_output *out, uint64_t size)
{
    /* Best effort: if it fails, a reader finds an unfinished piece at the end
     * and ignores it, but then nothing may be put after that. */
    if (ftruncate(out->fd, (off_t)size) == 0 &&
        lseek(out->fd, (off_t)size, SEEK_SET) >= 0)
        out->size = size;
}

pr_code
pf_output_close(pf_output *out, pr_err *err)
{
    /* Some file systems report a failed write only here. */
    pr_code rc = PR_OK;
    if (close(out->fd) != 0)
        rc = PR_FAIL_SYS(err, PR_IO, errno, "cannot close '%s'", out->path);
    free(out->path);
    out->path = NULL;
    out->fd = -1;
    return rc;
}

void
pf_output_abandon(pf_output *out, bool remove)
{
    if (out->fd < 0)
        return;
    if (remove)
        remove_file(out->fd, out->path);
    pf_output_close(out, NULL);
}
