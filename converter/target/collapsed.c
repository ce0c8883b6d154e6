/*
 * collapsed.c - one line a distinct stack: "thread;outermost;...;innermost N",
 * highest count first, then in order of the text.
 *
 * Other styles: "pyspy" as py-spy's raw format, "plain" the names of functions
 * alone, with all threads together; names are escaped as in our own.
 * A comparison has two counts a line, as difffolded.pl writes it: of the base
 * and of the other inputs; threads are compared by their names alone.  They are
 * counts and not a test: a stack has too few samples (spec/convert.md 5).
 * Own style: names escaped (PR_QUOTE_FRAME, and the space in front of a
 * number at the end of a frame becomes '_'), equal lines added up.
 * Stock style: byte by byte what CPython 3.15 Lib/profiling/sampling/
 * stack_collector.py writes: no escapes, one line per file, line and name even
 * if their texts are equal, threads with one id taken together.
 */
#include "converter/model/label.h"
#include "converter/model/source_path.h"
#include "converter/model/stack_order.h"
#include "converter/target/table.h"

#include <base/array.h>
#include <base/buffer.h>
#include <base/keyed_sort.h>
#include <base/quote.h>
#include <stdlib.h>
#include <string.h>

/* Threads whose lines begin alike. */
typedef struct group {
    const char *at; /* text of the first frame */
    size_t len;
    uint32_t thread;
} group;

/* Samples of the base of a comparison, and of the rest. */
typedef struct counts {
    uint64_t base, rest;
} counts;

typedef struct entry {
    counts count;
    uint32_t group; /* in order of their text */
    uint32_t line;
} entry;

typedef struct collapse {
    conv_job *job;
    const conv_model *model;
    bool stock;
    conv_stack_order lines;
    pr_list parts;      /* of all frames, one after the other */
    pr_list first_part; /* [frame + 1] in `parts` */
    pr_list line;       /* [node] */
    pr_buffer names;    /* of the threads */
    group *groups;      /* [n_threads], sorted */
    counts *count;      /* [line or node] within one group */
    pr_list touched;    /* whose count is not 0 */
    pr_keyed *keyed;    /* scratch: places of a sort */
    size_t cap_keyed;
    entry *entries; /* in order of group and line */
    size_t n_entries, cap_entries;
} collapse;

/* ---- texts ---- */

static void
stock_frame(pr_buffer *text, const conv_model *model, uint32_t id)
{
    const conv_frame *frame = conv_model_frame(model, id);
    const conv_function *f = conv_model_function(model, frame->function);
    pr_bytes name = pr_strings_get(&model->strings, f->name);
    pr_bytes base = conv_path_base(pr_strings_get(&model->strings, f->file));
    int32_t line = frame->line == PR_NO_LINE ? 0 : frame->line;
    if (line == 0 && conv_model_is_synthetic(model, frame->function)) {
        pr_quote_name(text, PR_QUOTE_UTF8, name.at, name.len);
        return;
    }
    pr_quote_name(text, PR_QUOTE_UTF8, base.at, base.len);
    pr_buffer_puts(text, ":");
    pr_quote_name(text, PR_QUOTE_UTF8, name.at, name.len);
    pr_buffer_puts(text, ":");
    pr_buffer_i64(text, line);
}

/* py-spy's "--format raw": "name (file:line)", with the file's base name. */
static void
pyspy_frame(pr_buffer *text, const conv_model *model, uint32_t id)
{
    const conv_frame *frame = conv_model_frame(model, id);
    const conv_function *f = conv_model_function(model, frame->function);
    pr_bytes name = pr_strings_get(&model->strings, f->name);
    pr_bytes base = conv_path_base(pr_strings_get(&model->strings, f->file));
    pr_quote_name(text, PR_QUOTE_FRAME, name.at, name.len);
    pr_buffer_puts(text, " (");
    pr_quote_name(text, PR_QUOTE_FRAME, base.at, base.len);
    if (frame->line > 0) {
        pr_buffer_puts(text, ":");
        pr_buffer_i64(text, frame->line);
    }
    pr_buffer_puts(text, ")");
}

static void
plain_frame(pr_buffer *text, const conv_model *model, uint32_t id)
{
    const conv_frame *frame = conv_model_frame(model, id);
    const conv_function *f = conv_model_function(model, frame->function);
    pr_bytes name = pr_strings_get(&model->strings, f->name);
    pr_quote_name(text, PR_QUOTE_FRAME, name.at, name.len);
    pr_quote_count(text, 0);
}

