/*
 * answers.c - columns, joins and order of each kind of answer.
 *
 * A column has one name in every answer (spec/query.md, "Answers").
 */
#include "query/plan/answers.h"

#include "query/fold/fold.h"
#include "query/plan/lookup.h"
#include "query/plan/select.h"

#define PERCENT(what, of) "round(100.0 * " what " / nullif(" of ", 0), 2)"

#define SELF                                                     \
    "self_n AS self_samples, " PERCENT("self_n",                 \
                                       "part_n") " AS self_pct," \
                                                 " self_us / 1e6 AS self_s"
/* Calls are not samples: shares are those of the time. */
#define SELF_OF_CALLS                                             \
    "self_n AS self_samples, " PERCENT("self_us",                 \
                                       "part_us") " AS self_pct," \
                                                  " self_us / 1e6 AS self_s"
#define SELF_RAN                    \
    PERCENT("self_ran_n", "part_n") \
    " AS self_ran_pct,"             \
    " self_ran_us / 1e6 AS self_ran_s"
#define TOTAL                             \
    "total_n AS total_samples, " PERCENT( \
        "total_n", "part_n") " AS total_pct, total_us / 1e6 AS total_s"
#define TOTAL_OF_CALLS                                                     \
    "total_n AS total_samples, " PERCENT(                                  \
        "total_us", "part_us") " AS total_pct, total_us / 1e6 AS total_s," \
                               " calls"
#define TOTAL_RAN                    \
    PERCENT("total_ran_n", "part_n") \
    " AS total_ran_pct,"             \
    " total_ran_us / 1e6 AS total_ran_s"
#define UNKNOWN_RAN(side) "NULL AS " side "_ran_pct, NULL AS " side "_ran_s"

static const char *
self_of(bool of_calls)
{
    return of_calls ? SELF_OF_CALLS : SELF;
}

static const char *
total_of(bool of_calls)
{
    return of_calls ? TOTAL_OF_CALLS : TOTAL;
}

static const char *
self_ran(bool known)
{
    return known ? SELF_RAN : UNKNOWN_RAN("self");
}

static const char *
total_ran(bool known)
{
    return known ? TOTAL_RAN : UNKNOWN_RAN("total");
}

/* ---- parts ---- */

/* The columns that name a part, and their join; the one %Q is a label's key. */
typedef struct part {
    const char *columns, *joins;
} part;

#define STATUS_WORDS                                                       \
    "CASE WHEN split & 1 THEN 'held the GIL' WHEN split & 2 THEN"          \
    " 'runnable without the GIL' WHEN split & 8 THEN 'waited for the GIL'" \
    " WHEN split & 4 THEN 'did not hold the GIL' ELSE 'was off the CPU' END"

static const part parts[] = {
    [Q_WHOLE] = {"", ""},
    [Q_PER_THREAD] = {"owner.name AS thread, owner.tid AS tid, ",
                      " LEFT JOIN thread AS owner ON owner.id = split"},
    [Q_PER_PROCESS] = {"owner.pid AS pid, owner.command AS command, ",
                       " LEFT JOIN process AS owner ON owner.id = split"},
    [Q_PER_PROFILE] = {"owner.source AS profile, ",
                       " LEFT JOIN profile AS owner ON owner.id = split"},
    [Q_PER_LABEL] = {"owner.value AS label, ",
                     " LEFT JOIN label AS owner ON owner.profile_id = split"
                     " AND owner.key = %Q"},
    [Q_PER_STATUS] = {STATUS_WORDS " AS status, ", ""},
    [Q_PER_TIME] = {"split * %lld / 1e6 AS time_s, ", ""},
};

static void
add_part_columns(const q_query *query, sqlite3_str *sql)
{
    if (query->split == Q_PER_TIME)
        sqlite3_str_appendf(sql, "split * %lld / 1e6 AS time_s, ",
                            query->width_us);
    else
        sqlite3_str_appendall(sql, parts[query->split].columns);
}

static void
add_part_joins(const q_query *query, sqlite3_str *sql)
{
    if (query->split == Q_PER_LABEL)
        sqlite3_str_appendf(sql, parts[Q_PER_LABEL].joins, query->label.text);
    else
        sqlite3_str_appendall(sql, parts[query->split].joins);
}

/* Parts come by number, the values of a label as text. */
static const char *
part_order(const q_query *query)
{
    return query->split == Q_PER_LABEL ? "owner.value" : "split";
}

/* ---- units ---- */

/* The columns, joins, exclusions and name of each unit. */
typedef struct unit {
    const char *columns, *joins, *condition, *name;
} unit;

