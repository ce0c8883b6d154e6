/*
 * merge.h - several profiles become one.
 *
 * A sink that is started once per input.  Equal names, frames and threads get
 * one id; times move to the common start; counters add up; of metadata the
 * first input's value stays.
 */
#ifndef CONVERTER_INPUT_MERGE_H
#define CONVERTER_INPUT_MERGE_H

#include <pyrec/sink.h>
#include <stdbool.h>

typedef struct conv_merge conv_merge;

/* several: the inputs are of more than one process, so the metadata of one is
 * not that of all.
 * one_namespace: the output knows threads by (interpreter, id) alone, as a file
 * of CPython does, so two processes must not have one in common. */
pr_code conv_merge_new(pr_sink *next, bool several, bool one_namespace,
                       conv_merge **ret, pr_err *err);
pr_sink *conv_merge_sink(conv_merge *merge);

/* Before an input is replayed: its time 0 on the common clock, the number of
 * its process, and whether its processes are other ones whatever their pids.
 * PR_INCOMPARABLE comes from its replay: another mode, or samples of one
 * thread that overlap in time. */
void conv_merge_next(conv_merge *merge, uint64_t shift_us, uint32_t process,
                     bool apart);

#endif
