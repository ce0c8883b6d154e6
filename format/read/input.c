/*
 * input.c - a file, read at offsets.
 */
#include "format/read/input.h"

#include <base/readable.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

pr_code
pf_input_open(const char *path, pf_input *ret, pr_err *err)
{
    pr_code rc = pr_refuse_stdin(path, err);
    if (rc != PR_OK)
        return rc;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot open '%s'", path);
    struct stat st;
    if (fstat(fd, &st) < 0) {
        int sys = errno;
        close(fd);
        return PR_FAIL_SYS(err, PR_IO, sys, "cannot stat '%s'", path);
    }
    rc = pr_refuse_stream(path, &st, err);
    if (rc != PR_OK) {
        close(fd);
        return rc;
    }
    char *copy = strdup(path);
    if (!copy) {
        close(fd);
        return pr_no_memory(err);
    }
    *ret = (pf_input){fd, (uint64_t)st.st_size, copy};
    return PR_OK;
}

void
pf_input_close(pf_input *in)
{
    if (in->fd >= 0)
        close(in->fd);
    in->fd = -1;
    free(in->path);
    in->path = NULL;
}

pr_code
pf_input_read(const pf_input *in, uint64_t at, void *buf, size_t n, pr_err *err)
{
    if (at > in->size || n > in->size - at)
        return PR_FAIL_AT(err, PR_CUT, in->size,
                          "%zu bytes wanted at %" PRIu64 ", after the end", n,
                          at);
    for (size_t done = 0; done < n;) {
        ssize_t got =
            pread(in->fd, (uint8_t *)buf + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return PR_FAIL_SYS_AT(err, PR_IO, errno, at + done,
                                  "cannot read '%s'", in->path);
        if (got == 0)
            return PR_FAIL_AT(err, PR_CUT, at + done,
                              "the file became shorter while it was read");
        done += (size_t)got;
    }
    return PR_OK;
}

/* Bytes that are hashed or searched at a time.  They lie on the stack, which a
 * caller may have made small. */
enum { PIECE = 8 << 10 };

pr_code
pf_input_hash(const pf_input *in, uint64_t at, uint64_t end, uint64_t *ret,
              pr_err *err)
{
    uint8_t piece[PIECE];
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    while (at < end) {
        size_t n = end - at < PIECE ? (size_t)(end - at) : PIECE;
        pr_code code = pf_input_read(in, at, piece, n, err);
        if (code != PR_OK)
            return code;
        XXH64_update(&state, piece, n);
        at += n;
    }
    *ret = XXH64_digest(&state);
    return PR_OK;
}

pr_code
pf_input_find(const pf_input *in, uint64_t at, uint64_t end, const void *wanted,
              size_t n, uint64_t *ret, pr_err *err)
{
    uint8_t piece[PIECE];
    while (at < end && end - at >= n) {
        size_t have = end - at < PIECE ? (size_t)(end - at) : PIECE;
        pr_code code = pf_input_read(in, at, piece, have, err);
        if (code != PR_OK)
            return code;
        const uint8_t *found = memmem(piece, have, wanted, n);
        if (found) {
            *ret = at + (uint64_t)(found - piece);
            return PR_OK;
        }
        at += have - (n - 1); /* the next piece begins with a possible start */
    }
    *ret = end;
    return PR_OK;
}
