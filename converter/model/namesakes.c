/*
 * namesakes.c - equal pairs of file and name.
 */
#include "converter/model/namesakes.h"

#include <stdlib.h>

typedef struct full_name {
    uint32_t file, name;
} full_name;

static full_name
name_of(const conv_model *model, uint32_t function)
{
    const conv_function *f = conv_model_function(model, function);
    return (full_name){f->file, f->name};
}

pr_code
conv_namesakes(const conv_model *model, uint8_t **ret, pr_err *err)
{
    size_t n = model->functions.n;
    pr_set names = {.size = sizeof(full_name)};
    uint8_t *namesake = calloc(n + 1, 1);
    uint32_t *first = calloc(n + 1, sizeof *first); /* of each name */
    pr_code rc = PR_OK;
    if (!namesake || !first)
        rc = pr_no_memory(err);
    for (uint32_t i = 0; i < n && rc == PR_OK; i++) {
        const full_name name = name_of(model, i);
        size_t before = names.n;
        uint32_t id;
        rc = pr_set_add(&names, &name, &id, err);
        if (rc != PR_OK)
            break;
        if (names.n > before)
            first[id] = i;
        else
            namesake[i] = namesake[first[id]] = 1;
    }
    pr_set_release(&names);
    free(first);
    if (rc == PR_OK)
        *ret = namesake;
    else
        free(namesake);
    return rc;
}
