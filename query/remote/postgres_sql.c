/*
 * postgres_sql.c - questions to the tables of spec/postgres.sql (engine.h).
 *
 * Statements are built of named parts: `chosen`, the profiles and the part of
 * the answer that each belongs to; `own`, the samples that end at a node; and
 * `summed`, the nodes with the running sum of their samples.  Nodes are
 * numbered in pre-order, so what lies at or below a node is the difference of
 * two running sums: one pass, whatever the depth.
 */
#include "query/remote/engine.h"

#include <base/libpq.h>
#include <string.h>

/* ---- the connection ---- */

static pr_code
open_postgres(const char *address, const volatile bool *interrupted, void **ret,
              pr_err *err)
{
    pr_postgres *connection;
    pr_code rc = pr_postgres_open(address, interrupted, &connection, err);
    if (rc == PR_OK)
        *ret = connection;
    return rc;
}

static void
close_postgres(void *connection)
{
    pr_postgres_close(connection);
}

static pr_code
ask_postgres(void *connection, const pr_buffer *sql, pr_take_row take,
             void *context, pr_err *err)
{
    return pr_postgres_ask(connection, sql->at, sql->len, take, context, err);
}

/* ---- all of the server ---- */

static void
put_version(pr_buffer *sql)
{
    pr_buffer_puts(sql, "SELECT max(version) FROM pyrec.version");
}

static void
put_basis(pr_buffer *sql)
{
    pr_buffer_puts(
        sql, "SELECT profiles, samples, unobserved_us, proven, unproven, lost,"
             " knows_ran, knows_cpu, knows_waiting FROM (SELECT count(*) AS"
             " profiles, sum(samples) AS samples, sum(unobserved_us) AS"
             " unobserved_us, max(knows_ran) AS knows_ran, max(knows_cpu) AS"
             " knows_cpu, max(knows_waiting) AS knows_waiting FROM"
             " pyrec.profile) AS p, (SELECT CASE WHEN count(proven) +"
             " count(sleeping) + count(stopped) > 0 THEN"
             " coalesce(sum(proven), 0) + coalesce(sum(sleeping), 0) +"
             " coalesce(sum(stopped), 0) END AS proven, sum(unproven) AS"
             " unproven, (SELECT sum(n) FROM (SELECT lost AS n FROM"
             " pyrec.thread UNION ALL SELECT n FROM pyrec.loss WHERE thread IS"
             " NULL) AS l) AS lost FROM pyrec.thread) AS t");
}

static void
put_files(pr_buffer *sql)
{
    pr_buffer_puts(sql,
                   "SELECT file, path, base, module, class FROM pyrec.file");
}

static void
put_functions(pr_buffer *sql)
{
    pr_buffer_puts(sql, "SELECT function, file, qualname, name, first_line,"
                        " kind FROM pyrec.function");
}

static void
put_labels(pr_buffer *sql)
{
    pr_buffer_puts(sql, "SELECT DISTINCT key FROM pyrec.label");
}

static void
put_rows(const char *table, const char *columns, pr_buffer *sql)
{
    pr_buffer_printf(sql, "SELECT %s FROM pyrec.%s", columns, table);
}

/* ---- which samples ---- */

static const char *
operator_of(const q_condition *c)
{
    return c->op == Q_NOT_EQUAL ? "<>" : "=";
}

static void
put_name(pr_buffer *sql, const q_name *name)
{
    pr_postgres_put_text(sql, name->text, strlen(name->text));
}

static void
put_profile_condition(const q_condition *c, pr_buffer *sql)
{
    if (c->field == Q_FIELD_HOST) {
        pr_buffer_printf(sql, " AND host %s ", operator_of(c));
        put_name(sql, &c->value);
    } else if (c->field == Q_FIELD_LABEL) {
        pr_buffer_printf(sql,
                         " AND profile %sIN (SELECT profile FROM pyrec.label"
                         " WHERE key = ",
                         c->op == Q_NOT_EQUAL ? "NOT " : "");
        put_name(sql, &c->key);
        pr_buffer_puts(sql, " AND value = ");
        put_name(sql, &c->value);
        pr_buffer_char(sql, ')');
    }
}

