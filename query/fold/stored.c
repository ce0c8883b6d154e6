/*
 * stored.c - rows of stored totals into groups.
 */
#include "query/fold/stored.h"

#include <base/array.h>
#include <stdlib.h>

static q_amount
column_amount(sqlite3_stmt *stmt, int column)
{
    return (q_amount){sqlite3_column_int64(stmt, column),
                      sqlite3_column_int64(stmt, column + 1),
                      sqlite3_column_int64(stmt, column + 2),
                      sqlite3_column_int64(stmt, column + 3)};
}

/* False: a number that cannot be. */
static bool
add_amounts(q_group *group, sqlite3_stmt *stmt, int column)
{
    const q_amount self = column_amount(stmt, column);
    const q_amount total = column_amount(stmt, column + 4);
    return q_amount_add(&group->self, &self) &&
           q_amount_add(&group->total, &total);
}

/* ---- sums ---- */

static pr_code
add_sums(q_groups *groups, sqlite3_stmt *stmt, pr_err *err)
{
    int64_t split = sqlite3_column_int64(stmt, 0);
    int64_t a = sqlite3_column_int64(stmt, 1);
    uint32_t at = q_groups_find(groups, split, a, -1, PR_TABLE_NONE);
    if (at == PR_TABLE_NONE)
        return pr_no_memory(err);
    if (!add_amounts(&groups->group[at], stmt, 2))
        return PR_FAIL(err, PR_DAMAGED,
                       "the stored totals of function %lld cannot be",
                       (long long)a);
    return PR_OK;
}

pr_code
q_stored_sums_read(q_database *database, sqlite3_stmt *stmt, q_groups *ret,
                   pr_err *err)
{
    q_groups groups = {0};
    pr_code rc;
    while ((rc = q_database_step(database, stmt, err)) == PR_OK)
        if ((rc = add_sums(&groups, stmt, err)) != PR_OK)
            break;
    if (rc == PR_END) {
        *ret = groups;
        return PR_OK;
    }
    q_groups_release(&groups);
    return rc;
}

/* ---- trees ---- */

/* The ids of the rows so far, ascending. */
typedef struct ids {
    int64_t *id;
    size_t cap;
} ids;

/* The group of the row with this id, or PR_TABLE_NONE. */
static uint32_t
find_row(const ids *rows, size_t n, int64_t id)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->id[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && rows->id[low] == id ? (uint32_t)low : PR_TABLE_NONE;
}

static pr_code
add_row(sqlite3_stmt *stmt, const ids *rows, q_groups *groups, pr_err *err)
{
    int64_t id = sqlite3_column_int64(stmt, 0);
    q_group g = {.a = sqlite3_column_int64(stmt, 2), .parent = PR_TABLE_NONE};
    bool is_root = sqlite3_column_type(stmt, 1) == SQLITE_NULL;
    if (!is_root)
        g.parent = find_row(rows, groups->len, sqlite3_column_int64(stmt, 1));
    if ((!is_root && g.parent == PR_TABLE_NONE) || !add_amounts(&g, stmt, 3))
        return PR_FAIL(err, PR_DAMAGED, "row %lld of tree_total cannot be",
                       (long long)id);
    g.depth = is_root ? 0 : groups->group[g.parent].depth + 1;
    rows->id[groups->len] = id;
    groups->group[groups->len++] = g;
    return PR_OK;
}

pr_code
q_stored_tree_read(q_database *database, sqlite3_stmt *stmt, q_groups *ret,
                   pr_err *err)
{
    q_groups groups = {0};
    ids rows = {0};
    pr_code rc;
    while ((rc = q_database_step(database, stmt, err)) == PR_OK) {
        if (groups.len >= PR_TABLE_NONE - 1 ||
            !pr_grow(&groups.group, &groups.cap, groups.len + 1,
                     sizeof *groups.group) ||
            !pr_grow(&rows.id, &rows.cap, groups.len + 1, sizeof *rows.id))
            rc = pr_no_memory(err);
        else
            rc = add_row(stmt, &rows, &groups, err);
        if (rc != PR_OK)
            break;
    }
    free(rows.id);
    if (rc == PR_END) {
        *ret = groups;
        return PR_OK;
    }
    q_groups_release(&groups);
    return rc;
}
