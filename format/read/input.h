/*
 * input.h - read a file at offsets.
 *
 * The file is not mapped: it may shrink while it is read, and its pages must
 * not count as memory.
 */
#ifndef FORMAT_READ_INPUT_H
#define FORMAT_READ_INPUT_H

#include <pyrec/error.h>
#include <stddef.h>
#include <stdint.h>

/* Long ranges are read in pieces of this size. */
#define PF_INPUT_PIECE (64u << 10)

typedef struct pf_input {
    int fd;
    uint64_t size; /* when it was opened: bytes appended later are not seen */
    char *path;    /* as the caller gave it */
} pf_input;

/* PR_IO, PR_NOMEM, or PR_USAGE if it is not a regular file. */
pr_code pf_input_open(const char *path, pf_input *ret, pr_err *err);
void pf_input_close(pf_input *in);

/* Read exactly n bytes.  PR_CUT if the file has fewer; PR_IO. */
pr_code pf_input_read(const pf_input *in, uint64_t at, void *buf, size_t n,
                      pr_err *err);

/* XXH64 of the bytes [at, end).  PR_CUT, PR_IO. */
pr_code pf_input_hash(const pf_input *in, uint64_t at, uint64_t end,
                      uint64_t *ret, pr_err *err);

/* Find the first place in [at, end) that holds the n <= 16 bytes of `wanted`;
 * `end` if there is none.  PR_CUT, PR_IO. */
pr_code pf_input_find(const pf_input *in, uint64_t at, uint64_t end,
                      const void *wanted, size_t n, uint64_t *ret, pr_err *err);

#endif
