/*
 * dict.h - dicts and instance attributes of the target, by name.
 *
 * A dict may change while it is read.  Everything read is bounded and checked,
 * but an answer may mix two moments, so only names and facts that do not change
 * are read in this way.
 */
#ifndef RECORDER_CPYTHON_DICT_H
#define RECORDER_CPYTHON_DICT_H

#include "recorder/cpython/layout.h"

typedef struct rec_item {
    uint64_t key, value; /* addresses; neither is 0 */
} rec_item;

/* The items of a dict in order of insertion; the caller frees *ret, which is
 * NULL for an empty one.  PR_TORN: not a dict; PR_LIMIT: more than max. */
pr_code rec_dict_items(const rec_layout *layout, rec_memory *memory,
                       uint64_t dict, size_t max, rec_item **ret, size_t *ret_n,
                       pr_err *err);

/* The value of the ASCII str `key`.  PR_NAME: none. */
pr_code rec_dict_get(const rec_layout *layout, rec_memory *memory,
                     uint64_t dict, const char *key, uint64_t *ret,
                     pr_err *err);

/* The attribute of an instance, as its own dict or its inline values have it;
 * attributes of its class are not searched.  PR_NAME: none. */
pr_code rec_instance_get(const rec_layout *layout, rec_memory *memory,
                         uint64_t object, const char *name, uint64_t *ret,
                         pr_err *err);

#endif
