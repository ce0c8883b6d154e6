/*
 * output.h - a regular file that grows by whole pieces.
 *
 * A piece that was appended without an error stays; a piece that could not be
 * written whole is cut off again.
 */
#ifndef FORMAT_WRITE_OUTPUT_H
#define FORMAT_WRITE_OUTPUT_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pf_output {
    int fd;        /* -1: closed */
    bool sync;     /* reach the disk before a call returns */
    uint64_t size; /* good bytes */
    char *path;    /* as the caller gave it */
} pf_output;

/* Create the file.  PR_EXISTS; PR_USAGE if it is not a regular file; PR_IO.
 * force: another regular file of that name is unlinked, not overwritten, so
 * a program that has it open keeps it whole. */
pr_code pf_output_open(pf_output *out, const char *path, bool force, bool sync,
                       pr_err *err);

/* One write(), repeated only if the kernel took less. */
pr_code pf_output_append(pf_output *out, const void *bytes, size_t n,
                         pr_err *err);

/* Replace bytes that are there. */
pr_code pf_output_patch(pf_output *out, uint64_t at, const void *bytes,
                        size_t n, pr_err *err);

/* Cut the file back to `size` good bytes. */
void pf_output_cut(pf_output *out, uint64_t size);

pr_code pf_output_close(pf_output *out, pr_err *err);
/* Close without a word; remove: and unlink the file. */
void pf_output_abandon(pf_output *out, bool remove);

#endif
