/*
 * fold.c - samples, nodes, one walk (fold.h says why).
 */
#include "query/fold/fold.h"

#include <base/array.h>
#include <base/hash.h>
#include <stdint.h>
#include <stdlib.h>

enum { MAX_ENTRIES = 1 << 28 };

static void
plus(q_amount *sum, const q_amount *more)
{
    sum->n += more->n;
    sum->us += more->us;
    sum->ran_n += more->ran_n;
    sum->ran_us += more->ran_us;
}

/* ---- samples ---- */

/* F1: the samples that ran are a part of all, and the sum of all fits. */
bool
q_amount_add(q_amount *sum, const q_amount *more)
{
    if (more->n < 0 || more->us < 0 || more->ran_n < 0 || more->ran_us < 0 ||
        more->ran_n > more->n || more->ran_us > more->us ||
        __builtin_add_overflow(sum->n, more->n, &sum->n) ||
        __builtin_add_overflow(sum->us, more->us, &sum->us))
        return false;
    sum->ran_n += more->ran_n;
    sum->ran_us += more->ran_us;
    return true;
}

q_amount
q_amount_read(sqlite3_stmt *row, int column)
{
    return (q_amount){sqlite3_column_int64(row, column),
                      sqlite3_column_int64(row, column + 1),
                      sqlite3_column_int64(row, column + 2),
                      sqlite3_column_int64(row, column + 3)};
}

/* ---- entries by key ---- */

typedef struct entry_key {
    const q_samples *samples;
    int64_t split, node;
} entry_key;

static bool
same_entry(const void *context, uint32_t value)
{
    const entry_key *k = context;
    const q_entry *e = &k->samples->entry[value];
    return e->node == k->node && e->split == k->split;
}

static uint64_t
hash_entry(int64_t split, int64_t node)
{
    return pr_mix64((uint64_t)node ^ pr_mix64((uint64_t)split));
}

/* Entries that come in order, as those of whole profiles do, need no table. */
static bool
hash_all(q_samples *s)
{
    for (size_t i = 0; i < s->len; i++)
        if (!pr_table_insert(&s->table,
                             hash_entry(s->entry[i].split, s->entry[i].node),
                             (uint32_t)i))
            return false;
    s->hashed = true;
    return true;
}

/* The entry of a key, made if it is new; NULL: out of memory. */
static q_entry *
find_entry(q_samples *s, int64_t split, int64_t node)
{
    const q_entry *last = s->len ? &s->entry[s->len - 1] : NULL;
    bool in_order = !last || split > last->split ||
                    (split == last->split && node > last->node);
    uint64_t hash = 0;
    if (last && last->node == node && last->split == split)
        return &s->entry[s->len - 1];
    if (!s->hashed && !in_order && !hash_all(s))
        return NULL;
    if (s->hashed) {
        const entry_key k = {s, split, node};
        hash = hash_entry(split, node);
        uint32_t at = pr_table_find(&s->table, hash, same_entry, &k);
        if (at != PR_TABLE_NONE)
            return &s->entry[at];
    }
    if (!pr_grow(&s->entry, &s->cap, s->len + 1, sizeof *s->entry) ||
        (s->hashed && !pr_table_insert(&s->table, hash, (uint32_t)s->len)))
        return NULL;
    s->entry[s->len] = (q_entry){split, node, {0, 0, 0, 0}};
    return &s->entry[s->len++];
}

static pr_code
add_entry(q_samples *s, int64_t split, int64_t node, const q_amount *amount,
          pr_err *err)
{
    if (!q_amount_add(&s->all, amount))
        return PR_FAIL(
            err, PR_DAMAGED, "samples of node %lld: %lld samples, %lld us",
            (long long)node, (long long)amount->n, (long long)amount->us);
    if (s->len == MAX_ENTRIES)
        return PR_FAIL(err, PR_LIMIT,
                       "the question divides the samples too finely");
    q_entry *entry = find_entry(s, split, node);
    if (!entry)
        return pr_no_memory(err);
    plus(&entry->amount, amount);
    return PR_OK;
}

static int
compare_entries(const void *x, const void *y)
{
    const q_entry *p = x, *q = y;
    if (p->split != q->split)
        return p->split < q->split ? -1 : 1;
    return (p->node > q->node) - (p->node < q->node);
}

