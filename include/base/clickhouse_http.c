/*
 * clickhouse_http.c - addresses, statements and inserts over HTTP.
 */
#include <base/clickhouse_http.h>

#include <base/http.h>

#include <stdlib.h>
#include <string.h>

/* Settings of every request (ClickHouse 18.16, dbms/src/Interpreters/Settings.h).
 * wait_end_of_query: a failure has a status of its own, however late it comes.
 * distributed_product_mode: tables that are spread over servers by profile are
 * joined where they lie.  insert_distributed_sync: an insert returns when all
 * servers have their rows.  skip_unavailable_shards: a server that is missing
 * is a failure, whatever the settings of the user are. */
static const char settings[] =
    "&wait_end_of_query=1&distributed_product_mode=local"
    "&insert_distributed_sync=1&skip_unavailable_shards=0";

struct pr_clickhouse {
    pr_http *http;
    pr_buffer url; /* of statements; terminated, which `len` does not count */
    pr_buffer request, answer;
    char *server; /* HOST:PORT, for messages */
};

/* ---- addresses ---- */

/* An address in its pieces, which point into it. */
typedef struct address {
    bool tls;
    const char *host, *port, *database;
    size_t host_len, port_len, database_len;
} address;

static const char *
after_scheme(const char *text, bool *ret_tls)
{
    static const char plain[] = PR_CLICKHOUSE_SCHEME "://";
    static const char tls[] = PR_CLICKHOUSE_TLS_SCHEME "://";
    *ret_tls = strncmp(text, tls, sizeof tls - 1) == 0;
    if (*ret_tls)
        return text + sizeof tls - 1;
    return strncmp(text, plain, sizeof plain - 1) == 0 ? text + sizeof plain - 1
                                                       : NULL;
}

bool
pr_clickhouse_is_address(const char *text)
{
    bool tls;
    return after_scheme(text, &tls) != NULL;
}

static bool
is_of(const char *at, size_t len, const char *set)
{
    for (size_t i = 0; i < len; i++)
        if (!at[i] || !strchr(set, at[i]))
            return false;
    return len > 0;
}

#define DIGITS  "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static bool
is_host(const address *a)
{
    return a->host[0] == '['
               ? is_of(a->host + 1, a->host_len - 2, DIGITS LETTERS ":.")
               : is_of(a->host, a->host_len, DIGITS LETTERS "-._");
}

/* "HOST[:PORT][/DATABASE]"; false: it is not that. */
static bool
split(const char *text, address *a)
{
    size_t authority = strcspn(text, "/?#");
    const char *end = text + authority;
    a->host = text;
    if (*text == '[') {
        const char *close = memchr(text, ']', authority);
        if (!close)
            return false;
        a->host_len = (size_t)(close + 1 - text);
    } else {
        a->host_len = strcspn(text, ":/?#");
    }
    a->port = a->host + a->host_len;
    if (a->port < end && *a->port == ':') {
        a->port++;
        a->port_len = (size_t)(end - a->port);
        if (a->port_len > 5 || !is_of(a->port, a->port_len, DIGITS))
            return false;
    } else if (a->port != end) {
        return false;
    }
    a->database = *end == '/' ? end + 1 : end;
    a->database_len = strlen(a->database);
    return is_host(a) &&
           (a->database_len == 0 ||
            is_of(a->database, a->database_len, DIGITS LETTERS "-._"));
}

static pr_code
parse(const char *text, address *ret, pr_err *err)
{
    address a = {.tls = false};
    const char *rest = after_scheme(text, &a.tls);
    if (rest && memchr(rest, '@', strcspn(rest, "/"))) {
        PR_FAIL(err, PR_USAGE, "an address holds no user and no password");
        pr_err_hint(err, "set CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, or write"
                         " them into ~/.netrc");
        return PR_USAGE;
    }
    if (rest && split(rest, &a)) {
        *ret = a;
        return PR_OK;
    }
    PR_FAIL(err, PR_USAGE, "'%s' is not the address of a server", text);
    pr_err_hint(err, "clickhouse://HOST[:PORT]/DATABASE, or clickhouses:// with"
                     " TLS");
    return PR_USAGE;
}

/* ---- connections ---- */

