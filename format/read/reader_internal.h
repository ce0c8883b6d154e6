/*
 * reader_internal.h - an opened profile file: where its parts are, what it names, and
 * what is wrong with it.
 */
#ifndef FORMAT_READ_READER_INTERNAL_H
#define FORMAT_READ_READER_INTERNAL_H

#include "format/read/end_read.h"
#include "format/read/symbols.h"
#include <pyrec/reader.h>

/* The header's fields (4.1), as they are. */
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

struct pf_reader {
    pf_input in;
    bool swapped;
    pf_header header;
    bool header_known; /* by the index or by HEADER: worth believing */
    pf_info info;

    /* the worst that was found: the first damage, else the first cut */
    pr_err fault;

    pf_names names;

    /* a file with checkpoints */
    uint64_t family; /* checksum of its first one */
    bool family_known;
    pf_segment *segment;
    size_t n_segments, segment_cap;
    pf_index index;    /* of a finished one; its segments moved to `segment` */
    bool index_traces; /* met what ends as an index does, whole or not */

    /* a file of CPython: the samples lie in [64, region_end) */
    uint64_t region_end;
    pf_footer footer; /* of a finished file */

    pf_reader_stats stats; /* of the last replay */
};

/* Note what is wrong: PR_CUT or PR_DAMAGED.  Damage hides a cut. */
void pf_fault_add(pf_reader *r, pr_code code, uint64_t offset,
                  const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The header from its bytes, in the reader's byte order. */
void pf_header_parse(pf_reader *r, const uint8_t *bytes);

#endif