static void
put_in_order(q_samples *s)
{
    if (s->hashed)
        qsort(s->entry, s->len, sizeof *s->entry, compare_entries);
    pr_table_release(&s->table); /* it has the old places */
    s->hashed = false;
}

static pr_code
end_samples(q_samples *s, pr_code rc, q_samples *ret)
{
    if (rc != PR_END) {
        q_samples_release(s);
        return rc;
    }
    put_in_order(s);
    *ret = *s;
    return PR_OK;
}

pr_code
q_samples_read(q_database *database, sqlite3_stmt *stmt, q_samples *ret,
               pr_err *err)
{
    q_samples s = {0};
    pr_code rc;
    while ((rc = q_database_step(database, stmt, err)) == PR_OK) {
        const q_amount amount = q_amount_read(stmt, 2);
        rc = add_entry(&s, sqlite3_column_int64(stmt, 1),
                       sqlite3_column_int64(stmt, 0), &amount, err);
        if (rc != PR_OK)
            break;
    }
    return end_samples(&s, rc, ret);
}

/* ---- runs ---- */

typedef struct run {
    int64_t node, t0, t1, n, us;
    bool ran;
} run;

/* a * b / divisor, rounded down; exact unless the product is beyond 63 bits,
 * which no recording reaches. */
static int64_t
multiply_divide(int64_t a, int64_t b, int64_t divisor)
{
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product))
        return product / divisor;
    return (int64_t)((double)a / (double)divisor * (double)b);
}

/* How many of its samples lie before the moment: the first is at t0, the last
 * at t1, those between are evenly spaced. */
static int64_t
samples_before(const run *r, int64_t moment)
{
    if (moment <= r->t0)
        return 0;
    if (moment > r->t1)
        return r->n;
    int64_t length = r->t1 - r->t0, product, n;
    if (__builtin_mul_overflow(moment - r->t0, r->n - 1, &product))
        n = multiply_divide(moment - r->t0, r->n - 1, length);
    else
        n = product / length + (product % length != 0);
    if (n > r->n)
        n = r->n;
    return n > 1 ? n : 1;
}

static pr_code
check_run(const run *r, pr_err *err)
{
    const int64_t limit = INT64_MAX / 4;
    if (r->n < 1 || r->us < 0 || r->t1 < r->t0 || r->t0 < -limit ||
        r->t1 > limit)
        return PR_FAIL(err, PR_DAMAGED, "a run of node %lld is impossible",
                       (long long)r->node);
    return PR_OK;
}

static pr_code
add_part(q_samples *s, const run *r, int64_t split, int64_t before,
         int64_t upto, pr_err *err)
{
    q_amount amount = {upto - before,
                       multiply_divide(r->us, upto, r->n) -
                           multiply_divide(r->us, before, r->n),
                       0, 0};
    if (amount.n == 0)
        return PR_OK;
    if (r->ran) {
        amount.ran_n = amount.n;
        amount.ran_us = amount.us;
    }
    return add_entry(s, split, r->node, &amount, err);
}

static pr_code
divide_run(q_samples *s, const run *r, int64_t width, int64_t from, int64_t to,
           pr_err *err)
{
    int64_t at = from > r->t0 ? from : r->t0;
    int64_t end = to <= r->t1 ? to : r->t1 + 1;
    int64_t before = samples_before(r, at);
    pr_code rc = PR_OK;
    while (rc == PR_OK && at < end) {
        int64_t bucket = at / width - (at % width < 0);
        int64_t next = (bucket + 1) * width;
        int64_t upto = samples_before(r, next < end ? next : end);
        rc = add_part(s, r, bucket, before, upto, err);
        before = upto;
        at = next;
    }
    return rc;
}

/* The samples of a run in [from, to), as one part or by buckets. */
static pr_code
add_run(q_samples *s, const run *r, int64_t width, int64_t from, int64_t to,
        int64_t split, pr_err *err)
{
    pr_code rc = check_run(r, err);
    if (rc != PR_OK)
        return rc;
    if (width == 0)
        return add_part(s, r, split, samples_before(r, from),
                        samples_before(r, to), err);
    if ((r->t1 - r->t0) / width > MAX_ENTRIES)
        return PR_FAIL(err, PR_LIMIT,
                       "the question divides the samples too finely");
    return divide_run(s, r, width, from, to, err);
}

