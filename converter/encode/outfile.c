/*
 * outfile.c - no name or a temporary one, blocks, rename.
 */
#include "converter/encode/outfile.h"

#include "converter/encode/block_writer.h"

#include <base/create.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct conv_outfile {
    conv_out_room room; /* the rest of the present block */
    char *path;         /* final name; of a stream, for messages only */
    char *temporary;    /* NULL: a stream, or a file without a name */
    int fd;             /* -1: written by path */
    bool is_stream;
    conv_unfinished unfinished;
    bool force;
    mode_t mode;
    int failed;                /* an errno, besides those of the blocks */
    uint64_t limit, written;   /* limit 0: none */
    conv_block_writer *blocks; /* NULL: written by path */
};

/* Exists and is a regular file, exists and is not, or neither. */
typedef enum target_kind { TARGET_NEW, TARGET_FILE, TARGET_STREAM } target_kind;

/* "-" is a descriptor, too. */
static int
descriptor_of(const char *path)
{
    return strcmp(path, "-") == 0 ? STDOUT_FILENO : pr_descriptor_of(path);
}

static target_kind
kind_of(const char *path)
{
    struct stat st;
    if (descriptor_of(path) >= 0)
        return TARGET_STREAM;
    if (stat(path, &st) != 0)
        return TARGET_NEW;
    return S_ISREG(st.st_mode) ? TARGET_FILE : TARGET_STREAM;
}

static pr_code
open_stream(conv_outfile *out, pr_err *err)
{
    int fd = descriptor_of(out->path);
    out->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0)
                      : open(out->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return out->fd < 0 ? pr_fail_to_create(out->path, errno, err) : PR_OK;
}

static void
report_unfinished(const conv_outfile *out, const char *name)
{
    if (out->unfinished.report)
        out->unfinished.report(out->unfinished.context, name);
}

/* Give an open file without a name one; 0 or an errno. */
static int
link_open(int fd, const char *name)
{
    char here[32];
    snprintf(here, sizeof here, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, here, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0
               ? 0
               : errno;
}

static int
create(conv_outfile *out, const char *name)
{
    out->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, out->mode);
    return out->fd >= 0 ? 0 : errno;
}

/* Give the file that is open a name of this process, or else a new one.  0 or an
 * errno. */
static int
try_temporary(conv_outfile *out, unsigned attempt)
{
    char end[48];
    snprintf(end, sizeof end, ".part-%ld-%u", (long)getpid(), attempt);
    char *name = pr_unfinished_name(out->path, end);
    if (!name)
        return ENOMEM;
    report_unfinished(out, name);
    int sys = out->fd >= 0 ? link_open(out->fd, name) : create(out, name);
    if (sys == 0)
        out->temporary = name;
    else
        free(name);
    return sys;
}

/* Left-overs of killed processes are passed by.  0 or an errno. */
static int
take_temporary(conv_outfile *out)
{
    int sys = EEXIST;
    for (unsigned attempt = 0; attempt < 100 && sys == EEXIST; attempt++)
        sys = try_temporary(out, attempt);
    return sys;
}

/* A file without a name, of which nothing is left however we end.  Not every
 * file system has them, and only /proc can give it a name later. */
static void
open_unnamed(conv_outfile *out)
{
    char *folder = pr_path_folder(out->path);
    if (folder && access("/proc/self/fd", X_OK) == 0)
        out->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, out->mode);
    free(folder);
}

static pr_code
open_file(conv_outfile *out, bool whole, pr_err *err)
{
    if (!whole)
        open_unnamed(out);
    if (out->fd >= 0)
        return PR_OK;
    int sys = take_temporary(out);
    if (sys != 0)
        return pr_fail_to_create(out->path, sys, err);
    if (whole) {
        struct stat st;
        if (fstat(out->fd, &st) == 0)
            out->mode = st.st_mode & 0777; /* the umask is taken off */
        close(out->fd);
        out->fd = -1;
    }
    return PR_OK;
}

static void
begin_block(conv_outfile *out)
{
    out->room.at = conv_block_writer_room(out->blocks);
    out->room.end = out->room.at + CONV_BLOCK;
}

static pr_code
open_blocks(conv_outfile *out, pr_err *err)
{
    out->blocks = conv_block_writer_new(out->fd);
    if (!out->blocks)
        return pr_no_memory(err);
    begin_block(out);
    return PR_OK;
}

pr_code
conv_out_open(const char *path, bool force, bool whole, unsigned mode,
              const conv_unfinished *unfinished, conv_outfile **ret,
              pr_err *err)
{
    target_kind kind = kind_of(path);
    if (kind == TARGET_FILE && !force)
        return pr_refuse_existing(path, err);
    if (kind == TARGET_STREAM && whole) {
        PR_FAIL(err, PR_USAGE, "this output must be a regular file, not '%s'",
                path);
        pr_err_hint(err, "give a file name with -o");
        return PR_USAGE;
    }
    conv_outfile *out = calloc(1, sizeof *out);
    char *copy = strdup(path);
    if (!out || !copy) {
        free(out);
        free(copy);
        return pr_no_memory(err);
    }
    out->path = copy;
    out->fd = -1;
    out->force = force;
    out->mode = (mode_t)mode;
    out->is_stream = kind == TARGET_STREAM;
    if (unfinished)
        out->unfinished = *unfinished;
    pr_code rc =
        out->is_stream ? open_stream(out, err) : open_file(out, whole, err);
    if (rc == PR_OK && !whole)
        rc = open_blocks(out, err);
    if (rc != PR_OK) {
        conv_out_abort(out);
        return rc;
    }
    *ret = out;
    return PR_OK;
}