#define JOIN_FUNCTION \
    " JOIN function ON function.id = a JOIN file ON file.id = file_id"

static const unit units[] = {
    [Q_FUNCTION] = {", qualname AS function, first_line AS line, path AS file",
                    JOIN_FUNCTION, "kind NOT IN ('native', 'task')",
                    "qualname, path, first_line"},
    [Q_LINE] = {", qualname AS function, nullif(b, -1) AS line, path AS file",
                JOIN_FUNCTION, "kind NOT IN ('native', 'task')",
                "qualname, path, b"},
    [Q_FILE] = {", path AS file, class", " JOIN file ON file.id = a", "1",
                "path"},
    [Q_MODULE] = {", ifnull(module, path) AS module, class",
                  " JOIN file ON file.id = a", "1", "ifnull(module, path)"},
    [Q_CLASS] = {", class", " JOIN file ON file.id = a", "1", "class"},
    [Q_TASK] = {", qualname AS task", JOIN_FUNCTION, "1", "qualname, a"},
    [Q_OPCODE] = {", ifnull((SELECT name FROM opcode WHERE number = b"
                  " ORDER BY python DESC LIMIT 1), b) AS opcode",
                  "", "b >= 0", "b"},
};

static const char *
order_of(const q_query *query, bool knows_ran, bool of_calls)
{
    q_order order = query->order;
    if (order == Q_BY_DEFAULT || (order == Q_BY_RAN && !knows_ran))
        order = knows_ran ? Q_BY_RAN : Q_BY_SELF;
    switch (order) {
    case Q_BY_RAN:
        return "self_ran_n DESC, self_n DESC, total_n DESC, ";
    case Q_BY_TOTAL:
        return of_calls ? "total_us DESC, self_us DESC, "
                        : "total_n DESC, self_n DESC, ";
    case Q_BY_NAME:
        return "";
    case Q_BY_SELF:
    case Q_BY_DEFAULT:
        break;
    }
    return of_calls ? "self_us DESC, total_us DESC, "
                    : "self_n DESC, total_n DESC, ";
}

/* Answers have no rows without samples or calls. */
static const char *
has_any(bool of_calls)
{
    return of_calls ? "(total_n > 0 OR calls > 0)" : "total_n > 0";
}

static pr_code
add_in(q_database *database, const q_query *query, sqlite3_str *sql,
       pr_err *err)
{
    char *files;
    if (!query->in.text)
        return PR_OK;
    pr_code rc = q_find_files(database, &query->in, &files, err);
    if (rc != PR_OK)
        return rc;
    sqlite3_str_appendf(sql, " AND %s", files);
    sqlite3_free(files);
    return PR_OK;
}

/* The first rows: of all, or of each part. */
static void
add_order(const q_query *query, const char *amounts, const char *names,
          sqlite3_str *sql)
{
    if (query->split == Q_WHOLE) {
        sqlite3_str_appendf(sql, " ORDER BY %s%s", amounts, names);
        if (query->limit >= 0)
            sqlite3_str_appendf(sql, " LIMIT %lld", query->limit);
        return;
    }
    sqlite3_str_appendf(sql, " ORDER BY %s, %s%s", part_order(query), amounts,
                        names);
}

/* With parts the rows of each are numbered, and the first ones kept. */
static void
begin_rows(const q_query *query, const char *amounts, const char *names,
           sqlite3_str *sql)
{
    if (query->split != Q_WHOLE)
        sqlite3_str_appendf(sql,
                            "row_number() OVER (PARTITION BY split"
                            " ORDER BY %s%s) AS row_in_part, ",
                            amounts, names);
}

static pr_code
finish_rows(q_database *database, const q_query *query, pr_code rc,
            sqlite3_str *inner, char **ret, pr_err *err)
{
    char *rows = NULL;
    if (rc != PR_OK)
        sqlite3_free(sqlite3_str_finish(inner));
    else
        rc = q_finish_text(inner, &rows, err);
    if (rc != PR_OK || query->split == Q_WHOLE) {
        if (rc == PR_OK)
            *ret = rows;
        return rc;
    }
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendf(sql, "SELECT * FROM (%s)", rows);
    if (query->limit >= 0)
        sqlite3_str_appendf(sql, " WHERE row_in_part <= %lld", query->limit);
    sqlite3_free(rows);
    return q_finish_text(sql, ret, err);
}

