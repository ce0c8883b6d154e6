/*
 * plain.c - the answers that are one statement over the tables.
 */
#include "query/plan/answers.h"

#include "query/language/verbs.h"
#include "query/plan/select.h"

#define PERCENT_OF(what, of) "round(100.0 * " what " / nullif(" of ", 0), 2)"

/* The samples of a thread by state, summed up by `by`; in microseconds, the
 * waits only where they are known. */
#define STATES                                                          \
    "sum(n) AS n, sum(weight_us) AS us,"                                \
    " sum(n * (status & 3 <> 0)) AS ran, sum(n * (status & 1)) AS gil," \
    " sum(n * (status >> 1 & 1)) AS cpu,"                               \
    " sum(n * (status >> 3 & 1)) AS waiting,"                           \
    " sum(n * (status & 15 = 0)) AS idle, max(status & 4) AS cpu_unknown"

#define STATE_COLUMNS                                                        \
    "s.n AS samples, round(100.0 * s.n / sum(s.n) OVER (), 2) AS pct,"       \
    " s.us / 1e6 AS seconds, CASE WHEN knows_ran THEN"                       \
    " " PERCENT_OF(                                                          \
        "s.ran",                                                             \
        "s.n") " END AS ran_pct,"                                            \
               " CASE WHEN knows_ran THEN " PERCENT_OF(                      \
                   "s.gil",                                                  \
                   "s.n") " END AS gil_pct, CASE WHEN NOT cpu_unknown AND "  \
                          "knows_cpu THEN"                                   \
                          " " PERCENT_OF(                                    \
                              "s.cpu",                                       \
                              "s.n") " END AS cpu_pct,"                      \
                                     " CASE WHEN knows_waiting "             \
                                     "THEN " PERCENT_OF(                     \
                                         "s.waiting",                        \
                                         "s.n") " END AS waiting_pct, CASE " \
                                                "WHEN NOT cpu_unknown AND "  \
                                                "knows_cpu THEN"             \
                                                " " PERCENT_OF(              \
                                                    "s.idle",                \
                                                    "s.n") " END AS idle_pct"

/* "(SELECT ...)" of the samples of each thread by state.  Adding up by status
 * first takes less for each row: most threads have few statuses. */
static pr_code
add_states(q_database *database, const q_query *query, sqlite3_str *sql,
           pr_err *err)
{
    sqlite3_str_appendall(sql, "(SELECT thread_id, " STATES
                               " FROM (SELECT thread_id, status, sum(n) AS n,"
                               " sum(weight_us) AS weight_us");
    pr_code rc = q_select_source(database, query, false, sql, err);
    sqlite3_str_appendall(sql, " GROUP BY thread_id, status)"
                               " GROUP BY thread_id)");
    return rc;
}

static pr_code
answer_threads(q_database *database, const q_query *query, char **ret,
               pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendall(
        sql, "SELECT " STATE_COLUMNS
             ", name AS thread, tid, interp, is_main AS main, pid,"
             " thread.t0_us / 1e6 AS first_s, thread.t1_us / 1e6 AS last_s,"
             " proven, sleeping, unproven, stopped, lost, left_out,"
             " cpu_us / 1e6 AS cpu_s, cpu_wait_us / 1e6 AS cpu_wait_s,"
             " gil_wait_us / 1e6 AS gil_wait_s, switches_voluntary,"
             " switches_involuntary FROM ");
    pr_code rc = add_states(database, query, sql, err);
    sqlite3_str_appendall(sql, " AS s"
                               " JOIN thread ON thread.id = s.thread_id"
                               " JOIN process ON process.id = process_id"
                               " JOIN profile ON profile.id = profile_id"
                               " ORDER BY s.ran DESC, s.n DESC, name, tid,"
                               " interp, thread.id");
    if (rc == PR_OK)
        return q_finish_text(sql, ret, err);
    sqlite3_free(sqlite3_str_finish(sql));
    return rc;
}

