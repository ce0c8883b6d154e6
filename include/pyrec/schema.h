/*
 * schema.h - the SQLite tables between converter and query (spec/schema.md
 * describes each column): the numbers and the SQL text, nothing else.
 *
 * One database holds one profile or thousands.  All profiles share files,
 * functions and frames; each profile has nodes of its own, whose ids are one
 * range.  A value that the profile does not know is NULL.
 */
#ifndef PYREC_SCHEMA_H
#define PYREC_SCHEMA_H

#define PR_SCHEMA_VERSION        4          /* PRAGMA user_version */
#define PR_SCHEMA_APPLICATION_ID 0x50595245 /* PRAGMA application_id: PYRE */

/* Statements, separated by commas. */
#define PR_SCHEMA_TABLES                                                       \
    "CREATE TABLE profile(id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE,"  \
    " source TEXT, recording TEXT, host TEXT, command TEXT, commit_id TEXT,"   \
    " python TEXT, mode TEXT NOT NULL, capture TEXT NOT NULL,"                 \
    " time TEXT NOT NULL, wall_us INTEGER, start_us INTEGER,"                  \
    " interval_us INTEGER NOT NULL, duration_us INTEGER NOT NULL,"             \
    " samples INTEGER NOT NULL, weight_us INTEGER NOT NULL,"                   \
    " unobserved_us INTEGER NOT NULL, rate_hz REAL, error_percent REAL,"       \
    " missed_percent REAL, ran_n INTEGER NOT NULL,"                            \
    " ran_us INTEGER NOT NULL, knows_ran INTEGER NOT NULL,"                    \
    " knows_cpu INTEGER NOT NULL,"                                             \
    " knows_waiting INTEGER NOT NULL, first_node INTEGER,"                     \
    " last_node INTEGER);",                                                    \
        "CREATE TABLE label(profile_id INTEGER NOT NULL, key TEXT NOT NULL,"   \
        " value TEXT NOT NULL, PRIMARY KEY(profile_id, key)) WITHOUT ROWID;",  \
        "CREATE TABLE meta(profile_id INTEGER NOT NULL, key TEXT NOT NULL,"    \
        " value, PRIMARY KEY(profile_id, key)) WITHOUT ROWID;",                \
        "CREATE TABLE process(id INTEGER PRIMARY KEY,"                         \
        " profile_id INTEGER NOT NULL, pid INTEGER, parent_pid INTEGER,"       \
        " command TEXT, python TEXT, t0_us INTEGER, t1_us INTEGER,"            \
        " cgroup_periods INTEGER, cgroup_throttled INTEGER,"                   \
        " throttled_us INTEGER);",                                             \
        "CREATE TABLE thread(id INTEGER PRIMARY KEY,"                          \
        " process_id INTEGER NOT NULL, tid INTEGER NOT NULL,"                  \
        " interp INTEGER NOT NULL, name TEXT, is_main INTEGER NOT NULL,"       \
        " t0_us INTEGER, t1_us INTEGER, samples INTEGER NOT NULL,"             \
        " weight_us INTEGER NOT NULL, unobserved_us INTEGER NOT NULL,"         \
        " proven INTEGER, sleeping INTEGER, unproven INTEGER,"                 \
        " stopped INTEGER, lost INTEGER, first_run INTEGER,"                   \
        " last_run INTEGER, left_out INTEGER, cpu_us INTEGER,"                 \
        " cpu_wait_us INTEGER, gil_wait_us INTEGER,"                           \
        " switches_voluntary INTEGER, switches_involuntary INTEGER);",         \
        "CREATE TABLE file(id INTEGER PRIMARY KEY, path TEXT NOT NULL,"        \
        " base TEXT NOT NULL, module TEXT, class TEXT NOT NULL,"               \
        " hash BLOB NOT NULL);",                                               \
        "CREATE TABLE function(id INTEGER PRIMARY KEY,"                        \
        " file_id INTEGER NOT NULL, qualname TEXT NOT NULL, name TEXT NOT "    \
        "NULL,"                                                                \
        " first_line INTEGER, kind TEXT NOT NULL, hash BLOB NOT NULL);",       \
        "CREATE TABLE frame(id INTEGER PRIMARY KEY,"                           \
        " function_id INTEGER NOT NULL, line INTEGER, end_line INTEGER,"       \
        " col INTEGER, end_col INTEGER, opcode INTEGER);",                     \
        "CREATE TABLE node(id INTEGER PRIMARY KEY, parent_id INTEGER,"         \
        " last_id INTEGER NOT NULL, depth INTEGER NOT NULL,"                   \
        " frame_id INTEGER NOT NULL, function_id INTEGER NOT NULL,"            \
        " line INTEGER, is_first_fn INTEGER NOT NULL,"                         \
        " is_first_line INTEGER NOT NULL, is_first_edge INTEGER NOT NULL);",   \
        "CREATE TABLE run(id INTEGER PRIMARY KEY, thread_id INTEGER NOT NULL," \
        " node_id INTEGER NOT NULL, status INTEGER NOT NULL,"                  \
        " t0_us INTEGER NOT NULL, t1_us INTEGER NOT NULL, n INTEGER NOT NULL," \
        " weight_us INTEGER NOT NULL);",                                       \
        "CREATE TABLE node_self(id INTEGER PRIMARY KEY,"                       \
        " node_id INTEGER NOT NULL, thread_id INTEGER NOT NULL,"               \
        " status INTEGER NOT NULL, n INTEGER NOT NULL,"                        \
        " weight_us INTEGER NOT NULL);",                                       \
        "CREATE TABLE function_total(profile_id INTEGER NOT NULL,"             \
        " function_id INTEGER NOT NULL, self_n INTEGER NOT NULL,"              \
        " self_us INTEGER NOT NULL, self_ran_n INTEGER NOT NULL,"              \
        " self_ran_us INTEGER NOT NULL, total_n INTEGER NOT NULL,"             \
        " total_us INTEGER NOT NULL, total_ran_n INTEGER NOT NULL,"            \
        " total_ran_us INTEGER NOT NULL,"                                      \
        " PRIMARY KEY(profile_id, function_id)) WITHOUT ROWID;",               \
        "CREATE TABLE function_sum(function_id INTEGER PRIMARY KEY,"           \
        " self_n INTEGER NOT NULL, self_us INTEGER NOT NULL,"                  \
        " self_ran_n INTEGER NOT NULL, self_ran_us INTEGER NOT NULL,"          \
        " total_n INTEGER NOT NULL, total_us INTEGER NOT NULL,"                \
        " total_ran_n INTEGER NOT NULL, total_ran_us INTEGER NOT NULL);",      \
        "CREATE TABLE edge_total(profile_id INTEGER NOT NULL,"                 \
        " callee_id INTEGER NOT NULL, caller_id INTEGER NOT NULL,"             \
        " self_n INTEGER NOT NULL, self_us INTEGER NOT NULL,"                  \
        " total_n INTEGER NOT NULL, total_us INTEGER NOT NULL,"                \
        " PRIMARY KEY(profile_id, callee_id, caller_id)) WITHOUT ROWID;",      \
        "CREATE TABLE tree_total(profile_id INTEGER NOT NULL,"                 \
        " parent_id INTEGER NOT NULL, id INTEGER NOT NULL,"                    \
        " function_id INTEGER NOT NULL, self_n INTEGER NOT NULL,"              \
        " self_us INTEGER NOT NULL, self_ran_n INTEGER NOT NULL,"              \
        " self_ran_us INTEGER NOT NULL, total_n INTEGER NOT NULL,"             \
        " total_us INTEGER NOT NULL, total_ran_n INTEGER NOT NULL,"            \
        " total_ran_us INTEGER NOT NULL,"                                      \
        " PRIMARY KEY(profile_id, parent_id, id)) WITHOUT ROWID;",             \
        "CREATE TABLE event(id INTEGER PRIMARY KEY,"                           \
        " process_id INTEGER NOT NULL, thread_id INTEGER, kind TEXT NOT NULL," \
        " t0_us INTEGER NOT NULL, t1_us INTEGER NOT NULL, detail TEXT);",      \
        "CREATE TABLE task(id INTEGER PRIMARY KEY,"                            \
        " process_id INTEGER NOT NULL, thread_id INTEGER, key INTEGER NOT "    \
        "NULL,"                                                                \
        " name TEXT, first_us INTEGER NOT NULL);",                             \
        "CREATE TABLE task_parent(task_id INTEGER NOT NULL,"                   \
        " parent_id INTEGER NOT NULL, PRIMARY KEY(task_id, parent_id))"        \
        " WITHOUT ROWID;",                                                     \
        "CREATE TABLE loss(id INTEGER PRIMARY KEY, process_id INTEGER NOT "    \
        "NULL,"                                                                \
        " thread_id INTEGER, reason TEXT NOT NULL, n INTEGER NOT NULL);",      \
        "CREATE TABLE opcode(python TEXT NOT NULL, number INTEGER NOT NULL,"   \
        " name TEXT NOT NULL, PRIMARY KEY(python, number)) WITHOUT ROWID;"

