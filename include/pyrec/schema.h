/*
 * schema.h - the SQLite tables between converter and query (spec/schema.md
 * describes each column).  The numbers and the SQL text, nothing else.
 *
 * function_total is the answer to the commonest question, of all samples; if
 * it is empty the answer is worked out from node and node_self.
 */
#ifndef PYREC_SCHEMA_H
#define PYREC_SCHEMA_H

#define PR_SCHEMA_VERSION        1          /* PRAGMA user_version */
#define PR_SCHEMA_APPLICATION_ID 0x50595245 /* PRAGMA application_id: PYRE */

#define PR_SCHEMA_TABLES                                                     \
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"          \
    "CREATE TABLE file(id INTEGER PRIMARY KEY, path TEXT NOT NULL,"          \
    " base TEXT NOT NULL, module TEXT, class TEXT NOT NULL);"                \
    "CREATE TABLE function(id INTEGER PRIMARY KEY,"                          \
    " file_id INTEGER NOT NULL, qualname TEXT NOT NULL, name TEXT NOT NULL," \
    " first_line INTEGER, kind TEXT NOT NULL, hash BLOB NOT NULL);"          \
    "CREATE TABLE frame(id INTEGER PRIMARY KEY,"                             \
    " function_id INTEGER NOT NULL, line INTEGER, end_line INTEGER,"         \
    " col INTEGER, end_col INTEGER, opcode INTEGER);"                        \
    "CREATE TABLE thread(id INTEGER PRIMARY KEY, pid INTEGER,"               \
    " tid INTEGER NOT NULL, interp INTEGER NOT NULL, name TEXT,"             \
    " is_main INTEGER NOT NULL, t0_us INTEGER, t1_us INTEGER,"               \
    " samples INTEGER NOT NULL, proven INTEGER, sleeping INTEGER,"           \
    " unproven INTEGER, stopped INTEGER, lost INTEGER);"                     \
    "CREATE TABLE node(id INTEGER PRIMARY KEY, parent_id INTEGER,"           \
    " last_id INTEGER NOT NULL, depth INTEGER NOT NULL,"                     \
    " frame_id INTEGER NOT NULL, function_id INTEGER NOT NULL,"              \
    " line INTEGER, is_first_fn INTEGER NOT NULL,"                           \
    " is_first_line INTEGER NOT NULL, is_first_edge INTEGER NOT NULL);"      \
    "CREATE TABLE run(id INTEGER PRIMARY KEY, thread_id INTEGER NOT NULL,"   \
    " node_id INTEGER NOT NULL, status INTEGER NOT NULL,"                    \
    " t0_us INTEGER NOT NULL, t1_us INTEGER NOT NULL, n INTEGER NOT NULL,"   \
    " weight_us INTEGER NOT NULL);"                                          \
    "CREATE TABLE node_self(node_id INTEGER NOT NULL,"                       \
    " thread_id INTEGER NOT NULL, status INTEGER NOT NULL,"                  \
    " n INTEGER NOT NULL, weight_us INTEGER NOT NULL,"                       \
    " PRIMARY KEY(node_id, thread_id, status)) WITHOUT ROWID;"               \
    "CREATE TABLE function_total(function_id INTEGER PRIMARY KEY,"           \
    " self_n INTEGER NOT NULL, self_us INTEGER NOT NULL,"                    \
    " total_n INTEGER NOT NULL, total_us INTEGER NOT NULL);"                 \
    "CREATE TABLE event(id INTEGER PRIMARY KEY, kind TEXT NOT NULL,"         \
    " thread_id INTEGER, t0_us INTEGER NOT NULL, t1_us INTEGER NOT NULL,"    \
    " detail TEXT);"                                                         \
    "CREATE TABLE task(id INTEGER PRIMARY KEY, key INTEGER NOT NULL,"        \
    " thread_id INTEGER, name TEXT, first_us INTEGER NOT NULL);"             \
    "CREATE TABLE task_parent(task_id INTEGER NOT NULL,"                     \
    " parent_id INTEGER NOT NULL, PRIMARY KEY(task_id, parent_id))"          \
    " WITHOUT ROWID;"

#endif
