/*
 * timetable.h - the times at which each process is recorded: once in every
 * window of time, at a moment of its own.
 *
 * Time is divided into windows of equal length.  A process is recorded in each
 * window once, at an offset that is a hash of the seed, the process and the
 * window: a fleet whose machines have different seeds does not pulse, and a
 * recorder that is started again knows which recordings are past without a
 * file that says so.
 *
 * Pure arithmetic: every call takes the time, so that days can be simulated.
 * Times are nanoseconds of CLOCK_REALTIME, which may be set forward or back:
 * the recordings go on in the window that then is.
 */
#ifndef RECORDER_TIMETABLE_H
#define RECORDER_TIMETABLE_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A pid alone repeats; with the start it does not. */
typedef struct rec_candidate {
    pid_t pid;
    uint64_t start; /* of the process, from /proc/PID/stat */
} rec_candidate;

typedef enum rec_slot_state {
    REC_SLOT_WAITS,
    REC_SLOT_RUNS,
    REC_SLOT_DONE
} rec_slot_state;

/* One process in one window. */
typedef struct rec_slot {
    rec_candidate process;
    uint64_t due_ns;
    rec_slot_state state;
} rec_slot;

typedef struct rec_timetable {
    uint64_t every_ns, for_ns, seed;
    unsigned at_once;    /* recordings at one time */
    uint64_t started_ns; /* of this recorder, or when the clock was set back
                          * before it: earlier slots are past */
    uint64_t window;     /* number of the present one */
    bool has_window;
    rec_slot *slot;
    size_t n, cap;
    unsigned running;
    uint64_t
        missed; /* slots that ended without a recording: too many at once */
} rec_timetable;

/* for_ns < every_ns.  Release in the end. */
rec_timetable rec_timetable_make(uint64_t every_ns, uint64_t for_ns,
                                 unsigned at_once, uint64_t seed,
                                 uint64_t now_ns);
void rec_timetable_release(rec_timetable *timetable);

/* Has a window begun whose processes are not known? */
bool rec_timetable_wants_processes(const rec_timetable *timetable,
                                   uint64_t now_ns);

/* Set the processes of the present window. */
pr_code rec_timetable_begin_window(rec_timetable *timetable,
                                   const rec_candidate *process, size_t n,
                                   uint64_t now_ns, pr_err *err);

/* Take the next recording that should begin now; it then counts as running. */
bool rec_timetable_take(rec_timetable *timetable, uint64_t now_ns,
                        rec_candidate *ret);
void rec_timetable_ended(rec_timetable *timetable, pid_t pid);

/* The next moment at which a call has something to do. */
uint64_t rec_timetable_wake_ns(const rec_timetable *timetable, uint64_t now_ns);

#endif
