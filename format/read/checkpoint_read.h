/*
 * checkpoint_read.h - read a checkpoint's frame and the typed records of its
 * body (spec/format.md 5.2, 5.3).
 */
#ifndef FORMAT_READ_CHECKPOINT_READ_H
#define FORMAT_READ_CHECKPOINT_READ_H

#include "format/bytes.h"
#include "format/read/budget.h"

#include <pyrec/error.h>

/* The head of a checkpoint; its frame owns the bytes of `stored`. */
typedef struct pf_checkpoint {
    uint32_t number;
    uint64_t first_check; /* checksum of checkpoint 0; 0 in itself */
    uint64_t data_size, data_check;
    uint64_t check; /* of this frame */
    const uint8_t *stored;
    size_t stored_size;
    size_t body_size; /* decoded */
    bool packed;      /* the stored body is one zstd frame */
    bool newer_rewriter;
} pf_checkpoint;

/* The length of a whole skippable frame from its first bytes, at least
 * PF_CHECKPOINT_SIZE; 0 if they do not begin a checkpoint. */
uint64_t pf_checkpoint_length(const uint8_t *start);

/* Check a whole skippable frame of n bytes.  PR_FOREIGN, PR_DAMAGED, PR_NEWER
 * in the order of 5.2. */
pr_code pf_checkpoint_check(const uint8_t *frame, size_t n, bool swapped,
                            pf_checkpoint *ret, pr_err *err);

/* A cursor over the decoded body: the frame's own bytes, or *scratch, which
 * grows.  PR_DAMAGED; PR_LIMIT beyond the budget. */
pr_code pf_checkpoint_body(const pf_checkpoint *checkpoint, bool swapped,
                           const pf_budget *budget, pf_buf *scratch,
                           pf_cur *ret, pr_err *err);

/* SPAN */
typedef struct pf_span {
    uint64_t first_us, last_us;
    uint64_t samples, samples_so_far, threads_so_far;
    uint64_t record_bytes;
} pf_span;

/* Calls with the entries of a body; an entry whose call is NULL is checked and
 * dropped.  Pointers are valid for the call.  A ref is the thread or the
 * process of a count or task, and replaces the fields thread and process of the
 * struct. */
typedef struct pf_checkpoint_ops {
    /* n entries of STRINGS or FRAMES follow, from id `first` on */
    pr_code (*strings)(void *, uint32_t first, uint32_t n, pr_err *);
    pr_code (*frames)(void *, uint32_t first, uint32_t n, pr_err *);
    pr_code (*string)(void *, uint32_t id, const char *, size_t, pr_err *);
    pr_code (*frame)(void *, uint32_t id, const pr_frame *, pr_err *);
    pr_code (*base)(void *, pf_ref, uint64_t base_us, pr_err *);
    pr_code (*span)(void *, const pf_span *, pr_err *);
    pr_code (*header)(void *, const uint8_t *bytes, pr_err *);
    pr_code (*process)(void *, const pr_process *, pr_err *);
    pr_code (*thread)(void *, pf_ref, const pr_thread *, pr_err *);
#define PF_LISTED_OP(op, type) pr_code (*op)(void *, const type *, pr_err *);
    PF_LISTED_MAP(PF_LISTED_OP)
#undef PF_LISTED_OP
    pr_code (*meta)(void *, const pr_pair *, pr_err *);
    pr_code (*count)(void *, pf_ref, const pr_count *, pr_err *);
    pr_code (*gc)(void *, const pr_gc_event *, pr_err *);
    pr_code (*task)(void *, pf_ref, const pr_task *, pr_err *);
    pr_code (*mark)(void *, const pr_mark *, pr_err *);
    /* each record with its bytes, after its entries */
    pr_code (*record)(void *, uint8_t type, const uint8_t *, size_t, pr_err *);
} pf_checkpoint_ops;

/* Walk the records.  PR_NEWER for an unknown critical record, PR_DAMAGED for a
 * record or entry that breaks a rule, PR_NOMEM, or the code of a call. */
pr_code pf_checkpoint_walk(pf_cur body, const pf_checkpoint_ops *ops,
                           void *context, pr_err *err);

#endif
