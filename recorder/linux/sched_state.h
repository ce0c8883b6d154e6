/*
 * sched_state.h - the kernel's facts on one thread: its runs, its sleep, and
 * its CPU.
 *
 * From /proc/PID/task/TID: schedstat (time on a CPU, time waiting for one,
 * times it was put on one; Linux, kernel/sched/stats.h, struct sched_info),
 * stat (state, CPU), status (switches away from a CPU).
 *
 * One thread at a time uses a rec_sched; different ones are independent.
 */
#ifndef RECORDER_LINUX_SCHED_STATE_H
#define RECORDER_LINUX_SCHED_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct rec_sched {
    int schedstat_fd, stat_fd, status_fd; /* or -1 */
    int keep_below; /* descriptors from here on are not kept open */
    uint64_t run_ns, wait_ns, n_runs; /* of the last read of schedstat */
    bool counted;                     /* the kernel counts runs */
    bool ran;     /* since the read of schedstat before the last one */
    bool asleep;  /* off every CPU, and it has not run since n_runs */
    char letter;  /* of its state at the last read */
    uint32_t cpu; /* its CPU, or the last one that it had */
} rec_sched;

/* The kernel's counts of a thread since it began. */
typedef struct rec_sched_times {
    uint64_t run_ns, wait_ns;        /* on a CPU; runnable, waiting for one */
    uint64_t voluntary, involuntary; /* switches away from a CPU */
} rec_sched_times;

void rec_sched_init(rec_sched *sched, int keep_below);
void rec_sched_release(rec_sched *sched);

typedef enum rec_sched_answer {
    REC_SCHED_KNOWN,
    REC_SCHED_UNCOUNTED, /* a kernel that does not count runs: it built no
                          * CONFIG_SCHED_INFO, or shows zeros */
    REC_SCHED_GONE       /* there is no such thread */
} rec_sched_answer;

/* Does process `pid` have thread `tid`? */
bool rec_sched_is_there(pid_t pid, pid_t tid);

/* Read schedstat of thread `tid` of process `pid`.  REC_SCHED_KNOWN: *ret_ran
 * is false only if the thread did not run since the last call.  Else *ret_ran
 * is true, and nothing is proven. */
rec_sched_answer rec_sched_ran(rec_sched *sched, pid_t pid, pid_t tid,
                               bool *ret_ran);

/* Read the letter of its state and its CPU.  The result holds until a call of
 * rec_sched_ran() finds that the thread ran.  False: the thread is gone. */
bool rec_sched_read(rec_sched *sched, pid_t pid, pid_t tid);

/* Read the letter alone.  A thread that is asleep and was woken has the letter
 * R before it runs: it is queued for a CPU.  False: the thread is gone. */
bool rec_sched_read_letter(rec_sched *sched, pid_t pid, pid_t tid);

/* Read the kernel's counts.  False: not known.  Changes no fact that a proof
 * rests on. */
bool rec_sched_times_read(rec_sched *sched, pid_t pid, pid_t tid,
                          rec_sched_times *ret);

#endif