static pr_code
answer_processes(q_database *database, const q_query *query, char **ret,
                 pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendall(
        sql,
        "SELECT " STATE_COLUMNS
        ", pid, parent_pid, process.command AS command, source AS profile,"
        " used.cpu_us / 1e6 AS cpu_s, used.cpu_wait_us / 1e6 AS cpu_wait_s,"
        " throttled_us / 1e6 AS throttled_s, cgroup_throttled,"
        " cgroup_periods FROM (SELECT process_id, sum(n) AS n, sum(us) AS us,"
        " sum(ran) AS ran, sum(gil) AS gil, sum(cpu) AS cpu,"
        " sum(waiting) AS waiting, sum(idle) AS idle,"
        " max(cpu_unknown) AS cpu_unknown"
        " FROM ");
    pr_code rc = add_states(database, query, sql, err);
    sqlite3_str_appendall(sql,
                          " JOIN thread ON thread.id ="
                          " thread_id GROUP BY process_id) AS s"
                          " JOIN process ON process.id = s.process_id"
                          " JOIN profile ON profile.id = profile_id"
                          " JOIN (SELECT process_id, sum(cpu_us) AS cpu_us,"
                          " sum(cpu_wait_us) AS cpu_wait_us FROM thread GROUP"
                          " BY process_id) AS used"
                          " ON used.process_id = process.id"
                          " ORDER BY s.ran DESC, s.n DESC, pid, process.id");
    if (rc == PR_OK)
        return q_finish_text(sql, ret, err);
    sqlite3_free(sqlite3_str_finish(sql));
    return rc;
}

static pr_code
answer_longest(q_database *database, const q_query *query, char **ret,
               pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendall(
        sql, "SELECT (s.t1_us - s.t0_us) / 1e6 AS seconds, n AS samples,"
             " s.t0_us / 1e6 AS first_s, CASE WHEN NOT knows_ran THEN NULL"
             " WHEN status & 3 THEN 'ran'"
             " WHEN status & 8 THEN 'waited for the GIL'"
             " WHEN status & 4 THEN 'did not hold the GIL'"
             " ELSE 'was off the CPU' END AS status, thread.name AS thread,"
             " qualname AS function, node.line AS line, path AS file"
             " FROM (SELECT *");
    pr_code rc = q_select_source(database, query, true, sql, err);
    sqlite3_str_appendf(sql,
                        " ORDER BY t1_us - t0_us DESC, id LIMIT %lld) AS s"
                        " JOIN thread ON thread.id = s.thread_id"
                        " JOIN process ON process.id = process_id"
                        " JOIN profile ON profile.id = profile_id"
                        " LEFT JOIN node ON node.id = s.node_id"
                        " LEFT JOIN function ON function.id = function_id"
                        " LEFT JOIN file ON file.id = file_id",
                        query->limit);
    if (rc == PR_OK)
        return q_finish_text(sql, ret, err);
    sqlite3_free(sqlite3_str_finish(sql));
    return rc;
}

/* ---- events ---- */

static const char gc_sql[] =
    "SELECT (event.t1_us - event.t0_us) / 1e6 AS seconds,"
    " event.t0_us / 1e6 AS first_s, json_extract(d, '$.generation')"
    " AS generation, json_extract(d, '$.collected') AS collected,"
    " json_extract(d, '$.uncollectable') AS uncollectable, pid"
    " FROM (SELECT *, CASE WHEN json_valid(detail) THEN detail ELSE '{}' END"
    " AS d FROM event WHERE kind = 'gc') AS event"
    " JOIN process ON process.id = process_id"
    " ORDER BY event.t1_us - event.t0_us DESC, event.id";

static const char gaps_sql[] =
    "SELECT (event.t1_us - event.t0_us) / 1e6 AS seconds,"
    " event.t0_us / 1e6 AS first_s, event.t1_us / 1e6 AS last_s, kind,"
    " detail, pid FROM event JOIN process ON process.id = process_id"
    " WHERE kind IN ('gap', 'suspended')"
    " ORDER BY event.t1_us - event.t0_us DESC, event.id";

static const char events_sql[] =
    "SELECT event.t0_us / 1e6 AS first_s,"
    " (event.t1_us - event.t0_us) / 1e6 AS seconds, kind, detail, pid"
    " FROM event JOIN process ON process.id = process_id WHERE kind <> 'gc'"
    " ORDER BY event.t0_us, event.id";

static const char losses_sql[] =
    "SELECT sum(n) AS samples, reason, thread.name AS thread, pid FROM loss"
    " JOIN process ON process.id = loss.process_id"
    " LEFT JOIN thread ON thread.id = loss.thread_id"
    " GROUP BY reason, thread.name, pid ORDER BY 1 DESC, reason, thread";

#define IS_OF_CALLS Q_COUNTS_CALLS("profile.id")

static const char profiles_sql[] =
    "SELECT id AS profile_id, source AS profile,"
    " CASE WHEN NOT " IS_OF_CALLS " THEN samples END AS samples,"
    " duration_us / 1e6 AS seconds, host, command, python,"
    " datetime(wall_us / 1e6, 'unixepoch', 'localtime') AS started,"
    " (SELECT group_concat(key || '=' || value, ' ') FROM label"
    " WHERE profile_id = profile.id) AS labels FROM profile ORDER BY id";

