/*
 * maps.c - the mappings of a process, and their files.
 */
#include "recorder/linux/process.h"

#include <base/array.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MAPPINGS_MAX = 1 << 20 };

static const char deleted[] = " (deleted)";

/* "7f00-7f10 r-xp 00001000 fe:00 1234    /usr/bin/python3" with the path as
 * it is, but for "\012" in the place of newlines. */
static bool
parse_line(char *line, rec_mapping *ret)
{
    rec_mapping m = {0};
    unsigned major, minor;
    char mode[8];
    int path = 0;
    if (sscanf(line,
               "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n",
               &m.start, &m.end, mode, &m.offset, &major, &minor, &m.inode,
               &path) < 7 ||
        m.start >= m.end || !path)
        return false;
    m.device = makedev(major, minor);
    m.writable = mode[1] == 'w';
    m.executable = mode[2] == 'x';
    m.path = line + path;
    size_t len = strcspn(m.path, "\n");
    size_t tail = sizeof deleted - 1;
    if (len > tail && memcmp(m.path + len - tail, deleted, tail) == 0)
        len -= tail;
    m.path[len] = '\0';
    *ret = m;
    return true;
}

static pr_code
push_mapping(rec_maps *maps, size_t *cap, rec_mapping mapping, pr_err *err)
{
    if (maps->n >= MAPPINGS_MAX)
        return PR_FAIL(err, PR_LIMIT, "more than %d mappings", MAPPINGS_MAX);
    mapping.path = strdup(mapping.path);
    if (!mapping.path ||
        !pr_grow(&maps->v, cap, maps->n + 1, sizeof *maps->v)) {
        free(mapping.path);
        return pr_no_memory(err);
    }
    maps->v[maps->n++] = mapping;
    return PR_OK;
}

/* The thread through which /proc shows the program. */
static pid_t
task_of(pid_t pid)
{
    pid_t task = rec_process_task(pid);
    return task ? task : pid;
}

pr_code
rec_maps_read(pid_t pid, rec_maps *ret, pr_err *err)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)task_of(pid));
    FILE *file = fopen(path, "re");
    if (!file && (errno == EACCES || errno == EPERM))
        return rec_process_explain_denied(pid, errno, err);
    if (!file)
        return PR_FAIL_SYS(err, errno == ENOENT ? PR_NO_PROCESS : PR_IO, errno,
                           "cannot open %s", path);
    rec_maps maps = {0};
    size_t cap = 0, size = 0;
    char *line = NULL;
    pr_code code = PR_OK;
    while (code == PR_OK && getline(&line, &size, file) > 0) {
        rec_mapping mapping;
        if (parse_line(line, &mapping))
            code = push_mapping(&maps, &cap, mapping, err);
    }
    /* the kernel refuses the read, not the open, of a process it protects */
    int error = ferror(file) ? errno : 0;
    free(line);
    fclose(file);
    if (code == PR_OK && (error == EACCES || error == EPERM))
        code = rec_process_explain_denied(pid, error, err);
    if (code == PR_OK && error)
        code = PR_FAIL_SYS(err, error == ESRCH ? PR_NO_PROCESS : PR_IO, error,
                           "cannot read %s", path);
    if (code != PR_OK) {
        rec_maps_release(&maps);
        return code;
    }
    *ret = maps;
    return PR_OK;
}

void
rec_maps_release(rec_maps *maps)
{
    for (size_t i = 0; i < maps->n; i++)
        free(maps->v[i].path);
    free(maps->v);
    *maps = (rec_maps){0};
}

/* O_NONBLOCK: a FIFO in the place of the file must not block the open. */
static int
open_regular(const char *path, struct stat *ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, ret) != 0 || !S_ISREG(ret->st_mode)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A path may lead to another file than the one that is mapped (another mount
 * namespace, a package update).  Some file systems (overlay, btrfs) show
 * another device in maps than in stat: the inode decides. */
static int
open_same(const char *path, const rec_mapping *mapping)
{
    struct stat st;
    int fd = open_regular(path, &st);
    if (fd >= 0 && st.st_ino != mapping->inode) {
        close(fd);
        return -1;
    }
    return fd;
}

int
rec_maps_open(pid_t pid, const rec_mapping *mapping)
{
    if (!mapping->inode || mapping->path[0] != '/')
        return -1;
    char link[96];
    struct stat st;
    pid = task_of(pid);
    snprintf(link, sizeof link, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
             (int)pid, mapping->start, mapping->end);
    int fd = open_regular(link, &st); /* this is the mapped file itself */
    if (fd >= 0)
        return fd;
    size_t size = strlen(mapping->path) + 32;
    char *path = malloc(size);
    if (!path)
        return -1;
    snprintf(path, size, "/proc/%d/root%s", (int)pid, mapping->path);
    fd = open_same(path, mapping);
    free(path);
    if (fd < 0)
        fd = open_same(mapping->path, mapping);
    if (fd >= 0)
        return fd;
    /* of a deleted or replaced executable, without the right to map_files */
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    return open_same(link, mapping);
}
