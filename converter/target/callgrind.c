/*
 * callgrind.c - the format of Valgrind's callgrind (its manual, "Callgrind
 * Format Specification", version 1).
 *
 * Costs are samples and microseconds, by function and line.  A call stands
 * where a function is on the stack for the first time: so what the calls of a
 * function add up to is the time in which it ran, however it recursed.  All
 * outermost functions are called by one that stands for the whole profile.
 */
#include "converter/model/index.h"
#include "converter/model/namesakes.h"
#include "converter/target/table.h"
#include <base/array.h>
#include <base/buffer.h>
#include <base/quote.h>
#include <pyrec/version.h>
#include <string.h>

#include <stdlib.h>

/* A call: from a line of the caller. */
typedef struct call_key {
    uint32_t frame; /* the caller's; PROFILE: none calls it */
    uint32_t callee;
} call_key;

#define PROFILE UINT32_MAX

typedef struct grind {
    conv_job *job;
    const conv_model *model;
    conv_index index;
    conv_total *self;  /* [frame] */
    conv_total *below; /* [position] there or below */
    pr_set calls;      /* call_key */
    conv_total *call;  /* [calls.n] */
    size_t cap_calls;
    uint32_t *first_call; /* [frame + 2] in `by_frame`; the last one's are
                           * those of the profile */
    uint32_t *by_frame;
    uint32_t *first_frame; /* [function + 1] in `by_function` */
    uint32_t *by_function;
    uint8_t *file_named; /* [string] */
    uint8_t *name_given; /* [function] */
    uint8_t *namesake;   /* [function] another has its file and name */
    pr_buffer text;
} grind;

static void
add(conv_total *to, conv_total what)
{
    to->n += what.n;
    to->weight_us += what.weight_us;
}

/* ---- costs ---- */

static pr_code
add_call(grind *g, call_key key, conv_total cost, pr_err *err)
{
    uint32_t id;
    size_t before = g->calls.n;
    pr_code rc = pr_set_add(&g->calls, &key, &id, err);
    if (rc != PR_OK)
        return rc;
    if (!pr_grow(&g->call, &g->cap_calls, g->calls.n, sizeof *g->call))
        return pr_no_memory(err);
    if (g->calls.n > before)
        g->call[id] = (conv_total){0};
    add(&g->call[id], cost);
    return PR_OK;
}

static uint32_t
frame_at(const grind *g, uint32_t position)
{
    return g->model->nodes[g->index.node[position]].frame;
}

static uint32_t
function_at(const grind *g, uint32_t position)
{
    return conv_model_frame(g->model, frame_at(g, position))->function;
}

static pr_code
count_calls(grind *g, const uint8_t *first, pr_err *err)
{
    pr_code rc = PR_OK;
    for (uint32_t p = 1; p < g->index.n && rc == PR_OK; p++) {
        uint32_t parent = g->index.parent[p];
        if (!first[p] || g->below[p].n == 0)
            continue;
        const call_key key = {parent ? frame_at(g, parent) : PROFILE,
                              function_at(g, p)};
        rc = add_call(g, key, g->below[p], err);
    }
    return rc;
}

static pr_code
count(grind *g, pr_err *err)
{
    size_t n = g->index.n;
    pr_code rc = conv_index_self(g->model, &g->index, &g->below, err);
    if (rc != PR_OK)
        return rc;
    g->self = calloc(g->model->frames.n + 1, sizeof *g->self);
    uint32_t *function = malloc(n * sizeof *function);
    uint8_t *first = calloc(n, 1);
    if (g->self && function && first) {
        function[0] = UINT32_MAX;
        for (uint32_t p = 1; p < n; p++) {
            add(&g->self[frame_at(g, p)], g->below[p]);
            function[p] = function_at(g, p);
        }
        for (size_t p = n; p-- > 1;)
            add(&g->below[g->index.parent[p]], g->below[p]);
        if (!conv_index_mark_first(&g->index, function, g->model->functions.n,
                                   first, 1))
            rc = pr_no_memory(err);
    } else {
        rc = pr_no_memory(err);
    }
    if (rc == PR_OK)
        rc = count_calls(g, first, err);
    free(function);
    free(first);
    return rc;
}

/* ---- order ---- */

static call_key
call_at(const grind *g, size_t i)
{
    return ((const call_key *)g->calls.item)[i];
}