/* ---- summary ---- */

/* Profiles that were recorded one after the other may be of one process: the
 * same pid, host and start, which is that of a profile's first process. */
#define REAL_PROCESSES                                                      \
    "WITH real(process_id, process) AS (SELECT process.id, CASE WHEN"       \
    " process.id = min(process.id) OVER (PARTITION BY process.profile_id)"  \
    " AND pid IS NOT NULL AND start.value IS NOT NULL THEN json_array(pid," \
    " host, start.value) ELSE process.id END FROM process JOIN profile"     \
    " ON profile.id = process.profile_id LEFT JOIN meta AS start"           \
    " ON start.profile_id = profile.id AND start.key = 'process.start_us') "

/* A thread of such a process counts once; equal ids in one profile are not
 * one thread. */
#define REAL_THREADS                                                         \
    "(SELECT DISTINCT process, tid, interp, row_number() OVER (PARTITION BY" \
    " process_id, tid, interp) FROM thread JOIN real USING(process_id))"

/* Totals have no interval of their own. */
#define HAS_TOTALS Q_HAS_TOTALS("profile.id")

static const char summary_sql[] = REAL_PROCESSES
    "SELECT 'profiles' AS what, count(*) AS value FROM profile"
    " UNION ALL SELECT 'command', group_concat(DISTINCT command) FROM profile"
    " UNION ALL SELECT 'python', group_concat(DISTINCT python) FROM profile"
    " UNION ALL SELECT 'host', group_concat(DISTINCT host) FROM profile"
    " UNION ALL SELECT 'started', datetime(min(wall_us) / 1e6, 'unixepoch',"
    " 'localtime') FROM profile"
    " UNION ALL SELECT 'mode', group_concat(DISTINCT mode) FROM profile"
    " UNION ALL SELECT 'duration_s', sum(longest) / 1e6 FROM (SELECT"
    " max(duration_us) AS longest FROM profile"
    " GROUP BY ifnull(recording, id))"
    " UNION ALL SELECT 'interval_s', min(interval_us) / 1e6 FROM profile"
    " WHERE NOT " HAS_TOTALS
    " UNION ALL SELECT 'samples', sum(samples) FROM profile"
    " WHERE NOT " IS_OF_CALLS
    " UNION ALL SELECT 'seconds', sum(weight_us) / 1e6 FROM profile"
    " UNION ALL SELECT 'unobserved_s', sum(unobserved_us) / 1e6 FROM profile"
    " UNION ALL SELECT 'processes', count(DISTINCT process) FROM real"
    " UNION ALL SELECT 'threads', count(*) FROM " REAL_THREADS
    " UNION ALL SELECT 'functions', count(*) FROM function"
    " UNION ALL SELECT 'files', count(*) FROM file"
    " UNION ALL SELECT 'stacks', count(*) FROM node"
    " UNION ALL SELECT 'proven', sum(proven) FROM thread"
    " UNION ALL SELECT 'sleeping', sum(sleeping) FROM thread"
    " UNION ALL SELECT 'unproven', sum(unproven) FROM thread"
    " UNION ALL SELECT 'stopped', sum(stopped) FROM thread"
    " UNION ALL SELECT 'lost', " Q_LOST
    " UNION ALL SELECT 'missed', sum(CAST(value AS INTEGER)) FROM profile"
    " CROSS JOIN meta ON profile_id = profile.id WHERE key = 'count.missed'";

/* Everything that the recordings say of themselves. */
static const char recorder_sql[] =
    " UNION ALL SELECT * FROM (SELECT key, CASE WHEN count(DISTINCT value) > 1"
    " THEN count(DISTINCT value) || ' values' ELSE max(value) END FROM meta"
    " GROUP BY key ORDER BY key)";

static pr_code
answer_summary(q_database *database, char **ret, pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendall(sql, summary_sql);
    if (database->shows_all)
        sqlite3_str_appendall(sql, recorder_sql);
    return q_finish_text(sql, ret, err);
}

/* ---- help ---- */

