/*
 * http.h - requests over HTTP by libcurl, which is loaded when the first
 * connection is opened: a program that asks no server needs no libcurl.
 *
 * TLS, proxies and names are libcurl's: certificates are checked against the
 * machine's authorities, or those of the file that CURL_CA_BUNDLE names.
 * Ownership  pr_http_open() gives a connection, pr_http_close() takes it.
 * Threads    a connection is one thread's at a time.
 */
#ifndef BASE_HTTP_H
#define BASE_HTTP_H

#include <base/buffer.h>

#include <pyrec/error.h>
#include <stdbool.h>

typedef struct pr_http pr_http; /* opaque */

/* user, password: NULL: those of the host in ~/.netrc, or none.  *interrupted
 * (may be NULL) ends a request with PR_LIMIT once it is true.  PR_IO: libcurl
 * cannot be loaded. */
pr_code pr_http_open(const char *user, const char *password,
                     const volatile bool *interrupted, pr_http **ret,
                     pr_err *err);
void pr_http_close(pr_http *http); /* takes NULL */

/* Posts `len` bytes to the URL.  *status becomes the status of the answer, and
 * `answer` its body.  The connection is kept
 * for the next request.  PR_IO: the server does not answer; PR_LIMIT: its answer
 * has more than 1 GiB. */
pr_code pr_http_post(pr_http *http, const char *url, const char *at, size_t len,
                     long *status, pr_buffer *answer, pr_err *err);

#endif
