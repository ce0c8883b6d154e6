/*
 * memory.c - process_vm_readv(2), and /proc/PID/mem where that is refused.
 *
 * A seccomp filter or a kernel without CONFIG_CROSS_MEMORY_ATTACH answers EPERM
 * or ENOSYS to process_vm_readv() even if the caller may read the target.  The
 * open of /proc/PID/mem then shows whether it may.
 */
#include "recorder/linux/memory.h"

#include "recorder/linux/process.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

void
rec_memory_init(rec_memory *memory, pid_t pid)
{
    *memory = (rec_memory){.pid = pid, .task = pid, .mem_fd = -1};
}

void
rec_memory_clone(const rec_memory *from, rec_memory *to)
{
    *to = (rec_memory){.pid = from->pid,
                       .task = from->task,
                       .mem_fd = from->mem_fd < 0
                                     ? -1
                                     : fcntl(from->mem_fd, F_DUPFD_CLOEXEC, 0),
                       .read = from->read,
                       .context = from->context};
}

void
rec_memory_release(rec_memory *memory)
{
    if (memory->mem_fd >= 0)
        close(memory->mem_fd);
    memory->mem_fd = -1;
}

static bool
open_mem(rec_memory *memory)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)memory->task);
    memory->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
    return memory->mem_fd >= 0;
}

/* Read one piece with pread(); 0 or -errno.  Memory that no longer belongs to a
 * process reads as end of file. */
static int
read_piece(int fd, const struct iovec *local, const struct iovec *remote)
{
    uint64_t address = (uint64_t)(uintptr_t)remote->iov_base;
    char *to = local->iov_base;
    for (size_t have = 0; have < local->iov_len;) {
        ssize_t n = pread(fd, to + have, local->iov_len - have,
                          (off_t)(address + have));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? -ESRCH : errno == EIO ? -EFAULT : -errno;
        have += (size_t)n;
    }
    return 0;
}

static ssize_t
read_by_mem(rec_memory *memory, const struct iovec *local,
            const struct iovec *remote, size_t n)
{
    ssize_t arrived = 0;
    for (size_t i = 0; i < n; i++) {
        memory->reads++;
        int error = read_piece(memory->mem_fd, &local[i], &remote[i]);
        if (error)
            return arrived ? arrived : error;
        arrived += (ssize_t)local[i].iov_len;
    }
    return arrived;
}

/* A thread that has ended gives no access to the memory of the others. */
static bool
find_task(rec_memory *memory)
{
    pid_t task = rec_process_task(memory->pid);
    bool found = task != 0 && task != memory->task;
    if (found)
        memory->task = task;
    errno = ESRCH;
    return found;
}

static ssize_t
read_some(rec_memory *memory, const struct iovec *local,
          const struct iovec *remote, size_t n)
{
    if (memory->mem_fd >= 0)
        return read_by_mem(memory, local, remote, n);
    memory->reads++;
    if (memory->read)
        return memory->read(memory->context, local, remote, n);
    ssize_t r = process_vm_readv(memory->task, local, n, remote, n, 0);
    if (r < 0 && errno == ESRCH && find_task(memory))
        r = process_vm_readv(memory->task, local, n, remote, n, 0);
    if (r >= 0)
        return r;
    int error = errno;
    if ((error == EPERM || error == ENOSYS) && open_mem(memory))
        return read_by_mem(memory, local, remote, n);
    return -error;
}

static size_t
bytes_of(const struct iovec *v, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i].iov_len;
    return sum;
}

ssize_t
rec_memory_readv(rec_memory *memory, const struct iovec *local,
                 const struct iovec *remote, size_t n)
{
    ssize_t arrived = 0;
    while (n > 0) {
        size_t some = n < REC_MAX_PIECES ? n : REC_MAX_PIECES;
        ssize_t r = read_some(memory, local, remote, some);
        if (r < 0)
            return arrived ? arrived : r;
        arrived += r;
        memory->bytes += (uint64_t)r;
        if ((size_t)r < bytes_of(local, some))
            break;
        local += some;
        remote += some;
        n -= some;
    }
    return arrived;
}

pr_code
rec_memory_fail(const rec_memory *memory, int error, uint64_t address,
                size_t len, pr_err *err)
{
    switch (error) {
    case EFAULT:
    case EIO:
        return PR_FAIL(err, PR_TORN, "no memory of %zu bytes at 0x%" PRIx64,
                       len, address);
    case ESRCH:
        return PR_FAIL(err, PR_NO_PROCESS, "process %d has ended",
                       (int)memory->pid);
    case EPERM:
    case EACCES:
    case ENOSYS:
        return rec_process_explain_denied(memory->pid, error, err);
    case ENOMEM:
        return PR_FAIL_SYS(err, PR_NOMEM, error,
                           "cannot read memory of process %d",
                           (int)memory->pid);
    default:
        return PR_FAIL_SYS(err, PR_IO, error,
                           "cannot read %zu bytes at 0x%" PRIx64
                           " of process %d",
                           len, address, (int)memory->pid);
    }
}

pr_code
rec_memory_read(rec_memory *memory, uint64_t address, void *to, size_t len,
                pr_err *err)
{
    struct iovec local = {to, len};
    struct iovec remote = {.iov_len = len};
    /* an address of the other process: never followed here */
    memcpy(&remote.iov_base, &address, sizeof address);
    ssize_t r = rec_memory_readv(memory, &local, &remote, 1);
    if (r < 0)
        return rec_memory_fail(memory, (int)-r, address, len, err);
    if ((size_t)r < len)
        return rec_memory_fail(memory, EFAULT, address, len, err);
    return PR_OK;
}

pr_code
rec_memory_read_word(rec_memory *memory, uint64_t address, uint64_t *ret,
                     pr_err *err)
{
    uint8_t word[8];
    pr_code code = rec_memory_read(memory, address, word, sizeof word, err);
    if (code == PR_OK)
        *ret = rec_u64(word);
    return code;
}
