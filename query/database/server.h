/*
 * server.h - a server that has the tables of a database.
 *
 * A database that was opened by an address holds the server's files and
 * functions of each question in memory, and no samples.
 */
#ifndef QUERY_DATABASE_SERVER_H
#define QUERY_DATABASE_SERVER_H

#include <pyrec/query.h>
#include <stdbool.h>

typedef struct q_remote q_remote; /* opaque */

/* ---- in query/remote ---- */

/* Is this the address of a server (clickhouse://HOST/DB), not a file? */
bool q_remote_is_address(const char *path);

/* PR_USAGE if the database is a server's, which does not have `what`. */
pr_code q_remote_refuse(const q_database *database, const char *what,
                        pr_err *err);

/* Connect, and check the version of the server's tables. */
pr_code q_remote_open(const char *address, const volatile bool *interrupted,
                      q_remote **ret, pr_err *err);
void q_remote_close(q_remote *remote); /* takes NULL */

#endif