pr_code
q_answer_units(q_database *database, const q_query *query, const char *table,
               bool of_calls, char **ret, pr_err *err)
{
    const unit *u = &units[query->unit];
    bool knows_ran = database->knows_ran && !of_calls;
    const char *amounts = order_of(query, knows_ran, of_calls);
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendall(sql, "SELECT ");
    begin_rows(query, amounts, u->name, sql);
    add_part_columns(query, sql);
    sqlite3_str_appendf(sql, "%s, %s, %s, %s%s FROM ", self_of(of_calls),
                        self_ran(knows_ran), total_of(of_calls),
                        total_ran(knows_ran), u->columns);
    sqlite3_str_appendf(sql, "%s AS t%s", table, u->joins);
    add_part_joins(query, sql);
    sqlite3_str_appendf(sql, " WHERE %s AND %s", has_any(of_calls),
                        u->condition);
    pr_code rc = add_in(database, query, sql, err);
    add_order(query, amounts, u->name, sql);
    return finish_rows(database, query, rc, sql, ret, err);
}

/* ---- edges ---- */

pr_code
q_answer_edges(q_database *database, const q_query *query, const char *table,
               bool has_ran, bool of_calls, char **ret, pr_err *err)
{
    bool callers = query->verb == Q_CALLERS;
    bool knows_ran = database->knows_ran && !of_calls;
    const char *amounts = order_of(query, knows_ran, of_calls);
    const char *names = callers
                            ? "caller.qualname, function.qualname, file.path,"
                              " caller.first_line, function.first_line, a, b"
                            : "function.qualname, caller.qualname, file.path,"
                              " function.first_line, caller.first_line, b, a";
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendall(sql, "SELECT ");
    begin_rows(query, amounts, names, sql);
    add_part_columns(query, sql);
    sqlite3_str_appendf(
        sql,
        "%s, %s, %s, ifnull(caller.qualname, '(root)') AS caller,"
        " function.qualname AS callee, file.path AS file FROM ",
        total_of(of_calls), total_ran(has_ran && knows_ran), self_of(of_calls));
    sqlite3_str_appendf(sql,
                        "%s AS t JOIN function ON function.id = b"
                        " LEFT JOIN function AS caller ON caller.id = a"
                        " %s JOIN file ON file.id = %s.file_id",
                        table, callers ? "LEFT" : "",
                        callers ? "caller" : "function");
    add_part_joins(query, sql);
    sqlite3_str_appendf(sql, " WHERE %s", has_any(of_calls));
    pr_code rc = add_in(database, query, sql, err);
    add_order(query, amounts, names, sql);
    return finish_rows(database, query, rc, sql, ret, err);
}

/* ---- trees and stacks ---- */

pr_code
q_answer_tree(q_database *database, const q_query *query, const char *table,
              char **ret, pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendf(sql,
                        "SELECT " TOTAL ", %s, " SELF
                        ", depth, qualname AS function, path AS file FROM %s"
                        " JOIN function ON function.id = a"
                        " JOIN file ON file.id = file_id",
                        total_ran(database->knows_ran), table);
    if (query->depth >= 0)
        sqlite3_str_appendf(sql, " WHERE depth < %lld", query->depth);
    sqlite3_str_appendall(sql, " ORDER BY place");
    return q_finish_text(sql, ret, err);
}

pr_code
q_answer_stacks(q_database *database, const q_query *query, const char *table,
                char **ret, pr_err *err)
{
    bool paths = query->verb == Q_PATHS;
    const char *side = paths ? "total" : "self";
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendf(
        sql,
        "SELECT %s_n AS samples, round(100.0 * %s_n / part_n, 2) AS pct,"
        " %s_us / 1e6 AS seconds, %s AS ran_pct,"
        " (WITH RECURSIVE up(place, parent, stack) AS (SELECT t.place,"
        " t.parent, qualname FROM function WHERE function.id = t.a UNION ALL"
        " SELECT o.place, o.parent, function.qualname || ' > ' || up.stack"
        " FROM up JOIN %s AS o ON o.place = up.parent JOIN function"
        " ON function.id = o.a) SELECT stack FROM up WHERE parent IS NULL)"
        " AS stack FROM %s AS t WHERE %s ORDER BY %s_n DESC, place",
        side, side, side,
        !database->knows_ran ? "NULL"
        : paths              ? PERCENT("total_ran_n", "total_n")
                             : PERCENT("self_ran_n", "self_n"),
        table, table, paths ? "match" : "self_n > 0", side);
    if (query->limit >= 0)
        sqlite3_str_appendf(sql, " LIMIT %lld", query->limit);
    return q_finish_text(sql, ret, err);
}

/* ---- time ---- */

