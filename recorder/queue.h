/*
 * queue.h - a bounded queue between the sampler and one encoder thread.
 *
 * The queue is a sink.  It keeps each call in a ring of bytes, and a thread of
 * its own repeats the calls, in the same order, to another sink, so that
 * sampling never waits for compression or for the disk.
 *
 * Threads   one producer at a time: the calls of the sink may come from
 *           several threads if they hand over with a lock or a semaphore.
 * Full      the sampler calls rec_queue_free() first and leaves the tick out
 *           when there is too little room.  A call that finds no room all the
 *           same (thousands of new names in one tick) waits for the encoder.
 * Failure   every later call of this sink returns the first failure of the
 *           other one; the queue throws away the messages still in the ring.
 */
#ifndef RECORDER_QUEUE_H
#define RECORDER_QUEUE_H

#include <pyrec/error.h>
#include <pyrec/sink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called for each rec_queue_tick(): time passed, with or without samples. */
typedef pr_code (*rec_queue_idle)(pr_sink *out, uint64_t now_us, pr_err *err);

/* A ring of `bytes` (rounded up to a power of two, at least 64 KiB). */
pr_code rec_queue_new(size_t bytes, pr_sink **ret, pr_err *err);

/* Start the encoder thread.  finish() and abort() of the queue, after all
 * earlier calls have been repeated, do the same to `out`; after a failure `out`
 * is aborted.  Before rec_queue_start() a queue may only be aborted. */
pr_code rec_queue_start(pr_sink *queue, pr_sink *out, rec_queue_idle idle,
                        pr_err *err);

/* Bytes of calls that the queue can take now without waiting. */
size_t rec_queue_free(const pr_sink *queue);
size_t rec_queue_size(const pr_sink *queue);

/* The producer does not answer: finish() the output with the messages put so
 * far, or abort() it if it is not to be kept, and wait for that.  The ring
 * stays, since the producer may come back to it. */
pr_code rec_queue_end(pr_sink *queue, bool keep, pr_err *err);

/* The failure of the output, if it has failed. */
pr_code rec_queue_check(const pr_sink *queue, pr_err *err);

pr_code rec_queue_tick(pr_sink *queue, uint64_t now_us, pr_err *err);

#endif
