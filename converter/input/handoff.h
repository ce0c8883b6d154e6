/*
 * handoff.h - a sink that passes samples to the next one in another thread.
 *
 * The decoder and the next sink then use two processors.  The handoff copies
 * deltas into batches for the other thread.  For every other call it waits
 * until that thread has passed on all batches, and calls the next sink itself:
 * so the next sink gets its calls in the same order, and from one thread at a
 * time.  The first full batch starts the thread: a short profile has none.
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
