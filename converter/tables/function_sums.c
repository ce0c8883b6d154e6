/*
 * function_sums.c - a set of functions, and an array of sums beside it.
 */
#include "converter/tables/function_sums.h"

#include <sqlite3.h>
#include <stdlib.h>

pr_code
conv_function_sums_add(conv_function_sums *sums, uint32_t function,
                       const conv_sums *more, pr_err *err)
{
    uint32_t at, had = (uint32_t)sums->ids.n;
    pr_code rc = pr_set_add(&sums->ids, &function, &at, err);
    if (rc != PR_OK)
        return rc;
    if (!pr_grow(&sums->sums, &sums->cap, sums->ids.n, sizeof *sums->sums))
        return pr_no_memory(err);
    if (at == had)
        sums->sums[at] = (conv_sums){0};
    conv_amount_add(&sums->sums[at].self, &more->self);
    conv_amount_add(&sums->sums[at].total, &more->total);
    sums->changed = true;
    return PR_OK;
}

/* A number below 0 cannot be and counts as 0. */
static conv_amount
column_amount(sqlite3_stmt *stmt, int column)
{
    uint64_t value[4];
    for (int i = 0; i < 4; i++) {
        int64_t number = sqlite3_column_int64(stmt, column + i);
        value[i] = number > 0 ? (uint64_t)number : 0;
    }
    return (conv_amount){value[0], value[1], value[2], value[3]};
}

static pr_code
load_row(conv_function_sums *sums, sqlite3_stmt *stmt, pr_err *err)
{
    int64_t id = sqlite3_column_int64(stmt, 0);
    const conv_sums row = {column_amount(stmt, 1), column_amount(stmt, 5)};
    if (id < 0 || id > UINT32_MAX)
        return PR_FAIL(err, PR_DAMAGED, "the database has an impossible id");
    return conv_function_sums_add(sums, (uint32_t)id, &row, err);
}

pr_code
conv_function_sums_load(sqlite3 *database, conv_function_sums *sums,
                        pr_err *err)
{
    sqlite3_stmt *stmt;
    *sums = (conv_function_sums){.ids.size = sizeof(uint32_t)};
    if (sqlite3_prepare_v2(database, "SELECT * FROM main.function_sum", -1,
                           &stmt, NULL) != SQLITE_OK)
        return conv_sqlite_fail(database, err);
    pr_code rc = PR_OK;
    int step = SQLITE_ROW;
    while (rc == PR_OK && (step = sqlite3_step(stmt)) == SQLITE_ROW)
        rc = load_row(sums, stmt, err);
    if (rc == PR_OK && step != SQLITE_DONE)
        rc = conv_sqlite_fail(database, err);
    sqlite3_finalize(stmt);
    sums->changed = false;
    return rc;
}

/* Off sums that do not hold as much, which a damaged database may have, 0 is
 * left. */
static void
take_off(conv_amount *from, const conv_amount *what)
{
    from->n -= what->n < from->n ? what->n : from->n;
    from->us -= what->us < from->us ? what->us : from->us;
    from->ran_n -= what->ran_n < from->ran_n ? what->ran_n : from->ran_n;
    from->ran_us -= what->ran_us < from->ran_us ? what->ran_us : from->ran_us;
}

static void
remove_row(conv_function_sums *sums, sqlite3_stmt *stmt)
{
    int64_t id = sqlite3_column_int64(stmt, 0);
    const conv_sums row = {column_amount(stmt, 1), column_amount(stmt, 5)};
    const uint32_t function = (uint32_t)id;
    uint32_t at = pr_set_find(&sums->ids, &function);
    if (at == PR_TABLE_NONE)
        return;
    take_off(&sums->sums[at].self, &row.self);
    take_off(&sums->sums[at].total, &row.total);
    sums->changed = true;
}

pr_code
conv_function_sums_remove(sqlite3 *database, conv_function_sums *sums,
                          int64_t profile, pr_err *err)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(database,
                           "SELECT function_id, self_n, self_us, self_ran_n,"
                           " self_ran_us, total_n, total_us, total_ran_n,"
                           " total_ran_us FROM main.function_total"
                           " WHERE profile_id = ?",
                           -1, &stmt, NULL) != SQLITE_OK)
        return conv_sqlite_fail(database, err);
    sqlite3_bind_int64(stmt, 1, profile);
    int step;
    while ((step = sqlite3_step(stmt)) == SQLITE_ROW)
        remove_row(sums, stmt);
    pr_code rc = step == SQLITE_DONE ? PR_OK : conv_sqlite_fail(database, err);
    sqlite3_finalize(stmt);
    return rc;
}

pr_code
conv_function_sums_put(sqlite3 *database, const conv_function_sums *sums,
                       pr_err *err)
{
    conv_row row;
    if (!sums->changed)
        return PR_OK;
    if (sqlite3_exec(database, "DELETE FROM main.function_sum", NULL, NULL,
                     NULL) != SQLITE_OK)
        return conv_sqlite_fail(database, err);
    pr_code rc = conv_row_open(&row, database, "function_sum", 9, err);
    const uint32_t *ids = sums->ids.item;
    for (size_t i = 0; i < sums->ids.n && rc == PR_OK; i++) {
        if (sums->sums[i].total.n == 0)
            continue;
        conv_row_integer(&row, ids[i]);
        conv_sums_put(&row, &sums->sums[i]);
        rc = conv_row_put(&row, err);
    }
    conv_row_close(&row);
    return rc;
}

void
conv_function_sums_release(conv_function_sums *sums)
{
    pr_set_release(&sums->ids);
    free(sums->sums);
    *sums = (conv_function_sums){0};
}
