/*
 * remote_tables.h - a server's small tables in the memory of a question.
 *
 * The tables profile, label, process, thread, event and loss get all rows of
 * the server, and node_self one row for each state of each thread, with node 0.
 * So the answer to a question about threads, processes, profiles, events or
 * losses is that of a local database.
 */
#ifndef QUERY_REMOTE_REMOTE_TABLES_H
#define QUERY_REMOTE_REMOTE_TABLES_H

#include "query/database/database.h"
#include "query/remote/engine.h"

/* Read the rows, in place of earlier ones.  Profiles are numbered from 1 in the
 * order of their wall clocks.  PR_NAME: the server has no profile. */
pr_code q_remote_tables_read(q_database *database, const q_engine *engine,
                             void *connection, pr_err *err);

#endif
