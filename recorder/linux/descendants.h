/*
 * descendants.h - the processes that a process starts, and that those start.
 *
 * Two ways to see them.  Where the kernel lets us, it tells of every fork and
 * exec on the machine (the proc connector, linux/cn_proc.h): nobody of the
 * tree is missed, however short he lives and whoever adopts him.  Elsewhere
 * (containers, kernels without it) all processes are listed now and then: who
 * comes and goes between two looks is never seen.
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
    bool execed; /* it became another program; else: it was born */
} rec_descendant_event;

/* Begin to listen, so that a process may be started and not a child of it be
 * missed. */
pr_code rec_descendants_open(rec_descendants **ret, pr_err *err);
void rec_descendants_free(rec_descendants *children); /* takes NULL */

/* Whose children.  Those that live already are told by the next look. */
void rec_descendants_watch(rec_descendants *children, pid_t root);

/* A descriptor that becomes readable when there is something to look at; -1:
 * look every rec_descendants_every_ms(). */
int rec_descendants_fd(const rec_descendants *children);

/* Long enough for looking to cost at most a twentieth of a CPU; 0: the kernel
 * tells. */
int rec_descendants_every_ms(const rec_descendants *children);

/* What happened since the last look, in order; valid until the next.  PR_NOMEM
 * or why the processes cannot be listed. */
pr_code rec_descendants_look(rec_descendants *children,
                             const rec_descendant_event **ret, size_t *ret_n,
                             pr_err *err);

typedef struct rec_descendants_report {
    uint64_t seen;     /* born */
    uint64_t overruns; /* the kernel had more to tell than there was room */
    bool told;         /* by the kernel */
    int blind_ms;      /* not told: the longest time between two looks */
} rec_descendants_report;

rec_descendants_report rec_descendants_count(const rec_descendants *children);

#endif
