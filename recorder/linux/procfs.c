/*
 * procfs.c - read a file of /proc until the file or the buffer ends.
 *
 * The name of a process or thread may hold any byte, ')' and newline included:
 * the fields that follow it in /proc/PID/stat begin after the last ')'.
 */
#include "recorder/linux/procfs.h"

#include <base/array.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    STAT_TEXT = 1024,
    NUMBERS_MAX = 1 << 22 /* PID_MAX_LIMIT */
};

bool
rec_procfs_read(const char *path, char *to, size_t size, size_t *ret_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t len = 0;
    ssize_t n = 1;
    while (n > 0 && len < size - 1) {
        n = read(fd, to + len, size - 1 - len);
        if (n > 0)
            len += (size_t)n;
    }
    int error = errno;
    close(fd);
    errno = error;
    to[len] = '\0';
    if (ret_len)
        *ret_len = len;
    return n >= 0;
}

bool
rec_procfs_of(pid_t pid, const char *name, char *to, size_t size,
              size_t *ret_len)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return rec_procfs_read(path, to, size, ret_len);
}

void
rec_procfs_name(pid_t pid, char *to, size_t size)
{
    size_t len;
    if (!rec_procfs_of(pid, "comm", to, size, &len) || len == 0)
        snprintf(to, size, "?");
    else if (to[len - 1] == '\n')
        to[len - 1] = '\0';
}

void
rec_procfs_thread_name(pid_t pid, pid_t tid, char *to, size_t size)
{
    char path[48];
    size_t len;
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
    if (!rec_procfs_read(path, to, size, &len))
        len = 0;
    if (len && to[len - 1] == '\n')
        len--;
    to[len] = '\0';
}

/* ---- stat ---- */

static bool
parse_stat(const char *text, rec_stat *ret)
{
    const char *p = strrchr(text, ')');
    if (!p || p[1] != ' ' || !p[2])
        return false;
    rec_stat s = {.state = p[2]};
    char *at;
    p += 3;
    for (int field = 4; field <= 22; field++) {
        uint64_t v = strtoull(p, &at, 10);
        if (at == p)
            return false;
        p = at;
        if (field == 4)
            s.parent = (pid_t)v;
        else if (field == 9)
            s.flags = (uint32_t)v;
        else if (field == 22)
            s.start_time = v;
    }
    *ret = s;
    return true;
}

bool
rec_stat_read(pid_t pid, pid_t tid, rec_stat *ret)
{
    char name[32] = "stat", text[STAT_TEXT];
    if (tid > 0)
        snprintf(name, sizeof name, "task/%d/stat", (int)tid);
    return rec_procfs_of(pid, name, text, sizeof text, NULL) &&
           parse_stat(text, ret);
}

/* Field 22 of stat counts clock ticks since boot, time asleep included. */
uint64_t
rec_stat_age_ms(pid_t pid)
{
    rec_stat stat;
    struct timespec now;
    long hz = sysconf(_SC_CLK_TCK);
    if (hz <= 0 || !rec_stat_read(pid, 0, &stat) ||
        rec_stat_ended(stat.state) || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
        return UINT64_MAX;
    uint64_t born = stat.start_time * 1000 / (uint64_t)hz;
    uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    return ms > born ? ms - born : 0;
}

/* ---- folders ---- */

static int
compare_numbers(const void *a, const void *b)
{
    pid_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

pr_code
rec_procfs_numbers(const char *path, pid_t **ret, size_t *ret_n, pr_err *err)
{
    DIR *dir = opendir(path);
    if (!dir)
        return PR_FAIL_SYS(err, errno == ENOENT ? PR_NO_PROCESS : PR_IO, errno,
                           "cannot list %s", path);
    pid_t *v = NULL;
    size_t n = 0, cap = 0;
    bool enough = true;
    for (struct dirent *e; enough && (e = readdir(dir));) {
        char *end;
        long id = strtol(e->d_name, &end, 10);
        if (*end || id <= 0)
            continue;
        enough = n < NUMBERS_MAX && pr_grow(&v, &cap, n + 1, sizeof *v);
        if (enough)
            v[n++] = (pid_t)id;
    }
    closedir(dir);
    if (!enough) {
        free(v);
        return pr_no_memory(err);
    }
    if (n)
        qsort(v, n, sizeof *v, compare_numbers);
    *ret = v;
    *ret_n = n;
    return PR_OK;
}
