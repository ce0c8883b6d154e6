/*
 * procfs.h - small files of /proc, whole and terminated.
 */
#ifndef RECORDER_PROCFS_H
#define RECORDER_PROCFS_H

#include <pyrec/base.h>
#include <sys/types.h>

/* The first size - 1 bytes of the file at `path`, terminated; false: not to be
 * had (errno says why).  *ret_len may be NULL. */
bool rec_procfs_read(const char *path, char *to, size_t size, size_t *ret_len);

/* The same of /proc/PID/NAME. */
bool rec_procfs_of(pid_t pid, const char *name, char *to, size_t size,
                   size_t *ret_len);

/* "sh", "python3.13": comm, for messages.  Never fails ("?"). */
void rec_procfs_name(pid_t pid, char *to, size_t size);

#endif