pr_code
q_samples_read_runs(q_database *database, sqlite3_stmt *stmt, int64_t width,
                    q_samples *ret, pr_err *err)
{
    q_samples s = {0};
    pr_code rc;
    while ((rc = q_database_step(database, stmt, err)) == PR_OK) {
        const run r = {
            sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
            sqlite3_column_int64(stmt, 2), sqlite3_column_int64(stmt, 3),
            sqlite3_column_int64(stmt, 4), sqlite3_column_int(stmt, 5) != 0};
        rc = add_run(&s, &r, width, sqlite3_column_int64(stmt, 6),
                     sqlite3_column_int64(stmt, 7),
                     sqlite3_column_int64(stmt, 8), err);
        if (rc != PR_OK)
            break;
    }
    return end_samples(&s, rc, ret);
}

/* ---- parts ---- */

/* A part: entry[at .. end-1]. */
typedef struct part {
    size_t at, end;
    int64_t amount;
} part;

static size_t
end_of_part(const q_samples *s, size_t at)
{
    size_t end = at;
    while (end < s->len && s->entry[end].split == s->entry[at].split)
        end++;
    return end;
}

/* The largest first, then the earliest. */
static int
compare_parts(const void *x, const void *y)
{
    const part *p = x, *q = y;
    if (p->amount != q->amount)
        return p->amount > q->amount ? -1 : 1;
    return (p->at > q->at) - (p->at < q->at);
}

static int
compare_places_of_parts(const void *x, const void *y)
{
    const part *p = x, *q = y;
    return (p->at > q->at) - (p->at < q->at);
}

/* The parts in order of their amounts; returns how many. */
static size_t
rank_parts(const q_samples *s, bool ran, part *parts)
{
    size_t n = 0;
    for (size_t at = 0; at < s->len; at = parts[n - 1].end) {
        part p = {at, end_of_part(s, at), 0};
        for (size_t i = p.at; i < p.end; i++)
            p.amount += ran ? s->entry[i].amount.ran_n : s->entry[i].amount.n;
        parts[n++] = p;
    }
    qsort(parts, n, sizeof *parts, compare_parts);
    return n;
}

pr_code
q_samples_keep_parts(q_samples *samples, size_t n, bool ran, pr_err *err)
{
    part *parts = calloc(samples->len + 1, sizeof *parts);
    if (!parts)
        return pr_no_memory(err);
    size_t found = rank_parts(samples, ran, parts), len = 0;
    if (n > found)
        n = found;
    qsort(parts, n, sizeof *parts, compare_places_of_parts);
    for (size_t i = 0; i < n; i++)
        for (size_t at = parts[i].at; at < parts[i].end; at++)
            samples->entry[len++] = samples->entry[at];
    samples->len = len;
    free(parts);
    return PR_OK;
}

void
q_samples_release(q_samples *samples)
{
    free(samples->entry);
    pr_table_release(&samples->table);
    *samples = (q_samples){0};
}

/* ---- nodes ---- */

typedef struct function {
    int64_t id, a;
    bool hidden, match;
} function;

typedef struct functions {
    function *item;
    size_t len, cap;
    pr_table table;
} functions;

typedef struct wanted {
    const functions *functions;
    int64_t id;
} wanted;

static bool
same_function(const void *context, uint32_t value)
{
    const wanted *w = context;
    return w->functions->item[value].id == w->id;
}

static const function *
find_function(const functions *f, int64_t id)
{
    const wanted w = {f, id};
    uint32_t at =
        pr_table_find(&f->table, pr_mix64((uint64_t)id), same_function, &w);
    return at == PR_TABLE_NONE ? NULL : &f->item[at];
}

static int64_t
key_column(sqlite3_stmt *stmt, int column)
{
    int64_t value = sqlite3_column_int64(stmt, column);
    if (value == 0 && sqlite3_column_type(stmt, column) == SQLITE_NULL)
        return -1;
    return value;
}

