/*
 * merge.h - a sink that merges several profiles into one.
 *
 * The sink gets one start() for each input.  Equal names, frames and threads
 * get one id; times move to the common start; counters add up; a key of
 * metadata keeps the value of the first input.
 */
#ifndef CONVERTER_INPUT_MERGE_H
#define CONVERTER_INPUT_MERGE_H

#include <pyrec/sink.h>
#include <stdbool.h>

typedef struct conv_merge conv_merge;

/* several: the inputs are of more than one process, so the metadata of one does
 * not describe all.
 * one_namespace: the output identifies threads by (interpreter, id) alone, as a
 * file of CPython does, so no two processes may share such a pair. */
pr_code conv_merge_new(pr_sink *next, bool several, bool one_namespace,
                       conv_merge **ret, pr_err *err);
pr_sink *conv_merge_sink(conv_merge *merge);

/* Prepare the replay of an input: its time 0 is shift_us on the common clock,
 * and its process has the number `process`.  apart: its processes differ from
 * those of other inputs, whatever their pids.  The replay fails with
 * PR_INCOMPARABLE for another mode, or samples of one thread that overlap in
 * time. */
void conv_merge_next(conv_merge *merge, uint64_t shift_us, uint32_t process,
                     bool apart);

#endif
