/*
 * foreign_stacks.h - the stacks of a foreign file, with the time that they
 * stand for, replayed as a profile.
 *
 * An import fills it; the converter then replays it into a sink, any number of
 * times.  A stack is a node of a tree; an entry is a stack of a thread with its
 * samples, its microseconds, or both.
 *
 * The replay spreads the samples of an entry over its time, so that the real
 * time of spec/convert.md 4.1 gives back the entry's microseconds: no two
 * samples are more than two intervals apart, and the last sample of a thread
 * stands for one interval.
 *
 * A file that has sums of functions in place of stacks has totals and no entry.
 *
 * Limits     a stack or a sample beyond them is PR_LIMIT: the frames of all
 *            stacks together 256 for each byte of the file (at least
 *            16777216), 1000000000 samples.
 * Ownership  texts are copied.
 */
#ifndef CONVERTER_IMPORT_FOREIGN_STACKS_H
#define CONVERTER_IMPORT_FOREIGN_STACKS_H

#include <pyrec/sink.h>
#include <stdbool.h>

typedef struct conv_stacks conv_stacks;

/* Facts about the whole file.  In a file without facts all are zero but
 * mode. */
typedef struct conv_stacks_facts {
    uint64_t interval_us; /* 0: from the entries, if they have it */
    uint64_t assumed_us;  /* the interval if neither has it */
    uint64_t wall_us;     /* clock at time 0, since 1970; 0 not known */
    pr_mode mode;
    bool is_totals; /* it has totals in place of stacks */
    bool in_time;   /* entries of a thread come in the order of time, and all
                   * threads begin together */
} conv_stacks_facts;

/* A line of a function; lines as in pr_frame. */
typedef struct conv_place {
    pr_text file, function;
    int32_t line, end_line, column, end_column, first_line;
} conv_place;

/* A place without lines, of that file and function: a synthetic frame. */
#define CONV_PLACE(file, function)                                            \
    {                                                                         \
        (file), (function), PR_NO_LINE, PR_NO_LINE, PR_NO_LINE, PR_NO_LINE, 0 \
    }

/* A thread; (pid, interp, tid) identify it. */
typedef struct conv_owner {
    uint64_t pid; /* 0: not known */
    uint64_t tid;
    uint32_t interp;
    pr_text name;    /* empty: not known */
    pr_text command; /* of the process; empty: not known */
} conv_owner;

typedef struct conv_entry_value {
    uint64_t n;  /* samples; 0: from the time */
    uint64_t us; /* 0: from the samples */
    uint8_t status;
} conv_entry_value;

/* Make empty stacks.  kind: the name of the import, static.  PR_NOMEM. */
pr_code conv_stacks_new(const char *kind, uint64_t file_bytes,
                        conv_stacks **ret, pr_err *err);
void conv_stacks_free(conv_stacks *stacks); /* takes NULL */

/* ---- fill: PR_NOMEM or PR_LIMIT ---- */

pr_code conv_stacks_meta(conv_stacks *stacks, const char *key, pr_text value,
                         pr_err *err);
pr_code conv_stacks_frame(conv_stacks *stacks, const conv_place *place,
                          uint32_t *ret, pr_err *err);
pr_code conv_stacks_thread(conv_stacks *stacks, const conv_owner *owner,
                           uint32_t *ret, pr_err *err);

/* The stack of `parent` (0: the empty one) with one more frame on top. */
pr_code conv_stacks_child(conv_stacks *stacks, uint32_t parent, uint32_t frame,
                          uint32_t *ret, pr_err *err);
uint32_t conv_stacks_parent(const conv_stacks *stacks, uint32_t node);
uint32_t conv_stacks_top(const conv_stacks *stacks, uint32_t node); /* frame */

/* An entry without samples and time is left out. */
pr_code conv_stacks_add(conv_stacks *stacks, uint32_t thread, uint32_t node,
                        const conv_entry_value *value, pr_err *err);
/* Add time in which the thread was not observed. */
pr_code conv_stacks_gap(conv_stacks *stacks, uint32_t thread, uint64_t us,
                        pr_err *err);

/* Add sums, whose frames are ids of conv_stacks_frame(). */
pr_code conv_stacks_total(conv_stacks *stacks, const pr_total *total,
                          pr_err *err);

/* End the filling, once and before any function below.  PR_LIMIT. */
pr_code conv_stacks_finish(conv_stacks *stacks, const conv_stacks_facts *facts,
                           pr_err *err);

/* ---- read ---- */

bool conv_stacks_is_totals(const conv_stacks *stacks);
const pr_start *conv_stacks_start(const conv_stacks *stacks);
uint64_t conv_stacks_samples(const conv_stacks *stacks);
uint64_t conv_stacks_length_us(const conv_stacks *stacks);
/* The i-th process, at least one; NULL past the end. */
const pr_process *conv_stacks_process(const conv_stacks *stacks, size_t i);

/* As in pf_replay_opts. */
typedef struct conv_stacks_opts {
    uint64_t from_us, to_us;
    bool with_next;
    pr_progress progress;
} conv_stacks_opts;

/* Emit the samples that the options choose, from start() to stats(), without
 * finish(); *ret_samples of them lie in the range.  PR_USAGE for a part of the time unless
 * entries are in the order of time; or the sink's code. */
pr_code conv_stacks_replay(conv_stacks *stacks, const conv_stacks_opts *opts,
                           pr_sink *sink, uint64_t *ret_samples, pr_err *err);

#endif
