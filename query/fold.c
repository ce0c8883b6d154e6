/*
 * fold.c - prefix sums over pre-order numbers (fold.h says why).
 */
#include "query/fold.h"

#include <base/array.h>
#include <base/hash.h>
#include <stdint.h>
#include <stdlib.h>

static bool
add(q_amount *sum, int64_t n, int64_t us)
{
    return n >= 0 && us >= 0 && !__builtin_add_overflow(sum->n, n, &sum->n) &&
           !__builtin_add_overflow(sum->us, us, &sum->us);
}

static void
plus(q_amount *sum, q_amount more)
{
    sum->n += more.n;
    sum->us += more.us;
}

static pr_code
add_weight(q_weights *w, int64_t node, int64_t n, int64_t us, pr_err *err)
{
    if (w->len == 0 || w->node[w->len - 1] != node) {
        if (!pr_grow(&w->node, &w->cap_node, w->len + 1, sizeof *w->node) ||
            !pr_grow(&w->before, &w->cap_before, w->len + 2, sizeof *w->before))
            return pr_no_memory(err);
        if (w->len && w->node[w->len - 1] > node)
            return PR_FAIL(err, PR_DAMAGED,
                           "samples name a node that is no number");
        w->node[w->len++] = node;
        w->before[w->len] = w->before[w->len - 1];
    }
    if (!add(&w->before[w->len], n, us)) /* F1 */
        return PR_FAIL(err, PR_DAMAGED,
                       "samples of node %lld: %lld samples, %lld us",
                       (long long)node, (long long)n, (long long)us);
    return PR_OK;
}

pr_code
q_weights_read(q_database *database, sqlite3_stmt *stmt, q_weights *ret,
               pr_err *err)
{
    q_weights w = {0};
    if (!pr_grow(&w.before, &w.cap_before, 1, sizeof *w.before))
        return pr_no_memory(err);
    w.before[0] = (q_amount){0, 0};
    pr_code rc;
    while ((rc = q_database_step(database, stmt, err)) == PR_OK) {
        rc = add_weight(&w, sqlite3_column_int64(stmt, 0),
                        sqlite3_column_int64(stmt, 1),
                        sqlite3_column_int64(stmt, 2), err);
        if (rc != PR_OK)
            break;
    }
    if (rc != PR_END) {
        q_weights_release(&w);
        return rc;
    }
    *ret = w;
    return PR_OK;
}

void
q_weights_release(q_weights *weights)
{
    free(weights->node);
    free(weights->before);
    *weights = (q_weights){0};
}

/* A node of the tree and what ended in it and below it. */
typedef struct visit {
    int64_t id, last;
    q_amount self, total;
} visit;