/* chosen: (profile, part, samples, weight_us, ran_n, ran_us, wall_us). */
static void
put_chosen(const q_query *query, pr_buffer *sql)
{
    bool by_label = query->split == Q_PER_LABEL;
    pr_buffer_printf(sql,
                     "WITH chosen AS (SELECT profile, %s AS part, samples,"
                     " weight_us, ran_n, ran_us, wall_us FROM pyrec.profile%s"
                     " WHERE true",
                     by_label ? "value" : "''",
                     by_label ? " JOIN pyrec.label USING (profile)" : "");
    if (by_label) {
        pr_buffer_puts(sql, " AND key = ");
        put_name(sql, &query->label);
    }
    for (size_t i = 0; i < query->n_conditions; i++)
        put_profile_condition(&query->condition[i], sql);
    pr_buffer_puts(sql, ")");
}

/* Bits of a status: spec/schema.md, "run". */
static void
put_states(const q_query *query, pr_buffer *sql)
{
    static const struct {
        unsigned where;
        const char *condition;
    } states[] = {
        {Q_WHERE_GIL, "status & 1 <> 0"},
        {Q_WHERE_CPU, "status & 2 <> 0"},
        {Q_WHERE_IDLE, "status & 7 = 0"},
        {Q_WHERE_WAITING, "status & 8 <> 0"},
        {Q_WHERE_EXCEPTION, "status & 16 <> 0"},
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (query->where & states[i].where)
            pr_buffer_printf(sql, " AND %s", states[i].condition);
    for (size_t i = 0; i < query->n_conditions; i++)
        if (query->condition[i].field == Q_FIELD_PID)
            pr_buffer_printf(
                sql,
                " AND (profile, thread) IN (SELECT profile, thread FROM"
                " pyrec.thread JOIN pyrec.process USING (profile, process)"
                " WHERE pid %s %lld)",
                operator_of(&query->condition[i]),
                (long long)query->condition[i].number);
}

/* How many samples of a run lie before the moment x: the first is at t0_us, the
 * last at t1_us, those between are evenly spaced. */
#define BEFORE(x)                                                    \
    "CASE WHEN " x " <= t0_us THEN 0 WHEN " x " > t1_us THEN n ELSE" \
    " greatest(1, ((" x " - t0_us) * (n - 1) + t1_us - t0_us - 1) /" \
    " (t1_us - t0_us)) END"

/* Runs of which the samples from `since` up to `until` count. */
static void
put_range(const q_query *query, pr_buffer *sql)
{
    const char *clock = query->from.kind == Q_WALL ? " - wall_us" : "";
    pr_buffer_printf(
        sql,
        "(SELECT profile, part, thread, node, status, upto - past AS n,"
        " weight_us * upto / n - weight_us * past / n AS weight_us FROM"
        " (SELECT *, " BEFORE("until") " AS upto, " BEFORE(
            "since") " AS past FROM (SELECT r.*, part, %lld%s AS since, %lld%s "
                     "AS until"
                     " FROM pyrec.run AS r JOIN chosen USING (profile)) AS a"
                     " WHERE t0_us < until AND t1_us >= since) AS b WHERE upto "
                     "> past)",
        (long long)query->from.value, clock, (long long)query->to.value, clock);
}

/* own: (profile, part, node, n, us, ran_n, ran_us), a row for each node. */
static void
put_own(const q_query *query, pr_buffer *sql)
{
    put_chosen(query, sql);
    pr_buffer_puts(
        sql, ", own AS (SELECT profile, part, node, sum(n)::bigint AS n,"
             " sum(weight_us)::bigint AS us, coalesce(sum(n) FILTER (WHERE"
             " status & 3 <> 0), 0)::bigint AS ran_n, coalesce(sum(weight_us)"
             " FILTER (WHERE status & 3 <> 0), 0)::bigint AS ran_us FROM ");
    if (query->has_range)
        put_range(query, sql);
    else
        pr_buffer_puts(sql, "(SELECT s.*, part FROM pyrec.node_self AS s"
                            " JOIN chosen USING (profile))");
    pr_buffer_puts(sql, " AS samples WHERE true");
    put_states(query, sql);
    pr_buffer_puts(sql, " GROUP BY profile, part, node)");
}

/* ---- sums of whole profiles ---- */

/* summed: the nodes of the profiles that have samples. */
static void
put_summed(const q_query *query, pr_buffer *sql)
{
    put_own(query, sql);
    pr_buffer_puts(
        sql, ", summed AS (SELECT profile, part, node, parent, last, function,"
             " is_first_fn, is_first_edge, coalesce(n, 0) AS n,"
             " coalesce(us, 0) AS us, coalesce(ran_n, 0) AS ran_n,"
             " coalesce(ran_us, 0) AS ran_us, sum(n) OVER w AS upto_n,"
             " sum(us) OVER w AS upto_us, sum(ran_n) OVER w AS upto_ran_n,"
             " sum(ran_us) OVER w AS upto_ran_us FROM pyrec.node"
             " JOIN (SELECT DISTINCT profile, part FROM own) AS p"
             " USING (profile) LEFT JOIN own USING (profile, part, node)"
             " WINDOW w AS (PARTITION BY profile, part ORDER BY node))");
}

/* What lies at or below the node a, whose last one is b. */
#define BELOW(what)                                                     \
    "coalesce(sum(coalesce(b.upto_" what ", 0) - coalesce(a.upto_" what \
    ", 0) + a." what ") FILTER (WHERE %s), 0)"

#define TOTALS \
    BELOW("n") ", " BELOW("us") ", " BELOW("ran_n") ", " BELOW("ran_us")

static void
put_totals(const char *outermost, pr_buffer *sql)
{
    pr_buffer_printf(sql,
                     "sum(a.n), sum(a.us), sum(a.ran_n), sum(a.ran_us),"
                     " " TOTALS " FROM summed AS a JOIN summed AS b"
                     " ON b.profile = a.profile AND b.part = a.part"
                     " AND b.node = a.last",
                     outermost, outermost, outermost, outermost);
}

/* ---- questions ---- */

static void
put_parts(const q_remote_question *question, pr_buffer *sql)
{
    if (question->is_whole) {
        put_chosen(question->query, sql);
        pr_buffer_puts(sql, "SELECT part, sum(samples), sum(weight_us),"
                            " sum(ran_n), sum(ran_us) FROM chosen"
                            " GROUP BY part");
        return;
    }
    put_own(question->query, sql);
    pr_buffer_puts(sql, "SELECT part, sum(n), sum(us), sum(ran_n), sum(ran_us)"
                        " FROM own GROUP BY part");
}

static void
put_sums(const q_remote_question *question, pr_buffer *sql)
{
    if (question->is_whole) {
        put_chosen(question->query, sql);
        pr_buffer_puts(sql,
                       "SELECT part, function, sum(self_n), sum(self_us),"
                       " sum(self_ran_n), sum(self_ran_us), sum(total_n),"
                       " sum(total_us), sum(total_ran_n), sum(total_ran_us)"
                       " FROM pyrec.function_total JOIN chosen USING (profile)"
                       " GROUP BY part, function");
        return;
    }
    put_summed(question->query, sql);
    pr_buffer_puts(sql, "SELECT a.part, a.function, ");
    put_totals("a.is_first_fn = 1", sql);
    pr_buffer_puts(sql, " WHERE b.upto_n > coalesce(a.upto_n, 0) - a.n"
                        " GROUP BY a.part, a.function");
}

/* " AND column IN (...)" */
static void
put_list(const char *column, const q_remote_question *question, pr_buffer *sql)
{
    pr_buffer_printf(sql, "%s IN (", column);
    for (size_t i = 0; i < question->n_functions; i++)
        pr_buffer_printf(sql, "%s%lld", i ? ", " : "",
                         (long long)question->function[i]);
    pr_buffer_puts(sql, question->n_functions ? ")" : "NULL)");
}

static void
put_edges(const q_remote_question *question, pr_buffer *sql)
{
    bool into = question->query->verb == Q_CALLERS;
    if (question->is_whole) {
        put_chosen(question->query, sql);
        pr_buffer_puts(sql, "SELECT part, caller, callee, sum(self_n),"
                            " sum(self_us), 0, 0, sum(total_n), sum(total_us),"
                            " 0, 0 FROM pyrec.edge_total JOIN chosen"
                            " USING (profile) WHERE ");
        put_list(into ? "callee" : "caller", question, sql);
        pr_buffer_puts(sql, " GROUP BY part, caller, callee");
        return;
    }
    put_summed(question->query, sql);
    pr_buffer_puts(sql, "SELECT a.part, coalesce(c.function, 0), a.function, ");
    put_totals("a.is_first_edge = 1 OR c.node IS NULL", sql);
    pr_buffer_puts(sql, " LEFT JOIN summed AS c ON c.profile = a.profile"
                        " AND c.part = a.part AND c.node = a.parent WHERE"
                        " b.upto_n > coalesce(a.upto_n, 0) - a.n AND ");
    put_list(into ? "a.function" : "c.function", question, sql);
    pr_buffer_puts(sql, " GROUP BY a.part, 2, a.function");
}

const q_engine q_postgres = {
    .scheme = "postgres",
    .other_scheme = "postgresql",
    .open = open_postgres,
    .close = close_postgres,
    .ask = ask_postgres,
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