static void
own_frame(pr_buffer *text, const conv_model *model, uint32_t id)
{
    conv_label_frame(text, PR_QUOTE_FRAME, model, id);
    pr_quote_count(text, 0);
}

/* "thread (id): name", as py-spy --threads writes it. */
static void
pyspy_thread(pr_buffer *text, const conv_model *model, uint32_t id)
{
    const conv_thread *thread = &model->threads[id];
    pr_buffer_puts(text, "thread (");
    pr_buffer_u64(text, thread->tid);
    pr_buffer_puts(text, ")");
    if (!thread->named)
        return;
    pr_bytes name = pr_strings_get(&model->strings, thread->name);
    pr_buffer_puts(text, ": ");
    pr_quote_name(text, PR_QUOTE_FRAME, name.at, name.len);
}

static void
stock_thread(pr_buffer *text, const conv_model *model, uint32_t id)
{
    pr_buffer_puts(text, "tid:");
    pr_buffer_u64(text, model->threads[id].tid);
}

/* All threads are one. */
static void
plain_thread(pr_buffer *text, const conv_model *model, uint32_t id)
{
    (void)text;
    (void)model;
    (void)id;
}

static void
own_thread(pr_buffer *text, const conv_model *model, uint32_t id)
{
    conv_label_owner(text, PR_QUOTE_FRAME, model, id, ";");
}

/* Ids differ between two recordings: names alone are compared. */
static void
compared_thread(pr_buffer *text, const conv_model *model, uint32_t id)
{
    const conv_thread *thread = &model->threads[id];
    pr_bytes name = pr_strings_get(&model->strings, thread->name);
    if (thread->named)
        pr_quote_name(text, PR_QUOTE_FRAME, name.at, name.len);
    else
        pr_buffer_puts(text, thread->is_main ? "MainThread" : "thread");
}

typedef void (*put_text)(pr_buffer *text, const conv_model *model, uint32_t id);

static const put_text frame_text[CONV_STYLES] = {
    [CONV_STYLE_OWN] = own_frame,
    [CONV_STYLE_STOCK] = stock_frame,
    [CONV_STYLE_PYSPY] = pyspy_frame,
    [CONV_STYLE_PLAIN] = plain_frame,
};

static const put_text thread_text[CONV_STYLES] = {
    [CONV_STYLE_OWN] = own_thread,
    [CONV_STYLE_STOCK] = stock_thread,
    [CONV_STYLE_PYSPY] = pyspy_thread,
    [CONV_STYLE_PLAIN] = plain_thread,
};

static pr_code
split_frames(collapse *c, pr_err *err)
{
    pr_buffer text = {0};
    pr_code rc = pr_list_add(&c->first_part, 0, err);
    for (uint32_t i = 0; i < c->model->frames.n && rc == PR_OK; i++) {
        uint64_t changed = text.changed;
        pr_buffer_reset(&text);
        frame_text[c->job->style](&text, c->model, i);
        c->job->names_changed += text.changed > changed;
        rc = text.failed ? pr_no_memory(err)
                         : conv_stack_order_split(&c->lines, text.at, text.len,
                                                  &c->parts, err);
        if (rc == PR_OK)
            rc = pr_list_add(&c->first_part, (uint32_t)c->parts.n, err);
    }
    pr_buffer_release(&text);
    return rc;
}

/* Are the texts of two frames never equal, and each one part?  Then each node
 * is a line of its own. */
static bool
texts_differ(const collapse *c)
{
    size_t n = c->model->frames.n;
    return c->parts.n == n && c->lines.parts.n == n;
}

/* A frame's part has the number of the frame then. */
static pr_code
append_nodes(collapse *c, pr_err *err)
{
    pr_code rc = pr_list_add(&c->line, 0, err);
    for (size_t i = 1; i < c->model->n_nodes && rc == PR_OK; i++) {
        conv_node node = c->model->nodes[i];
        uint32_t line;
        rc = conv_stack_order_append(&c->lines, node.parent, node.frame, &line,
                                     err);
        if (rc == PR_OK)
            rc = pr_list_add(&c->line, line, err);
    }
    return rc;
}

static pr_code
line_nodes(collapse *c, pr_err *err)
{
    if (texts_differ(c))
        return append_nodes(c, err);
    pr_code rc = pr_list_add(&c->line, 0, err);
    for (size_t i = 1; i < c->model->n_nodes && rc == PR_OK; i++) {
        conv_node node = c->model->nodes[i];
        uint32_t line = c->line.at[node.parent];
        uint32_t end = c->first_part.at[node.frame + 1];
        for (uint32_t part = c->first_part.at[node.frame];
             part < end && rc == PR_OK; part++)
            rc = conv_stack_order_child(&c->lines, line, c->parts.at[part],
                                        &line, err);
        if (rc == PR_OK)
            rc = pr_list_add(&c->line, line, err);
    }
    return rc;
}

