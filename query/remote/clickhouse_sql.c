/*
 * clickhouse_sql.c - the statements for the tables of spec/clickhouse.sql.
 *
 * They are in the SQL that ClickHouse 18.16 and 26.5 share: one JOIN in a
 * SELECT, whose sides have names, no window functions.  ALL INNER, because ANY
 * INNER drops rows of the left side from 20.1 on; the right side has each key
 * once.  Each reads a table that may be spread over servers, and joins it with
 * subqueries that each server answers from its own part
 * (distributed_product_mode = local, base/clickhouse_http.h); so the rows of a
 * profile must lie on one server.
 *
 * Rows count if their load is that of their profile: a hand-over that was
 * interrupted leaves rows whose load the table `profile` does not have.
 */
#include "query/remote/engine.h"

#include <base/clickhouse_http.h>
#include <string.h>

/* ---- connections ---- */

static pr_code
open_server(const char *address, const volatile bool *interrupted, void **ret,
            pr_err *err)
{
    pr_clickhouse *server;
    pr_code rc = pr_clickhouse_open(address, interrupted, &server, err);
    if (rc == PR_OK)
        *ret = server;
    return rc;
}

static void
close_server(void *connection)
{
    pr_clickhouse_close(connection);
}

static pr_code
ask_server(void *connection, const pr_buffer *sql, pr_take_row take,
           void *context, pr_err *err)
{
    return pr_clickhouse_ask(connection, sql->at, sql->len, take, context, err);
}

/* ---- names ---- */

static void
put_version(pr_buffer *sql)
{
    pr_buffer_puts(sql, "SELECT version FROM version");
}

#define LOADS "SELECT max(load) FROM profile GROUP BY profile"

/* A cross join of two rows. */
static void
put_basis(pr_buffer *sql)
{
    pr_buffer_puts(
        sql,
        "SELECT all_profiles, all_samples, all_unobserved, if(known = 0, NULL,"
        " all_proven), all_unproven, all_lost, ran, cpu, waiting FROM (SELECT"
        " 1 AS one, count() AS all_profiles, sum(samples) AS all_samples,"
        " sum(unobserved_us) AS all_unobserved, max(knows_ran) AS ran,"
        " max(knows_cpu) AS cpu, max(knows_waiting) AS waiting FROM profile"
        " WHERE load IN (" LOADS ")) AS a ANY LEFT JOIN (SELECT 1 AS one,"
        " count(proven) + count(sleeping) + count(stopped) AS known,"
        " sum(ifNull(proven, 0)) + sum(ifNull(sleeping, 0)) +"
        " sum(ifNull(stopped, 0)) AS all_proven, sum(unproven) AS"
        " all_unproven, (SELECT sum(n) FROM (SELECT lost AS n FROM thread WHERE"
        " load IN (" LOADS ") UNION ALL SELECT toNullable(n) AS n FROM loss"
        " WHERE thread IS NULL AND load IN (" LOADS "))) AS all_lost FROM"
        " thread WHERE load IN (" LOADS ")) AS b USING one");
}

static void
put_files(pr_buffer *sql)
{
    pr_buffer_puts(sql, "SELECT file, any(path), any(base), any(module),"
                        " any(class) FROM file GROUP BY file");
}

static void
put_functions(pr_buffer *sql)
{
    pr_buffer_puts(sql, "SELECT function, any(file), any(qualname), any(name),"
                        " any(first_line), any(kind) FROM function GROUP BY"
                        " function");
}

static void
put_labels(pr_buffer *sql)
{
    pr_buffer_puts(sql, "SELECT DISTINCT key FROM label");
}

static void
put_rows(const char *table, const char *columns, pr_buffer *sql)
{
    pr_buffer_printf(sql, "SELECT %s FROM %s WHERE load IN (" LOADS ")",
                     columns, table);
}

/* ---- profiles ---- */

static void
put_name(const q_name *name, pr_buffer *sql)
{
    pr_clickhouse_put_text(sql, name->text, strlen(name->text));
}

