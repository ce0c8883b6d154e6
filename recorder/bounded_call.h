/*
 * bounded_call.h - a call that the kernel may hold for ever, and that does not
 * hold its caller.
 *
 * A read of another process's memory lasts until the page is there.  Where a
 * program or a file server provides the page (userfaultfd, FUSE, NFS), that may
 * be never.  Such a call runs on a thread of its own.  Once the time is over,
 * or a signal came, and that thread has made no progress for half a second, the
 * caller goes on without it; without such a reason after ten seconds.  A thread
 * that waits for a processor is never left.
 */
#ifndef RECORDER_BOUNDED_CALL_H
#define RECORDER_BOUNDED_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* The end that the caller wants. */
typedef struct rec_bound {
    int signal_fd;   /* once it is readable; -1: no signal is expected */
    uint64_t end_ns; /* CLOCK_MONOTONIC; UINT64_MAX: never */
} rec_bound;

/* A call; run() uses nothing that the caller changes meanwhile. */
typedef struct rec_job {
    void (*run)(void *context);
    void (*release)(void *context); /* after a run() that the caller left */
    void *context;
} rec_job;

/* Should the caller leave a call at now_ns?  end_ns: the end that the caller
 * wants (UINT64_MAX: none so far); moved_ns: the last progress of the call. */
bool rec_bound_is_over(uint64_t now_ns, uint64_t end_ns, uint64_t moved_ns);

/* Call run().  True: it has returned, and the context is the caller's.  False:
 * the kernel holds it; the context then belongs to the thread of run(), which
 * calls release() if run() ever returns.  If no thread can be made, the
 * caller's thread calls run(). */
bool rec_bounded_call(const rec_job *job, const rec_bound *bound);

#endif
