/*
 * capture.h - threads that run on several CPUs, read from all of them at once.
 *
 * A thread can be proven to stand still only from its own CPU.  When wanted
 * threads run on several CPUs, one thread that uses the unwinder prepares a
 * batch of reads for each of them; then a thread on each of these CPUs makes
 * the reads, at the same time as the others; then one thread judges the
 * captures.  Only rec_captures_read() may run in several threads at once: it
 * changes nothing but the captures of its CPU.
 */
#ifndef RECORDER_SAMPLE_CAPTURE_H
#define RECORDER_SAMPLE_CAPTURE_H

#include "recorder/sample/prove.h"

/* Prepare the reads of all wanted threads on the CPUs of the tick's list.
 * PR_OK or PR_NOMEM. */
pr_code rec_captures_prepare(rec_unwinder *unwinder, pr_err *err);

/* Make the reads of `cpu`, from a thread that is pinned to it. */
void rec_captures_read(rec_unwinder *unwinder, int cpu);

/* Sample each thread that provably stood still while it was read; the others
 * stay wanted.  Codes as rec_unwinder_tick(). */
pr_code rec_captures_judge(rec_unwinder *unwinder, pr_err *err);

void rec_captures_release(rec_program *program);

#endif