static void
put_profile_condition(const q_condition *c, pr_buffer *sql)
{
    bool not = c->op == Q_NOT_EQUAL;
    if (c->field == Q_FIELD_HOST) {
        pr_buffer_printf(sql, " AND host %s ", not ? "<>" : "=");
        put_name(&c->value, sql);
    } else if (c->field == Q_FIELD_LABEL) {
        pr_buffer_printf(sql,
                         " AND load %sIN (SELECT load FROM label WHERE"
                         " key = ",
                         not ? "NOT " : "");
        put_name(&c->key, sql);
        pr_buffer_puts(sql, " AND value = ");
        put_name(&c->value, sql);
        pr_buffer_char(sql, ')');
    }
}

/* "WHERE ..." of the profiles that the question is about; those without a
 * sample in its range may be left out. */
static void
put_profiles_where(const q_remote_question *question, pr_buffer *sql)
{
    const q_query *query = question->query;
    pr_buffer_puts(sql, " WHERE 1");
    for (size_t i = 0; i < query->n_conditions; i++)
        put_profile_condition(&query->condition[i], sql);
    if (!query->has_range)
        return;
    const char *wall = query->from.kind == Q_WALL ? "wall_us + " : "";
    pr_buffer_printf(sql, " AND %st1_us >= %lld AND %st0_us < %lld", wall,
                     (long long)query->from.value, wall,
                     (long long)query->to.value);
}

/* The profiles as (load, wall).  A name of a column cannot be that of its sum in
 * the same SELECT: "newest". */
static void
put_loads(const q_remote_question *question, pr_buffer *sql)
{
    const q_query *query = question->query;
    bool dates = query->has_range && query->from.kind == Q_WALL;
    pr_buffer_printf(sql,
                     "SELECT newest AS load, wall FROM (SELECT max(load) AS"
                     " newest, %s AS wall FROM profile",
                     dates ? "any(assumeNotNull(wall_us))" : "toInt64(0)");
    put_profiles_where(question, sql);
    pr_buffer_puts(sql, " GROUP BY profile)");
}

/* " ALL INNER JOIN (...) USING load": the profiles as (load, wall, part). */
static void
join_loads(const q_remote_question *question, pr_buffer *sql)
{
    const q_query *query = question->query;
    pr_buffer_puts(sql, " ALL INNER JOIN (");
    if (query->split == Q_PER_LABEL) {
        pr_buffer_puts(sql, "SELECT load, wall, part FROM (");
        put_loads(question, sql);
        pr_buffer_puts(sql,
                       ") AS a ALL INNER JOIN (SELECT load, value AS part FROM"
                       " label WHERE key = ");
        put_name(&query->label, sql);
        pr_buffer_puts(sql, ") AS b USING load");
    } else {
        put_loads(question, sql);
    }
    pr_buffer_puts(sql, ") AS profiles USING load");
}

/* " WHERE load IN (...)" */
static void
where_loads(const q_remote_question *question, pr_buffer *sql)
{
    pr_buffer_puts(sql, " WHERE load IN (SELECT load FROM (");
    put_loads(question, sql);
    pr_buffer_puts(sql, "))");
}

/* " WHERE ..." of rows of these profiles.  Without parts a set of loads is
 * enough, which costs the server half of a join. */
static void
choose_loads(const q_remote_question *question, pr_buffer *sql)
{
    if (question->query->split == Q_PER_LABEL) {
        join_loads(question, sql);
        pr_buffer_puts(sql, " WHERE 1");
        return;
    }
    where_loads(question, sql);
}

static const char *
part_of(const q_remote_question *question)
{
    return question->query->split == Q_PER_LABEL ? "part" : "''";
}

/* ---- samples ---- */

/* Bits of a status: spec/schema.md 2.9. */
static const char *const states[] = {
    "bitAnd(status, 1) <> 0",  "bitAnd(status, 2) <> 0",
    "bitAnd(status, 7) = 0",   "bitAnd(status, 8) <> 0",
    "bitAnd(status, 16) <> 0",
};

