/*
 * intern.h - equal content, equal id: strings and fixed-size records.
 *
 * Ids are 0, 1, 2, ... in order of first appearance and never change.
 * Ownership  the caller's storage, zero-initialised; release frees contents.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <base/array.h>
#include <base/hash.h>
#include <base/hash_table.h>
#include <pyrec/error.h>

typedef struct pr_bytes {
    const char *at; /* not terminated; valid until the next add */
    size_t len;
} pr_bytes;

typedef struct pr_strings {
    char *text;
    size_t n_text, cap_text;
    size_t *end; /* [n]: where string i ends in text */
    size_t n, cap;
    pr_table table;
} pr_strings;

/* The id of the string, new or not.  PR_NOMEM. */
pr_code pr_strings_add(pr_strings *strings, const char *at, size_t len,
                       uint32_t *ret, pr_err *err);
static inline pr_bytes
pr_strings_get(const pr_strings *strings, uint32_t id)
{
    size_t from = id ? strings->end[id - 1] : 0;
    /* the text is NULL while all strings are empty */
    const char *at = from ? strings->text + from : strings->text;
    return (pr_bytes){at, strings->end[id] - from};
}
void pr_strings_release(pr_strings *strings);

/* Records of one size, compared byte by byte: they must have no padding. */
typedef struct pr_set {
    void *item; /* [n] of `size` bytes */
    size_t size;
    size_t n, cap;
    pr_table table;
} pr_set;

pr_code pr_set_add(pr_set *set, const void *item, uint32_t *ret, pr_err *err);
/* PR_TABLE_NONE: it is not there. */
uint32_t pr_set_find(const pr_set *set, const void *item);
void pr_set_release(pr_set *set);

/* A growing list of 32-bit numbers: from the ids of an input to ours. */
typedef struct pr_list {
    uint32_t *at;
    size_t n, cap;
} pr_list;

static inline pr_code
pr_list_add(pr_list *list, uint32_t value, pr_err *err)
{
    if (!pr_grow(&list->at, &list->cap, list->n + 1, sizeof *list->at))
        return pr_no_memory(err);
    list->at[list->n++] = value;
    return PR_OK;
}

void pr_list_release(pr_list *list);

#endif
