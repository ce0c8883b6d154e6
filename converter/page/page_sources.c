/*
 * page_sources.c - find, check, append.
 *
 * pyconv tries a path as it is, if it lies below the folder, and then by its
 * last parts, the most of them first: "/srv/app/shop/cart.py" below "src" is
 * src/srv/app/shop/cart.py, src/app/shop/cart.py, src/shop/cart.py or
 * src/cart.py.  The last parts of a library's file are at least all those below
 * the library: "json/decoder.py", not "decoder.py".
 */
#include "converter/page/page_sources.h"

#include "converter/model/source_path.h"

#include <base/quote.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILE_MOST = 1024 * 1024,    /* bytes of a file */
    ALL_MOST = 4 * 1024 * 1024, /* bytes of all files */
    PARTS_MOST = 32             /* last parts of a path that are tried */
};

/* A file of the profile. */
typedef struct source_file {
    uint32_t number;
    int32_t last_line;    /* that ran */
    uint64_t self, total; /* microseconds */
} source_file;

typedef struct sources {
    const conv_model *model;
    const uint32_t *file;  /* [n_files] string ids */
    char folder[PATH_MAX]; /* without links; "" is the root */
    source_file *of;       /* [n_files] */
    size_t n_files, n_texts, missing, other, large, bytes;
    pr_buffer *json;
} sources;

/* ---- which files, in which order ---- */

/* *number[string id] is 1 + the file's number. */
static pr_code
number_files(const sources *s, uint32_t **number, pr_err *err)
{
    *number = calloc(s->model->strings.n + 1, sizeof **number);
    if (!*number)
        return pr_no_memory(err);
    for (size_t i = 0; i < s->n_files; i++)
        (*number)[s->file[i]] = (uint32_t)i + 1;
    return PR_OK;
}

static source_file *
file_of(const sources *s, const uint32_t *number, uint32_t node)
{
    const conv_model *m = s->model;
    const conv_frame *f = conv_model_frame(m, m->nodes[node].frame);
    return &s->of[number[conv_model_function(m, f->function)->file] - 1];
}

static void
add_runs(sources *s, const uint32_t *number, uint64_t *total)
{
    conv_cursor cursor;
    conv_model_run run;
    for (size_t i = 0; i < s->model->n_threads; i++) {
        conv_cursor_init(&cursor, &s->model->threads[i]);
        while (conv_cursor_next(&cursor, &run)) {
            total[run.node] += run.weight_us;
            if (run.node)
                file_of(s, number, run.node)->self += run.weight_us;
        }
    }
}

/* The totals count a file each time that it is on a stack: they only put
 * callers before files that hardly ran. */
static pr_code
weigh_files(sources *s, pr_err *err)
{
    const conv_model *m = s->model;
    uint32_t *number = NULL;
    uint64_t *total = calloc(m->n_nodes, sizeof *total);
    pr_code rc = total ? number_files(s, &number, err) : pr_no_memory(err);
    if (rc == PR_OK)
        add_runs(s, number, total);
    for (size_t i = m->n_nodes; rc == PR_OK && i-- > 1;) {
        source_file *f = file_of(s, number, (uint32_t)i);
        int32_t line = conv_model_frame(m, m->nodes[i].frame)->line;
        f->last_line = line > f->last_line ? line : f->last_line;
        f->total += total[i];
        total[m->nodes[i].parent] += total[i];
    }
    free(total);
    free(number);
    return rc;
}

static int
compare_files(const void *a_file, const void *b_file)
{
    const source_file *a = a_file, *b = b_file;
    if (a->self != b->self)
        return a->self > b->self ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* ---- one file ---- */

static bool
ends_with(pr_bytes path, const char *end)
{
    size_t n = strlen(end);
    return path.len > n && memcmp(path.at + path.len - n, end, n) == 0;
}

static bool
is_source_name(pr_bytes path)
{
    return path.len < PATH_MAX && !memchr(path.at, 0, path.len) &&
           (ends_with(path, ".py") || ends_with(path, ".pyw") ||
            ends_with(path, ".pyx"));
}

/* Does the path, after links, lie below the folder? */
static bool
is_below(const sources *s, const char *path)
{
    size_t n = strlen(s->folder);
    return strncmp(path, s->folder, n) == 0 && path[n] == '/';
}

/* A regular file below the folder; -1: none. */
static int
open_below(const sources *s, const char *path)
{
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(path, real) || !is_below(s, real) ||
        !is_source_name((pr_bytes){real, strlen(real)}))
        return -1;
    int fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static int
open_part(const sources *s, pr_bytes part)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%.*s", s->folder, (int)part.len, part.at);
    return open_below(s, path);
}

