/*
 * budget.h - the most that reading a file may cost (pf_reader_opts of
 * pyrec/reader.h).
 */
#ifndef FORMAT_READ_BUDGET_H
#define FORMAT_READ_BUDGET_H

#include <pyrec/error.h>
#include <pyrec/reader.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct pf_budget {
    uint64_t memory_max, memory; /* bytes: the limit, and in use now */
    uint64_t unpacked_max;       /* limit of decompressed bytes, in all */
} pf_budget;

/* opts NULL: the defaults; file_bytes: the size of the file. */
void pf_budget_init(pf_budget *budget, const pf_reader_opts *opts,
                    uint64_t file_bytes);

/* PR_LIMIT if `bytes` more are beyond the limit of memory. */
pr_code pf_budget_check(const pf_budget *budget, uint64_t bytes, pr_err *err);

/* PR_LIMIT if `bytes`, of all decompressed bytes, are beyond the limit. */
pr_code pf_budget_check_unpacked(const pf_budget *budget, uint64_t bytes,
                                 pr_err *err);

/* pr_grow() within the budget, which then counts the bytes of the array.
 * PR_LIMIT, PR_NOMEM. */
pr_code pf_budget_grow(pf_budget *budget, void *array_ptr, size_t *cap,
                       size_t need, size_t size, pr_err *err);

/* Count an array of this capacity, whose items have `size` bytes, as freed. */
void pf_budget_return(pf_budget *budget, size_t cap, size_t size);

#endif
