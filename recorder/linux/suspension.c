/*
 * suspension.c - /proc and the clocks (suspension.h).
 */
#include "recorder/linux/suspension.h"

#include "recorder/linux/clock.h"
#include "recorder/linux/procfs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUSPENDED_LEAST_NS = 10000000, /* clocks that are adjusted differ by less */
    CGROUP_TEXT = 4096
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

/* ---- the target: frozen ---- */

static bool
file_says(const char *folder, const char *path, int len, const char *name,
          const char *word)
{
    char file[CGROUP_TEXT + 64], text[256];
    snprintf(file, sizeof file, "%s%.*s/%s", folder, len, path, name);
    return rec_procfs_read(file, text, sizeof text, NULL) &&
           strstr(text, word) != NULL;
}

/* A line of /proc/PID/cgroup: "0::PATH" in the one hierarchy of version 2,
 * "N:CONTROLLERS:PATH" in those of version 1. */
static bool
line_is_frozen(const char *line, int len)
{
    const char *path = memchr(line, '/', (size_t)len);
    if (!path)
        return false;
    int n = len - (int)(path - line);
    if (strncmp(line, "0::", 3) == 0)
        return file_says("/sys/fs/cgroup", path, n, "cgroup.events",
                         "frozen 1") ||
               file_says("/sys/fs/cgroup/unified", path, n, "cgroup.events",
                         "frozen 1");
    const char *freezer = strstr(line, ":freezer:");
    return freezer && freezer < path &&
           file_says("/sys/fs/cgroup/freezer", path, n, "freezer.state",
                     "FROZEN");
}

static bool
is_frozen(pid_t pid)
{
    char text[CGROUP_TEXT];
    if (!rec_procfs_of(pid, "cgroup", text, sizeof text, NULL))
        return false;
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        if (line_is_frozen(line, (int)len))
            return true;
        line += len + (line[len] == '\n');
    }
    return false;
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
    return is_frozen(pid) ? "frozen" : NULL;
}
