/*
 * intern.h - equal content, equal id: strings and fixed-size records.
 *
 * Ids are 0, 1, 2, ... in order of first appearance and never change.
 * Ownership  the caller's storage, zero-initialised; release frees contents.
 */
#ifndef CONVERTER_INTERN_H
#define CONVERTER_INTERN_H

#include <pyrec/base.h>

typedef struct conv_bytes {
    const char *at; /* not terminated; valid until the next add */
    size_t len;
} conv_bytes;

typedef struct conv_strings {
    char *text;
    size_t n_text, cap_text;
    size_t *end; /* [n]: where string i ends in text */
    size_t n, cap;
    pr_table table;
} conv_strings;

/* The id of the string, new or not.  PR_NOMEM. */
pr_code conv_strings_add(conv_strings *strings, const char *at, size_t len,
                         uint32_t *ret, pr_err *err);
conv_bytes conv_strings_get(const conv_strings *strings, uint32_t id);
void conv_strings_release(conv_strings *strings);

/* Records of one size, compared byte by byte: they must have no padding. */
typedef struct conv_set {
    void *item; /* [n] of `size` bytes */
    size_t size;
    size_t n, cap;
    pr_table table;
} conv_set;

pr_code conv_set_add(conv_set *set, const void *item, uint32_t *ret,
                     pr_err *err);
/* PR_TABLE_NONE: it is not there. */
uint32_t conv_set_find(const conv_set *set, const void *item);
void conv_set_release(conv_set *set);

/* A growing list of 32-bit numbers: from the ids of an input to ours. */
typedef struct conv_list {
    uint32_t *at;
    size_t n, cap;
} conv_list;

pr_code conv_list_add(conv_list *list, uint32_t value, pr_err *err);
void conv_list_release(conv_list *list);

#endif
