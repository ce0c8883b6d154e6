/*
 * clickhouse_http.h - a ClickHouse server's HTTP interface (ClickHouse 18.16 and
 * later, "HTTP Interface").
 *
 * An address is clickhouse://HOST[:PORT][/DATABASE], or clickhouses:// with TLS;
 * the ports are 8123 and 8443, the database is "default" if none is named.
 * The user and the password are the environment's CLICKHOUSE_USER and
 * CLICKHOUSE_PASSWORD, or those of the host in ~/.netrc: an address that holds
 * one is refused, since others can read the command line.
 * Ownership  open gives a connection, close takes it.
 * Threads    a connection is one thread's at a time.
 */
#ifndef BASE_CLICKHOUSE_HTTP_H
#define BASE_CLICKHOUSE_HTTP_H

#include <base/buffer.h>
#include <base/text_rows.h>

#include <pyrec/error.h>
#include <stdbool.h>

typedef struct pr_clickhouse pr_clickhouse; /* opaque */

#define PR_CLICKHOUSE_SCHEME     "clickhouse"
#define PR_CLICKHOUSE_TLS_SCHEME "clickhouses"

bool pr_clickhouse_is_address(const char *text);

/* PR_USAGE: the address is wrong.  Nothing is sent before the first
 * statement.  *interrupted: as pr_http_open() has it. */
pr_code pr_clickhouse_open(const char *address,
                           const volatile bool *interrupted,
                           pr_clickhouse **ret, pr_err *err);
void pr_clickhouse_close(pr_clickhouse *c); /* takes NULL */

/* Runs one statement, a SELECT without FORMAT or one that has no rows; `take`
 * may be NULL then.  The server sends rows only once it has all of them.
 * PR_IO: the server does not answer, or refuses: err has its words. */
pr_code pr_clickhouse_ask(pr_clickhouse *c, const char *sql, size_t len,
                          pr_take_row take, void *context, pr_err *err);

/* Runs "INSERT INTO table FORMAT RowBinary" with these rows; returns once all
 * servers that store some of them have them. */
pr_code pr_clickhouse_insert(pr_clickhouse *c, const char *table,
                             const pr_buffer *rows, pr_err *err);

/* Appends a text as an expression of ClickHouse, without any byte of it as it
 * is: unhex('...'). */
void pr_clickhouse_put_text(pr_buffer *sql, const char *at, size_t len);

#endif
