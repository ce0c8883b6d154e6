/*
 * suspension.c - /proc and the clocks (suspension.h).
 */
#include "recorder/linux/suspension.h"

#include "recorder/linux/cgroup.h"
#include "recorder/linux/clock.h"
#include "recorder/linux/procfs.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    SUSPENDED_LEAST_NS = 10000000 /* clocks that are adjusted differ by less */
};

/* ---- the machine ---- */

rec_clock_gap
rec_clock_gap_of(uint64_t monotonic, uint64_t boot, uint64_t again)
{
    return (rec_clock_gap){boot > again ? boot - again : 0,
                           boot > monotonic ? boot - monotonic : 0};
}

uint64_t
rec_clock_suspended(const rec_clock_gap *then, const rec_clock_gap *now)
{
    if (now->least < then->most + SUSPENDED_LEAST_NS)
        return 0;
    return now->least - then->most;
}

rec_clock_gap
rec_clock_gap_read(void)
{
    uint64_t monotonic = rec_clock_ns(CLOCK_MONOTONIC);
    uint64_t boot = rec_clock_ns(CLOCK_BOOTTIME);
    return rec_clock_gap_of(monotonic, boot, rec_clock_ns(CLOCK_MONOTONIC));
}

/* ---- the target: stopped ---- */

static bool
is_stopped(char state)
{
    return state == 'T' || state == 't';
}

/* Some threads may have ended before the others were stopped. */
static bool
all_stopped(pid_t pid)
{
    char path[32];
    pid_t *tids;
    size_t n;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    if (rec_procfs_numbers(path, &tids, &n, NULL) != PR_OK)
        return false;
    size_t stopped = 0;
    bool moves = false;
    for (size_t i = 0; i < n && !moves; i++) {
        rec_stat stat;
        if (!rec_stat_read(pid, tids[i], &stat) || rec_stat_ended(stat.state))
            continue;
        moves = !is_stopped(stat.state);
        stopped += !moves;
    }
    free(tids);
    return stopped > 0 && !moves;
}

const char *
rec_is_suspended(pid_t pid)
{
    rec_stat stat;
    if (!rec_stat_read(pid, 0, &stat) || stat.state == 'R')
        return NULL;
    /* its first thread may have ended: then the others decide */
    if ((is_stopped(stat.state) || stat.state == 'Z') && all_stopped(pid))
        return stat.state == 't' ? "stopped by a debugger"
                                 : "stopped by a signal";
    return rec_cgroup_is_frozen(pid) ? "frozen" : NULL;
}
