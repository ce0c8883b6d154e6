/*
 * reader_internal.h - an opened profile file: the places of its parts, its
 * names, its first fault and its losses.
 */
#ifndef FORMAT_READ_READER_INTERNAL_H
#define FORMAT_READ_READER_INTERNAL_H

#include "format/read/end_read.h"
#include "format/read/symbols.h"
#include <pyrec/reader.h>

/* The fields of the header (4.1), unchecked. */
typedef struct pf_header {
    uint8_t bytes[PF_HEADER_SIZE];
    uint32_t version;
    uint8_t python[3];
    uint64_t start_us, interval_us;
    uint64_t samples;
    uint32_t threads;
    uint64_t string_table, frame_table;
    uint32_t compression;
    uint32_t capture;
} pf_header;

/* A segment whose checkpoint is whole. */
typedef struct pf_segment {
    uint64_t data_at, data_size, data_check;
    uint64_t checkpoint_size; /* it follows the data frame */
    uint32_t number;
    uint64_t first_us, last_us, samples, samples_so_far;
    uint64_t record_bytes;
    size_t kept_at, kept_size; /* its records beside the samples, in kept */
    uint32_t frame_end;        /* its records name frames below this id */
    bool lost;                 /* its data frame is damaged */
} pf_segment;

/* Samples that were lost from one time to another. */
typedef struct pf_gap {
    uint64_t from_us, to_us;
    uint64_t samples; /* at least */
    bool counted;     /* samples is exact */
} pf_gap;

struct pf_reader {
    pf_input in;
    pf_budget budget;
    bool swapped;
    pf_header header;
    bool header_known; /* a checksum or a copy proves it right */
    pf_info info;

    pr_err fault;     /* the first damage, else the first cut */
    bool fault_total; /* its text names the loss */

    pf_names names;

    /* a file with checkpoints */
    pf_segment *segment; /* in order of number */
    size_t n_segments, segment_cap;
    pf_buf kept; /* typed records of the segments, as in the file (5.3) */
    bool index_known;
    pf_index index;
    bool index_traces;         /* the file holds the last bytes of an index */
    uint64_t expected_samples; /* by index or header; UINT64_MAX: not known */

    uint64_t missing; /* segments without a whole checkpoint, if counted */
    pf_gap *gap;      /* in order of time */
    size_t n_gaps, gap_cap;

    /* a file of CPython: the samples lie in [64, region_end) */
    uint64_t region_end;
    pf_footer footer; /* of a finished file */

    pf_reader_stats stats; /* of the last replay */
};

/* Note a fault, PR_CUT or PR_DAMAGED.  The reader keeps the first damage, or
 * without damage the first cut. */
void pf_fault_add(pf_reader *r, pr_code code, uint64_t offset,
                  const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Note samples that are lost.  PR_LIMIT, PR_NOMEM. */
pr_code pf_gap_add(pf_reader *r, const pf_gap *gap, pr_err *err);

/* Set *ret to the number of lost samples, as far as it is known; false: it may
 * be larger. */
bool pf_gaps_sum(const pf_reader *r, uint64_t *ret);

/* Parse the header from its bytes, in the reader's byte order. */
void pf_header_parse(pf_reader *r, const uint8_t *bytes);

/* Copy *why to *err and return its code; `at` becomes the offset if it has
 * none. */
pr_code pf_fail_as(pr_err *err, const pr_err *why, uint64_t at);

/* Does the code end the reading?  An answer about damage does not. */
bool pf_is_hard(pr_code code);

#endif