static pr_code
read_functions(q_database *database, sqlite3_stmt *stmt, functions *f,
               pr_err *err)
{
    pr_code rc;
    while ((rc = q_database_step(database, stmt, err)) == PR_OK) {
        int64_t id = sqlite3_column_int64(stmt, 0);
        if (find_function(f, id))
            continue;
        if (f->len >= PR_TABLE_NONE - 1 ||
            !pr_grow(&f->item, &f->cap, f->len + 1, sizeof *f->item) ||
            !pr_table_insert(&f->table, pr_mix64((uint64_t)id),
                             (uint32_t)f->len))
            return pr_no_memory(err);
        f->item[f->len++] = (function){id, key_column(stmt, 1),
                                       sqlite3_column_int(stmt, 2) != 0,
                                       sqlite3_column_int(stmt, 3) != 0};
    }
    return rc == PR_END ? PR_OK : rc;
}

static int
compare_numbers(const void *x, const void *y)
{
    const int64_t *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

/* The nodes that samples end in, each once, in order. */
static pr_code
list_ends(const q_samples *samples, int64_t **ret, size_t *ret_n, pr_err *err)
{
    int64_t *id = calloc(samples->len + 1, sizeof *id);
    if (!id)
        return pr_no_memory(err);
    size_t n = 0;
    bool sorted = true;
    for (size_t i = 0; i < samples->len; i++) {
        int64_t node = samples->entry[i].node;
        sorted = sorted && (n == 0 || id[n - 1] <= node);
        if (n == 0 || id[n - 1] != node)
            id[n++] = node;
    }
    if (!sorted) {
        qsort(id, n, sizeof *id, compare_numbers);
        size_t unique = 1;
        for (size_t i = 1; i < n; i++)
            if (id[i] != id[unique - 1])
                id[unique++] = id[i];
        n = unique;
    }
    *ret = id;
    *ret_n = n;
    return PR_OK;
}

/* The way through the nodes in order of id. */
typedef struct reader {
    q_database *database;
    sqlite3_stmt *stmt;
    const functions *functions;
    int64_t *end; /* nodes that samples end in */
    size_t n_end, at;
    q_nodes nodes;
    uint32_t *path; /* open nodes */
    size_t depth, cap_path;
    bool has_b;
} reader;

static pr_code
not_in_order(int64_t id, int64_t last, pr_err *err)
{
    return PR_FAIL(err, PR_DAMAGED,
                   "nodes %lld to %lld are not numbered in pre-order",
                   (long long)id, (long long)last);
}

/* Close what ends before this node; ranges must lie within each other. */
static pr_code
close_before(reader *r, int64_t id, int64_t last, pr_err *err)
{
    q_node *node = r->nodes.node;
    while (r->depth && node[r->path[r->depth - 1]].last < id)
        node[r->path[--r->depth]].skip = (uint32_t)r->nodes.len;
    if (r->depth && node[r->path[r->depth - 1]].last < last)
        return not_in_order(id, last, err);
    return PR_OK;
}

static pr_code
keep_node(reader *r, int64_t id, int64_t last, pr_err *err)
{
    q_nodes *n = &r->nodes;
    pr_code rc = close_before(r, id, last, err);
    if (rc != PR_OK)
        return rc;
    if (n->len >= PR_TABLE_NONE - 1 ||
        !pr_grow(&n->node, &n->cap, n->len + 1, sizeof *n->node) ||
        !pr_grow(&r->path, &r->cap_path, r->depth + 1, sizeof *r->path))
        return pr_no_memory(err);
    const function *f =
        find_function(r->functions, sqlite3_column_int64(r->stmt, 2));
    n->node[n->len] = (q_node){.id = id,
                               .last = last,
                               .a = f ? f->a : -1,
                               .b = r->has_b ? key_column(r->stmt, 3) : -1,
                               .hidden = !f || f->hidden,
                               .match = f && f->match};
    r->path[r->depth++] = (uint32_t)n->len++;
    return PR_OK;
}

static pr_code
read_nodes(reader *r, pr_err *err)
{
    pr_code rc;
    int64_t previous = INT64_MIN;
    while ((rc = q_database_step(r->database, r->stmt, err)) == PR_OK) {
        int64_t id = sqlite3_column_int64(r->stmt, 0);
        int64_t last = sqlite3_column_int64(r->stmt, 1);
        if (last < id || id <= previous)
            return not_in_order(id, last, err);
        previous = id;
        while (r->at < r->n_end && r->end[r->at] < id)
            r->at++;
        if (r->at == r->n_end)
            break; /* no sample ends from here on */
        if (r->end[r->at] > last)
            continue;
        if ((rc = keep_node(r, id, last, err)) != PR_OK)
            return rc;
    }
    if (rc != PR_OK && rc != PR_END)
        return rc;
    while (r->depth)
        r->nodes.node[r->path[--r->depth]].skip = (uint32_t)r->nodes.len;
    return PR_OK;
}

pr_code
q_nodes_read(q_database *database, sqlite3_stmt *functions_stmt,
             sqlite3_stmt *nodes, const q_samples *samples, q_nodes *ret,
             pr_err *err)
{
    functions f = {0};
    reader r = {.database = database,
                .stmt = nodes,
                .functions = &f,
                .has_b = sqlite3_column_count(nodes) > 3};
    pr_code rc = read_functions(database, functions_stmt, &f, err);
    if (rc == PR_OK)
        rc = list_ends(samples, &r.end, &r.n_end, err);
    if (rc == PR_OK)
        rc = read_nodes(&r, err);
    free(r.end);
    free(r.path);
    free(f.item);
    pr_table_release(&f.table);
    if (rc == PR_OK)
        *ret = r.nodes;
    else
        q_nodes_release(&r.nodes);
    return rc;
}

void
q_nodes_release(q_nodes *nodes)
{
    free(nodes->node);
    *nodes = (q_nodes){0};
}

/* ---- groups ---- */

typedef struct key {
    const q_groups *groups;
    int64_t split, a, b;
    uint32_t parent;
} key;

static bool
same_key(const void *context, uint32_t value)
{
    const key *k = context;
    const q_group *g = &k->groups->group[value];
    return g->a == k->a && g->b == k->b && g->split == k->split &&
           g->parent == k->parent;
}

uint32_t
q_groups_find(q_groups *groups, int64_t split, int64_t a, int64_t b,
              uint32_t parent)
{
    const key k = {groups, split, a, b, parent};
    uint64_t hash = pr_mix64((uint64_t)a ^
                             pr_mix64((uint64_t)b ^ pr_mix64((uint64_t)split)));
    hash ^= pr_mix64(parent + UINT64_C(0x9e3779b97f4a7c15));
    uint32_t at = pr_table_find(&groups->table, hash, same_key, &k);
    if (at != PR_TABLE_NONE)
        return at;
    if (groups->len >= PR_TABLE_NONE - 1 ||
        !pr_grow(&groups->group, &groups->cap, groups->len + 1,
                 sizeof *groups->group) ||
        !pr_table_insert(&groups->table, hash, (uint32_t)groups->len))
        return PR_TABLE_NONE;
    groups->group[groups->len] = (q_group){
        .split = split, .a = a, .b = b, .last = INT64_MIN, .parent = parent};
    return (uint32_t)groups->len++;
}

/* ---- the walk ---- */

/* An open node. */
typedef struct step {
    int64_t last;
    q_amount self, below; /* what ended in it; in it or below it so far */
    uint32_t group;       /* PR_TABLE_NONE: it counts for none */
    uint32_t above;       /* tree: what a child stands on */
    int64_t unit;         /* of it or the visible node it stands on, or -1 */
    bool hidden, first, match;
} step;

typedef struct walk {
    q_fold how;
    int64_t split;
    q_groups groups;
    step *path;
    size_t depth, cap;
} walk;

static void
leave(walk *w)
{
    const step *s = &w->path[--w->depth];
    step *on = w->depth ? &w->path[w->depth - 1] : NULL;
    if (on)
        plus(&on->below, &s->below);
    if (s->hidden) {
        if (on)
            plus(&on->self, &s->self);
        return;
    }
    if (s->group == PR_TABLE_NONE)
        return;
    q_group *g = &w->groups.group[s->group];
    plus(&g->self, &s->self);
    if (s->first)
        plus(&g->total, &s->below); /* F3 */
}

/* The group of a node that is seen; PR_TABLE_NONE: it counts for none. */
static bool
choose_group(walk *w, const q_node *n, const step *on, step *s)
{
    int64_t caller = on ? on->unit : -1;
    bool is_tree = w->how == Q_FOLD_TREE || w->how == Q_FOLD_TREE_OF;
    uint32_t above = on ? on->above : PR_TABLE_NONE;
    bool counts = w->how == Q_FOLD_CALLERS   ? n->match
                  : w->how == Q_FOLD_CALLEES ? on && on->match
                  : w->how == Q_FOLD_TREE_OF
                      ? above != PR_TABLE_NONE || n->match
                      : true;
    if (!counts)
        return true;
    if (is_tree)
        s->group = q_groups_find(&w->groups, w->split, n->a, 0, above);
    else if (w->how == Q_FOLD_UNITS)
        s->group =
            q_groups_find(&w->groups, w->split, n->a, n->b, PR_TABLE_NONE);
    else
        s->group =
            q_groups_find(&w->groups, w->split, caller, n->a, PR_TABLE_NONE);
    if (s->group == PR_TABLE_NONE)
        return false;
    q_group *g = &w->groups.group[s->group];
    s->first = is_tree || n->id > g->last;
    if (s->first)
        g->last = n->last;
    if (is_tree) {
        const q_group *up =
            above == PR_TABLE_NONE ? NULL : &w->groups.group[above];
        s->above = s->group;
        g->depth = up ? up->depth + 1 : 0;
        g->below_match = up && (up->match || up->below_match);
        g->match = n->match && !g->below_match;
    }
    return true;
}

static bool
enter(walk *w, const q_node *n, const q_amount *self)
{
    if (!pr_grow(&w->path, &w->cap, w->depth + 1, sizeof *w->path))
        return false;
    const step *on = w->depth ? &w->path[w->depth - 1] : NULL;
    step s = {.last = n->last,
              .self = *self,
              .below = *self,
              .group = PR_TABLE_NONE,
              .above = on ? on->above : PR_TABLE_NONE,
              .unit = n->hidden ? (on ? on->unit : -1) : n->a,
              .hidden = n->hidden,
              .match = n->hidden ? on && on->match : n->match};
    if (!n->hidden && !choose_group(w, n, on, &s))
        return false;
    w->path[w->depth++] = s;
    return true;
}

/* One part of the samples: entry[at .. end-1]. */
static bool
walk_split(walk *w, const q_entry *entry, size_t at, size_t end,
           const q_nodes *nodes)
{
    static const q_amount none = {0, 0, 0, 0};
    for (size_t i = 0; i < nodes->len;) {
        const q_node *n = &nodes->node[i];
        while (at < end && entry[at].node < n->id)
            at++;
        if (at == end)
            break;
        if (entry[at].node > n->last) {
            i = n->skip;
            continue;
        }
        while (w->depth && w->path[w->depth - 1].last < n->id)
            leave(w);
        bool own = entry[at].node == n->id;
        if (!enter(w, n, own ? &entry[at].amount : &none))
            return false;
        i++;
    }
    while (w->depth)
        leave(w);
    return true;
}

pr_code
q_fold_all(const q_samples *samples, const q_nodes *nodes, q_fold how,
           q_groups *ret, pr_err *err)
{
    walk w = {.how = how};
    bool done = true;
    for (size_t at = 0; done && at < samples->len;) {
        size_t end = end_of_part(samples, at);
        w.split = samples->entry[at].split;
        done = walk_split(&w, samples->entry, at, end, nodes);
        at = end;
    }
    free(w.path);
    if (!done) {
        q_groups_release(&w.groups);
        return pr_no_memory(err);
    }
    *ret = w.groups;
    return PR_OK;
}

pr_code
q_groups_add_parts(q_groups *groups, const q_samples *samples, pr_err *err)
{
    for (size_t i = 0; i < samples->len; i++) {
        const q_entry *e = &samples->entry[i];
        uint32_t at =
            q_groups_find(groups, e->split, -1, Q_PART, PR_TABLE_NONE);
        if (at == PR_TABLE_NONE)
            return pr_no_memory(err);
        plus(&groups->group[at].self, &e->amount);
    }
    return PR_OK;
}

void
q_groups_release(q_groups *groups)
{
    free(groups->group);
    pr_table_release(&groups->table);
    *groups = (q_groups){0};
}

/* ---- the order of a tree ---- */

/* For qsort: brothers together, in reverse order of the output, since the
 * walk below takes the last one first. */
typedef struct place {
    uint32_t group, parent;
    int64_t split, total_n, key;
} place;

static int
compare_places(const void *x, const void *y)
{
    const place *p = x, *q = y;
    if (p->parent != q->parent)
        return p->parent < q->parent ? -1 : 1;
    if (p->split != q->split)
        return p->split > q->split ? -1 : 1;
    if (p->total_n != q->total_n)
        return p->total_n < q->total_n ? -1 : 1;
    return p->key > q->key ? -1 : p->key < q->key;
}

/* A group has no more samples than the one it stands on: a group that is
 * left out has only such groups on it. */
static size_t
list_places(const q_groups *groups, int64_t least_n, place *places)
{
    size_t n = 0;
    for (size_t i = 0; i < groups->len; i++) {
        const q_group *g = &groups->group[i];
        if (g->total.n >= least_n)
            places[n++] =
                (place){(uint32_t)i, g->parent, g->split, g->total.n, g->a};
    }
    qsort(places, n, sizeof *places, compare_places);
    return n;
}

/* The groups to `out` in pre-order, parents renumbered; returns how many.
 * `open` and `moved` have room for all: each group is there once. */
static size_t
write_in_order(const q_group *group, const place *places, size_t n,
               uint32_t *open, uint32_t *moved, q_group *out)
{
    size_t n_open = 0, n_out = 0;
    uint32_t parent = PR_TABLE_NONE;
    for (;;) {
        size_t i; /* where the groups on `parent` begin */
        PR_FIND_SORTED(i, places, n, parent, parent);
        for (; i < n && places[i].parent == parent; i++)
            open[n_open++] = places[i].group;
        if (n_open == 0)
            return n_out;
        parent = open[--n_open];
        moved[parent] = (uint32_t)n_out;
        out[n_out] = group[parent];
        if (out[n_out].parent != PR_TABLE_NONE)
            out[n_out].parent = moved[out[n_out].parent];
        n_out++;
    }
}

pr_code
q_groups_order(q_groups *groups, int64_t least_n, pr_err *err)
{
    size_t n = groups->len;
    place *places = calloc(n + 1, sizeof *places);
    uint32_t *open = calloc(2 * n + 2, sizeof *open);
    q_group *out = calloc(n + 1, sizeof *out);
    bool done = places && open && out;
    if (done) {
        size_t kept = list_places(groups, least_n, places);
        groups->len = write_in_order(groups->group, places, kept, open,
                                     open + n + 1, out);
        free(groups->group);
        groups->group = out;
        groups->cap = n + 1;
        pr_table_release(&groups->table); /* it has the old places */
    } else {
        free(out);
    }
    free(places);
    free(open);
    return done ? PR_OK : pr_no_memory(err);
}

/* ---- from callees to callers ---- */

/* The way from one group of the tree to its root, as a path of `to`. */
static bool
add_way(q_groups *to, const q_groups *tree, size_t from, const q_amount *amount,
        int64_t depth)
{
    uint32_t parent = PR_TABLE_NONE;
    uint32_t at = (uint32_t)from;
    for (int64_t level = 0; at != PR_TABLE_NONE && level < depth; level++) {
        const q_group *g = &tree->group[at];
        uint32_t made = q_groups_find(to, g->split, g->a, 0, parent);
        if (made == PR_TABLE_NONE)
            return false;
        q_group *m = &to->group[made];
        m->depth = (uint32_t)level;
        plus(&m->total, amount);
        if (g->parent == PR_TABLE_NONE || level + 1 == depth)
            plus(&m->self, amount);
        parent = made;
        at = g->parent;
    }
    return true;
}

pr_code
q_groups_invert(q_groups *groups, bool of, int64_t depth, int64_t least_n,
                pr_err *err)
{
    q_groups to = {0};
    bool done = true;
    for (size_t i = 0; done && i < groups->len; i++) {
        const q_group *g = &groups->group[i];
        const q_amount *amount = of ? &g->total : &g->self;
        if (of ? g->match : amount->n > 0 || amount->us > 0)
            done = add_way(&to, groups, i, amount, depth);
    }
    q_groups_release(groups);
    *groups = to;
    return done ? q_groups_order(groups, least_n, err) : pr_no_memory(err);
}