/* ---- threads ---- */

/* As lines: ';' follows the text. */
static int
compare_groups(const void *a_group, const void *b_group)
{
    const group *a = a_group, *b = b_group;
    size_t n = a->len < b->len ? a->len : b->len;
    int order = n ? memcmp(a->at, b->at, n) : 0;
    if (order != 0)
        return order;
    if (a->len == b->len)
        return (a->thread > b->thread) - (a->thread < b->thread);
    int p = n < a->len ? (unsigned char)a->at[n] : ';';
    int q = n < b->len ? (unsigned char)b->at[n] : ';';
    return (p > q) - (p < q);
}

static pr_code
name_threads(collapse *c, pr_err *err)
{
    size_t n = c->model->n_threads;
    c->groups = calloc(n + 1, sizeof *c->groups);
    pr_list end = {0};
    pr_code rc = c->groups ? PR_OK : pr_no_memory(err);
    for (uint32_t i = 0; i < n && rc == PR_OK; i++) {
        (c->job->n_base && c->job->style != CONV_STYLE_PLAIN
             ? compared_thread
             : thread_text[c->job->style])(&c->names, c->model, i);
        if (c->names.failed || c->names.len > UINT32_MAX)
            rc = pr_no_memory(err);
        else
            rc = pr_list_add(&end, (uint32_t)c->names.len, err);
    }
    for (uint32_t i = 0; i < n && rc == PR_OK; i++) {
        uint32_t from = i ? end.at[i - 1] : 0;
        c->groups[i] = (group){c->names.at + from, end.at[i] - from, i};
    }
    if (rc == PR_OK && n)
        qsort(c->groups, n, sizeof *c->groups, compare_groups);
    c->job->names_changed += c->names.changed;
    pr_list_release(&end);
    return rc;
}

/* ---- counts ---- */

static pr_code
count_thread(collapse *c, const conv_thread *thread, pr_err *err)
{
    conv_cursor cursor;
    conv_model_run run;
    conv_cursor_init(&cursor, thread);
    bool base = thread->process < c->job->n_base;
    while (conv_cursor_next(&cursor, &run)) {
        uint32_t key = c->stock ? run.node : c->line.at[run.node];
        if (run.weight_us == 0 || (c->stock && run.node == 0))
            continue;
        counts *count = &c->count[key];
        if (count->base == 0 && count->rest == 0) {
            pr_code rc = pr_list_add(&c->touched, key, err);
            if (rc != PR_OK)
                return rc;
        }
        *(base ? &count->base : &count->rest) += run.weight_us;
    }
    return PR_OK;
}

/* The touched keys in order of their lines. */
static pr_code
order_touched(collapse *c, const uint32_t *rank, pr_err *err)
{
    size_t n = c->touched.n;
    if (!pr_grow(&c->keyed, &c->cap_keyed, n, sizeof *c->keyed))
        return pr_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        uint32_t key = c->touched.at[i];
        uint32_t line = c->stock ? c->line.at[key] : key;
        c->keyed[i] = (pr_keyed){rank[line], key};
    }
    return pr_sort_keyed(c->keyed, n) ? PR_OK : pr_no_memory(err);
}

static pr_code
close_group(collapse *c, uint32_t number, const uint32_t *rank, pr_err *err)
{
    pr_code rc = order_touched(c, rank, err);
    if (rc != PR_OK)
        return rc;
    if (!pr_grow(&c->entries, &c->cap_entries, c->n_entries + c->touched.n,
                 sizeof *c->entries))
        return pr_no_memory(err);
    for (size_t i = 0; i < c->touched.n; i++) {
        uint32_t key = c->keyed[i].value;
        uint32_t line = c->stock ? c->line.at[key] : key;
        c->entries[c->n_entries++] = (entry){c->count[key], number, line};
        c->count[key] = (counts){0, 0};
    }
    c->touched.n = 0;
    return PR_OK;
}

static bool
same_text(const group *a, const group *b)
{
    return a->len == b->len &&
           (a->len == 0 || memcmp(a->at, b->at, a->len) == 0);
}

