/*
 * stored.c - rows of stored totals into groups.
 */
#include "query/fold/stored.h"

#include <base/array.h>
#include <stdlib.h>

/* False: a number that cannot be. */
static bool
add_amounts(q_group *group, sqlite3_stmt *stmt, int column)
{
    const q_amount self = q_amount_read(stmt, column);
    const q_amount total = q_amount_read(stmt, column + 4);
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
                       "the stored totals of function %lld are impossible",
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

/* Rows of several profiles that are at one level of the tree. */
typedef struct row {
    int64_t profile, id; /* 0: what roots stand on */
    uint32_t group;
} row;

typedef struct rows {
    row *at;
    size_t len, cap;
} rows;

static bool
add_row(rows *level, int64_t profile, int64_t id, uint32_t group)
{
    if (!pr_grow(&level->at, &level->cap, level->len + 1, sizeof *level->at))
        return false;
    level->at[level->len++] = (row){profile, id, group};
    return true;
}

static pr_code
read_profiles(q_database *database, sqlite3_stmt *stmt, rows *level,
              pr_err *err)
{
    pr_code rc;
    while ((rc = q_database_step(database, stmt, err)) == PR_OK)
        if (!add_row(level, sqlite3_column_int64(stmt, 0), 0, PR_TABLE_NONE))
            return pr_no_memory(err);
    return rc == PR_END ? PR_OK : rc;
}

static pr_code
add_child(q_groups *groups, sqlite3_stmt *stmt, const row *on, rows *above,
          pr_err *err)
{
    int64_t id = sqlite3_column_int64(stmt, 0);
    uint32_t at =
        q_groups_find(groups, 0, sqlite3_column_int64(stmt, 1), 0, on->group);
    if (at == PR_TABLE_NONE || !add_row(above, on->profile, id, at))
        return pr_no_memory(err);
    q_group *g = &groups->group[at];
    g->depth =
        on->group == PR_TABLE_NONE ? 0 : groups->group[on->group].depth + 1;
    if (id <= on->id || !add_amounts(g, stmt, 2))
        return PR_FAIL(err, PR_DAMAGED,
                       "row %lld of tree_total of profile %lld is impossible",
                       (long long)id, (long long)on->profile);
    return PR_OK;
}

static pr_code
read_children(q_database *database, sqlite3_stmt *stmt, const row *on,
              q_groups *groups, rows *above, pr_err *err)
{
    pr_code rc;
    sqlite3_bind_int64(stmt, 1, on->profile);
    sqlite3_bind_int64(stmt, 2, on->id);
    while ((rc = q_database_step(database, stmt, err)) == PR_OK)
        if ((rc = add_child(groups, stmt, on, above, err)) != PR_OK)
            break;
    sqlite3_reset(stmt);
    return rc == PR_END ? PR_OK : rc;
}

/* The rows that stand on those of a level; the groups of the level are
 * complete. */
static pr_code
read_level(q_database *database, sqlite3_stmt *children, int64_t least_n,
           const rows *level, q_groups *groups, rows *above, pr_err *err)
{
    pr_code rc = PR_OK;
    for (size_t i = 0; i < level->len && rc == PR_OK; i++) {
        const row *on = &level->at[i];
        if (on->group == PR_TABLE_NONE ||
            groups->group[on->group].total.n >= least_n)
            rc = read_children(database, children, on, groups, above, err);
    }
    return rc;
}

pr_code
q_stored_tree_read(q_database *database, sqlite3_stmt *profiles,
                   sqlite3_stmt *children, int64_t least_n, q_groups *ret,
                   pr_err *err)
{
    q_groups groups = {0};
    rows level = {0};
    pr_code rc = read_profiles(database, profiles, &level, err);
    while (rc == PR_OK && level.len) {
        rows above = {0};
        rc = read_level(database, children, least_n, &level, &groups, &above,
                        err);
        free(level.at);
        level = above;
    }
    free(level.at);
    if (rc == PR_OK)
        *ret = groups;
    else
        q_groups_release(&groups);
    return rc;
}
