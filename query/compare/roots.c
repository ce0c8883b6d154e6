/*
 * roots.c - each file that only the base has votes for the pair of folders
 * that would make it one of the new side's; the pair with most votes wins, and
 * the files that are left vote again.
 */
#include "query/compare/roots.h"

#include <base/array.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 4000 }; /* of a side, that vote */

/* The lengths of two paths up to where their common end begins. */
typedef struct vote {
    size_t base, now; /* files */
    size_t from, to;  /* bytes of their folders */
    size_t n;
} vote;

typedef struct poll {
    pr_bytes *base, *now; /* files that only this side has */
    size_t n_base, cap_base, n_now, cap_now;
    vote *vote;
    size_t n_votes, cap_votes;
} poll;

static bool
equal(pr_bytes a, pr_bytes b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

static int
by_content(const void *x, const void *y)
{
    const pr_bytes *a = x, *b = y;
    size_t n = a->len < b->len ? a->len : b->len;
    int order = n ? memcmp(a->at, b->at, n) : 0;
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static pr_code
list(const pr_strings *paths, pr_bytes **ret, pr_err *err)
{
    *ret = calloc(paths->n + 1, sizeof **ret);
    if (!*ret)
        return pr_no_memory(err);
    for (size_t i = 0; i < paths->n; i++)
        (*ret)[i] = pr_strings_get(paths, (uint32_t)i);
    qsort(*ret, paths->n, sizeof **ret, by_content);
    return PR_OK;
}

/* Keep the files that the other list does not have. */
static size_t
without(pr_bytes *files, size_t n, const pr_bytes *others, size_t n_others)
{
    size_t kept = 0;
    for (size_t i = 0; i < n && kept < MOST_FILES; i++)
        if (!bsearch(&files[i], others, n_others, sizeof *others, by_content))
            files[kept++] = files[i];
    return kept;
}

/* How many bytes at the end are whole components of both paths; 0: none. */
static size_t
common_end(pr_bytes a, pr_bytes b)
{
    size_t n = 0, whole = 0, least = a.len < b.len ? a.len : b.len;
    while (n < least && a.at[a.len - 1 - n] == b.at[b.len - 1 - n]) {
        n++;
        if (a.at[a.len - n] == '/')
            whole = n;
    }
    return whole;
}

static bool
same_folders(const poll *p, const vote *a, const vote *b)
{
    return equal((pr_bytes){p->base[a->base].at, a->from},
                 (pr_bytes){p->base[b->base].at, b->from}) &&
           equal((pr_bytes){p->now[a->now].at, a->to},
                 (pr_bytes){p->now[b->now].at, b->to});
}

static pr_code
cast(poll *p, vote v, pr_err *err)
{
    for (size_t i = 0; i < p->n_votes; i++)
        if (same_folders(p, &p->vote[i], &v)) {
            p->vote[i].n++;
            return PR_OK;
        }
    if (!pr_grow(&p->vote, &p->cap_votes, p->n_votes + 1, sizeof *p->vote))
        return pr_no_memory(err);
    p->vote[p->n_votes++] = v;
    return PR_OK;
}

/* A file votes once, for its longest common end. */
static pr_code
vote_of(poll *p, size_t base, pr_err *err)
{
    size_t longest = 0, best = 0;
    for (size_t i = 0; i < p->n_now; i++) {
        size_t n = common_end(p->base[base], p->now[i]);
        if (n > longest) {
            longest = n;
            best = i;
        }
    }
    if (!longest)
        return PR_OK;
    return cast(p,
                (vote){base, best, p->base[base].len - longest,
                       p->now[best].len - longest, 1},
                err);
}

static pr_code
take_winner(const poll *p, q_roots *roots, pr_err *err)
{
    const vote *most = &p->vote[0];
    q_root *root = &roots->root[roots->n];
    for (size_t i = 1; i < p->n_votes; i++)
        if (p->vote[i].n > most->n)
            most = &p->vote[i];
    *root = (q_root){strndup(p->base[most->base].at, most->from),
                     strndup(p->now[most->now].at, most->to), most->n};
    roots->n++;
    return root->from && root->to ? PR_OK : pr_no_memory(err);
}

/* Files under a root that is found vote no more. */
static void
drop_settled(poll *p, const q_roots *roots)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->n_base; i++)
        if (!q_roots_of(roots, p->base[i].at, p->base[i].len))
            p->base[kept++] = p->base[i];
    p->n_base = kept;
}

pr_code
q_roots_find(const pr_strings *base, const pr_strings *now, q_roots *ret,
             pr_err *err)
{
    poll p = {0};
    q_roots roots = {0};
    pr_bytes *all = NULL;
    pr_code rc = list(base, &p.base, err);
    if (rc == PR_OK)
        rc = list(base, &all, err);
    if (rc == PR_OK)
        rc = list(now, &p.now, err);
    if (rc == PR_OK) {
        p.n_base = without(p.base, base->n, p.now, now->n);
        p.n_now = without(p.now, now->n, all, base->n);
    }
    while (rc == PR_OK && roots.n < Q_MAX_ROOTS && p.n_base) {
        p.n_votes = 0;
        for (size_t i = 0; rc == PR_OK && i < p.n_base; i++)
            rc = vote_of(&p, i, err);
        if (rc != PR_OK || !p.n_votes)
            break;
        rc = take_winner(&p, &roots, err);
        drop_settled(&p, &roots);
    }
    free(p.base);
    free(p.now);
    free(p.vote);
    free(all);
    if (rc == PR_OK)
        *ret = roots;
    else
        q_roots_release(&roots);
    return rc;
}

const q_root *
q_roots_of(const q_roots *roots, const char *path, size_t len)
{
    for (size_t i = 0; i < roots->n; i++) {
        size_t n = strlen(roots->root[i].from);
        if (len > n && memcmp(path, roots->root[i].from, n) == 0 &&
            path[n] == '/')
            return &roots->root[i];
    }
    return NULL;
}

void
q_roots_release(q_roots *roots)
{
    for (size_t i = 0; i < roots->n; i++) {
        free(roots->root[i].from);
        free(roots->root[i].to);
    }
    *roots = (q_roots){0};
}
