/*
 * sched_state.c - schedstat, stat and status of one thread (sched_state.h).
 */
#include "recorder/linux/sched_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
rec_sched_init(rec_sched *s, int keep_below)
{
    *s = (rec_sched){.schedstat_fd = -1,
                     .stat_fd = -1,
                     .status_fd = -1,
                     .keep_below = keep_below};
}

static void
close_kept(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void
rec_sched_release(rec_sched *s)
{
    close_kept(&s->schedstat_fd);
    close_kept(&s->stat_fd);
    close_kept(&s->status_fd);
}

static int
open_task_file(pid_t pid, pid_t tid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid,
             name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* A file of a thread, kept open below the limit; 0: the thread is gone. */
static size_t
read_task_file(const rec_sched *s, int *kept, pid_t pid, pid_t tid,
               const char *name, char *to, size_t size)
{
    int fd = *kept >= 0 ? *kept : open_task_file(pid, tid, name);
    if (fd < 0)
        return 0;
    ssize_t n = pread(fd, to, size - 1, 0);
    if (fd < s->keep_below)
        *kept = fd;
    else
        close(fd);
    if (n <= 0)
        return 0;
    to[n] = '\0';
    return (size_t)n;
}

bool
rec_sched_is_there(pid_t pid, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)pid, (int)tid);
    return access(path, F_OK) == 0 || errno != ENOENT;
}

/* Three numbers; a thread in a list of threads was on a CPU at least once. */
static bool
parse_schedstat(const char *text, uint64_t v[3])
{
    const char *p = text;
    for (int i = 0; i < 3; i++) {
        char *end;
        v[i] = strtoull(p, &end, 10);
        if (end == p)
            return false;
        p = end;
    }
    return v[2] != 0;
}

rec_sched_answer
rec_sched_ran(rec_sched *s, pid_t pid, pid_t tid, bool *ret_ran)
{
    char text[128];
    uint64_t v[3];
    *ret_ran = true;
    s->counted = read_task_file(s, &s->schedstat_fd, pid, tid, "schedstat",
                                text, sizeof text) &&
                 parse_schedstat(text, v);
    if (!s->counted) {
        s->ran = true;
        s->asleep = false;
        return rec_sched_is_there(pid, tid) ? REC_SCHED_UNCOUNTED
                                            : REC_SCHED_GONE;
    }
    *ret_ran = s->ran = v[2] != s->n_runs || v[0] != s->run_ns;
    if (s->ran)
        s->asleep = false;
    s->run_ns = v[0];
    s->wait_ns = v[1];
    s->n_runs = v[2];
    return REC_SCHED_KNOWN;
}

/* Field 39 of stat, counted from the letter, which is the third. */
static uint32_t
parse_cpu(const char *letter)
{
    const char *p = letter;
    for (int field = 3; field < 39 && p; field++) {
        p = strchr(p, ' ');
        if (p)
            p++;
    }
    return p && *p ? (uint32_t)strtoul(p, NULL, 10) : UINT32_MAX;
}

/* The number after a name in the text of status; false without it. */
static bool
number_after(const char *text, const char *name, uint64_t *ret)
{
    const char *p = strstr(text, name);
    if (!p)
        return false;
    char *end;
    p += strlen(name);
    *ret = strtoull(p, &end, 10);
    return end != p;
}

/* Did the kernel take it off a CPU as often as it put it on one?  Its letter
 * alone does not show that: the kernel sets the letter to S or D before it
 * switches, and a thread that is woken in between runs on (Linux,
 * kernel/sched/core.c, __schedule(): both counts change with each switch and
 * with nothing else). */
static bool
is_off_cpu(rec_sched *s, pid_t pid, pid_t tid)
{
    char text[4096];
    uint64_t voluntary, forced;
    return s->counted &&
           read_task_file(s, &s->status_fd, pid, tid, "status", text,
                          sizeof text) &&
           number_after(text, "\nvoluntary_ctxt_switches:", &voluntary) &&
           number_after(text, "\nnonvoluntary_ctxt_switches:", &forced) &&
           s->n_runs == voluntary + forced;
}

enum { STAT_BYTES = 512 };

/* Stat from the letter on, in `text`; NULL: the thread is gone. */
static const char *
read_stat(rec_sched *s, pid_t pid, pid_t tid, char *text)
{
    if (!read_task_file(s, &s->stat_fd, pid, tid, "stat", text, STAT_BYTES))
        return NULL;
    const char *p = strrchr(text, ')'); /* the name may hold any byte */
    if (!p || p[1] != ' ' || !p[2])
        return NULL;
    s->letter = p[2];
    return p + 2;
}

bool
rec_sched_read(rec_sched *s, pid_t pid, pid_t tid)
{
    char text[STAT_BYTES];
    const char *letter = read_stat(s, pid, tid, text);
    if (!letter)
        return false;
    s->asleep = strchr("SDTt", s->letter) && is_off_cpu(s, pid, tid);
    s->cpu = parse_cpu(letter);
    return true;
}

bool
rec_sched_read_letter(rec_sched *s, pid_t pid, pid_t tid)
{
    char text[STAT_BYTES];
    return read_stat(s, pid, tid, text) != NULL;
}

bool
rec_sched_times_read(rec_sched *s, pid_t pid, pid_t tid, rec_sched_times *ret)
{
    char text[4096];
    uint64_t v[3];
    if (!read_task_file(s, &s->schedstat_fd, pid, tid, "schedstat", text,
                        sizeof text) ||
        !parse_schedstat(text, v) ||
        !read_task_file(s, &s->status_fd, pid, tid, "status", text,
                        sizeof text))
        return false;
    ret->run_ns = v[0];
    ret->wait_ns = v[1];
    return number_after(text, "\nvoluntary_ctxt_switches:", &ret->voluntary) &&
           number_after(text,
                        "\nnonvoluntary_ctxt_switches:", &ret->involuntary);
}