/* Where the last `n` parts of the path begin. */
static size_t
last_parts(pr_bytes path, unsigned n)
{
    size_t at = path.len;
    while (at > 0 && (path.at[at - 1] != '/' || --n > 0))
        at--;
    return at;
}

static int
find_file(const sources *s, pr_bytes path)
{
    char whole[PATH_MAX];
    size_t least = path.len - (conv_path_of(path) == CONV_PATH_PROJECT
                                   ? conv_path_base(path).len
                                   : conv_path_short(path).len);
    snprintf(whole, sizeof whole, "%.*s", (int)path.len, path.at);
    int fd = path.at[0] == '/' ? open_below(s, whole) : -1;
    size_t at = last_parts(path, PARTS_MOST);
    while (fd < 0) {
        fd = open_part(s, (pr_bytes){path.at + at, path.len - at});
        const char *slash = memchr(path.at + at, '/', path.len - at);
        if (!slash || (size_t)(slash - path.at) + 1 > least)
            break;
        at = (size_t)(slash - path.at) + 1;
    }
    return fd;
}

/* NULL: too large, or it cannot be read.  The caller frees. */
static char *
read_file(int fd, size_t *ret_len)
{
    char *text = malloc(FILE_MOST + 1);
    size_t len = 0;
    ssize_t n = 1;
    while (text && len <= FILE_MOST &&
           (n = read(fd, text + len, FILE_MOST + 1 - len)) > 0)
        len += (size_t)n;
    if (n < 0 || len > FILE_MOST) {
        free(text);
        return NULL;
    }
    *ret_len = len;
    return text;
}

static bool
has_lines(const char *text, size_t len, int32_t least)
{
    int64_t lines = len > 0 && text[len - 1] != '\n';
    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    return lines >= least;
}

/* ---- all files ---- */

static void
put_text(sources *s, const source_file *f, const char *text, size_t len)
{
    uint64_t changed = s->json->changed; /* counts names; this is a text */
    pr_buffer_printf(s->json, "%s[%" PRIu32 ",", s->n_texts++ ? "," : "",
                     f->number);
    pr_quote_json(s->json, PR_JSON_SURROGATES, text, len);
    pr_buffer_puts(s->json, "]");
    s->json->changed = changed;
    s->bytes += len;
}

static void
put_file(sources *s, const source_file *f)
{
    pr_bytes path = pr_strings_get(&s->model->strings, s->file[f->number]);
    int fd = is_source_name(path) ? find_file(s, path) : -1;
    size_t len;
    if (fd < 0) {
        s->missing += conv_path_of(path) != CONV_PATH_SPECIAL &&
                      conv_path_of(path) != CONV_PATH_FROZEN;
        return;
    }
    char *text = read_file(fd, &len);
    if (!text || len > ALL_MOST - s->bytes)
        s->large++;
    else if (!has_lines(text, len, f->last_line))
        s->other++;
    else
        put_text(s, f, text, len);
    free(text);
    close(fd);
}

static pr_code
open_folder(sources *s, const char *folder, pr_err *err)
{
    struct stat st;
    if (!realpath(folder, s->folder) || stat(s->folder, &st) != 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot read the folder '%s'",
                           folder);
    if (!S_ISDIR(st.st_mode))
        return PR_FAIL(err, PR_USAGE, "'%s' is not a folder", folder);
    if (strcmp(s->folder, "/") == 0)
        s->folder[0] = '\0';
    return PR_OK;
}

pr_code
conv_page_sources_put(const conv_model *model, const char *folder,
                      const uint32_t *file, size_t n_files, pr_buffer *json,
                      pr_err *err)
{
    sources s = {
        .model = model, .file = file, .n_files = n_files, .json = json};
    pr_code rc = open_folder(&s, folder, err);
    if (rc != PR_OK)
        return rc;
    s.of = calloc(n_files + 1, sizeof *s.of);
    for (size_t i = 0; s.of && i < n_files; i++)
        s.of[i].number = (uint32_t)i;
    rc = s.of ? weigh_files(&s, err) : pr_no_memory(err);
    if (rc == PR_OK) {
        qsort(s.of, n_files, sizeof *s.of, compare_files);
        pr_buffer_puts(json, ",\"sources\":{\"texts\":[");
        for (size_t i = 0; i < n_files; i++)
            put_file(&s, &s.of[i]);
        pr_buffer_printf(json, "],\"missing\":%zu,\"other\":%zu,\"large\":%zu}",
                         s.missing, s.other, s.large);
    }
    free(s.of);
    return rc;
}