/* Buckets in which nothing was seen are there, too; `events` are the marks
 * that begin in a bucket. */
pr_code
q_answer_timeline(q_database *database, const char *table, int64_t width_us,
                  char **ret, pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendf(
        sql,
        "WITH RECURSIVE bucket(number) AS (SELECT min(split) FROM %s"
        " UNION ALL SELECT number + 1 FROM bucket WHERE number <"
        " (SELECT max(split) FROM %s)), mark(bucket, kinds) AS (SELECT"
        " (event.t0_us + " Q_SHIFT ") / %lld, group_concat(DISTINCT kind)"
        " FROM event JOIN process ON process.id = process_id"
        " JOIN profile ON profile.id = profile_id WHERE kind <> 'gc'"
        " GROUP BY 1) SELECT number * %lld / 1e6 AS time_s,"
        " ifnull(self_n, 0) AS samples, %s AS ran_pct, self_us / 1e6 AS"
        " seconds, %s AS ran_s, kinds AS events FROM bucket"
        " LEFT JOIN %s ON split = number LEFT JOIN mark ON bucket = number"
        " WHERE number IS NOT NULL ORDER BY number",
        table, table, width_us, width_us,
        database->knows_ran ? PERCENT("self_ran_n", "self_n") : "NULL",
        database->knows_ran ? "self_ran_us / 1e6" : "NULL", table);
    return q_finish_text(sql, ret, err);
}

pr_code
q_answer_hottest(q_database *database, const char *table, int64_t width_us,
                 char **ret, pr_err *err)
{
    const char *by = database->knows_ran ? "self_ran" : "self";
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendf(
        sql,
        "SELECT part.split * %lld / 1e6 AS time_s, part.self_n AS samples,"
        " %s AS ran_pct, " PERCENT(
            "best.%s_n",
            "part.self_n") " AS"
                           " function_pct, best.%s_us / 1e6 AS function_s, "
                           "qualname AS function,"
                           " first_line AS line, path AS file FROM %s AS part "
                           "LEFT JOIN"
                           " (SELECT *, row_number() OVER (PARTITION BY split"
                           " ORDER BY %s_n DESC, self_n DESC, a) AS "
                           "place_in_part FROM %s"
                           " JOIN function ON function.id = a WHERE b <> %d "
                           "AND self_n > 0 AND"
                           " kind NOT IN ('native', 'task')) AS best ON "
                           "best.split = part.split"
                           " AND place_in_part = 1 LEFT JOIN file ON file.id = "
                           "file_id"
                           " WHERE part.b = %d ORDER BY part.%s_n DESC, "
                           "part.split",
        width_us,
        database->knows_ran ? PERCENT("part.self_ran_n", "part.self_n")
                            : "NULL",
        by, by, table, by, table, Q_PART, Q_PART, by);
    return q_finish_text(sql, ret, err);
}

/* ---- waiting ---- */

pr_code
q_answer_waits(q_database *database, const q_query *query, const char *table,
               char **ret, pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendf(
        sql,
        "SELECT self_n AS self_samples, round(100.0 * self_n /"
        " sum(self_n) OVER (), 2) AS self_pct, self_us / 1e6 AS self_s,"
        " " STATUS_WORDS " AS status, qualname AS function,"
        " first_line AS line, path AS file FROM %s"
        " JOIN function ON function.id = a JOIN file ON file.id = file_id"
        " WHERE self_n > 0 ORDER BY self_n DESC, qualname, path, split",
        table);
    if (query->limit >= 0)
        sqlite3_str_appendf(sql, " LIMIT %lld", query->limit);
    return q_finish_text(sql, ret, err);
}

/* ---- source ---- */

pr_code
q_answer_source(q_database *database, const char *table, char **ret,
                pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendf(
        sql,
        "SELECT self_n AS self_samples, " PERCENT(
            "self_n",
            "part_n") " AS self_pct, self_us / 1e6 AS self_s, total_n AS "
                      "total_samples,"
                      " " PERCENT(
                          "total_n",
                          "part_n") " AS total_pct,"
                                    " total_us / 1e6 AS total_s, source.line "
                                    "AS line, text AS source,"
                                    " path AS file FROM %s_source AS source "
                                    "LEFT JOIN %s AS t"
                                    " ON t.a = source.function_id AND t.b = "
                                    "source.line"
                                    " JOIN function ON function.id = "
                                    "source.function_id"
                                    " JOIN file ON file.id = file_id ORDER BY "
                                    "path, source.line",
        table, table);
    return q_finish_text(sql, ret, err);
}