/* The first place in w->node[from ..] whose node is beyond `id`. */
static size_t
find_beyond(const q_weights *w, size_t from, int64_t id)
{
    size_t low = from, high = w->len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->node[middle] <= id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static q_amount
amount_between(const q_weights *w, size_t from, size_t to)
{
    return (q_amount){w->before[to].n - w->before[from].n,
                      w->before[to].us - w->before[from].us};
}

/* The way through the nodes in order of id. */
typedef struct walker {
    q_database *database;
    sqlite3_stmt *stmt;
    const q_weights *weights;
    size_t at; /* where the next id belongs in the weights, or before */
    int64_t previous;
    bool started;
} walker;

static pr_code
read_visit(walker *walk, visit *v, pr_err *err)
{
    v->id = sqlite3_column_int64(walk->stmt, 0);
    v->last = sqlite3_column_int64(walk->stmt, 1);
    if (v->last < v->id || (walk->started && v->id <= walk->previous))
        return PR_FAIL(err, PR_DAMAGED,
                       "nodes %lld to %lld are not numbered in pre-order",
                       (long long)v->id, (long long)v->last);
    walk->started = true;
    walk->previous = v->id;
    const q_weights *w = walk->weights;
    while (walk->at < w->len && w->node[walk->at] < v->id)
        walk->at++;
    size_t from = walk->at;
    size_t own = from < w->len && w->node[from] == v->id;
    v->self = amount_between(w, from, from + own);
    /* most nodes are leaves */
    size_t to = v->last == v->id ? from + own : find_beyond(w, from, v->last);
    v->total = amount_between(w, from, to);
    return PR_OK;
}

/* The next node with samples of the question at or below it.  A node without
 * has none below it that counts: those lie in its range of ids. */
static pr_code
next_visit(walker *walk, visit *ret, pr_err *err)
{
    pr_code rc;
    do {
        rc = q_database_step(walk->database, walk->stmt, err);
        if (rc == PR_OK)
            rc = read_visit(walk, ret, err);
    } while (rc == PR_OK && ret->total.n == 0 && ret->total.us == 0);
    return rc;
}

static int64_t
key_column(sqlite3_stmt *stmt, int column)
{
    int64_t value = sqlite3_column_int64(stmt, column);
    if (value == 0 && sqlite3_column_type(stmt, column) == SQLITE_NULL)
        return -1;
    return value;
}

typedef struct key {
    const q_groups *groups;
    int64_t a, b;
    uint32_t parent;
} key;

static bool
same_key(const void *context, uint32_t value)
{
    const key *k = context;
    const q_group *g = &k->groups->group[value];
    return g->a == k->a && g->b == k->b && g->parent == k->parent;
}

/* The group of a key, made if it is new; PR_TABLE_NONE: no memory. */
static uint32_t
find_group(q_groups *groups, int64_t a, int64_t b, uint32_t parent)
{
    key k = {groups, a, b, parent};
    uint64_t hash = pr_mix64((uint64_t)a ^ pr_mix64((uint64_t)b)) ^
                    pr_mix64(parent + UINT64_C(0x9e3779b97f4a7c15));
    uint32_t at = pr_table_find(&groups->table, hash, same_key, &k);
    if (at != PR_TABLE_NONE)
        return at;
    if (groups->len >= PR_TABLE_NONE - 1 ||
        !pr_grow(&groups->group, &groups->cap, groups->len + 1,
                 sizeof *groups->group) ||
        !pr_table_insert(&groups->table, hash, (uint32_t)groups->len))
        return PR_TABLE_NONE;
    groups->group[groups->len] =
        (q_group){.a = a, .b = b, .last = INT64_MIN, .parent = parent};
    return (uint32_t)groups->len++;
}

static bool
count_flat(q_groups *groups, int64_t a, int64_t b, const visit *v)
{
    uint32_t at = find_group(groups, a, b, PR_TABLE_NONE);
    if (at == PR_TABLE_NONE)
        return false;
    q_group *g = &groups->group[at];
    plus(&g->self, v->self);
    if (v->id > g->last) { /* F2 */
        plus(&g->total, v->total);
        g->last = v->last;
    }
    return true;
}

pr_code
q_fold_flat(q_database *database, sqlite3_stmt *stmt, const q_weights *weights,
            q_groups *ret, pr_err *err)
{
    walker walk = {.database = database, .stmt = stmt, .weights = weights};
    q_groups groups = {0};
    bool has_b = sqlite3_column_count(stmt) > 3;
    visit v;
    pr_code rc;
    while ((rc = next_visit(&walk, &v, err)) == PR_OK) {
        int64_t b = has_b ? key_column(stmt, 3) : -1;
        if (!count_flat(&groups, key_column(stmt, 2), b, &v)) {
            rc = pr_no_memory(err);
            break;
        }
    }
    if (rc != PR_END) {
        q_groups_release(&groups);
        return rc;
    }
    *ret = groups;
    return PR_OK;
}

/* The nodes above the one looked at, outermost first. */
typedef struct path {
    struct step {
        int64_t last;
        uint32_t group; /* PR_TABLE_NONE: not below a root */
    } * step;
    size_t len, cap;
} path;

static bool
count_in_tree(q_groups *groups, path *p, int64_t a, bool is_root,
              const visit *v)
{
    while (p->len && p->step[p->len - 1].last < v->id)
        p->len--;
    uint32_t parent = p->len ? p->step[p->len - 1].group : PR_TABLE_NONE;
    uint32_t at = PR_TABLE_NONE;
    if (parent != PR_TABLE_NONE || is_root) {
        at = find_group(groups, a, 0, parent);
        if (at == PR_TABLE_NONE)
            return false;
        q_group *g = &groups->group[at];
        g->depth =
            parent == PR_TABLE_NONE ? 0 : groups->group[parent].depth + 1;
        plus(&g->self, v->self);   /* the nodes of one group do not overlap: */
        plus(&g->total, v->total); /* each was left before the next came */
    }
    if (!pr_grow(&p->step, &p->cap, p->len + 1, sizeof *p->step))
        return false;
    p->step[p->len++] = (struct step){v->last, at};
    return true;
}

/* For qsort: brothers together, in reverse order of the output, since the
 * walk below takes the last one first. */
typedef struct place {
    uint32_t group, parent;
    int64_t total_n, key;
} place;

static int
compare_places(const void *x, const void *y)
{
    const place *p = x, *q = y;
    if (p->parent != q->parent)
        return p->parent < q->parent ? -1 : 1;
    if (p->total_n != q->total_n)
        return p->total_n < q->total_n ? -1 : 1;
    return p->key > q->key ? -1 : p->key < q->key;
}

/* Where the brothers below `parent` begin. */
static size_t
find_children(const place *places, size_t n, uint32_t parent)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places[middle].parent < parent)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Write the groups to `out` in pre-order and return how many there are.
 * `todo` has room for all of them: each is on it once. */