/* Views for questions; each is made of the tables above. */
#define PR_SCHEMA_VIEWS                                                        \
    "CREATE VIEW profiles AS SELECT id AS profile_id, source, recording,"      \
    " host, command, commit_id, python, mode, samples,"                        \
    " duration_us / 1e6 AS duration_s, unobserved_us / 1e6 AS unobserved_s,"   \
    " datetime(wall_us / 1e6, 'unixepoch') AS started, (SELECT"                \
    " group_concat(key || '=' || value, ' ') FROM label"                       \
    " WHERE profile_id = profile.id) AS labels FROM profile;",                 \
        "CREATE VIEW processes AS SELECT profile_id, process.id AS "           \
        "process_id,"                                                          \
        " pid, parent_pid, command, python, count(thread.id) AS threads,"      \
        " sum(samples) AS samples, sum(weight_us) / 1e6 AS seconds,"           \
        " sum(cpu_us) / 1e6 AS cpu_s, sum(cpu_wait_us) / 1e6 AS cpu_wait_s,"   \
        " throttled_us / 1e6 AS throttled_s"                                   \
        " FROM process LEFT JOIN thread ON process_id = process.id"            \
        " GROUP BY process.id;",                                               \
        "CREATE VIEW threads AS SELECT profile_id, pid, thread.id AS "         \
        "thread_id,"                                                           \
        " name AS thread, tid, interp, is_main AS main, samples,"              \
        " weight_us / 1e6 AS seconds, thread.t0_us / 1e6 AS first_s,"          \
        " thread.t1_us / 1e6 AS last_s, proven, sleeping, unproven, stopped,"  \
        " lost, left_out, cpu_us / 1e6 AS cpu_s,"                              \
        " cpu_wait_us / 1e6 AS cpu_wait_s, gil_wait_us / 1e6 AS gil_wait_s,"   \
        " switches_voluntary, switches_involuntary FROM thread JOIN process "  \
        "ON process.id = process_id;",                                         \
        "CREATE VIEW functions AS SELECT profile_id, function_id,"             \
        " qualname AS function, path AS file, first_line AS line, module, "    \
        "class,"                                                               \
        " kind, self_n AS self_samples, self_us / 1e6 AS self_s,"              \
        " self_ran_us / 1e6 AS self_ran_s, total_n AS total_samples,"          \
        " total_us / 1e6 AS total_s, total_ran_us / 1e6 AS total_ran_s"        \
        " FROM function_total JOIN function ON function.id = function_id"      \
        " JOIN file ON file.id = file_id;",                                    \
        "CREATE VIEW lines AS WITH own AS (SELECT node_id, sum(n) AS n,"       \
        " sum(weight_us) AS us FROM node_self GROUP BY node_id), upto AS"      \
        " (SELECT id, last_id, function_id, line, is_first_line,"              \
        " ifnull(n, 0) AS n, ifnull(us, 0) AS us,"                             \
        " sum(ifnull(n, 0)) OVER (ORDER BY id) AS all_n,"                      \
        " sum(ifnull(us, 0)) OVER (ORDER BY id) AS all_us"                     \
        " FROM node LEFT JOIN own ON node_id = id)"                            \
        " SELECT qualname AS function, path AS file, a.line,"                  \
        " sum(a.n) AS self_samples, sum(a.us) / 1e6 AS self_s,"                \
        " sum(b.all_n - a.all_n + a.n) FILTER (WHERE a.is_first_line)"         \
        " AS total_samples,"                                                   \
        " sum(b.all_us - a.all_us + a.us) FILTER (WHERE a.is_first_line) / "   \
        "1e6"                                                                  \
        " AS total_s FROM upto AS a JOIN upto AS b ON b.id = a.last_id"        \
        " JOIN function ON function.id = a.function_id"                        \
        " JOIN file ON file.id = file_id GROUP BY a.function_id, a.line;",     \
        "CREATE VIEW samples AS SELECT profile_id, pid, thread.name AS "       \
        "thread,"                                                              \
        " tid, run.t0_us / 1e6 AS first_s, run.t1_us / 1e6 AS last_s,"         \
        " n AS samples, run.weight_us / 1e6 AS seconds, qualname AS function," \
        " line, path AS file, node_id AS stack, status & 1 AS gil,"            \
        " CASE WHEN status & 4 THEN NULL ELSE status >> 1 & 1 END AS cpu,"     \
        " CASE WHEN knows_waiting THEN status >> 3 & 1 END AS waiting,"        \
        " status >> 4 & 1 AS exception, status >> 5 & 1 AS main"               \
        " FROM run JOIN thread ON thread.id = thread_id"                       \
        " JOIN process ON process.id = process_id"                             \
        " JOIN profile ON profile.id = profile_id"                             \
        " LEFT JOIN node ON node.id = node_id"                                 \
        " LEFT JOIN function ON function.id = function_id"                     \
        " LEFT JOIN file ON file.id = file_id;",                               \
        "CREATE VIEW callers AS SELECT profile_id, callee.qualname AS "        \
        "function,"                                                            \
        " callee_file.path AS file, ifnull(caller.qualname, '(root)') AS "     \
        "caller,"                                                              \
        " caller_file.path AS caller_file, total_n AS samples,"                \
        " total_us / 1e6 AS seconds FROM edge_total"                           \
        " JOIN function AS callee ON callee.id = callee_id"                    \
        " JOIN file AS callee_file ON callee_file.id = callee.file_id"         \
        " LEFT JOIN function AS caller ON caller.id = caller_id"               \
        " LEFT JOIN file AS caller_file ON caller_file.id = caller.file_id;",  \
        "CREATE VIEW callees AS SELECT profile_id, caller.qualname AS "        \
        "function,"                                                            \
        " caller_file.path AS file, callee.qualname AS callee,"                \
        " callee_file.path AS callee_file, total_n AS samples,"                \
        " total_us / 1e6 AS seconds FROM edge_total"                           \
        " JOIN function AS caller ON caller.id = caller_id"                    \
        " JOIN file AS caller_file ON caller_file.id = caller.file_id"         \
        " JOIN function AS callee ON callee.id = callee_id"                    \
        " JOIN file AS callee_file ON callee_file.id = callee.file_id;",       \
        "CREATE VIEW stacks AS WITH RECURSIVE path(id, depth, stack) AS "      \
        "(SELECT"                                                              \
        " node.id, 1, qualname FROM node JOIN function ON function.id ="       \
        " function_id WHERE parent_id IS NULL UNION ALL SELECT node.id,"       \
        " path.depth + 1, stack || ';' || qualname FROM path"                  \
        " JOIN node ON parent_id = path.id"                                    \
        " JOIN function ON function.id = function_id)"                         \
        " SELECT path.id AS stack_id, depth, stack, sum(n) AS self_samples,"   \
        " sum(weight_us) / 1e6 AS self_s FROM path"                            \
        " JOIN node_self ON node_id = path.id GROUP BY path.id;",              \
        "CREATE VIEW events AS SELECT profile_id, pid, kind,"                  \
        " event.t0_us / 1e6 AS first_s, event.t1_us / 1e6 AS last_s,"          \
        " (event.t1_us - event.t0_us) / 1e6 AS seconds, detail"                \
        " FROM event JOIN process ON process.id = process_id;",                \
        "CREATE VIEW gaps AS SELECT profile_id, pid, first_s, last_s, seconds" \
        " FROM events WHERE kind = 'gap';",                                    \
        "CREATE VIEW collections AS SELECT profile_id, pid, first_s, seconds," \
        " detail ->> 'generation' AS generation,"                              \
        " detail ->> 'collected' AS collected FROM events WHERE kind = 'gc';", \
        "CREATE VIEW tasks AS SELECT profile_id, pid, task.id AS task_id,"     \
        " task.name AS task, thread.name AS thread, first_us / 1e6 AS "        \
        "first_s,"                                                             \
        " (SELECT group_concat(parent.name, ', ') FROM task_parent"            \
        " JOIN task AS parent ON parent.id = parent_id"                        \
        " WHERE task_id = task.id) AS awaited_by"                              \
        " FROM task JOIN process ON process.id = task.process_id"              \
        " LEFT JOIN thread ON thread.id = task.thread_id;",                    \
        "CREATE VIEW losses AS SELECT profile_id, pid, name AS thread, "       \
        "reason,"                                                              \
        " n AS samples FROM loss JOIN process ON process.id = loss.process_id" \
        " LEFT JOIN thread ON thread.id = loss.thread_id;"

#endif