static size_t
slot_of_call(const grind *g, size_t i)
{
    uint32_t frame = call_at(g, i).frame;
    return frame == PROFILE ? g->model->frames.n : frame;
}

/* Group n items by their keys, in their order: first[key .. key + 1] are the
 * places in (*ret) of those with the key. */
static bool
group(const grind *g, size_t n, size_t n_keys,
      size_t (*key_of)(const grind *, size_t), uint32_t **ret_first,
      uint32_t **ret)
{
    uint32_t *first = calloc(n_keys + 2, sizeof *first);
    uint32_t *item = calloc(n + 1, sizeof *item);
    *ret_first = first;
    *ret = item;
    if (!first || !item)
        return false;
    for (size_t i = 0; i < n; i++)
        first[key_of(g, i) + 2]++;
    for (size_t i = 2; i < n_keys + 2; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < n; i++)
        item[first[key_of(g, i) + 1]++] = (uint32_t)i;
    return true;
}

static size_t
function_of_frame(const grind *g, size_t i)
{
    return conv_model_frame(g->model, (uint32_t)i)->function;
}

static pr_code
order(grind *g, pr_err *err)
{
    const conv_model *m = g->model;
    g->file_named = calloc(m->strings.n + 1, 1);
    g->name_given = calloc(m->functions.n + 1, 1);
    pr_code rc = conv_namesakes(m, &g->namesake, err);
    if (rc != PR_OK)
        return rc;
    bool good = g->file_named && g->name_given &&
                group(g, g->calls.n, m->frames.n + 1, slot_of_call,
                      &g->first_call, &g->by_frame) &&
                group(g, m->frames.n, m->functions.n, function_of_frame,
                      &g->first_frame, &g->by_function);
    return good ? PR_OK : pr_no_memory(err);
}

/* ---- text ---- */

static void
flush(grind *g)
{
    conv_out_write(g->job->out, g->text.at, g->text.len);
    pr_buffer_reset(&g->text);
}

/* "fl=(3) path": the name the first time only.  A name alone that begins with
 * "(" and digits would be taken for a number. */
static bool
put_name(grind *g, const char *key, uint32_t id, uint32_t string,
         uint8_t *given)
{
    bool first = !*given;
    pr_buffer_puts(&g->text, key);
    pr_buffer_puts(&g->text, "=(");
    pr_buffer_u64(&g->text, (uint64_t)id + 1);
    pr_buffer_puts(&g->text, ")");
    if (first) {
        pr_bytes name = pr_strings_get(&g->model->strings, string);
        pr_buffer_puts(&g->text, " ");
        pr_quote_name(&g->text, PR_QUOTE_LINE, name.at, name.len);
        if (name.len == 0)
            pr_buffer_puts(&g->text, "???"); /* callgrind's own word */
    }
    *given = 1;
    return first;
}

static void
put_file(grind *g, const char *key, uint32_t function)
{
    uint32_t file = conv_model_function(g->model, function)->file;
    put_name(g, key, file, file, &g->file_named[file]);
    pr_buffer_puts(&g->text, "\n");
}

static void
put_function_name(grind *g, const char *key, uint32_t function)
{
    bool first = put_name(g, key, function,
                          conv_model_function(g->model, function)->name,
                          &g->name_given[function]);
    if (first && g->namesake[function]) {
        pr_buffer_puts(&g->text, ":");
        pr_buffer_i64(&g->text, conv_model_line_of(g->model, function));
    }
    pr_buffer_puts(&g->text, "\n");
}

static void
put_cost(grind *g, uint64_t line, conv_total cost)
{
    pr_buffer_u64(&g->text, line);
    pr_buffer_puts(&g->text, " ");
    pr_buffer_u64(&g->text, cost.weight_us);
    pr_buffer_puts(&g->text, " ");
    pr_buffer_u64(&g->text, cost.n);
    pr_buffer_puts(&g->text, "\n");
}

static void
put_calls(grind *g, size_t slot, uint64_t line)
{
    for (uint32_t i = g->first_call[slot]; i < g->first_call[slot + 1]; i++) {
        uint32_t callee = call_at(g, g->by_frame[i]).callee;
        conv_total cost = g->call[g->by_frame[i]];
        put_file(g, "cfl", callee);
        put_function_name(g, "cfn", callee);
        pr_buffer_puts(&g->text, "calls=");
        pr_buffer_u64(&g->text, cost.n);
        pr_buffer_puts(&g->text, " ");
        pr_buffer_u64(&g->text, (uint64_t)conv_model_line_of(g->model, callee));
        pr_buffer_puts(&g->text, "\n");
        put_cost(g, line, cost);
    }
}

