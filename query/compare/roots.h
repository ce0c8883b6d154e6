/*
 * roots.h - folders of the base that stand elsewhere on the new side: two
 * checkouts of a project, two virtual environments.
 */
#ifndef QUERY_COMPARE_ROOTS_H
#define QUERY_COMPARE_ROOTS_H

#include <base/intern.h>
#include <pyrec/error.h>

enum { Q_MAX_ROOTS = 4 };

/* Paths that begin with `from` on the base begin with `to` on the new side.
 * Both are owned, and end before a slash. */
typedef struct q_root {
    char *from, *to;
    size_t n_files; /* that both sides have because of it */
} q_root;

typedef struct q_roots {
    q_root root[Q_MAX_ROOTS];
    size_t n;
} q_roots;

/* Find them from the files that only one side has, by the ends of their
 * paths. */
pr_code q_roots_find(const pr_strings *base, const pr_strings *now,
                     q_roots *ret, pr_err *err);

/* The root above the path of a file of the base, or NULL. */
const q_root *q_roots_of(const q_roots *roots, const char *path, size_t len);
void q_roots_release(q_roots *roots);

#endif
