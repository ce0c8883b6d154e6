/*
 * candidates.c - one pass over /proc (candidates.h).
 */
#include "recorder/candidates.h"

#include "recorder/linux/procfs.h"
#include "recorder/output_name.h"

#include <base/array.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMM_BYTES = 64 }; /* proc_pid_comm(5): 15 bytes, 63 of the kernel's */

typedef struct list {
    rec_candidate *at;
    size_t n, cap;
} list;

static pr_code
add(list *l, pid_t pid, pr_err *err)
{
    rec_stat stat;
    if (!rec_stat_read(pid, 0, &stat) || rec_stat_ended(stat.state))
        return PR_OK;
    if (!pr_grow(&l->at, &l->cap, l->n + 1, sizeof *l->at))
        return pr_no_memory(err);
    l->at[l->n++] = (rec_candidate){pid, stat.start_time};
    return PR_OK;
}

static bool
matches(const char *pattern, pid_t pid)
{
    char name[REC_NAME_MOST + 1], comm[COMM_BYTES] = "";
    rec_output_name_of(pid, name);
    rec_procfs_of(pid, "comm", comm, sizeof comm, NULL);
    comm[strcspn(comm, "\n")] = '\0';
    return pid != getpid() &&
           (fnmatch(pattern, name, 0) == 0 || fnmatch(pattern, comm, 0) == 0);
}

static pr_code
scan(const char *pattern, DIR *proc, list *l, pr_err *err)
{
    pr_code rc = PR_OK;
    for (struct dirent *d; rc == PR_OK && (d = readdir(proc)) != NULL;) {
        pid_t pid = isdigit((unsigned char)d->d_name[0])
                        ? (pid_t)strtol(d->d_name, NULL, 10)
                        : 0;
        if (pid > 0 && matches(pattern, pid))
            rc = add(l, pid, err);
    }
    return rc;
}

pr_code
rec_candidates_find(const char *pattern, pid_t pid, rec_candidate **ret,
                    size_t *ret_n, pr_err *err)
{
    list l = {0};
    DIR *proc = pattern ? opendir("/proc") : NULL;
    if (pattern && !proc)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot read /proc");
    pr_code rc = pattern ? scan(pattern, proc, &l, err) : add(&l, pid, err);
    if (proc)
        closedir(proc);
    if (rc != PR_OK) {
        free(l.at);
        return rc;
    }
    *ret = l.at;
    *ret_n = l.n;
    return PR_OK;
}