static const struct clause_help {
    unsigned bit;
    const char *text;
} clause_helps[] = {
    {Q_CLAUSE_BY, "by self | total | ran | name"},
    {Q_PER_A_UNIT, "per function | line | file | module | class | task"},
    {Q_PER_AN_OWNER, "per thread | process | profile | status | label KEY"},
    {Q_PER_A_SPAN, "per second | 100ms"},
    {Q_PER_A_BUILD, "per profile | label KEY"},
    {Q_CLAUSE_WHERE, "where gil | cpu | idle | waiting | exception | main |"
                     " native | gc [and ...]"},
    {Q_CLAUSE_WHERE, "where function | file | module | class | task | thread |"
                     " host | label KEY  = | != | like  VALUE"},
    {Q_CLAUSE_WHERE, "where line | depth | tid | pid | interp  = | != | < | >"
                     "  NUMBER"},
    {Q_CLAUSE_IN, "in shop.py | 'app/*' | json.decoder"},
    {Q_CLAUSE_THREAD, "thread NAME"},
    {Q_CLAUSE_RANGE, "between 2s and 40% | between 12:03 and 12:04 |"
                     " between yesterday 12:00 and 13:00 | first 5s |"
                     " last 10%"},
    {Q_CLAUSE_CLASS, "only | without  project | stdlib | site | frozen |"
                     " special"},
    {Q_CLAUSE_FOCUS, "focus NAME | ignore NAME"},
    {Q_CLAUSE_HIDE, "hide NAME"},
    {Q_CLAUSE_DEPTH, "depth 3"},
    {Q_CLAUSE_ABOVE, "above 2%"},
    {Q_CLAUSE_TO, "where label KEY = VALUE: the base, of one database;"
                  " to label KEY = VALUE: the new side"},
    {Q_CLAUSE_SCALE, "scale centred | seconds | share"},
    {Q_CLAUSE_SCALE, "unit KEY: seconds of a unit of work, the number in label"
                     " KEY"},
    {Q_CLAUSE_AS, "as table | csv | json | markdown"},
    {Q_AS_STACKS, "as collapsed | svg: the stacks, as a flame graph"},
    {Q_AS_CHART, "as svg: the series of one function, as a chart"},
};

static pr_code
help_of(q_database *database, const q_verb_info *v, char **ret, pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendf(sql,
                        "SELECT 'answers with' AS topic, %Q AS text"
                        " UNION ALL SELECT 'example', %Q",
                        v->help, v->example);
    for (size_t i = 0; i < sizeof clause_helps / sizeof *clause_helps; i++)
        if ((v->clauses | Q_CLAUSE_AS) & clause_helps[i].bit)
            sqlite3_str_appendf(sql, " UNION ALL SELECT 'clause', %Q",
                                clause_helps[i].text);
    return q_finish_text(sql, ret, err);
}

static pr_code
help_of_all(q_database *database, char **ret, pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    const q_verb_info *v;
    for (size_t i = 0; (v = q_verb_get(i)) != NULL; i++)
        sqlite3_str_appendf(sql,
                            "%sSELECT %Q AS verb, %Q AS answers_with,"
                            " %Q AS example",
                            i ? " UNION ALL " : "", v->word, v->help,
                            v->example);
    return q_finish_text(sql, ret, err);
}

static pr_code
answer_help(q_database *database, const q_query *query, char **ret, pr_err *err)
{
    const q_verb_info *v;
    if (!query->of.text)
        return help_of_all(database, ret, err);
    for (size_t i = 0; (v = q_verb_get(i)) != NULL; i++)
        if (sqlite3_stricmp(v->word, query->of.text) == 0)
            return help_of(database, v, ret, err);
    pr_code rc = PR_FAIL_AT(err, PR_NAME, query->of.at,
                            "no verb is called '%s'", query->of.text);
    pr_err_hint(err, "'help' lists them");
    return rc;
}

/* ---- all ---- */

static pr_code
limited(q_database *database, const q_query *query, const char *text,
        char **ret, pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendall(sql, text);
    if (query->limit >= 0)
        sqlite3_str_appendf(sql, " LIMIT %lld", query->limit);
    return q_finish_text(sql, ret, err);
}

pr_code
q_answer_plain(q_database *database, const q_query *query, char **ret,
               pr_err *err)
{
    static const char *const texts[Q_HELP + 1] = {[Q_PROFILES] = profiles_sql,
                                                  [Q_GC] = gc_sql,
                                                  [Q_GAPS] = gaps_sql,
                                                  [Q_EVENTS] = events_sql,
                                                  [Q_LOSSES] = losses_sql};
    if (query->verb == Q_THREADS)
        return answer_threads(database, query, ret, err);
    if (query->verb == Q_PROCESSES)
        return answer_processes(database, query, ret, err);
    if (query->verb == Q_LONGEST)
        return answer_longest(database, query, ret, err);
    if (query->verb == Q_SUMMARY)
        return answer_summary(database, ret, err);
    if (query->verb == Q_HELP)
        return answer_help(database, query, ret, err);
    return limited(database, query, texts[query->verb], ret, err);
}
