/*
 * http.c - requests by libcurl, which is loaded here.
 */
#include <base/http.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* libcurl's interface, of which these numbers and calls have been the same
 * since soname 4 (curl 7.16, 2006; curl/curl.h of 7.88): without its headers a
 * build needs nothing more. */
enum {
    OPT_WRITEDATA = 10001,
    OPT_URL = 10002,
    OPT_ERRORBUFFER = 10010,
    OPT_POSTFIELDS = 10015,
    OPT_HTTPHEADER = 10023,
    OPT_NOPROGRESS = 43,
    OPT_NETRC = 51,
    OPT_XFERINFODATA = 10057,
    OPT_CAINFO = 10065,
    OPT_CONNECTTIMEOUT = 78,
    OPT_NOSIGNAL = 99,
    OPT_USERNAME = 10173,
    OPT_PASSWORD = 10174,
    OPT_WRITEFUNCTION = 20011,
    OPT_XFERINFOFUNCTION = 20219,
    OPT_POSTFIELDSIZE_LARGE = 30120,
    INFO_RESPONSE_CODE = 0x200002,
    NETRC_OPTIONAL = 1,
    ABORTED_BY_CALLBACK = 42,
    WRITE_ERROR = 23,
    ERROR_SIZE = 256
};

struct curl_slist;

typedef struct curl {
    void *library;
    void *(*init)(void);
    int (*set)(void *easy, int option, ...);
    int (*perform)(void *easy);
    int (*info)(void *easy, int info, ...);
    void (*cleanup)(void *easy);
    const char *(*text)(int code);
    struct curl_slist *(*append)(struct curl_slist *list, const char *line);
    void (*free_list)(struct curl_slist *list);
} curl;

struct pr_http {
    curl curl;
    void *easy;
    struct curl_slist *headers;
    const volatile bool *interrupted;
    pr_buffer *answer;
    bool too_long;
    char error[ERROR_SIZE];
};

enum { CONNECT_S = 20 };
#define MAX_ANSWER ((size_t)1 << 30)

/* ---- the library ---- */

static bool
find(curl *c, const char *name, void *function)
{
    void *found = dlsym(c->library, name);
    memcpy(function, &found, sizeof found); /* POSIX: dlsym() */
    return found != NULL;
}

static pr_code
load(curl *c, pr_err *err)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    for (size_t i = 0; !c->library && i < sizeof names / sizeof *names; i++)
        c->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!c->library) {
        PR_FAIL(err, PR_IO, "libcurl cannot be loaded");
        pr_err_hint(err, "install it: Debian's package is libcurl4");
        return PR_IO;
    }
    if (find(c, "curl_easy_init", &c->init) &&
        find(c, "curl_easy_setopt", &c->set) &&
        find(c, "curl_easy_perform", &c->perform) &&
        find(c, "curl_easy_getinfo", &c->info) &&
        find(c, "curl_easy_cleanup", &c->cleanup) &&
        find(c, "curl_easy_strerror", &c->text) &&
        find(c, "curl_slist_append", &c->append) &&
        find(c, "curl_slist_free_all", &c->free_list))
        return PR_OK;
    return PR_FAIL(err, PR_IO, "libcurl lacks a function");
}

/* ---- what libcurl calls ---- */

static size_t
take_answer(char *at, size_t size, size_t n, void *context)
{
    pr_http *http = context;
    size_t len = size * n;
    if (len > MAX_ANSWER - http->answer->len) {
        http->too_long = true;
        return 0;
    }
    pr_buffer_append(http->answer, at, len);
    return http->answer->failed ? 0 : len;
}

static int
check_interrupt(void *context, int64_t down_total, int64_t down,
                int64_t up_total, int64_t up)
{
    const pr_http *http = context;
    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    return http->interrupted && *http->interrupted;
}

/* ---- interface ---- */

static void
set_up(pr_http *http, const char *user, const char *password)
{
    const curl *c = &http->curl;
    const char *authorities = getenv("CURL_CA_BUNDLE");
    c->set(http->easy, OPT_ERRORBUFFER, http->error);
    c->set(http->easy, OPT_NOSIGNAL, 1L);
    c->set(http->easy, OPT_CONNECTTIMEOUT, (long)CONNECT_S);
    c->set(http->easy, OPT_WRITEFUNCTION, take_answer);
    c->set(http->easy, OPT_WRITEDATA, http);
    c->set(http->easy, OPT_NOPROGRESS, 0L);
    c->set(http->easy, OPT_XFERINFOFUNCTION, check_interrupt);
    c->set(http->easy, OPT_XFERINFODATA, http);
    c->set(http->easy, OPT_NETRC, (long)NETRC_OPTIONAL);
    c->set(http->easy, OPT_HTTPHEADER, http->headers);
    if (user)
        c->set(http->easy, OPT_USERNAME, user);
    if (password)
        c->set(http->easy, OPT_PASSWORD, password);
    if (authorities && authorities[0])
        c->set(http->easy, OPT_CAINFO, authorities);
}

pr_code
pr_http_open(const char *user, const char *password,
             const volatile bool *interrupted, pr_http **ret, pr_err *err)
{
    pr_http *http = calloc(1, sizeof *http);
    if (!http)
        return pr_no_memory(err);
    http->interrupted = interrupted;
    pr_code rc = load(&http->curl, err);
    if (rc == PR_OK) {
        http->easy = http->curl.init();
        /* no wait for "100 Continue", which a large body has by default */
        http->headers = http->curl.append(NULL, "Expect:");
        if (!http->easy || !http->headers)
            rc = pr_no_memory(err);
    }
    if (rc != PR_OK) {
        pr_http_close(http);
        return rc;
    }
    set_up(http, user, password);
    *ret = http;
    return PR_OK;
}

void
pr_http_close(pr_http *http)
{
    if (!http)
        return;
    if (http->easy)
        http->curl.cleanup(http->easy);
    if (http->headers)
        http->curl.free_list(http->headers);
    free(http); /* the library stays: TLS has work to do at the exit */
}

static pr_code
fail(const pr_http *http, int code, pr_err *err)
{
    if (code == ABORTED_BY_CALLBACK)
        return PR_FAIL(err, PR_LIMIT, "the request was interrupted");
    if (code == WRITE_ERROR && http->too_long)
        return PR_FAIL(err, PR_LIMIT, "the answer has more than 1 GiB");
    if (code == WRITE_ERROR && http->answer->failed)
        return pr_no_memory(err);
    return PR_FAIL(err, PR_IO, "%s",
                   http->error[0] ? http->error : http->curl.text(code));
}

pr_code
pr_http_post(pr_http *http, const char *url, const char *at, size_t len,
             long *status, pr_buffer *answer, pr_err *err)
{
    const curl *c = &http->curl;
    http->answer = answer;
    http->too_long = false;
    http->error[0] = '\0';
    pr_buffer_reset(answer);
    c->set(http->easy, OPT_URL, url);
    c->set(http->easy, OPT_POSTFIELDSIZE_LARGE, (int64_t)len);
    c->set(http->easy, OPT_POSTFIELDS, at ? at : "");
    int code = c->perform(http->easy);
    if (code != 0)
        return fail(http, code, err);
    c->info(http->easy, INFO_RESPONSE_CODE, status);
    return PR_OK;
}
