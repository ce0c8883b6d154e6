/*
 * libpq.h - statements to a PostgreSQL server by libpq, which is loaded when
 * the first connection is opened.
 *
 * An address is a URI of libpq, postgres://[USER@]HOST[:PORT]/DATABASE?...
 * (PostgreSQL 15, "Connection URIs").  The password is the environment's
 * PGPASSWORD, or that of ~/.pgpass: an address that holds one is refused, since
 * others can read the command line.  TLS is libpq's: sslmode, sslrootcert.
 * Ownership  open gives a connection, close takes it.
 * Threads    a connection is one thread's at a time.
 */
#ifndef BASE_LIBPQ_H
#define BASE_LIBPQ_H

#include <base/buffer.h>
#include <base/text_rows.h>

#include <pyrec/error.h>
#include <stdbool.h>

typedef struct pr_postgres pr_postgres; /* opaque */

/* Connect.  The session reads only, and finds functions and operators in
 * pg_catalog alone.  *interrupted ends a statement with PR_LIMIT once it is
 * true.  PR_USAGE: not an address, or one that holds a password; PR_IO: libpq
 * cannot be loaded, or the server cannot be reached. */
pr_code pr_postgres_open(const char *address, const volatile bool *interrupted,
                         pr_postgres **ret, pr_err *err);
void pr_postgres_close(pr_postgres *p); /* takes NULL */

/* Runs one SELECT and hands out its rows as they come; texts are UTF-8.
 * PR_IO: the server refuses, its words are in err; rows before that are void. */
pr_code pr_postgres_ask(pr_postgres *p, const char *select, size_t len,
                        pr_take_row take, void *context, pr_err *err);

/* Appends a text as an expression of PostgreSQL, without any byte of it as it
 * is: convert_from(decode('...', 'hex'), 'UTF8'). */
void pr_postgres_put_text(pr_buffer *sql, const char *at, size_t len);

#endif
