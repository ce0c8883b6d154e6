/*
 * descendants.h - the processes that a process starts, and those that they
 * start.
 *
 * There are two ways to see them.  Where the kernel permits it, it reports
 * every fork and exec on the machine (the proc connector, linux/cn_proc.h): no
 * process of the tree is missed, however short its life and whatever process
 * adopts it.  Elsewhere (containers, kernels without it) pyrec lists all
 * processes from time to time: it never sees a process that begins and ends
 * between two listings.
 */
#ifndef RECORDER_LINUX_DESCENDANTS_H
#define RECORDER_LINUX_DESCENDANTS_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct rec_descendants rec_descendants; /* opaque */

typedef struct rec_descendant_event {
    pid_t pid;
    bool execed; /* it executed a program; else: it was born */
} rec_descendant_event;

/* Begin to listen.  No child of a process that is started later is missed. */
pr_code rec_descendants_open(rec_descendants **ret, pr_err *err);
void rec_descendants_free(rec_descendants *children); /* takes NULL */

/* Set the root of the tree.  The next rec_descendants_check() reports the
 * descendants that live already. */
void rec_descendants_watch(rec_descendants *children, pid_t root);

/* A descriptor that becomes readable when there is something to poll; -1: poll
 * every rec_descendants_every_ms(). */
int rec_descendants_fd(const rec_descendants *children);

/* Long enough that the listings cost at most a twentieth of a CPU; 0: the
 * kernel reports events. */
int rec_descendants_every_ms(const rec_descendants *children);

/* The events since the last call, in order; valid until the next call.
 * PR_NOMEM, or why the processes cannot be listed. */
pr_code rec_descendants_check(rec_descendants *children,
                              const rec_descendant_event **ret, size_t *ret_n,
                              pr_err *err);

typedef struct rec_descendants_report {
    uint64_t seen;     /* born */
    uint64_t overruns; /* times that the kernel had more events than room */
    bool announced;    /* by the kernel */
    int blind_ms;      /* else: the longest time between two listings */
} rec_descendants_report;

rec_descendants_report rec_descendants_count(const rec_descendants *children);

#endif