const char *
conv_out_path(const conv_outfile *out)
{
    return out->temporary;
}

void
conv_out_use_threads(conv_outfile *out, int jobs)
{
    conv_block_writer_use(out->blocks, jobs);
}

void
conv_out_compress(conv_outfile *out)
{
    conv_block_writer_compress(out->blocks);
}

void
conv_out_limit(conv_outfile *out, uint64_t bytes)
{
    out->limit = bytes;
}

static bool
is_beyond(const conv_outfile *out)
{
    return out->limit && out->written > out->limit;
}

/* The bytes of the present block; none if they may not be written. */
static size_t
count_block(conv_outfile *out)
{
    size_t n = (size_t)(out->room.at - conv_block_writer_room(out->blocks));
    out->written += n;
    if (is_beyond(out) && !out->failed)
        out->failed = EFBIG;
    return out->failed ? 0 : n;
}

void
conv_out_end_block(conv_outfile *out)
{
    size_t n = count_block(out);
    if (n)
        conv_block_writer_put(out->blocks, n);
    begin_block(out);
}

void
conv_out_write_on(conv_outfile *out, const char *bytes, size_t len)
{
    for (;;) {
        size_t room = (size_t)(out->room.end - out->room.at);
        size_t n = len < room ? len : room;
        memcpy(out->room.at, bytes, n);
        out->room.at += n;
        if (n == len)
            return;
        bytes += n;
        len -= n;
        conv_out_end_block(out);
    }
}

void
conv_out_puts(conv_outfile *out, const char *string)
{
    conv_out_write(out, string, strlen(string));
}

bool
conv_out_good(const conv_outfile *out)
{
    return !out->failed && !conv_block_writer_failed(out->blocks);
}

/* Without force the name is taken only if it is free, in one step.  0 or an
 * errno. */
static int
rename_temporary(const conv_outfile *out)
{
    unsigned flags = out->force ? 0 : RENAME_NOREPLACE;
    if (renameat2(AT_FDCWD, out->temporary, AT_FDCWD, out->path, flags) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    /* file systems without RENAME_NOREPLACE */
    if (link(out->temporary, out->path) != 0)
        return errno;
    unlink(out->temporary);
    return 0;
}

static pr_code
take_name(conv_outfile *out, pr_err *err)
{
    int sys = rename_temporary(out);
    if (sys == EEXIST)
        return pr_refuse_existing(out->path, err);
    if (sys != 0)
        return pr_fail_to_create(out->path, sys, err);
    free(out->temporary);
    out->temporary = NULL;
    return PR_OK;
}

static pr_code
fail_to_write(const conv_outfile *out, pr_err *err)
{
    int sys = out->failed;
    if (is_beyond(out)) {
        PR_FAIL(err, PR_LIMIT, "'%s' needs more than %" PRIu64 " bytes",
                out->path, out->limit);
        pr_err_hint(err, "choose less of the profile, or raise the limit with "
                         "--max-output");
        return PR_LIMIT;
    }
    PR_FAIL_SYS(err, PR_IO, sys, "cannot write '%s'", out->path);
    pr_hint_room(sys, err);
    return PR_IO;
}

static pr_code
close_file(conv_outfile *out, pr_err *err)
{
    size_t n = count_block(out);
    int unwritten = conv_block_writer_finish(out->blocks, n);
    if (!out->failed)
        out->failed = unwritten;
    int sys = !out->failed && !out->is_stream && !out->temporary
                  ? take_temporary(out)
                  : 0;
    int fd = out->fd;
    out->fd = -1;
    if (close(fd) != 0 && !out->failed)
        out->failed = errno; /* some file systems report a full disk here */
    if (out->failed)
        return fail_to_write(out, err);
    return sys != 0 ? pr_fail_to_create(out->path, sys, err) : PR_OK;
}

pr_code
conv_out_commit(conv_outfile *out, pr_err *err)
{
    /* one that is made by path may have been made anew, with other rights */
    if (out->fd < 0 && chmod(out->temporary, out->mode) != 0)
        out->failed = errno;
    pr_code rc = out->fd >= 0  ? close_file(out, err)
                 : out->failed ? fail_to_write(out, err)
                               : PR_OK;
    if (rc == PR_OK && !out->is_stream)
        rc = take_name(out, err);
    conv_out_abort(out);
    return rc;
}

void
conv_out_abort(conv_outfile *out)
{
    if (!out)
        return;
    conv_block_writer_free(out->blocks);
    if (out->fd >= 0)
        close(out->fd);
    if (out->temporary)
        unlink(out->temporary);
    report_unfinished(out, NULL);
    free(out->temporary);
    free(out->path);
    free(out);
}
