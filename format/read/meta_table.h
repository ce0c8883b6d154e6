/*
 * meta_table.h - the metadata of a file: keys and their last values.
 */
#ifndef FORMAT_READ_META_TABLE_H
#define FORMAT_READ_META_TABLE_H

#include "format/read/budget.h"
#include <base/hash_table.h>
#include <pyrec/profile.h>

typedef struct pf_meta {
    char *key;   /* terminated; the block, which holds the value as well */
    char *value; /* terminated */
    size_t value_len;
} pf_meta;

typedef struct pf_metadata {
    pf_budget *budget;
    pf_meta *pair; /* in order of arrival; once sorted, in order of key */
    size_t n, cap;
    pr_table table; /* key to pair, until they are sorted */
} pf_metadata;

void pf_metadata_release(pf_metadata *metadata);

/* Keep a copy of the pair; a later value of a key replaces the earlier one.
 * PR_LIMIT, PR_NOMEM. */
pr_code pf_metadata_set(pf_metadata *metadata, const pr_pair *pair,
                        pr_err *err);

/* Sort the pairs, after the last pf_metadata_set(). */
void pf_metadata_sort(pf_metadata *metadata);

/* The pair of a key, once they are sorted; NULL: none. */
const pf_meta *pf_metadata_find(const pf_metadata *metadata, const char *key);

/* The value of a key as a decimal number; 0 if there is no such key, or its
 * value is not a number below 2^64. */
uint64_t pf_metadata_number(const pf_metadata *metadata, const char *key);

#endif
