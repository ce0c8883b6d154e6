/*
 * cgroup.c - /proc/PID/cgroup and the files of a group (cgroup.h).
 */
#include "recorder/linux/cgroup.h"

#include "recorder/linux/procfs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_TEXT = 1024 };

/* ---- the group of a process ---- */

/* Is `controller` one of the words between the two colons of a line? */
static bool
has_controller(const char *words, size_t len, const char *controller)
{
    size_t n = strlen(controller);
    for (const char *p = words, *end = words + len; p < end;) {
        size_t word = strcspn(p, ",:");
        if (word == n && memcmp(p, controller, n) == 0)
            return true;
        p += word + 1;
    }
    return false;
}

/* "0::PATH" in the one hierarchy of version 2, "N:CONTROLLERS:PATH" in those of
 * version 1.  NULL: the line is of another hierarchy. */
static const char *
path_of_line(const char *line, const char *controller)
{
    if (!controller)
        return strncmp(line, "0::/", 4) == 0 ? line + 3 : NULL;
    const char *words = line + strcspn(line, ":\n");
    if (*words != ':')
        return NULL;
    words++;
    size_t len = strcspn(words, ":\n");
    bool found = words[len] == ':' && has_controller(words, len, controller);
    return found && words[len + 1] == '/' ? words + len + 1 : NULL;
}

bool
rec_cgroup_path(const char *text, const char *controller, char *to, size_t size)
{
    for (const char *line = text; *line;) {
        const char *path = path_of_line(line, controller);
        size_t len = path ? strcspn(path, "\n") : 0;
        if (path) {
            bool outside = strncmp(path, "/..", 3) == 0;
            if (outside || len >= size)
                return false;
            memcpy(to, path, len);
            to[len] = '\0';
            return true;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return false;
}

/* Where the hierarchies are mounted.  Version 2 alone, or beside version 1. */
static const struct {
    const char *controller;
    const char *folder;
} freezers[] = {{NULL, "/sys/fs/cgroup"},
                {NULL, "/sys/fs/cgroup/unified"},
                {"freezer", "/sys/fs/cgroup/freezer"}},
  schedulers[] = {{NULL, "/sys/fs/cgroup"}, {"cpu", "/sys/fs/cgroup/cpu"}};

static bool
read_file(const char *folder, const char *path, const char *name, char *text)
{
    char file[REC_CGROUP_PATH + 64];
    int n = snprintf(file, sizeof file, "%s%s/%s", folder, path, name);
    return n > 0 && (size_t)n < sizeof file &&
           rec_procfs_read(file, text, FILE_TEXT, NULL);
}

/* ---- frozen ---- */

bool
rec_cgroup_is_frozen(pid_t pid)
{
    char text[REC_CGROUP_PATH], path[REC_CGROUP_PATH], state[FILE_TEXT];
    if (!rec_procfs_of(pid, "cgroup", text, sizeof text, NULL))
        return false;
    for (size_t i = 0; i < sizeof freezers / sizeof *freezers; i++) {
        bool v2 = !freezers[i].controller;
        if (rec_cgroup_path(text, freezers[i].controller, path, sizeof path) &&
            read_file(freezers[i].folder, path,
                      v2 ? "cgroup.events" : "freezer.state", state) &&
            strstr(state, v2 ? "frozen 1" : "FROZEN"))
            return true;
    }
    return false;
}

/* ---- throttled ---- */

/* The number after "NAME " at the beginning of a line. */
static bool
number_of(const char *text, const char *name, uint64_t *ret)
{
    size_t n = strlen(name);
    for (const char *line = text; *line;) {
        char *end;
        if (strncmp(line, name, n) == 0 && line[n] == ' ') {
            *ret = strtoull(line + n + 1, &end, 10);
            return end != line + n + 1;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return false;
}

bool
rec_bandwidth_parse(const char *text, rec_bandwidth *ret)
{
    rec_bandwidth b;
    uint64_t ns;
    if (!number_of(text, "nr_periods", &b.periods) ||
        !number_of(text, "nr_throttled", &b.throttled))
        return false;
    if (number_of(text, "throttled_time", &ns)) /* version 1 */
        b.throttled_us = ns / 1000;
    else if (!number_of(text, "throttled_usec", &b.throttled_us))
        return false;
    *ret = b;
    return true;
}

/* Has the group a quota of its own? */
static bool
is_limited(const char *folder, const char *path)
{
    char text[FILE_TEXT];
    if (read_file(folder, path, "cpu.max", text)) /* version 2 */
        return strncmp(text, "max", 3) != 0;
    return read_file(folder, path, "cpu.cfs_quota_us", text) &&
           strtoll(text, NULL, 10) > 0;
}

/* False: there is no group above. */
static bool
ascend(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || path[1] == '\0')
        return false;
    slash[slash == path] = '\0'; /* the root is "/" */
    return true;
}

/* The nearest group with a quota, from `path` upwards. */
static bool
find_limited(const char *folder, const char *path, char to[REC_CGROUP_PATH])
{
    memcpy(to, path, strlen(path) + 1);
    do
        if (is_limited(folder, to))
            return true;
    while (ascend(to));
    return false;
}

static bool
open_group(const char *folder, const char *path, rec_throttle *ret)
{
    char text[FILE_TEXT], file[REC_CGROUP_PATH + 64];
    rec_throttle t;
    if (!read_file(folder, path, "cpu.stat", text) ||
        !rec_bandwidth_parse(text, &t.first))
        return false;
    snprintf(file, sizeof file, "%s%s/cpu.stat", folder, path);
    t.file = strdup(file);
    if (t.file)
        *ret = t;
    return t.file != NULL;
}

bool
rec_throttle_open(pid_t pid, rec_throttle *ret)
{
    char text[REC_CGROUP_PATH], path[REC_CGROUP_PATH], limited[REC_CGROUP_PATH];
    *ret = (rec_throttle){0};
    if (!rec_procfs_of(pid, "cgroup", text, sizeof text, NULL))
        return false;
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        const char *folder = schedulers[i].folder;
        if (!rec_cgroup_path(text, schedulers[i].controller, path, sizeof path))
            continue;
        if (find_limited(folder, path, limited) &&
            open_group(folder, limited, ret))
            return true;
        if (open_group(folder, path, ret))
            return true;
    }
    return false;
}

void
rec_throttle_release(rec_throttle *throttle)
{
    free(throttle->file);
    *throttle = (rec_throttle){0};
}

bool
rec_throttle_read(const rec_throttle *throttle, rec_bandwidth *ret)
{
    char text[FILE_TEXT];
    rec_bandwidth now;
    if (!throttle->file ||
        !rec_procfs_read(throttle->file, text, sizeof text, NULL) ||
        !rec_bandwidth_parse(text, &now))
        return false;
    const rec_bandwidth *first = &throttle->first;
    *ret = (rec_bandwidth){now.periods - first->periods,
                           now.throttled - first->throttled,
                           now.throttled_us - first->throttled_us};
    return true;
}