static void
put_sample_conditions(const q_remote_question *question, pr_buffer *sql)
{
    const q_query *query = question->query;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (query->where & 1u << i)
            pr_buffer_printf(sql, " AND %s", states[i]);
    for (size_t i = 0; i < query->n_conditions; i++) {
        const q_condition *c = &query->condition[i];
        if (c->field == Q_FIELD_PID)
            pr_buffer_printf(
                sql,
                " AND (load, thread) IN (SELECT load, thread FROM thread WHERE"
                " (load, process) IN (SELECT load, process FROM process WHERE"
                " pid %s %lld))",
                c->op == Q_NOT_EQUAL ? "<>" : "=", (long long)c->number);
    }
}

/* How many samples of a run lie before a moment (spec/query.md 4.4). */
#define BEFORE(moment)                                                     \
    "if(" moment " <= t0_us, 0, if(" moment " > t1_us, n, least(n,"        \
    " greatest(1, intDiv((" moment " - t0_us) * (n - 1) + t1_us - t0_us -" \
    " 1, greatest(1, t1_us - t0_us))))))"

/* The samples of a range as (load, part, node, thread, status, hits, hit_us). */
static void
put_range(const q_remote_question *question, pr_buffer *sql)
{
    const q_query *query = question->query;
    pr_buffer_printf(
        sql,
        "SELECT load, %s AS part, node, thread, status, %lld - wall AS since,"
        " %lld - wall AS until, toInt64(" BEFORE(
            "since") ") AS past,"
                     " toInt64(" BEFORE(
                         "until") ") AS upto, upto - past AS hits,"
                                  " intDiv(weight_us * upto, n) - "
                                  "intDiv(weight_us * past, n) AS hit_us"
                                  " FROM run",
        part_of(question), (long long)query->from.value,
        (long long)query->to.value);
    join_loads(question, sql);
    pr_buffer_puts(sql, " WHERE hits > 0");
    put_sample_conditions(question, sql);
}

#define RAN "bitAnd(status, 3) <> 0"
#define AMOUNTS(n, us)                                                     \
    "sum(" n ") AS all_n, sum(" us ") AS all_us, sumIf(" n ", " RAN ") AS" \
    " ran_n, sumIf(" us ", " RAN ") AS ran_us"

/* The samples without a range as (part, `columns`, amounts); `keys` are the
 * columns of the table that those are made of. */
static void
put_samples(const q_remote_question *question, const char *columns,
            const char *keys, pr_buffer *sql)
{
    pr_buffer_printf(
        sql,
        "SELECT %s AS part%s, " AMOUNTS("n", "weight_us") " FROM node_self",
        part_of(question), columns);
    choose_loads(question, sql);
    put_sample_conditions(question, sql);
    pr_buffer_printf(sql, " GROUP BY part%s", keys);
}

static void
put_parts(const q_remote_question *question, pr_buffer *sql)
{
    if (question->is_whole) {
        pr_buffer_printf(sql,
                         "SELECT %s AS part, sum(samples), sum(weight_us),"
                         " sum(ran_n), sum(ran_us) FROM profile",
                         part_of(question));
        choose_loads(question, sql);
        pr_buffer_puts(sql, " GROUP BY part");
    } else if (question->query->has_range) {
        pr_buffer_puts(sql,
                       "SELECT part, " AMOUNTS("hits", "hit_us") " FROM (");
        put_range(question, sql);
        pr_buffer_puts(sql, ") GROUP BY part");
    } else {
        put_samples(question, "", "", sql);
    }
}

/* ---- stacks ---- */

/* The innermost function of a stack, and its caller, 0 for none. */
#define ENDS                                                     \
    ", stack, stack[length(stack)] AS leaf, if(length(stack) > " \
    "1, stack[length(stack) - 1], 0) AS above"

/* The samples by stack as (part, stack, leaf, above, amounts): each server adds
 * up equal stacks of its profiles.  A range is of runs, whose stacks are those
 * of node_self: it has each node, thread and status of a profile once. */
static void
put_stacks(const q_remote_question *question, pr_buffer *sql)
{
    if (!question->query->has_range) {
        put_samples(question, ENDS, ", stack", sql);
        return;
    }
    pr_buffer_puts(
        sql, "SELECT of_part AS part" ENDS ", " AMOUNTS(
                 "of_n",
                 "of_us") " FROM node_self ALL INNER JOIN (SELECT load, node,"
                          " thread, status, any(part) AS of_part, sum(hits) AS"
                          " of_n, sum(hit_us) AS of_us FROM (");
    put_range(question, sql);
    pr_buffer_puts(sql, ") GROUP BY load, node, thread, status) AS chosen"
                        " USING load, node, thread, status");
    where_loads(question, sql);
    pr_buffer_puts(sql, " GROUP BY part, stack");
}

