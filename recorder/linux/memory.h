/*
 * memory.h - read the target's memory, and count the reads.
 *
 * Every byte read here is hostile: callers check it.  One rec_memory belongs to
 * one thread; rec_memory_clone() gives a second thread its own counters over
 * the same target.
 */
#ifndef RECORDER_LINUX_MEMORY_H
#define RECORDER_LINUX_MEMORY_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

/* The source of the bytes; tests put a made-up memory here.  Reads the pieces
 * in order and returns the bytes that arrived (less than asked: it stopped at
 * the first piece that was not there), or -errno if nothing did. */
typedef ssize_t (*rec_read_fn)(void *context, const struct iovec *local,
                               const struct iovec *remote, size_t n);

typedef struct rec_memory {
    pid_t pid;
    pid_t task; /* the thread to read through: `pid` while that thread lives */
    int mem_fd; /* /proc/PID/mem, once process_vm_readv was refused; or -1 */
    rec_read_fn read; /* NULL: the process `pid` */
    void *context;
    uint64_t reads, bytes; /* system calls and bytes that arrived */
} rec_memory;

/* The most pieces of one call (IOV_MAX). */
#define REC_MAX_PIECES 1024

void rec_memory_init(rec_memory *memory, pid_t pid);
void rec_memory_clone(const rec_memory *from, rec_memory *to);
void rec_memory_release(rec_memory *memory);

/* One batched read; meaning of the result as rec_read_fn.  No retry. */
ssize_t rec_memory_readv(rec_memory *memory, const struct iovec *local,
                         const struct iovec *remote, size_t n);

/* Read all of it or fail.  PR_TORN if the address is not mapped, PR_NO_PROCESS,
 * PR_DENIED. */
pr_code rec_memory_read(rec_memory *memory, uint64_t address, void *to,
                        size_t len, pr_err *err);

/* The same of one word of 8 bytes. */
pr_code rec_memory_read_word(rec_memory *memory, uint64_t address,
                             uint64_t *ret, pr_err *err);

/* Turn the -errno of rec_memory_readv() into a code and a message. */
pr_code rec_memory_fail(const rec_memory *memory, int error, uint64_t address,
                        size_t len, pr_err *err);

/* User addresses end here: x86-64 with 4 levels of page tables, and the largest
 * that aarch64 has (Linux, Documentation/arch/arm64/memory.rst: 48 bits, 52
 * with LVA).  On x86-64 only a program that asks mmap() for it gets addresses
 * of 5 levels. */
#if defined(__aarch64__)
#define REC_ADDRESS_BITS 52
#else
#define REC_ADDRESS_BITS 47
#endif

/* Can it be a pointer: not NULL, 8-aligned, in the user half? */
static inline bool
rec_plausible(uint64_t address)
{
    return address >= 4096 && address < (UINT64_C(1) << REC_ADDRESS_BITS) &&
           (address & 7) == 0;
}

/* Loads from a local copy; the caller has checked the bounds. */
static inline uint64_t
rec_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t
rec_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint16_t
rec_u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#endif
