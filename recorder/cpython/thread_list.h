/*
 * thread_list.h - the interpreters and threads of the target, and the last
 * known state of each: the place of its stack, its frames, its status.
 *
 * A thread is the pair (interpreter, kernel thread), as in the file; thread
 * states come and go under it (PyGILState_Ensure makes one a call).
 */
#ifndef RECORDER_CPYTHON_THREAD_LIST_H
#define RECORDER_CPYTHON_THREAD_LIST_H

#include "recorder/cpython/counts.h"
#include "recorder/cpython/runtime.h"
#include "recorder/cpython/stack.h"
#include "recorder/cpython/thread_names.h"
#include "recorder/linux/process.h"
#include "recorder/linux/sched_state.h"

/* The words of one GIL at one moment. */
typedef struct rec_gil {
    uint64_t address; /* of struct _gil_runtime_state; 0: none */
    uint64_t holder;  /* the last thread state that had it */
    uint64_t switches;
    bool locked;
} rec_gil;

/* Pieces of a batch: an interpreter's own words, and those of its GIL. */
typedef struct rec_interp_words {
    size_t own, gil;
} rec_interp_words;

typedef struct rec_interp {
    uint64_t address;
    uint64_t threads_head, threads_main;
    uint64_t generation; /* of code objects */
    uint64_t gc_frame;   /* where a collection runs; 0: none does */
    rec_gil gil, last_gil;
    uint64_t witness;       /* rseq.cpu_id of a holder proven still; 0: none */
    rec_interp_words words; /* in the batch of rec_interps_add() */
    uint32_t id;
} rec_interp;

/* A thread state that no thread runs so far.  Its thread binds it without a
 * change of the list: native_thread_id shows that. */
typedef struct rec_unbound {
    uint64_t tstate;
    uint64_t said; /* its native_thread_id when it was listed */
    size_t piece;  /* that word, in the batch of rec_interps_add() */
} rec_unbound;

/* States that wait at one moment; a later one is seen at the next list. */
enum { REC_UNBOUND_MAX = 16 };

typedef struct rec_thread {
    uint64_t tstate;     /* 0: ended */
    uint64_t prev, next; /* its neighbours in the list */
    uint64_t pthread;
    uint64_t said;   /* native_thread_id of the thread state */
    uint64_t tid;    /* the kernel's, in the target's pid namespace: `said`
                    * unless the process was forked in C */
    pid_t host;      /* the kernel's, in our pid namespace; 0: no such thread */
    uint32_t interp; /* index in the table */
    uint32_t interp_id;
    bool is_main;
    uint64_t rseq; /* address of its rseq.cpu_id, or 0 */

    rec_sched sched;
    rec_sched_times seen;  /* when they were emitted last, if `timed` */
    rec_sched_times spent; /* since it was introduced */
    bool timed;
    uint64_t ran_us; /* when it was last seen to have run */

    rec_data_stack source;
    rec_code_set codes;          /* of its latest stacks */
    rec_stack stack;             /* as last seen */
    bool known;                  /* it was complete at that moment ... */
    bool proven;                 /* ... and that was proven */
    uint64_t anchor, anchor_seq; /* as written (anchor.h), or 0 */
    uint32_t omitted;            /* frames that the limit of depth left out */
    bool wanted;                 /* to be sampled in this tick */
    size_t listed_at; /* 1 + its place in the list being read; 0: none */
    bool vanished;    /* the kernel has no thread with its id: nothing that the
                       * state holds is a sample */
    bool dead; /* still vanished at the next list: a leftover, lost once */
    uint8_t status;

    uint32_t shared;  /* outermost frames that `stack` and the sink share */
    uint32_t sink_id; /* PR_NO_THREAD: not emitted so far */
    size_t ended_at;  /* 1 + its place among the ended; 0: none */
    bool left;        /* its end was emitted */
    char *name;       /* as emitted; owned */
    size_t name_len;
    uint32_t bound_in; /* the listing that found its state */
    uint64_t named_us; /* next read of its name; 0: not set, MAX: done */
    bool pending;      /* unchanged samples not emitted so far, from ... */
    size_t pending_from;
    uint64_t last_us;
    rec_counts counts;
} rec_thread;

/* The record of a thread that ended: if its pair comes again, its samples and
 * counts go on from there. */
typedef struct rec_ended {
    uint64_t tid;
    uint32_t interp_id, sink_id;
    uint32_t count[REC_COUNTS];
} rec_ended;

typedef struct rec_threads_table {
    const rec_process *process;
    const rec_runtime *runtime;
    rec_memory *memory;
    rec_interp *interp; /* newest first */
    size_t n_interps, cap_interps;
    size_t newest;    /* the word that leads to it, in the batch of
                    * rec_interps_add() */
    rec_thread **all; /* those that live, and some that ended; owned */
    size_t n_all, cap_all;
    rec_ended *ended; /* the others that did */
    size_t n_ended, cap_ended;
    pr_table ended_by_key;   /* (interpreter, tid) -> ended */
    rec_counts ended_counts; /* their sum */
    rec_thread **live;       /* those in the lists at the last read */
    size_t n_live, cap_live;
    rec_unbound unbound[REC_UNBOUND_MAX];
    size_t n_unbound;
    int keep_below;     /* of each thread */
    pr_table by_key;    /* (interpreter, tid) -> all */
    pr_table by_tstate; /* -> live */
    uint32_t listings;  /* so far */
    rec_thread_names names;
    uint32_t named_in; /* the listing before `names` was loaded */
    rec_batch batch;
} rec_threads_table;

pr_code rec_threads_init(rec_threads_table *table, const rec_process *process,
                         const rec_runtime *runtime, rec_memory *memory,
                         pr_err *err);
void rec_threads_release(rec_threads_table *table);

/* Forget all threads: the process runs another program now. */
void rec_threads_forget(rec_threads_table *table);

/* List all interpreters and threads anew.  PR_TORN: they changed meanwhile;
 * the table is as it was. */
pr_code rec_threads_list(rec_threads_table *table, pr_err *err);

/* The same, tried again a few times while they change. */
pr_code rec_threads_list_patiently(rec_threads_table *table, pr_err *err);

/* If more threads have ended than live, keep only a rec_ended of each ended
 * one.  Their counts must have been emitted.  False: out of memory; the others
 * stay as they are. */
bool rec_threads_pack(rec_threads_table *table);

/* The live thread of a thread state, or NULL. */
rec_thread *rec_threads_find(const rec_threads_table *table, uint64_t tstate);

/* Give *ret the name that threading has for the thread, or the kernel's of at
 * most 15 bytes, or "" if it has ended; the caller frees it.  threading is read
 * once a second at most.  False: out of memory. */
bool rec_threads_name(rec_threads_table *table, const rec_thread *thread,
                      char **ret, size_t *ret_len);

/* Add to the batch the words of all interpreters that change from tick to
 * tick, and those of unbound thread states. */
void rec_interps_add(rec_threads_table *table, rec_batch *batch);
/* Parse them after the read.  False: they differ from the listed ones, and the
 * caller lists again. */
bool rec_interps_parse(rec_threads_table *table, const rec_batch *batch);

/* The same for interpreter `i` alone, in a batch of its own. */
void rec_interp_add(const rec_threads_table *table, size_t i, rec_batch *batch,
                    rec_interp_words *ret);
bool rec_interp_parse(rec_threads_table *table, size_t i,
                      const rec_batch *batch, const rec_interp_words *words);

/* Does the thread state read still belong to this thread? */
bool rec_thread_matches(const rec_thread *thread, const rec_layout *layout,
                        const uint8_t *tstate);

#endif