static void
put_function(grind *g, uint32_t function)
{
    bool begun = false;
    for (uint32_t i = g->first_frame[function];
         i < g->first_frame[function + 1]; i++) {
        uint32_t frame = g->by_function[i];
        int32_t at = conv_model_frame(g->model, frame)->line;
        uint64_t line = at > 0 ? (uint64_t)at : 0;
        bool calls = g->first_call[frame] != g->first_call[frame + 1];
        if (g->self[frame].n == 0 && !calls)
            continue;
        if (!begun) {
            pr_buffer_puts(&g->text, "\n");
            put_file(g, "fl", function);
            put_function_name(g, "fn", function);
            begun = true;
        }
        if (g->self[frame].n)
            put_cost(g, line, g->self[frame]);
        put_calls(g, frame, line);
    }
    flush(g);
}

static void
put_head(grind *g)
{
    const conv_total all = g->below[0];
    pr_buffer_puts(&g->text, "# callgrind format\nversion: 1\n"
                             "creator: pyconv " PYREC_VERSION "\ncmd: ");
    pr_quote_name(&g->text, PR_QUOTE_LINE, g->job->source,
                  strlen(g->job->source));
    pr_buffer_puts(&g->text, "\n");
    if (g->model->unobserved_us) {
        pr_buffer_puts(&g->text, "desc: Time that no sample stands for: ");
        pr_buffer_u64(&g->text, g->model->unobserved_us);
        pr_buffer_puts(&g->text, " us\n");
    }
    pr_buffer_puts(&g->text, "positions: line\nevents: Time_us Samples\n"
                             "summary: ");
    pr_buffer_u64(&g->text, all.weight_us);
    pr_buffer_puts(&g->text, " ");
    pr_buffer_u64(&g->text, all.n);
    pr_buffer_puts(&g->text, "\n");
}

/* The function that stands for the profile: its own are the samples without a
 * frame. */
static void
put_profile(grind *g, conv_total empty)
{
    const conv_model *m = g->model;
    pr_buffer_puts(&g->text, "\nfl=(");
    pr_buffer_u64(&g->text, (uint64_t)m->strings.n + 1);
    pr_buffer_puts(&g->text, ") ~\nfn=(");
    pr_buffer_u64(&g->text, (uint64_t)m->functions.n + 1);
    pr_buffer_puts(&g->text, ") <all threads>\n");
    put_cost(g, 0, empty);
    put_calls(g, m->frames.n, 0);
    flush(g);
}

/* ---- all ---- */

static pr_code
write_file(grind *g, pr_err *err)
{
    pr_code rc = conv_index_order(g->model, &g->index, err);
    if (rc == PR_OK)
        rc = count(g, err);
    if (rc == PR_OK)
        rc = order(g, err);
    if (rc != PR_OK)
        return rc;
    conv_total empty = g->below[0];
    for (size_t i = 0; i < g->model->frames.n; i++) {
        empty.n -= g->self[i].n;
        empty.weight_us -= g->self[i].weight_us;
    }
    put_head(g);
    put_profile(g, empty);
    for (uint32_t i = 0;
         i < g->model->functions.n && conv_out_good(g->job->out); i++)
        put_function(g, i);
    return g->text.failed ? pr_no_memory(err) : PR_OK;
}

static pr_code
write_callgrind(conv_job *job, pr_err *err)
{
    grind g = {
        .job = job, .model = job->model, .calls = {.size = sizeof(call_key)}};
    pr_code rc = write_file(&g, err);
    job->names_changed += g.text.changed;
    conv_index_release(&g.index);
    pr_buffer_release(&g.text);
    pr_set_release(&g.calls);
    free(g.self);
    free(g.below);
    free(g.call);
    free(g.first_call);
    free(g.by_frame);
    free(g.first_frame);
    free(g.by_function);
    free(g.file_named);
    free(g.name_given);
    free(g.namesake);
    return rc;
}

const conv_target conv_callgrind = {
    .info = {"callgrind", ".callgrind",
             "functions, their lines and their calls",
             "KCachegrind, QCachegrind, callgrind_annotate, gprof2dot"},
    .level = CONV_LEVEL_LINE,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .write = write_callgrind,
};
