/*
 * cgroup.h - the control groups of a process, and their throttling of its CPU
 * time.
 *
 * Both versions of cgroups, at their usual mount points below /sys/fs/cgroup
 * (Documentation/admin-guide/cgroup-v2.rst, .../cgroup-v1/cgroups.rst).
 */
#ifndef RECORDER_LINUX_CGROUP_H
#define RECORDER_LINUX_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { REC_CGROUP_PATH = 4096 };

/* The path of a process's group, from /proc/PID/cgroup (`text`), in the
 * hierarchy of a controller of version 1, or in that of version 2 if
 * `controller` is NULL.  False: there is none, it is outside of pyrec's cgroup
 * namespace, or the path is too long. */
bool rec_cgroup_path(const char *text, const char *controller, char *to,
                     size_t size);

/* Is the group of the process frozen? */
bool rec_cgroup_is_frozen(pid_t pid);

/* A group's counts since it began: periods in which it had something to run,
 * those of them in which its quota was used up, and the time for which its
 * CPUs were therefore taken from it, summed over CPUs. */
typedef struct rec_bandwidth {
    uint64_t periods, throttled, throttled_us;
} rec_bandwidth;

/* The file cpu.stat of a group, and its counts when it was found. */
typedef struct rec_throttle {
    char *file; /* owned; NULL: none is known */
    rec_bandwidth first;
} rec_throttle;

/* Find the group that limits the CPU time of the process: the nearest with a
 * quota, from its own upwards, or else its own.  False: none is known, or no
 * memory. */
bool rec_throttle_open(pid_t pid, rec_throttle *ret);
void rec_throttle_release(rec_throttle *throttle);

/* The counts since rec_throttle_open().  False: they cannot be read. */
bool rec_throttle_read(const rec_throttle *throttle, rec_bandwidth *ret);

/* Parse the text of a cpu.stat.  False: it has no counts of throttling. */
bool rec_bandwidth_parse(const char *text, rec_bandwidth *ret);

#endif
