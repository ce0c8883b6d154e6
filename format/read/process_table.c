/*
 * process_table.c - the processes of a file.
 */
#include "format/read/process_table.h"

#include <base/array.h>
#include <base/hash.h>
#include <base/hash_table.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

pr_code
pf_processes_init(pf_processes *p, pf_budget *budget, pr_err *err)
{
    uint32_t first;
    *p = (pf_processes){.budget = budget};
    return pf_processes_add(p, 0, &first, err);
}

void
pf_processes_release(pf_processes *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->at[i].block);
    free(p->at);
    pr_table_release(&p->table);
    *p = (pf_processes){.budget = p->budget};
}

typedef struct process_key {
    const pf_processes *processes;
    uint32_t file_index;
} process_key;

static bool
same_process(const void *context, uint32_t value)
{
    const process_key *key = context;
    return key->processes->at[value].file_index == key->file_index;
}

pr_code
pf_processes_add(pf_processes *p, uint32_t file_index, uint32_t *ret,
                 pr_err *err)
{
    process_key key = {p, file_index};
    uint64_t hash = pr_mix64(file_index);
    uint32_t at = pr_table_find(&p->table, hash, same_process, &key);
    if (at == PR_TABLE_NONE) {
        at = (uint32_t)p->n;
        pr_code code = pf_budget_grow(p->budget, &p->at, &p->cap, p->n + 1,
                                      sizeof *p->at, err);
        if (code != PR_OK)
            return code;
        if (!pr_table_insert(&p->table, hash, at))
            return pr_no_memory(err);
        p->at[p->n++] =
            (pf_process){.file_index = file_index, .described.index = at};
    }
    *ret = at;
    return PR_OK;
}

/* ---- a copy in one block: the pairs, then all bytes ---- */

static size_t
bytes_of(const pr_process *p)
{
    size_t n = p->command.len + p->host.len + p->scope.len;
    for (uint32_t i = 0; i < p->n_meta; i++)
        n += p->meta[i].key.len + p->meta[i].value.len;
    return n;
}

static pr_text
copy_text(const pr_text *text, char **into)
{
    pr_text copy = {*into, text->len};
    if (text->len)
        memcpy(*into, text->bytes, text->len);
    *into += text->len;
    return copy;
}

pr_code
pf_processes_describe(pf_processes *p, const pr_process *record, pr_err *err)
{
    uint32_t at;
    pr_code code = pf_processes_add(p, record->index, &at, err);
    if (code != PR_OK)
        return code;
    size_t pairs = record->n_meta * sizeof(pr_pair);
    size_t bytes = pairs + bytes_of(record) + 1;
    code = pf_budget_check(p->budget, bytes, err);
    if (code != PR_OK)
        return code;
    pr_pair *block = malloc(bytes);
    if (!block)
        return pr_no_memory(err);
    p->budget->memory += bytes; /* a replaced block stays counted */
    char *into = (char *)block + pairs;
    pr_process copy = *record;
    copy.index = at;
    copy.command = copy_text(&record->command, &into);
    copy.host = copy_text(&record->host, &into);
    copy.scope = copy_text(&record->scope, &into);
    copy.meta = block;
    for (uint32_t i = 0; i < record->n_meta; i++) {
        block[i].key = copy_text(&record->meta[i].key, &into);
        block[i].value = copy_text(&record->meta[i].value, &into);
    }
    free(p->at[at].block);
    p->at[at] = (pf_process){record->index, copy, block, true};
    return PR_OK;
}
