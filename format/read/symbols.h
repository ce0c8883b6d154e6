/*
 * symbols.h - strings, frames, threads, metadata and counters of a file, from
 * its checkpoints and tables.
 *
 * The ids of a file may have holes: the names of a damaged checkpoint are lost.
 * So the reader numbers names by arrival for the sink, and finds an id of the
 * file in the ranges that arrived.
 */
#ifndef FORMAT_READ_SYMBOLS_H
#define FORMAT_READ_SYMBOLS_H

#include "format/read/checkpoint_read.h"
#include "format/read/meta_table.h"
#include "format/read/process_table.h"
#include "format/wire.h"
#include <base/hash_table.h>
#include <pyrec/sink.h>

typedef struct pf_id_range {
    uint32_t first, end; /* ids in the file */
    uint32_t at;         /* number of `first` by arrival */
} pf_id_range;

typedef struct pf_id_map {
    pf_id_range *range; /* in ascending order */
    size_t n, cap;
} pf_id_map;

typedef struct pf_symbols {
    pf_budget *budget;
    pf_buf text;      /* bytes of the strings */
    uint64_t *string; /* [n_strings] where each begins in text */
    uint32_t *length; /* [n_strings] */
    size_t n_strings, string_cap, length_cap;
    pf_id_map string_map;
    pr_frame *frame; /* [n_frames], with string ids of the file */
    size_t n_frames, frame_cap;
    pf_id_map frame_map;
    bool holes; /* a part of the file is lost, and may hold unknown ids */
} pf_symbols;

typedef struct pf_thread {
    pf_ref ref; /* as records name it */
    uint64_t tid;
    uint32_t interp;
    uint32_t process; /* by arrival */
    bool is_main;
    bool sampled;   /* a checkpoint names records of it */
    size_t name_at; /* in pf_names.thread_text */
    size_t name_len;
} pf_thread;

typedef struct pf_names {
    pf_budget *budget;
    pf_symbols symbols;

    pf_thread *thread; /* in order of arrival */
    size_t n_threads, thread_cap;
    size_t n_sampled; /* of them: those with records */
    pr_table thread_table;
    pf_buf thread_text;

    pf_processes processes;

    /* in order of the file; processes by arrival */
#define PF_LISTED_FIELD(op, type) \
    type *op;                     \
    size_t n_##op, op##_cap;
    PF_LISTED_MAP(PF_LISTED_FIELD)
#undef PF_LISTED_FIELD

    pf_metadata metadata;

    pr_count *count; /* in order of arrival */
    size_t n_counts, count_cap;
    pr_table count_table;
} pf_names;

/* Begin with no names but process 0.  PR_LIMIT, PR_NOMEM. */
pr_code pf_names_init(pf_names *names, pf_budget *budget, pr_err *err);
void pf_names_release(pf_names *names);

/* The calls of pf_checkpoint_ops with names; `names` is the pf_names.
 * PR_LIMIT, PR_NOMEM. */
pr_code pf_names_string(void *names, uint32_t id, const char *bytes, size_t len,
                        pr_err *err);
pr_code pf_names_frame(void *names, uint32_t id, const pr_frame *frame,
                       pr_err *err);
pr_code pf_names_process(void *names, const pr_process *process, pr_err *err);
#define PF_LISTED_DECLARE(op, type) \
    pr_code pf_names_##op(void *names, const type *entry, pr_err *err);
PF_LISTED_MAP(PF_LISTED_DECLARE)
#undef PF_LISTED_DECLARE
pr_code pf_names_thread(void *names, pf_ref ref, const pr_thread *thread,
                        pr_err *err);
pr_code pf_names_base(void *names, pf_ref ref, uint64_t base_us, pr_err *err);
pr_code pf_names_meta(void *names, const pr_pair *pair, pr_err *err);
/* The counter of the same thread or process and kind; NULL: none. */
const pr_count *pf_names_find_count(const pf_names *names,
                                    const pr_count *wanted);
pr_code pf_names_count(void *names, pf_ref ref, const pr_count *count,
                       pr_err *err);

/* Read the tables of a file into empty symbols.  PR_DAMAGED, PR_LIMIT,
 * PR_NOMEM. */
pr_code pf_symbols_from_tables(pf_symbols *symbols, pf_cur strings,
                               uint32_t n_strings, pf_cur frames,
                               uint32_t n_frames, pr_err *err);

/* Replace symbols that have holes by whole tables, and keep the first lines
 * that are known.  `tables` becomes empty. */
void pf_symbols_take_tables(pf_symbols *symbols, pf_symbols *tables);

/* The number of a thread, by arrival; PR_NO_THREAD if it is not known. */
uint32_t pf_names_find_thread(const pf_names *names, pf_ref ref);
/* The same, but a new thread gets the next number.  PR_LIMIT, PR_NOMEM. */
pr_code pf_names_add_thread(pf_names *names, pf_ref ref, uint32_t *ret,
                            pr_err *err);

/* Separate threads with one identity, which no writer makes: the later one gets
 * other upper bits of its tid.  *ret is the number of changed ones.
 * PR_NOMEM. */
pr_code pf_names_separate(pf_names *names, size_t *ret, pr_err *err);

/* The number by arrival of the process of a ref; a new process gets the next
 * number.  PR_LIMIT, PR_NOMEM. */
pr_code pf_names_process_of(pf_names *names, pf_ref ref, uint32_t *ret,
                            pr_err *err);

void pf_symbols_release(pf_symbols *symbols);

/* Do both have the same strings and frames, but for first lines? */
bool pf_symbols_equal(const pf_symbols *a, const pf_symbols *b);

/* The number by arrival of a frame of the file.  An id that did not arrive has
 * the number of the frame "<lost>" if there are holes, else UINT32_MAX. */
uint32_t pf_symbols_frame(const pf_symbols *symbols, uint32_t id);

/* Emit all strings and frames, in order of arrival. */
pr_code pf_symbols_emit(const pf_symbols *symbols, pr_sink *sink, pr_err *err);
/* Emit one thread. */
pr_code pf_names_emit_thread(const pf_names *names, uint32_t thread,
                             pr_sink *sink, pr_err *err);

#endif