static size_t
write_in_order(const q_group *group, const place *places, size_t n,
               uint32_t *todo, q_group *out)
{
    size_t n_todo = 0, n_out = 0;
    uint32_t parent = PR_TABLE_NONE;
    for (;;) {
        for (size_t i = find_children(places, n, parent);
             i < n && places[i].parent == parent; i++)
            todo[n_todo++] = places[i].group;
        if (n_todo == 0)
            return n_out;
        parent = todo[--n_todo];
        out[n_out++] = group[parent];
    }
}

/* A group has no more samples than the one it stands on: what is left out
 * takes only the like with it. */
static size_t
list_places(const q_groups *groups, int64_t least_n, place *places)
{
    size_t n = 0;
    for (size_t i = 0; i < groups->len; i++) {
        const q_group *g = &groups->group[i];
        if (g->total.n >= least_n)
            places[n++] = (place){(uint32_t)i, g->parent, g->total.n, g->a};
    }
    qsort(places, n, sizeof *places, compare_places);
    return n;
}

static bool
put_in_order(q_groups *groups, int64_t least_n)
{
    size_t n = groups->len;
    place *places = calloc(n + 1, sizeof *places);
    uint32_t *todo = calloc(n + 1, sizeof *todo);
    q_group *out = calloc(n + 1, sizeof *out);
    bool done = places && todo && out;
    if (done) {
        size_t kept = list_places(groups, least_n, places);
        groups->len = write_in_order(groups->group, places, kept, todo, out);
        free(groups->group);
        groups->group = out;
        groups->cap = n + 1;
    } else {
        free(out);
    }
    free(places);
    free(todo);
    return done;
}

static pr_code
read_tree(walker *walk, q_groups *groups, path *p, pr_err *err)
{
    visit v;
    pr_code rc;
    while ((rc = next_visit(walk, &v, err)) == PR_OK)
        if (!count_in_tree(groups, p, key_column(walk->stmt, 2),
                           sqlite3_column_int(walk->stmt, 3) != 0, &v))
            return pr_no_memory(err);
    return rc == PR_END ? PR_OK : rc;
}

pr_code
q_fold_tree(q_database *database, sqlite3_stmt *stmt, const q_weights *weights,
            int64_t least_n, q_groups *ret, pr_err *err)
{
    walker walk = {.database = database, .stmt = stmt, .weights = weights};
    q_groups groups = {0};
    path p = {0};
    pr_code rc = read_tree(&walk, &groups, &p, err);
    free(p.step);
    if (rc == PR_OK && !put_in_order(&groups, least_n))
        rc = pr_no_memory(err);
    if (rc != PR_OK) {
        q_groups_release(&groups);
        return rc;
    }
    *ret = groups;
    return PR_OK;
}

void
q_groups_release(q_groups *groups)
{
    free(groups->group);
    pr_table_release(&groups->table);
    *groups = (q_groups){0};
}
