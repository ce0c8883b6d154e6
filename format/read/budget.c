/*
 * budget.c - the most that reading a file may cost.
 */
#include "format/read/budget.h"

#include "format/limits.h"

#include <base/array.h>
#include <inttypes.h>

void
pf_budget_init(pf_budget *b, const pf_reader_opts *opts, uint64_t file_bytes)
{
    uint64_t memory = opts ? opts->memory : 0;
    uint64_t expansion = opts ? opts->expansion : 0;
    uint64_t least = PF_EXPANSION_LEAST;
    if (expansion == 0) {
        expansion = PF_EXPANSION_DEFAULT;
        least = memory > least ? memory : least;
    }
    *b = (pf_budget){.memory_max = memory ? memory : PF_MEMORY_DEFAULT,
                     .unpacked_max = file_bytes > UINT64_MAX / expansion
                                         ? UINT64_MAX
                                         : file_bytes * expansion};
    if (b->unpacked_max < least)
        b->unpacked_max = least;
}

pr_code
pf_budget_check(const pf_budget *b, uint64_t bytes, pr_err *err)
{
    if (bytes <= b->memory_max && b->memory <= b->memory_max - bytes)
        return PR_OK;
    pr_err_set(err, PR_LIMIT, 0, PR_NO_OFFSET,
               "the profile needs more than %" PRIu64 " MiB of memory",
               b->memory_max >> 20);
    pr_err_hint(err, "if the file is trusted, raise the limit with --memory");
    return PR_LIMIT;
}

pr_code
pf_budget_check_unpacked(const pf_budget *b, uint64_t bytes, pr_err *err)
{
    if (bytes <= b->unpacked_max)
        return PR_OK;
    pr_err_set(err, PR_LIMIT, 0, PR_NO_OFFSET,
               "the profile expands to more than %" PRIu64 " MiB",
               b->unpacked_max >> 20);
    pr_err_hint(err, "a file of pyrec does not expand so much; if this one is "
                     "trusted, raise the limit with --memory");
    return PR_LIMIT;
}

pr_code
pf_budget_grow(pf_budget *b, void *array_ptr, size_t *cap, size_t need,
               size_t size, pr_err *err)
{
    if (need <= *cap)
        return PR_OK;
    size_t old = *cap;
    pr_code code = pf_budget_check(b, (uint64_t)(need - old) * size, err);
    if (code != PR_OK)
        return code;
    if (!pr_grow(array_ptr, cap, need, size))
        return pr_no_memory(err);
    b->memory += (uint64_t)(*cap - old) * size;
    return PR_OK;
}

void
pf_budget_return(pf_budget *b, size_t cap, size_t size)
{
    b->memory -= (uint64_t)cap * size;
}
