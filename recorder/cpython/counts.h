/*
 * counts.h - counters of samples and losses (pr_count_kind), in little memory:
 * a process may have had a hundred thousand threads.
 */
#ifndef RECORDER_CPYTHON_COUNTS_H
#define RECORDER_CPYTHON_COUNTS_H

#include <pyrec/profile.h>
#include <stdbool.h>

enum { REC_COUNTS = 24 };

typedef struct rec_counts {
    uint64_t value[REC_COUNTS];
    bool changed; /* something changed since they were emitted */
} rec_counts;

/* The kinds that are used, without the gaps between them. */
static const uint8_t rec_count_kinds[REC_COUNTS] = {
    PR_COUNT_PROVEN,          PR_COUNT_SLEEPING,      PR_COUNT_UNPROVEN,
    PR_COUNT_STOPPED,         PR_COUNT_LOST_TORN,     PR_COUNT_LOST_MOVED,
    PR_COUNT_LOST_MEMORY,     PR_COUNT_LOST_GONE,     PR_COUNT_LOST_OTHER,
    PR_COUNT_TICKS,           PR_COUNT_MISSED,        PR_COUNT_LATE,
    PR_COUNT_MISSED_QUEUE,    PR_COUNT_RETRIES,       PR_COUNT_HOPS,
    PR_COUNT_TRUNCATED,       PR_COUNT_DEGRADED,      PR_COUNT_GC_LOST,
    PR_COUNT_CHILDREN,        PR_COUNT_CHILDREN_GONE, PR_COUNT_SKIPPED_MODE,
    PR_COUNT_SKIPPED_THREADS, PR_COUNT_SKIPPED_ASYNC, PR_COUNT_SKIPPED_FRAMES};

/* The place of a kind. */
static inline unsigned
rec_count_place(pr_count_kind kind)
{
    unsigned k = (unsigned)kind;
    return k <= PR_COUNT_STOPPED      ? k
           : k <= PR_COUNT_LOST_OTHER ? k - PR_COUNT_LOST_TORN + 4
                                      : k - PR_COUNT_TICKS + 9;
}

static inline void
rec_count_add(rec_counts *counts, pr_count_kind kind, uint64_t n)
{
    counts->value[rec_count_place(kind)] += n;
    counts->changed = true;
}

/* Count a sample from which the limit of depth left out `frames` frames. */
static inline void
rec_count_omitted(rec_counts *counts, uint64_t frames)
{
    if (!frames)
        return;
    rec_count_add(counts, PR_COUNT_TRUNCATED, 1);
    rec_count_add(counts, PR_COUNT_SKIPPED_FRAMES, frames);
}

/* Set a count that another part keeps. */
static inline void
rec_count_set(rec_counts *counts, pr_count_kind kind, uint64_t value)
{
    uint64_t *at = &counts->value[rec_count_place(kind)];
    counts->changed = counts->changed || *at != value;
    *at = value;
}

static inline uint64_t
rec_count_get(const rec_counts *counts, pr_count_kind kind)
{
    return counts->value[rec_count_place(kind)];
}

#endif
