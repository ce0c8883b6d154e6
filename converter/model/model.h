/*
 * model.h - the profile for targets: names, a tree of stacks, runs.
 *
 * The model is a sink.  It interns names by content, keeps every distinct
 * stack as a node of an append-only tree, and for each thread a compact log of
 * its runs.  A node needs 8 bytes, and a slot of 4.6 to 9.2 bytes unless it was
 * made directly after its parent.
 *
 * Invariants
 *  M1 ids of strings, functions, frames, nodes and threads are given in order
 *     of first appearance and never change.
 *  M2 a parent's id is less than its children's; node 0 is the empty stack.
 *  M3 two nodes differ in parent or frame; two frames differ in content at the
 *     model's level.
 *  M4 the runs of a thread are in time order; consecutive ones differ in node
 *     or status, or a sample between them was left out.
 *
 * Ownership  conv_model_new() makes a sink for the caller.  The model lives on
 *            after finish() and abort(), until conv_model_free().
 */
#ifndef CONVERTER_MODEL_MODEL_H
#define CONVERTER_MODEL_MODEL_H

#include "converter/model/stated.h"

#include <pyrec/convert.h>

/* Two functions are the same if all three fields are. */
typedef struct conv_function {
    uint32_t file; /* string id */
    uint32_t name; /* string id: the qualified name */
    int32_t first_line;
} conv_function;

/* Below the model's level the fields are PR_NO_LINE and PR_NO_OPCODE. */
typedef struct conv_frame {
    uint32_t function;
    int32_t line, end_line, column, end_column;
    uint32_t opcode;
} conv_frame;

typedef struct conv_node {
    uint32_t parent, frame;
} conv_node;

typedef struct conv_model_run {
    uint64_t first_us, last_us; /* of its samples */
    uint64_t n;
    uint64_t weight_us; /* the time that they stand for */
    uint32_t node;
    uint8_t status;
} conv_model_run;

/* PR_COUNT_KINDS counters; ~0: not in the file. */
typedef struct conv_counts {
    uint64_t value[PR_COUNT_KINDS];
} conv_counts;
#define CONV_NO_COUNT UINT64_MAX

/* Texts are string ids; a number 0 or an empty text is not known. */
typedef struct conv_process {
    uint64_t pid, parent;
    uint64_t start_us, end_us; /* wall clock, since 1970 */
    uint32_t command, host;
    uint8_t python[3];
    conv_counts counts;
} conv_process;

typedef struct conv_thread {
    uint64_t tid;
    uint32_t process; /* index */
    uint32_t interp;
    uint8_t is_main;
    uint8_t named;
    uint32_t name; /* string id, if named */
    uint64_t samples, runs;
    uint64_t weight_us, unobserved_us;
    uint64_t first_us, end_us; /* of its first, and after its last sample */
    conv_counts counts;        /* those by proof may leave out samples in
                                * damaged parts of the file */
    uint8_t *log;              /* runs, see model.c */
    size_t n_log, cap_log;
} conv_thread;

/* A mark or a garbage collection; both happen to a process. */
typedef struct conv_event {
    bool is_gc;
    uint32_t process; /* index */
    uint32_t kind;    /* pr_mark_kind of a mark */
    uint64_t first_us, end_us;
    uint32_t text; /* string id; the text of a collection is a JSON object */
} conv_event;

/* From time_us on, samples of the process are interval_us apart. */
typedef struct conv_interval {
    uint32_t process; /* index */
    uint64_t time_us, interval_us;
} conv_interval;

typedef struct conv_task {
    uint64_t key, first_us;
    uint32_t thread;  /* PR_NO_THREAD: its thread has ended */
    uint32_t process; /* index */
    uint32_t name;    /* string id */
    size_t first_parent, n_parents;
} conv_task;

/* The limit of memory: ten times that of the largest profiles met so far. */
#define CONV_MODEL_MEMORY ((uint64_t)4 << 30)

typedef struct conv_model_opts {
    conv_level level;    /* CONV_LEVEL_DEFAULT: whole frames */
    conv_time time;      /* real, nominal or samples */
    bool no_first_lines; /* functions by file and name alone, as in CPython */
    bool used_order;     /* fill `used` */
    uint64_t memory;     /* bytes of stacks and runs; 0: CONV_MODEL_MEMORY */
} conv_model_opts;

