/*
 * sched_state.h - the kernel's word on one thread: did it run, is it asleep,
 * on which CPU is it?
 */
#ifndef RECORDER_LINUX_SCHED_STATE_H
#define RECORDER_LINUX_SCHED_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct rec_sched {
    int schedstat_fd, stat_fd, status_fd; /* or -1 */
    int keep_below;          /* descriptors from here on are not kept open */
    uint64_t run_ns, n_runs; /* of the last read of schedstat */
    bool ran;     /* since the read of schedstat before the last one */
    bool asleep;  /* off every CPU, and it has not run since n_runs */
    char letter;  /* of its state at the last rec_sched_read() */
    uint32_t cpu; /* its CPU, or the last one that it had */
} rec_sched;

void rec_sched_init(rec_sched *sched, int keep_below);
void rec_sched_release(rec_sched *sched);

/* Read schedstat of thread `tid` of process `pid`: *ret_ran is false only if
 * the thread did not run since the last call.  False: the thread is gone. */
bool rec_sched_ran(rec_sched *sched, pid_t pid, pid_t tid, bool *ret_ran);

/* Read the letter of its state and its CPU.  What this finds holds until a
 * call of rec_sched_ran() finds that the thread ran.  False: the thread is
 * gone. */
bool rec_sched_read(rec_sched *sched, pid_t pid, pid_t tid);

#endif
