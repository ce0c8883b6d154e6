/*
 * path_filter.c - files under other names.
 *
 * A string may be the name of a file for one frame and of a function for
 * another, so a changed name is a string of its own: the ids of strings
 * after the filter are others than before it.
 */
#include "converter/filter/stages.h"

#include <base/intern.h>
#include <string.h>

#include <stdlib.h>

typedef struct path_filter {
    pr_sink sink;
    const conv_filters *filters;
    char *text; /* of all strings */
    size_t n_text, cap_text;
    size_t *end; /* [n] */
    size_t n, cap;
    pr_list emitted; /* [string] its id after the filter */
    pr_list files;   /* [string] that of the changed name, + 1; 0: unknown */
    uint32_t n_emitted;
    char *name; /* scratch */
    size_t cap_name;
} path_filter;

static path_filter *
filter_of(pr_sink *sink)
{
    return (path_filter *)sink;
}

static pr_code
path_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    path_filter *f = filter_of(sink);
    if (!pr_grow(&f->text, &f->cap_text, f->n_text + len, 1) ||
        !pr_grow(&f->end, &f->cap, f->n + 1, sizeof *f->end))
        return pr_no_memory(err);
    if (len)
        memcpy(f->text + f->n_text, bytes, len);
    f->n_text += len;
    f->end[f->n++] = f->n_text;
    pr_code rc = pr_list_add(&f->emitted, f->n_emitted++, err);
    if (rc == PR_OK)
        rc = pr_list_add(&f->files, 0, err);
    return rc == PR_OK ? PR_SINK_CALL(sink->next, string, bytes, len, err) : rc;
}

static bool
begins_with(pr_bytes path, const char *prefix, size_t n)
{
    return n && path.len >= n && memcmp(path.at, prefix, n) == 0;
}

/* The first "OLD=NEW" whose OLD the path begins with, then the first prefix
 * that it begins with.  `with` goes in front of what is left. */
static pr_bytes
rename_path(const conv_filters *filters, pr_bytes path, const char **ret_with)
{
    *ret_with = "";
    for (size_t i = 0; i < filters->map.n; i++) {
        const char *rule = filters->map.at[i], *equals = strchr(rule, '=');
        size_t n = equals ? (size_t)(equals - rule) : 0;
        if (!begins_with(path, rule, n))
            continue;
        *ret_with = equals + 1;
        return (pr_bytes){path.at + n, path.len - n};
    }
    for (size_t i = 0; i < filters->strip_prefix.n; i++) {
        const char *prefix = filters->strip_prefix.at[i];
        size_t n = strlen(prefix);
        if (!begins_with(path, prefix, n))
            continue;
        while (n < path.len && path.at[n] == '/')
            n++;
        return (pr_bytes){path.at + n, path.len - n};
    }
    return path;
}

static pr_code
emit_file(path_filter *f, uint32_t id, pr_err *err)
{
    size_t from = id ? f->end[id - 1] : 0;
    const pr_bytes path = {f->text + from, f->end[id] - from};
    const char *with;
    pr_bytes rest = rename_path(f->filters, path, &with);
    size_t n_with = strlen(with), len = n_with + rest.len;
    f->files.at[id] = f->emitted.at[id] + 1;
    if (rest.len == path.len && n_with == 0)
        return PR_OK;
    if (!pr_grow(&f->name, &f->cap_name, len + 1, 1))
        return pr_no_memory(err);
    memcpy(f->name, with, n_with);
    if (rest.len)
        memcpy(f->name + n_with, rest.at, rest.len);
    f->files.at[id] = ++f->n_emitted;
    return PR_SINK_CALL(f->sink.next, string, f->name, len, err);
}

static pr_code
path_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    path_filter *f = filter_of(sink);
    if (frame->file >= f->n || frame->func >= f->n)
        return PR_FAIL(err, PR_INTERNAL, "a frame has a name without bytes");
    pr_frame changed = *frame;
    pr_code rc =
        f->files.at[frame->file] ? PR_OK : emit_file(f, frame->file, err);
    if (rc != PR_OK)
        return rc;
    changed.file = f->files.at[frame->file] - 1;
    changed.func = f->emitted.at[frame->func];
    return PR_SINK_CALL(sink->next, frame, &changed, err);
}

static pr_sink *
end_filter(pr_sink *sink)
{
    path_filter *f = filter_of(sink);
    pr_sink *next = sink->next;
    free(f->text);
    free(f->end);
    free(f->name);
    pr_list_release(&f->emitted);
    pr_list_release(&f->files);
    free(f);
    return next;
}

static pr_code
path_finish(pr_sink *sink, pr_err *err)
{
    pr_sink *next = end_filter(sink);
    return next->ops->finish(next, err);
}

static void
path_abort(pr_sink *sink)
{
    pr_sink *next = end_filter(sink);
    next->ops->abort(next);
}

static const pr_sink_ops path_ops = {
    .string = path_string,
    .frame = path_frame,
    .finish = path_finish,
    .abort = path_abort,
};

pr_code
conv_path_filter(const conv_filters *filters, pr_sink *next, pr_sink **ret,
                 pr_err *err)
{
    path_filter *f = calloc(1, sizeof *f);
    if (!f)
        return pr_no_memory(err);
    f->sink = (pr_sink){&path_ops, next};
    f->filters = filters;
    *ret = &f->sink;
    return PR_OK;
}
