/*
 * standstill.c - who stands still, by what /proc and the clocks say
 * (standstill.h).
 */
#include "recorder/standstill.h"

#include "recorder/clock.h"
#include "recorder/procfs.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    LOOK_EVERY_US = 100000,
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

static rec_clock_gap
read_clocks(void)
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
rec_stands_still(pid_t pid)
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

/* ---- watching ---- */

void
rec_standstill_init(rec_standstill *still, pid_t pid)
{
    *still = (rec_standstill){.pid = pid, .clocks = read_clocks()};
}

static pr_code
tell(pr_sink *sink, uint64_t from_us, uint64_t to_us, const char *text,
     pr_err *err)
{
    pr_mark mark = {PR_MARK_SUSPENDED, from_us, to_us, text, strlen(text)};
    return PR_SINK_CALL(sink, mark, &mark, err);
}

/* The samples' clock stood still as well: it is a moment of it. */
static pr_code
look_at_clocks(rec_standstill *s, uint64_t now_us, pr_sink *sink, pr_err *err)
{
    rec_clock_gap now = read_clocks();
    uint64_t ns = rec_clock_suspended(&s->clocks, &now);
    if (ns == 0)
        return PR_OK;
    s->clocks = now;
    s->spans.n++;
    s->spans.ns += ns;
    char text[64];
    snprintf(text, sizeof text, "the machine was suspended for %.1f s",
             (double)ns / 1e9);
    return tell(sink, now_us, now_us, text, err);
}

pr_code
rec_standstill_end(rec_standstill *s, pr_sink *sink, pr_err *err)
{
    if (!s->why)
        return PR_OK;
    const char *why = s->why;
    s->why = NULL;
    s->spans.n++;
    s->spans.ns += (s->to_us - s->from_us) * 1000;
    return tell(sink, s->from_us, s->to_us, why, err);
}

pr_code
rec_standstill_tick(rec_standstill *s, uint64_t now_us, pr_sink *sink,
                    pr_err *err)
{
    if (now_us < s->next_us)
        return PR_OK;
    s->next_us = now_us + LOOK_EVERY_US;
    pr_code code = look_at_clocks(s, now_us, sink, err);
    const char *why = rec_stands_still(s->pid);
    if (code == PR_OK && why != s->why)
        code = rec_standstill_end(s, sink, err);
    if (!why || code != PR_OK)
        return code;
    if (!s->why)
        s->from_us = now_us;
    s->why = why;
    s->to_us = now_us;
    return PR_OK;
}
