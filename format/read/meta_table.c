/*
 * meta_table.c - the metadata of a file.
 */
#include "format/read/meta_table.h"

#include <base/hash.h>
#include <base/hash_table.h>
#include <stdlib.h>

void
pf_metadata_release(pf_metadata *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->pair[i].key);
    free(m->pair);
    pr_table_release(&m->table);
    *m = (pf_metadata){.budget = m->budget};
}

typedef struct meta_key {
    const pf_metadata *metadata;
    const pr_text *key;
} meta_key;

static bool
same_key(const void *context, uint32_t value)
{
    const meta_key *key = context;
    const char *there = key->metadata->pair[value].key;
    return strlen(there) == key->key->len &&
           memcmp(there, key->key->bytes, key->key->len) == 0;
}

static char *
put(char *to, const pr_text *text)
{
    if (text->len)
        memcpy(to, text->bytes, text->len);
    to[text->len] = '\0';
    return to + text->len + 1;
}

static pr_code
copy_pair(pf_metadata *m, const pr_pair *pair, pf_meta *ret, pr_err *err)
{
    size_t n = pair->key.len + pair->value.len + 2;
    pr_code code = pf_budget_check(m->budget, n, err);
    if (code != PR_OK)
        return code;
    char *block = malloc(n);
    if (!block)
        return pr_no_memory(err);
    m->budget->memory += n;
    char *value = put(block, &pair->key);
    put(value, &pair->value);
    *ret = (pf_meta){block, value, pair->value.len};
    return PR_OK;
}

/* Put the new pair in the place of an older one. */
static void
replace(pf_metadata *m, pf_meta *old, const pf_meta *new)
{
    m->budget->memory -= strlen(old->key) + old->value_len + 2;
    free(old->key);
    *old = *new;
}

pr_code
pf_metadata_set(pf_metadata *m, const pr_pair *pair, pr_err *err)
{
    meta_key key = {m, &pair->key};
    uint64_t hash = pr_hash_bytes(pair->key.bytes, pair->key.len);
    pf_meta meta;
    pr_code code = pf_budget_grow(m->budget, &m->pair, &m->cap, m->n + 1,
                                  sizeof *m->pair, err);
    if (code == PR_OK)
        code = copy_pair(m, pair, &meta, err);
    if (code != PR_OK)
        return code;
    uint32_t at = pr_table_find(&m->table, hash, same_key, &key);
    if (at != PR_TABLE_NONE) {
        replace(m, &m->pair[at], &meta);
        return PR_OK;
    }
    if (!pr_table_insert(&m->table, hash, (uint32_t)m->n)) {
        free(meta.key);
        return pr_no_memory(err);
    }
    m->pair[m->n++] = meta;
    return PR_OK;
}

static int
by_key(const void *a, const void *b)
{
    const pf_meta *x = a, *y = b;
    return strcmp(x->key, y->key);
}

void
pf_metadata_sort(pf_metadata *m)
{
    if (m->n)
        qsort(m->pair, m->n, sizeof *m->pair, by_key);
    pr_table_release(&m->table);
}

static int
find_key(const void *key, const void *pair)
{
    const pf_meta *meta = pair;
    return strcmp(key, meta->key);
}

const pf_meta *
pf_metadata_find(const pf_metadata *m, const char *key)
{
    return m->n ? bsearch(key, m->pair, m->n, sizeof *m->pair, find_key) : NULL;
}

uint64_t
pf_metadata_number(const pf_metadata *m, const char *key)
{
    const pf_meta *meta = pf_metadata_find(m, key);
    uint64_t value = 0;
    for (size_t i = 0; meta && i < meta->value_len; i++) {
        uint64_t digit = (uint64_t)meta->value[i] - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    return value;
}
