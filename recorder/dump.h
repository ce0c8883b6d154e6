/*
 * dump.h - the stacks of all threads at one moment, as text or JSON.
 *
 * The dump is a sink, which keeps the last stack of each thread, and writes all
 * of them at finish().  After one tick they are the state of the process.
 */
#ifndef RECORDER_DUMP_H
#define RECORDER_DUMP_H

#include <pyrec/unwinder.h>
#include <stdbool.h>
#include <stdio.h>

/* Sample the process until each thread was sampled or left out by an option,
 * within a bounded number of tries, and write it to `to`.  Codes as
 * rec_unwinder_open(). */
pr_code rec_dump_process(pid_t pid, const rec_unwinder_opts *opts, FILE *to,
                         bool json, pr_err *err);

/* The sink alone; `to` stays the caller's. */
pr_code rec_dump_new(FILE *to, bool json, pr_sink **ret, pr_err *err);

/* Set the facts about the process in the output. */
void rec_dump_set_target(pr_sink *dump, const rec_target *target);

/* Write one frame in the form of the output. */
void rec_dump_write_frame(const pr_sink *dump, uint32_t frame);

/* Was each thread sampled or left out by an option? */
bool rec_dump_is_whole(const pr_sink *dump);

#endif
