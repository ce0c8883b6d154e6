/*
 * decode.h - decode records into deltas (spec/format.md 4.2, 5.1).
 *
 *  D1 A record becomes one delta, or as many as its run needs; the decoder
 *     keeps nothing of a record but its thread's stack and time.
 *  D2 Records come in pieces.  A record that a piece cuts is left for the next
 *     piece; a run that it cuts goes on there.
 *  D3 Samples outside the wanted time change the stack and are not emitted,
 *     besides the next one that with_next wants; the next emitted delta holds
 *     all changes since the last emitted one.
 *  D4 The decoder keeps a thread's stack between segments: a segment that
 *     begins with the stack that the thread had emits no change.
 *  D5 A clock that steps back, in a file of CPython, stands still until it has
 *     caught up: a sample has at least the time of the sample before it.
 */
#ifndef FORMAT_READ_DECODE_H
#define FORMAT_READ_DECODE_H

#include "format/read/symbols.h"
#include <pyrec/reader.h>

/* The state of one thread. */
typedef struct pf_track {
    uint64_t time_us; /* of its last sample */
    uint32_t *stack;  /* innermost first, at the end of [cap] */
    size_t cap;
    uint32_t depth;
    uint32_t emitted; /* outermost frames that are also on the sink's stack */
    uint32_t epoch;   /* the last segment that names the thread */
    bool fresh;       /* no record of it in this segment so far */
    bool awaits;      /* no sample follows the last one that was emitted */
    uint64_t debt;    /* time_us less the time of a clock that stepped back */
} pf_track;

/* The thread of a ref, as last looked up in segment `epoch`. */
typedef struct pf_recent {
    pf_ref ref;
    uint32_t thread, epoch;
} pf_recent;

typedef struct pf_decoder {
    pr_sink *sink;
    pf_names *names;
    uint64_t from_us, to_us;
    bool with_next; /* emit the first sample after them as well */
    bool learn;     /* no checkpoint names threads: emit them as they appear */

    pf_track *track; /* [n_tracks], by the thread's number */
    size_t n_tracks, track_cap;
    uint32_t epoch;
    uint32_t frame_limit; /* ids below it are their own numbers */
    uint32_t frame_end;   /* records of this segment name ids below it */
    uint32_t depth_max;   /* frames of a stack */

    pf_recent *recent; /* by hash: most records find their thread here */
    uint64_t *time_us; /* [PF_RUN_MAX] of the samples that are emitted next */
    uint8_t *status;   /* [PF_RUN_MAX] */

    uint32_t threads_emitted;

    uint32_t thread;   /* of the last record */
    uint64_t run_left; /* samples of its run that are still to be decoded */

    uint64_t moved; /* samples whose clock had stepped back */

    /* of this segment */
    uint64_t samples, first_us, last_us;
    uint32_t bases, entered; /* threads named, and those with a record */

    bool sink_failed; /* the code is the sink's: stop */
    uint64_t emitted; /* samples in the wanted time */
    uint64_t records[PF_POP_PUSH + 1];
    pf_reader_stats stats; /* all but the counts by kind of record */
} pf_decoder;

pr_code pf_decoder_init(pf_decoder *d, pr_sink *sink, pf_names *names,
                        bool learn, pr_err *err);
void pf_decoder_release(pf_decoder *d);

/* Begin a segment, whose records name frames below frame_end.
 * pf_decoder_base() names each of its threads first, unless d->learn. */
void pf_decoder_begin(pf_decoder *d, uint32_t frame_end);
pr_code pf_decoder_base(pf_decoder *d, pf_ref ref, uint64_t base_us,
                        pr_err *err);

/* Decode the records of a piece.  *ret_used is the number of bytes decoded,
 * less than all only if `more` says that another piece follows.  PR_DAMAGED
 * (err's offset is from the start of the piece), PR_LIMIT, PR_NOMEM, or the
 * sink's code with sink_failed. */
pr_code pf_decoder_piece(pf_decoder *d, pf_cur piece, bool more,
                         size_t *ret_used, pr_err *err);

/* End the segment after its last record.  PR_DAMAGED: a thread has a base and
 * no record. */
pr_code pf_decoder_end(const pf_decoder *d, pr_err *err);

#endif
