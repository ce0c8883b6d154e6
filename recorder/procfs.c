/*
 * procfs.c - read a file of /proc until it ends or the room does.
 */
#include "recorder/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

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
