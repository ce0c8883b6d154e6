/*
 * page_facts.c - JSON of what the page says in words.
 */
#include "converter/page/page_facts.h"

#include "converter/model/enum_names.h"
#include "converter/model/label.h"
#include "converter/model/source_path.h"
#include "converter/page/page_changes.h"
#include "converter/page/page_sources.h"

#include <base/quote.h>
#include <inttypes.h>
#include <string.h>

typedef struct facts {
    const conv_page *page;
    const conv_model *model;
    const conv_page_tree *tree;
    const conv_page_bins *bins;
    pr_buffer *json;
} facts;

#define put(f, ...) pr_buffer_printf((f)->json, __VA_ARGS__)

static void
json_bytes(const facts *f, pr_bytes bytes)
{
    pr_quote_json(f->json, PR_JSON_SURROGATES, bytes.at, bytes.len);
}

static void
json_string(const facts *f, uint32_t id)
{
    json_bytes(f, pr_strings_get(&f->model->strings, id));
}

static const char *
comma(size_t i)
{
    return i ? "," : "";
}

/* ---- the recording ---- */

static void
put_meta(const facts *f)
{
    const conv_model *m = f->model;
    const uint32_t *key = m->meta_keys.item;
    put(f, ",\"meta\":{");
    for (size_t i = 0; i < m->meta_keys.n; i++) {
        put(f, "%s", comma(i));
        json_string(f, key[i]);
        put(f, ":");
        json_string(f, m->meta_values.at[i]);
    }
    put(f, "}");
}

static void
put_whole(const facts *f)
{
    const conv_model *m = f->model;
    put(f,
        "{\"mode\":\"%s\",\"wall_us\":%" PRIu64 ",\"interval_us\":%" PRIu64
        ",\"bin_us\":%" PRIu64 ",\"bins\":%" PRIu32,
        conv_mode_name(m->start.mode), m->start.wall_us, m->start.interval_us,
        f->bins->bin_us, f->bins->n_bins);
    put(f,
        ",\"nodes\":%zu,\"kept\":%zu,\"left_out\":%zu,\"left_out_us\":%" PRIu64,
        f->tree->n, f->tree->n_kept, f->tree->n_left_out, f->tree->left_out_us);
    put_meta(f);
}

/* ---- the two sides of a comparison, or the one that there is ---- */

static bool
is_of(const facts *f, uint32_t process, bool base)
{
    return (process < f->page->n_base) == base;
}

/* The sum over a side's processes and threads; false: none has the counter. */
static bool
sum_count(const facts *f, bool base, uint32_t kind, uint64_t *ret)
{
    const conv_model *m = f->model;
    bool known = false;
    *ret = 0;
    for (uint32_t i = 0; i < m->n_processes; i++) {
        uint64_t value = m->processes[i].counts.value[kind];
        if (!is_of(f, i, base) || value == CONV_NO_COUNT)
            continue;
        known = true;
        *ret += value;
    }
    for (size_t i = 0; i < m->n_threads; i++) {
        uint64_t value = m->threads[i].counts.value[kind];
        if (!is_of(f, m->threads[i].process, base) || value == CONV_NO_COUNT)
            continue;
        known = true;
        *ret += value;
    }
    return known;
}

static void
put_counts(const facts *f, bool base)
{
    size_t n = 0;
    put(f, ",\"counts\":{");
    for (uint32_t kind = 0; kind < PR_COUNT_KINDS; kind++) {
        uint64_t sum;
        if (sum_count(f, base, kind, &sum) && conv_count_name(kind))
            put(f, "%s\"%s\":%" PRIu64, comma(n++), conv_count_name(kind), sum);
    }
    put(f, "}");
}

static void
put_sums(const facts *f, bool base)
{
    const conv_model *m = f->model;
    uint64_t samples = 0, weight_us = 0, unobserved_us = 0, end_us = 0;
    for (size_t i = 0; i < m->n_threads; i++) {
        const conv_thread *t = &m->threads[i];
        if (!is_of(f, t->process, base))
            continue;
        samples += t->samples;
        weight_us += t->weight_us;
        unobserved_us += t->unobserved_us;
        end_us = t->end_us > end_us ? t->end_us : end_us;
    }
    if (f->page->n_base == 0)
        end_us = conv_model_end_us(m);
    put(f,
        ",\"samples\":%" PRIu64 ",\"weight_us\":%" PRIu64
        ",\"unobserved_us\":%" PRIu64 ",\"duration_us\":%" PRIu64,
        samples, weight_us, unobserved_us, end_us);
}

static void
put_side(const facts *f, const char *source, bool base)
{
    const conv_model *m = f->model;
    uint32_t first = base ? 0 : f->page->n_base;
    const uint8_t *python = m->processes[first].python;
    if (python[0] == 0)
        python = m->start.python;
    put(f, "{\"source\":");
    json_bytes(f, conv_path_base((pr_bytes){source, strlen(source)}));
    put(f, ",\"command\":");
    json_string(f, m->processes[first].command);
    put(f, ",\"python\":\"%d.%d.%d\"", python[0], python[1], python[2]);
    put_sums(f, base);
    put_counts(f, base);
    put(f, "}");
}

static void
put_sides(const facts *f)
{
    put(f, ",\"sides\":[");
    put_side(f, f->page->source, false);
    if (f->page->n_base) {
        put(f, ",");
        put_side(f, f->page->base, true);
    }
    put(f, "],\"base_processes\":%" PRIu32, f->page->n_base);
}