static pr_code
count_groups(collapse *c, const uint32_t *rank, pr_err *err)
{
    size_t n = c->model->n_threads;
    size_t keys = c->stock ? c->model->n_nodes : c->lines.nodes.n;
    c->count = calloc(keys, sizeof *c->count);
    if (!c->count)
        return pr_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const group *g = &c->groups[i];
        pr_code rc = count_thread(c, &c->model->threads[g->thread], err);
        if (rc == PR_OK && (i + 1 == n || !same_text(g, g + 1)))
            rc = close_group(c, (uint32_t)i, rank, err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

/* The places of the entries, those with the highest counts first. */
static pr_code
order_entries(collapse *c, pr_err *err)
{
    if (c->n_entries > UINT32_MAX ||
        !pr_grow(&c->keyed, &c->cap_keyed, c->n_entries, sizeof *c->keyed))
        return pr_no_memory(err);
    for (size_t i = 0; i < c->n_entries; i++) {
        const counts *count = &c->entries[i].count;
        c->keyed[i] = (pr_keyed){~(count->base + count->rest), (uint32_t)i};
    }
    return pr_sort_keyed(c->keyed, c->n_entries) ? PR_OK : pr_no_memory(err);
}

/* ---- output ---- */

static pr_code
write_entries(collapse *c, pr_err *err)
{
    conv_stack_text line = conv_stack_order_trail(&c->lines);
    pr_buffer number = {0};
    pr_code rc = PR_OK;
    conv_outfile *out = c->job->out;
    for (size_t i = 0; i < c->n_entries && conv_out_good(out); i++) {
        const entry *e = &c->entries[c->keyed[i].value];
        rc = conv_stack_text_set(&line, e->line, err);
        if (rc != PR_OK)
            break;
        conv_out_write(out, c->groups[e->group].at, c->groups[e->group].len);
        if (e->line && c->groups[e->group].len)
            conv_out_write(out, ";", 1);
        conv_out_write(out, line.text.at, line.text.len);
        if (e->line == 0 && c->groups[e->group].len == 0)
            conv_out_puts(out, "(idle)");
        pr_buffer_reset(&number);
        pr_buffer_puts(&number, " ");
        if (c->job->n_base) {
            pr_buffer_u64(&number, e->count.base);
            pr_buffer_puts(&number, " ");
        }
        pr_buffer_u64(&number, e->count.rest);
        pr_buffer_puts(&number, "\n");
        conv_out_write(out, number.at, number.len);
    }
    if (number.failed && rc == PR_OK)
        rc = pr_no_memory(err);
    pr_buffer_release(&number);
    conv_stack_text_release(&line);
    return rc;
}

static pr_code
collapse_model(collapse *c, pr_err *err)
{
    uint32_t *rank = NULL;
    pr_code rc = conv_stack_order_init(&c->lines, err);
    if (rc == PR_OK)
        rc = split_frames(c, err);
    if (rc == PR_OK)
        rc = line_nodes(c, err);
    if (rc == PR_OK)
        rc = name_threads(c, err);
    if (rc == PR_OK)
        rc = conv_stack_order_rank(&c->lines, &rank, err);
    if (rc == PR_OK)
        rc = count_groups(c, rank, err);
    free(rank);
    if (rc != PR_OK)
        return rc;
    rc = order_entries(c, err);
    return rc == PR_OK ? write_entries(c, err) : rc;
}

static pr_code
write_collapsed(conv_job *job, pr_err *err)
{
    collapse c = {.job = job,
                  .model = job->model,
                  .stock = job->style == CONV_STYLE_STOCK};
    pr_code rc = collapse_model(&c, err);
    conv_stack_order_release(&c.lines);
    pr_list_release(&c.parts);
    pr_list_release(&c.first_part);
    pr_list_release(&c.line);
    pr_list_release(&c.touched);
    pr_buffer_release(&c.names);
    free(c.groups);
    free(c.count);
    free(c.keyed);
    free(c.entries);
    return rc;
}

const conv_target conv_collapsed = {
    .info = {"collapsed", ".collapsed.txt .collapsed .folded",
             "one line for each stack, with its count",
             "flamegraph.pl, inferno, speedscope, Perfetto"},
    .level = CONV_LEVEL_FUNCTION,
    .time = CONV_TIME_SAMPLES,
    .times = CONV_TIMES_ALL,
    .styles = 1u << CONV_STYLE_STOCK | 1u << CONV_STYLE_PYSPY |
              1u << CONV_STYLE_PLAIN,
    .takes = CONV_TAKES_LEVEL | CONV_TAKES_BASE,
    .write = write_collapsed,
};
