/*
 * process_table.h - the processes of a file, as PROCESSES records describe
 * them, or by index alone if their record is lost.
 */
#ifndef FORMAT_READ_PROCESS_TABLE_H
#define FORMAT_READ_PROCESS_TABLE_H

#include "format/read/budget.h"
#include <base/hash_table.h>
#include <pyrec/error.h>
#include <pyrec/profile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pf_process {
    uint32_t file_index;  /* its index in the file */
    pr_process described; /* .index: its number by arrival */
    void *block;          /* owns what `described` points to; NULL: borrowed */
    bool recorded;        /* a PROCESSES record described it */
} pf_process;

typedef struct pf_processes {
    pf_budget *budget;
    pf_process *at; /* by arrival */
    size_t n, cap;
    pr_table table; /* index in the file to number by arrival */
} pf_processes;

/* Begin with process 0 of the file.  PR_LIMIT, PR_NOMEM. */
pr_code pf_processes_init(pf_processes *processes, pf_budget *budget,
                          pr_err *err);
void pf_processes_release(pf_processes *processes);

/* The number by arrival of a process of the file; a new process gets the next
 * number.  PR_LIMIT, PR_NOMEM. */
pr_code pf_processes_add(pf_processes *processes, uint32_t file_index,
                         uint32_t *ret, pr_err *err);

/* Keep a copy of a record, in place of earlier records of its process.
 * PR_LIMIT, PR_NOMEM. */
pr_code pf_processes_describe(pf_processes *processes, const pr_process *record,
                              pr_err *err);

#endif
