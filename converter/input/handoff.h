/*
 * handoff.h - a sink that passes samples to the next one in another thread.
 *
 * Decoding and what is made of the samples then take two processors.  Deltas
 * are copied into batches; every other call waits until the other thread has
 * passed on all of them and is made by the caller's: so the next sink is
 * called in the same order, and by one thread at a time.  The first full batch
 * starts the thread: a short profile has none.
 *
 * Failure  a later call returns the first failure of the next sink's delta();
 *          the deltas after it are dropped.
 */
#ifndef CONVERTER_INPUT_HANDOFF_H
#define CONVERTER_INPUT_HANDOFF_H

#include <pyrec/sink.h>

/* *ret forwards to `next`, which its finish() and abort() end.  PR_NOMEM, and
 * `next` is as it was. */
pr_code conv_handoff_new(pr_sink *next, pr_sink **ret, pr_err *err);

#endif
