/*
 * runtime.h - find the mapped ELF file that holds the live _PyRuntime.
 *
 * pyrec tests every candidate mapping: section .PyRuntime or symbol _PyRuntime,
 * the cookie "xdebugpy" (3.13+) and a list of interpreters that is not empty.
 */
#ifndef RECORDER_CPYTHON_RUNTIME_H
#define RECORDER_CPYTHON_RUNTIME_H

#include "recorder/cpython/layout.h"
#include "recorder/linux/process.h"

typedef struct rec_runtime {
    uint64_t address; /* of _PyRuntime */
    rec_layout layout;
    /* Distance from a thread's pthread pointer to its struct rseq (glibc
     * 2.35+, __rseq_offset of ld.so read in the target); 0: not known. */
    int64_t rseq_offset;
    /* Offset of the kernel's thread id in struct pthread (glibc,
     * _thread_db_pthread_tid of libc read in the target); REC_ABSENT: not
     * known. */
    uint32_t pthread_tid;
    char path[256]; /* of the file, as the target sees it */
} rec_runtime;

/* PR_OK; PR_NOT_PYTHON naming the program of the process and its Python
 * children; PR_DENIED naming the check that failed; PR_NO_PROCESS. */
pr_code rec_runtime_find(const rec_process *process, rec_memory *memory,
                         rec_runtime *ret, pr_err *err);

/* A section of one of the target's mapped files by name (".AsyncioDebug"):
 * address and size in the target.  PR_NAME if no file has it so far. */
pr_code rec_runtime_section(const rec_process *process, const char *section,
                            uint64_t *ret_address, uint64_t *ret_size,
                            pr_err *err);

#endif
