/*
 * segment_loader.h - check and decompress the records of segments, in order and
 * by one or several threads.
 */
#ifndef FORMAT_READ_SEGMENT_LOADER_H
#define FORMAT_READ_SEGMENT_LOADER_H

#include "format/read/reader_internal.h"

/* A segment in memory; the next segment reuses the buffers. */
typedef struct pf_loaded {
    pr_code code; /* of the load; the rest is valid if PR_OK */
    pr_err err;
    pf_cur records;      /* decompressed */
    pf_buf frame;        /* the data frame, as in the file */
    pf_buf record_bytes; /* its content */
} pf_loaded;

typedef struct pf_loader pf_loader;

/* Load segment[i] for all i with wanted[i], by `jobs` threads; 1 or less: by
 * the caller's.  The caller keeps all that the arguments point to until
 * pf_loader_free(). */
pr_code pf_loader_new(const pf_input *in, bool swapped,
                      const pf_segment *segment, const bool *wanted, size_t n,
                      int jobs, pf_loader **ret, pr_err *err);
void pf_loader_free(pf_loader *loader); /* takes NULL */

/* The next wanted segment, valid until the next call; NULL after the last. */
const pf_loaded *pf_loader_next(pf_loader *loader, size_t *ret_segment);

#endif
