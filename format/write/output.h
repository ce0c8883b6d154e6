/*
 * output.h - a regular file that grows by whole pieces.
 *
 * An append that fails cuts the file back to the pieces before it.
 */
#ifndef FORMAT_WRITE_OUTPUT_H
#define FORMAT_WRITE_OUTPUT_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pf_output {
    int fd;        /* -1: closed */
    bool sync;     /* a call returns after its bytes have reached the disk */
    bool kept;     /* its good bytes stay in the file when a write fails */
    uint64_t size; /* good bytes */
    char *path;    /* as the caller gave it */
} pf_output;

/* Create the file.  PR_EXISTS; PR_USAGE if `path` is not a regular file; PR_IO,
 * PR_NOMEM.  force: unlink another regular file of that name, so that a program
 * that has it open keeps it whole. */
pr_code pf_output_open(pf_output *out, const char *path, bool force, bool sync,
                       pr_err *err);

/* Append by one write(), repeated only if the kernel took less.  PR_IO. */
pr_code pf_output_append(pf_output *out, const void *bytes, size_t n,
                         pr_err *err);

/* Replace n bytes at `at` that the file has already.  PR_IO. */
pr_code pf_output_patch(pf_output *out, uint64_t at, const void *bytes,
                        size_t n, pr_err *err);

/* Cut the file back to `size` good bytes. */
void pf_output_cut(pf_output *out, uint64_t size);

/* Close the file.  PR_IO. */
pr_code pf_output_close(pf_output *out, pr_err *err);
/* Close the file without an error; remove: unlink it, too. */
void pf_output_abandon(pf_output *out, bool remove);

#endif