#define STACK_AMOUNTS(ends)                                       \
    "sum(if(" ends ", all_n, 0)), sum(if(" ends ", all_us, 0)),"  \
    " sum(if(" ends ", ran_n, 0)), sum(if(" ends ", ran_us, 0))," \
    " sum(all_n), sum(all_us), sum(ran_n), sum(ran_us)"

#define TOTALS                                                      \
    "sum(self_n), sum(self_us), sum(self_ran_n), sum(self_ran_us)," \
    " sum(total_n), sum(total_us), sum(total_ran_n), sum(total_ran_us)"

static void
put_sums(const q_remote_question *question, pr_buffer *sql)
{
    if (question->is_whole) {
        pr_buffer_printf(
            sql, "SELECT %s AS part, function, " TOTALS " FROM function_total",
            part_of(question));
        choose_loads(question, sql);
        pr_buffer_puts(sql, " GROUP BY part, function");
        return;
    }
    /* each function of the stack once */
    pr_buffer_puts(sql,
                   "SELECT part, of, " STACK_AMOUNTS("of = leaf") " FROM (");
    put_stacks(question, sql);
    pr_buffer_puts(sql, ") ARRAY JOIN arrayDistinct(stack) AS of"
                        " GROUP BY part, of");
}

/* ---- edges ---- */

/* "(1, 2)"; there is at least one. */
static void
put_functions_of(const q_remote_question *question, pr_buffer *sql)
{
    for (size_t i = 0; i < question->n_functions; i++)
        pr_buffer_printf(sql, "%c%lld", i ? ',' : '(',
                         (long long)question->function[i]);
    pr_buffer_char(sql, ')');
}

/* The callers of a stack's functions, 0 for the outermost. */
#define CALLERS "arrayPushFront(arrayPopBack(stack), toInt64(0)) AS callers"
/* each pair of the stack once */
#define PAIRS(side)                                                       \
    "arrayFilter((f, u) -> u = 1, " side ", arrayEnumerateUniq(callers, " \
    "stack))"

static void
put_edges(const q_remote_question *question, pr_buffer *sql)
{
    const char *side = question->query->verb == Q_CALLERS ? "callee" : "caller";
    if (question->is_whole) {
        pr_buffer_puts(sql, "SELECT '' AS part, caller, callee, sum(self_n),"
                            " sum(self_us), 0, 0, sum(total_n), sum(total_us),"
                            " 0, 0 FROM edge_total");
        choose_loads(question, sql);
        pr_buffer_printf(sql, " AND %s IN ", side);
        put_functions_of(question, sql);
        pr_buffer_puts(sql, " GROUP BY caller, callee");
        return;
    }
    pr_buffer_puts(
        sql, "SELECT part, caller, callee, " STACK_AMOUNTS(
                 "callee = leaf AND caller = above") " FROM (SELECT *, " CALLERS
                                                     " FROM (");
    put_stacks(question, sql);
    pr_buffer_printf(sql,
                     ")) ARRAY JOIN " PAIRS("callers") " AS caller, " PAIRS(
                         "stack") " AS callee WHERE %s IN ",
                     side);
    put_functions_of(question, sql);
    pr_buffer_puts(sql, " GROUP BY part, caller, callee");
}

const q_engine q_clickhouse = {
    .scheme = PR_CLICKHOUSE_SCHEME,
    .other_scheme = PR_CLICKHOUSE_TLS_SCHEME,
    .open = open_server,
    .close = close_server,
    .ask = ask_server,
    .put_version = put_version,
    .put_basis = put_basis,
    .put_files = put_files,
    .put_functions = put_functions,
    .put_labels = put_labels,
    .put_rows = put_rows,
    .put_parts = put_parts,
    .put_sums = put_sums,
    .put_edges = put_edges,
};
