/*
 * checkpoint_pending.h - the content of the next checkpoint (spec/format.md
 * 5.3), and the tables of names, which the end of the file repeats.
 *
 * The lists hold the bytes that a checkpoint will have.
 */
#ifndef FORMAT_WRITE_CHECKPOINT_PENDING_H
#define FORMAT_WRITE_CHECKPOINT_PENDING_H

#include "format/bytes.h"
#include <base/hash_table.h>
#include <pyrec/error.h>
#include <pyrec/profile.h>

/* n entries, one after the other. */
typedef struct pf_list {
    uint64_t n;
    pf_buf items;
} pf_list;

/* A list whose first entries are in checkpoints already. */
typedef struct pf_known_list {
    pf_list all;
    uint64_t written;
    size_t written_bytes;
} pf_known_list;

typedef struct pf_counter {
    pf_ref ref;
    uint32_t kind;
    uint64_t value;
    bool known;   /* value was set */
    bool changed; /* since the last checkpoint */
} pf_counter;

typedef struct pf_pending {
    bool tables_only;      /* a plain file: there are no checkpoints */
    pf_known_list strings; /* of the whole profile */
    pf_list frames;
    pf_known_list threads, meta, processes;
    uint64_t described_at; /* bytes of the file at their last description */
    /* since the last checkpoint */
    pf_list new_frames; /* with first lines */
    pf_list gc, tasks, marks, rates;
    pf_counter *counter;
    size_t n_counters, cap_counters;
    pr_table counters;  /* (ref, kind) to counter */
    uint64_t counts_us; /* time of the newest value */
    uint32_t *changed;  /* counters */
    size_t n_changed, cap_changed;
} pf_pending;

void pf_pending_release(pf_pending *notes);

/* Take an entry for the next checkpoint.  PR_NOMEM; PR_LIMIT for an entry that
 * is too large for any checkpoint; PR_INTERNAL for an id that was not
 * emitted. */
pr_code pf_pending_string(pf_pending *notes, const char *bytes, size_t len,
                          pr_err *err);
pr_code pf_pending_frame(pf_pending *notes, const pr_frame *frame, pr_err *err);
pr_code pf_pending_process(pf_pending *notes, const pr_process *process,
                           pr_err *err);
/* ref: the name of the thread in records. */
pr_code pf_pending_thread(pf_pending *notes, pf_ref ref,
                          const pr_thread *thread, pr_err *err);
#define PF_LISTED_DECLARE(op, type) \
    pr_code pf_pending_##op(pf_pending *notes, const type *entry, pr_err *err);
PF_LISTED_MAP(PF_LISTED_DECLARE)
#undef PF_LISTED_DECLARE
pr_code pf_pending_meta(pf_pending *notes, const char *key, const char *value,
                        size_t len, pr_err *err);
pr_code pf_pending_count(pf_pending *notes, pf_ref ref, const pr_count *count,
                         pr_err *err);
pr_code pf_pending_gc(pf_pending *notes, const pr_gc_event *event, pr_err *err);
pr_code pf_pending_task(pf_pending *notes, pf_ref ref, const pr_task *task,
                        pr_err *err);
pr_code pf_pending_mark(pf_pending *notes, const pr_mark *mark, pr_err *err);

/* The size of the next checkpoint, roughly; 0: it would have nothing new. */
size_t pf_pending_weight(const pf_pending *notes);

/* Shall the checkpoint at byte `file_bytes` repeat the description of the
 * recording (spec/format.md 5.2)?  If so, the caller must put it. */
bool pf_pending_describe(pf_pending *notes, uint64_t file_bytes);

/* Put the records of names, then all other records; `all`: with the whole
 * description. */
void pf_pending_put_names(const pf_pending *notes, pf_buf *body);
void pf_pending_put_rest(const pf_pending *notes, bool all, pf_buf *body);

/* Note that the checkpoint is in the file: all entries so far are old. */
void pf_pending_written(pf_pending *notes);

/* Put a record of a body: type, length, count and entries. */
void pf_put_list(pf_buf *body, uint8_t type, const pf_list *list);
void pf_put_ref(pf_buf *body, pf_ref ref);

#endif