static bool
make_url(pr_clickhouse *c, const address *a)
{
    const char *port = a->port_len ? a->port : a->tls ? "8443" : "8123";
    const char *database = a->database_len ? a->database : "default";
    pr_buffer server = {0};
    pr_buffer_printf(&server, "%.*s:%.*s", (int)a->host_len, a->host,
                     (int)strspn(port, DIGITS), port);
    pr_buffer_char(&server, '\0');
    pr_buffer_printf(&c->url, "%s://%s/?database=%s%s",
                     a->tls ? "https" : "http", server.failed ? "" : server.at,
                     database, settings);
    pr_buffer_char(&c->url, '\0');
    c->url.len--;
    c->server = server.at;
    return !server.failed && !c->url.failed;
}

pr_code
pr_clickhouse_open(const char *text, const volatile bool *interrupted,
                   pr_clickhouse **ret, pr_err *err)
{
    address a;
    pr_code rc = parse(text, &a, err);
    if (rc != PR_OK)
        return rc;
    pr_clickhouse *c = calloc(1, sizeof *c);
    if (!c)
        return pr_no_memory(err);
    rc = make_url(c, &a) ? pr_http_open(getenv("CLICKHOUSE_USER"),
                                        getenv("CLICKHOUSE_PASSWORD"),
                                        interrupted, &c->http, err)
                         : pr_no_memory(err);
    if (rc == PR_OK)
        *ret = c;
    else
        pr_clickhouse_close(c);
    return rc;
}

void
pr_clickhouse_close(pr_clickhouse *c)
{
    if (!c)
        return;
    pr_http_close(c->http);
    pr_buffer_release(&c->url);
    pr_buffer_release(&c->request);
    pr_buffer_release(&c->answer);
    free(c->server);
    free(c);
}

/* ---- statements ---- */

/* The server's words: one line, without the name of its class. */
static pr_code
refused(const pr_clickhouse *c, long status, pr_err *err)
{
    const char *at = c->answer.at;
    size_t len = c->answer.len, first = 0;
    while (first < len && at[first] != '\n')
        first++;
    PR_FAIL(err, PR_IO, "the server %s refuses (status %ld): %.*s", c->server,
            status, (int)(first > 400 ? 400 : first), first ? at : "");
    if (status == 401 || status == 403)
        pr_err_hint(err, "CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, or ~/.netrc,"
                         " hold the user and the password");
    return PR_IO;
}

static pr_code
post(pr_clickhouse *c, const char *url, const char *at, size_t len, pr_err *err)
{
    long status = 0;
    pr_err why = PR_ERR_INIT;
    pr_code rc = pr_http_post(c->http, url, at, len, &status, &c->answer, &why);
    if (rc == PR_OK)
        return status == 200 ? PR_OK : refused(c, status, err);
    pr_err_wrap(&why, "server %s", c->server);
    if (err && err->code == PR_OK)
        *err = why;
    return rc;
}

pr_code
pr_clickhouse_ask(pr_clickhouse *c, const char *sql, size_t len,
                  pr_take_row take, void *context, pr_err *err)
{
    pr_code rc = post(c, c->url.at, sql, len, err);
    if (rc != PR_OK || !take)
        return rc;
    return pr_rows_read(c->answer.at, c->answer.len, take, context, err);
}

pr_code
pr_clickhouse_insert(pr_clickhouse *c, const char *table, const pr_buffer *rows,
                     pr_err *err)
{
    pr_buffer *url = &c->request;
    pr_buffer_reset(url);
    pr_buffer_append(url, c->url.at, c->url.len);
    pr_buffer_printf(
        url, "&query=INSERT%%20INTO%%20%%60%s%%60%%20FORMAT%%20RowBinary",
        table);
    pr_buffer_char(url, '\0');
    if (url->failed || rows->failed)
        return pr_no_memory(err);
    return post(c, url->at, rows->at, rows->len, err);
}

void
pr_clickhouse_put_text(pr_buffer *sql, const char *at, size_t len)
{
    pr_buffer_puts(sql, "unhex('");
    for (size_t i = 0; i < len; i++)
        pr_buffer_printf(sql, "%02x", (unsigned char)at[i]);
    pr_buffer_puts(sql, "')");
}