/* ---- names ---- */

/* A process is named by its number and the program that it runs. */
static void
put_processes(const facts *f)
{
    const conv_model *m = f->model;
    put(f, ",\"processes\":[");
    for (size_t i = 0; i < m->n_processes; i++) {
        pr_buffer name = {0};
        conv_label_process(&name, PR_QUOTE_LINE, m, (uint32_t)i);
        put(f, "%s", comma(i));
        json_bytes(f, (pr_bytes){name.at, name.len});
        f->json->failed = f->json->failed || name.failed;
        pr_buffer_release(&name);
    }
    put(f, "]");
}

static void
put_threads(const facts *f)
{
    const conv_model *m = f->model;
    put(f, ",\"threads\":[");
    for (size_t i = 0; i < m->n_threads; i++) {
        const conv_thread *t = &m->threads[i];
        pr_buffer name = {0};
        conv_label_thread(&name, PR_QUOTE_LINE, m, (uint32_t)i);
        put(f, "%s{\"name\":", comma(i));
        json_bytes(f, (pr_bytes){name.at, name.len});
        put(f,
            ",\"process\":%" PRIu32 ",\"tid\":%" PRIu64 ",\"interp\":%" PRIu32
            ",\"main\":%d,\"samples\":%" PRIu64 ",\"weight_us\":%" PRIu64 "}",
            t->process, t->tid, t->interp, t->is_main, t->samples,
            t->weight_us);
        f->json->failed = f->json->failed || name.failed;
        pr_buffer_release(&name);
    }
    put(f, "]");
}

static void
put_events(const facts *f)
{
    const conv_model *m = f->model;
    put(f, ",\"events\":[");
    for (size_t i = 0; i < m->n_events; i++) {
        const conv_event *e = &m->events[i];
        put(f, "%s[\"%s\",%" PRIu64 ",%" PRIu64 ",", comma(i),
            e->is_gc ? "gc" : conv_mark_name(e->kind), e->first_us, e->end_us);
        json_string(f, e->text);
        put(f, "]");
    }
    put(f, "]");
}

/* Functions name their file by its number. */
static pr_code
put_functions(const facts *f, pr_set *files, pr_err *err)
{
    const conv_model *m = f->model;
    pr_code rc = PR_OK;
    put(f, ",\"functions\":[");
    for (uint32_t i = 0; i < m->functions.n && rc == PR_OK; i++) {
        const conv_function *function = conv_model_function(m, i);
        uint32_t file;
        rc = pr_set_add(files, &function->file, &file, err);
        put(f, "%s", comma(i));
        json_string(f, function->name);
        put(f, ",%" PRIu32 ",%" PRId32, file, conv_model_line_of(m, i));
    }
    put(f, "]");
    return rc;
}

/* Files stand with the class of their path. */
static void
put_files(const facts *f, const uint32_t *file, size_t n)
{
    put(f, ",\"files\":[");
    for (size_t i = 0; i < n; i++) {
        pr_bytes path = pr_strings_get(&f->model->strings, file[i]);
        put(f, "%s", comma(i));
        json_bytes(f, path);
        put(f, ",\"%s\"", conv_path_name(conv_path_of(path)));
    }
    put(f, "]");
}

static pr_code
put_names(const facts *f, pr_err *err)
{
    pr_set files = {.size = sizeof(uint32_t)};
    pr_code rc = put_functions(f, &files, err);
    put_files(f, files.item, files.n);
    if (rc == PR_OK && f->page->source_folder)
        rc = conv_page_sources_put(f->model, f->page->source_folder, files.item,
                                   files.n, f->json, err);
    pr_set_release(&files);
    return rc;
}

static void
put_totals(const facts *f)
{
    if (!f->tree->total_us)
        return;
    put(f, ",\"total_us\":[");
    for (size_t i = 0; i < f->model->functions.n; i++)
        put(f, "%s%" PRIu64, comma(i), f->tree->total_us[i]);
    put(f, "]");
}

/* ---- changes ---- */

/* [verdict of each function] and what the page needs to judge other sums. */
static pr_code
put_changes(const facts *f, pr_err *err)
{
    conv_page_changes c;
    pr_code rc = conv_page_changes_find(f->model, f->page->n_base, &c, err);
    if (rc != PR_OK)
        return rc;
    put(f,
        ",\"compare\":{\"centre\":%.6g,\"z\":%.6g,\"between_sd\":%.6g,"
        "\"least_effect\":%.6g,\"least_share\":%.6g,\"verdicts\":[",
        c.centre, c.z, c.between_sd, c.opts.least_effect, c.opts.least_share);
    for (size_t i = 0; i < f->model->functions.n; i++)
        put(f, "%s%d", comma(i), (int)c.change[i].verdict);
    put(f, "]}");
    conv_page_changes_release(&c);
    return PR_OK;
}

pr_code
conv_page_facts_put(const conv_page *page, const conv_page_tree *tree,
                    const conv_page_bins *bins, pr_buffer *json, pr_err *err)
{
    const facts f = {page, page->model, tree, bins, json};
    put_whole(&f);
    put_sides(&f);
    put_processes(&f);
    put_threads(&f);
    put_events(&f);
    pr_code rc = put_names(&f, err);
    put_totals(&f);
    if (rc == PR_OK && page->n_base)
        rc = put_changes(&f, err);
    put(&f, "}");
    return rc;
}