typedef struct conv_model {
    pr_sink sink;
    conv_model_opts opts;
    pr_start start;
    pr_stats stats;
    pr_strings strings;
    pr_set functions;  /* conv_function */
    int32_t *min_line; /* [functions.n] least line seen; PR_NO_LINE none */
    size_t cap_min_line;
    pr_set frames; /* conv_frame */
    pr_list used;  /* frames in order of their first sample, innermost first
                    * within it; empty unless asked for */
    conv_node *nodes;
    size_t n_nodes, cap_nodes;
    uint32_t *slot;  /* hash of (parent, frame) to node, 0 free; NULL once the
                     * sink has ended */
    size_t n_slots;  /* a power of two */
    size_t n_placed; /* nodes that have a slot */
    conv_process *processes; /* at least one */
    size_t n_processes, cap_processes;
    conv_thread *threads;
    size_t n_threads, cap_threads;
    conv_counts counts; /* of all processes together, once it is finished */
    conv_event *events;
    size_t n_events, cap_events;
    conv_interval *intervals; /* changes, in order of arrival */
    size_t n_intervals, cap_intervals;
    conv_task *tasks;
    size_t n_tasks, cap_tasks;
    uint64_t *task_parents;
    size_t n_task_parents, cap_task_parents;
    pr_set meta_keys;    /* string ids */
    pr_list meta_values; /* [meta_keys.n] string ids */
    uint64_t memory;     /* bytes of stacks and runs */
    uint64_t samples;
    uint64_t weight_us, unobserved_us;
    bool is_totals; /* `stated` has sums in place of stacks and runs */
    conv_stated stated;
    bool has_tasks;    /* a frame is the name of a task */
    bool simultaneous; /* stacks of one thread at one moment: real time is
                        * then nominal, since no time lies between them */
    struct conv_model_input *input; /* while the sink lives */
} conv_model;

pr_code conv_model_new(const conv_model_opts *opts, conv_model **ret,
                       pr_err *err);
void conv_model_free(conv_model *model); /* takes NULL */

/* Note that a sample of the thread at that time is left out: the sample before
 * it stands for the time up to there. */
void conv_model_skip(void *model, uint32_t thread, uint64_t time_us);

static inline pr_sink *
conv_model_sink(conv_model *model)
{
    return &model->sink;
}

static inline const conv_function *
conv_model_function(const conv_model *model, uint32_t id)
{
    return (const conv_function *)model->functions.item + id;
}

static inline const conv_frame *
conv_model_frame(const conv_model *model, uint32_t id)
{
    return (const conv_frame *)model->frames.item + id;
}

/* Is the frame one of those without a place (<native>, <GC>)? */
bool conv_model_is_synthetic(const conv_model *model, uint32_t function);
/* Is it the name of an asyncio task between frames? */
bool conv_model_is_task(const conv_model *model, uint32_t function);

/* The line of the function: its first line, else its least line, else 0. */
int32_t conv_model_line_of(const conv_model *model, uint32_t function);

/* The metadata of that key; false: none. */
bool conv_model_meta(const conv_model *model, const char *key, pr_bytes *ret);

/* Are the counts of its totals calls?  Otherwise they are samples. */
bool conv_model_counts_calls(const conv_model *model);

/* The end of the recording: that of the last sample's time, or that in the
 * profile, if it is later. */
uint64_t conv_model_end_us(const conv_model *model);

/* (*ret)[node]: the number of frames of each stack.  The caller frees it. */
pr_code conv_model_depths(const conv_model *model, uint32_t **ret, pr_err *err);

/* The identity of a function in all files: XXH64 of the qualified name, seeded
 * with the XXH64 of the path and with the first line. */
uint64_t conv_model_function_hash(const conv_model *model, uint32_t function);

/* A walk over the runs of one thread, in the order of time. */
typedef struct conv_cursor {
    const uint8_t *at, *end;
    uint64_t time_us;
} conv_cursor;

void conv_cursor_init(conv_cursor *cursor, const conv_thread *thread);
bool conv_cursor_next(conv_cursor *cursor, conv_model_run *ret);

#endif
