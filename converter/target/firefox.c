/*
 * firefox.c - the processed profile of https://profiler.firefox.com, format
 * version 57 (its docs-developer/CHANGELOG-formats.md), the one that CPython
 * 3.15's gecko_collector.py writes; the site upgrades it when it loads it.
 *
 * Each thread has its own tables of stacks, frames and functions, with those
 * that it uses.  A sample carries its weight in milliseconds.  More than
 * SAMPLES_MAX samples are thinned to fewer per run, at least one, which then
 * weigh more.  Markers show when a thread held the GIL, waited for it, was on
 * a CPU or had an exception, as far as the file knows.
 */
#include "converter/encode/json.h"
#include "converter/model/enum_names.h"
#include "converter/model/label.h"
#include "converter/model/source_path.h"
#include "converter/model/timeline.h"
#include "converter/target/table.h"
#include <base/array.h>
#include <base/buffer.h>
#include <base/quote.h>
#include <pyrec/version.h>
#include <string.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES_MAX = 1000000, JOIN_INTERVALS = 2, PROCESSED_VERSION = 57 };

typedef enum category {
    OTHER,
    PROJECT,
    STDLIB,
    SITE,
    NATIVE,
    GC,
    IDLE,
    GIL,
    CPU,
    EXCEPTION,
    N_CATEGORIES
} category;

/* Name and color, as the site knows colors. */
static const char *const categories[N_CATEGORIES][2] = {
    [OTHER] = {"Other", "grey"},
    [PROJECT] = {"Python", "yellow"},
    [STDLIB] = {"Standard library", "blue"},
    [SITE] = {"Packages", "green"},
    [NATIVE] = {"Native", "purple"},
    [GC] = {"GC", "orange"},
    [IDLE] = {"Idle", "transparent"},
    [GIL] = {"GIL", "lightblue"},
    [CPU] = {"CPU", "magenta"},
    [EXCEPTION] = {"Exception", "red"},
};

/* A marker that spans the samples with a status bit. */
typedef struct marker_kind {
    const char *name;
    category category;
    uint8_t bit;
} marker_kind;

static const marker_kind marker_kinds[] = {
    {"Has GIL", GIL, PR_HAS_GIL},
    {"Waiting for GIL", GIL, PR_GIL_REQUESTED},
    {"On CPU", CPU, PR_ON_CPU},
    {"Has exception", EXCEPTION, PR_HAS_EXCEPTION},
};

enum { N_KINDS = sizeof marker_kinds / sizeof *marker_kinds };

/* The texts of our own come first in the array of strings. */
enum { TEXT_IDLE = N_KINDS, TEXT_GC, TEXT_MARK, N_TEXTS };

typedef struct marker {
    uint64_t start_us, end_us;
    uint32_t string;
    category category;
    uint32_t event; /* of the model, + 1; 0: a status */
} marker;

/* Numbers of the model to those of one thread's table, and back. */
typedef struct numbering {
    uint32_t *number; /* [id] + 1; 0: not used */
    pr_list used;     /* ids in the order of the table */
} numbering;

typedef struct gecko {
    conv_job *job;
    const conv_model *model;
    conv_json json;
    numbering strings, nodes, frames, functions;
    pr_list pending;
    marker *markers;
    size_t n_markers, cap_markers;
    uint8_t *category; /* [function] */
    bool *has_events;  /* [process] they stand at its first thread */
} gecko;

/* ---- numbers ---- */

static pr_code
number(numbering *numbers, uint32_t id, pr_err *err)
{
    if (numbers->number[id])
        return PR_OK;
    pr_code rc = pr_list_add(&numbers->used, id, err);
    numbers->number[id] = (uint32_t)numbers->used.n;
    return rc;
}

static bool
begin_numbering(numbering *numbers, size_t n)
{
    numbers->number = calloc(n + 1, sizeof *numbers->number);
    return numbers->number != NULL;
}

static void
reset_numbering(numbering *numbers)
{
    for (size_t i = 0; i < numbers->used.n; i++)
        numbers->number[numbers->used.at[i]] = 0;
    numbers->used.n = 0;
}

static void
release_numbering(numbering *numbers)
{
    free(numbers->number);
    pr_list_release(&numbers->used);
}

static uint32_t
number_of(const numbering *numbers, uint32_t id)
{
    return numbers->number[id] - 1;
}

/* A stack and those below it, outermost first. */
static pr_code
number_stack(gecko *g, uint32_t node, pr_err *err)
{
    pr_code rc = PR_OK;
    g->pending.n = 0;
    for (; node && !g->nodes.number[node] && rc == PR_OK;
         node = g->model->nodes[node].parent)
        rc = pr_list_add(&g->pending, node, err);
    for (size_t i = g->pending.n; i-- > 0 && rc == PR_OK;) {
        uint32_t frame = g->model->nodes[g->pending.at[i]].frame;
        rc = number(&g->nodes, g->pending.at[i], err);
        if (rc == PR_OK)
            rc = number(&g->frames, frame, err);
        if (rc == PR_OK)
            rc = number(&g->functions,
                        conv_model_frame(g->model, frame)->function, err);
    }
    return rc;
}

/* ---- columns ---- */

static void
open_column(gecko *g, const char *name)
{
    conv_json_key(&g->json, name);
    conv_json_open(&g->json, '[');
}

static void
close_column(gecko *g)
{
    conv_json_close(&g->json, ']');
}

static void
put_null(gecko *g)
{
    conv_json_raw(&g->json, "null", 4);
}

/* A column of n equal values, which are JSON. */
static void
put_same(gecko *g, const char *name, const char *value, size_t n)
{
    size_t len = strlen(value);
    open_column(g, name);
    for (size_t i = 0; i < n; i++)
        conv_json_raw(&g->json, value, len);
    close_column(g);
}

static void
put_length(gecko *g, size_t n)
{
    conv_json_key(&g->json, "length");
    conv_json_u64(&g->json, n);
    conv_json_close(&g->json, '}');
}

static void
open_table(gecko *g, const char *name)
{
    conv_json_key(&g->json, name);
    conv_json_open(&g->json, '{');
}

static void
put_number(gecko *g, const char *key, uint64_t value)
{
    conv_json_key(&g->json, key);
    conv_json_u64(&g->json, value);
}

static void
put_text(gecko *g, const char *key, const char *value)
{
    conv_json_key(&g->json, key);
    conv_json_literal(&g->json, value);
}

static void
put_raw(gecko *g, const char *key, const char *json)
{
    conv_json_key(&g->json, key);
    conv_json_raw(&g->json, json, strlen(json));
}

/* ---- tables ---- */

static category
find_category(const gecko *g, uint32_t function)
{
    const conv_function *f = conv_model_function(g->model, function);
    pr_bytes file = pr_strings_get(&g->model->strings, f->file);
    pr_bytes name = pr_strings_get(&g->model->strings, f->name);
    switch (conv_path_of(file)) {
    case CONV_PATH_STDLIB:
    case CONV_PATH_FROZEN:
        return STDLIB;
    case CONV_PATH_SITE:
        return SITE;
    case CONV_PATH_PROJECT:
        return PROJECT;
    case CONV_PATH_SPECIAL:
        break;
    }
    if (!conv_model_is_synthetic(g->model, function))
        return PROJECT; /* <string>, a task */
    return name.len == strlen(PR_GC_FUNC) &&
                   memcmp(name.at, PR_GC_FUNC, name.len) == 0
               ? GC
               : NATIVE;
}

static bool
find_categories(gecko *g)
{
    size_t n = g->model->functions.n;
    g->category = malloc(n + 1);
    for (uint32_t i = 0; i < n && g->category; i++)
        g->category[i] = (uint8_t)find_category(g, i);
    return g->category != NULL;
}

static uint32_t
function_at(const gecko *g, uint32_t node)
{
    return conv_model_frame(g->model, g->model->nodes[node].frame)->function;
}

static uint32_t
function_of(const gecko *g, size_t frame)
{
    return conv_model_frame(g->model, g->frames.used.at[frame])->function;
}

/* The frame that stands for an empty stack is the last one of its table, as
 * its function and its stack are. */
static void
put_stacks(gecko *g)
{
    const pr_list *used = &g->nodes.used;
    open_table(g, "stackTable");
    open_column(g, "frame");
    for (size_t i = 0; i < used->n; i++)
        conv_json_u64(&g->json, number_of(&g->frames,
                                          g->model->nodes[used->at[i]].frame));
    conv_json_u64(&g->json, g->frames.used.n);
    close_column(g);
    open_column(g, "prefix");
    for (size_t i = 0; i < used->n; i++) {
        uint32_t parent = g->model->nodes[used->at[i]].parent;
        if (parent)
            conv_json_u64(&g->json, number_of(&g->nodes, parent));
        else
            put_null(g);
    }
    put_null(g);
    close_column(g);
    open_column(g, "category");
    for (size_t i = 0; i < used->n; i++)
        conv_json_u64(&g->json, g->category[function_at(g, used->at[i])]);
    conv_json_u64(&g->json, IDLE);
    close_column(g);
    put_same(g, "subcategory", "0", used->n + 1);
    put_length(g, used->n + 1);
}

static void
put_line(gecko *g, int32_t line)
{
    if (line > 0)
        conv_json_u64(&g->json, (uint64_t)line);
    else
        put_null(g);
}

static void
put_frames(gecko *g)
{
    const pr_list *used = &g->frames.used;
    size_t n = used->n + 1;
    open_table(g, "frameTable");
    put_same(g, "address", "-1", n);
    put_same(g, "inlineDepth", "0", n);
    open_column(g, "category");
    for (size_t i = 0; i < used->n; i++)
        conv_json_u64(&g->json, g->category[function_of(g, i)]);
    conv_json_u64(&g->json, IDLE);
    close_column(g);
    put_same(g, "subcategory", "0", n);
    open_column(g, "func");
    for (size_t i = 0; i < used->n; i++)
        conv_json_u64(&g->json, number_of(&g->functions, function_of(g, i)));
    conv_json_u64(&g->json, g->functions.used.n);
    close_column(g);
    put_same(g, "nativeSymbol", "null", n);
    put_same(g, "innerWindowID", "null", n);
    put_same(g, "implementation", "null", n);
    open_column(g, "line");
    for (size_t i = 0; i < used->n; i++)
        put_line(g, conv_model_frame(g->model, used->at[i])->line);
    put_null(g);
    close_column(g);
    put_same(g, "column", "null", n);
    put_same(g, "optimizations", "null", n);
    put_length(g, n);
}

static pr_code
put_string_number(gecko *g, uint32_t string, pr_err *err)
{
    pr_code rc = number(&g->strings, string, err);
    if (rc == PR_OK)
        conv_json_u64(&g->json, N_TEXTS + number_of(&g->strings, string));
    return rc;
}

static bool
has_file(const gecko *g, uint32_t function)
{
    uint32_t file = conv_model_function(g->model, function)->file;
    return conv_path_of(pr_strings_get(&g->model->strings, file)) !=
           CONV_PATH_SPECIAL;
}

static pr_code
put_names(gecko *g, pr_err *err)
{
    const pr_list *used = &g->functions.used;
    pr_code rc = PR_OK;
    open_column(g, "name");
    for (size_t i = 0; i < used->n && rc == PR_OK; i++)
        rc = put_string_number(
            g, conv_model_function(g->model, used->at[i])->name, err);
    conv_json_u64(&g->json, TEXT_IDLE);
    close_column(g);
    open_column(g, "fileName");
    for (size_t i = 0; i < used->n && rc == PR_OK; i++) {
        if (has_file(g, used->at[i]))
            rc = put_string_number(
                g, conv_model_function(g->model, used->at[i])->file, err);
        else
            put_null(g);
    }
    put_null(g);
    close_column(g);
    return rc;
}

static pr_code
put_functions(gecko *g, pr_err *err)
{
    const pr_list *used = &g->functions.used;
    size_t n = used->n + 1;
    open_table(g, "funcTable");
    pr_code rc = put_names(g, err);
    open_column(g, "isJS");
    for (size_t i = 0; i < used->n; i++) {
        bool python = !conv_model_is_synthetic(g->model, used->at[i]);
        conv_json_raw(&g->json, python ? "true" : "false", python ? 4 : 5);
    }
    conv_json_raw(&g->json, "false", 5);
    close_column(g);
    put_same(g, "relevantForJS", "false", n);
    put_same(g, "resource", "-1", n);
    open_column(g, "lineNumber");
    for (size_t i = 0; i < used->n; i++)
        put_line(g, conv_model_line_of(g->model, used->at[i]));
    put_null(g);
    close_column(g);
    put_same(g, "columnNumber", "null", n);
    put_length(g, n);
    return rc;
}

static void
put_empty_tables(gecko *g)
{
    put_raw(g, "resourceTable",
            "{\"lib\":[],\"name\":[],\"host\":[],\"type\":[],\"length\":0}");
    put_raw(g, "nativeSymbols",
            "{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],"
            "\"length\":0}");
}

/* ---- samples ---- */

/* How many of a run's samples are written. */
static uint64_t
written_of(const gecko *g, uint64_t n)
{
    uint64_t samples = g->model->samples;
    if (samples <= SAMPLES_MAX)
        return n;
    uint64_t part = (uint64_t)((double)n * SAMPLES_MAX / (double)samples);
    return part ? part : 1;
}

/* One column of the samples: its value for time that no sample stands for, and
 * for the i-th of n parts of a span. */
typedef struct column {
    void (*gap)(gecko *g, uint64_t at_us);
    void (*part)(gecko *g, const conv_span *span, uint64_t i, uint64_t n);
} column;

static uint64_t
part_of(const conv_span *span, uint64_t i, uint64_t n)
{
    uint64_t length = span->end_us - span->start_us;
    if (i == 0 || i == n) /* most runs have one part */
        return i ? length : 0;
    return length / n * i + length % n * i / n;
}

static void
put_gap_stack(gecko *g, uint64_t at_us)
{
    (void)at_us;
    put_null(g);
}

static void
put_part_stack(gecko *g, const conv_span *span, uint64_t i, uint64_t n)
{
    (void)i;
    (void)n;
    conv_json_u64(&g->json, span->node ? number_of(&g->nodes, span->node)
                                       : g->nodes.used.n);
}

static void
put_gap_time(gecko *g, uint64_t at_us)
{
    conv_json_ms(&g->json, at_us);
}

static void
put_part_time(gecko *g, const conv_span *span, uint64_t i, uint64_t n)
{
    conv_json_ms(&g->json, span->start_us + part_of(span, i, n));
}

static void
put_gap_weight(gecko *g, uint64_t at_us)
{
    (void)at_us;
    conv_json_u64(&g->json, 0);
}

static void
put_part_weight(gecko *g, const conv_span *span, uint64_t i, uint64_t n)
{
    conv_json_ms(&g->json, part_of(span, i + 1, n) - part_of(span, i, n));
}

static uint64_t
put_column(gecko *g, const conv_thread *thread, const char *name,
           const column *col)
{
    conv_timeline line;
    conv_span span;
    uint64_t end = thread->first_us, length = 0;
    open_column(g, name);
    conv_timeline_init(&line, thread);
    while (conv_timeline_next(&line, &span)) {
        if (span.start_us > end) {
            col->gap(g, end);
            length++;
        }
        uint64_t n = written_of(g, span.n);
        for (uint64_t i = 0; i < n; i++)
            col->part(g, &span, i, n);
        length += n;
        end = span.end_us;
    }
    close_column(g);
    return length;
}

static void
put_samples(gecko *g, const conv_thread *thread)
{
    static const struct {
        const char *name;
        column column;
    } columns[] = {
        {"stack", {put_gap_stack, put_part_stack}},
        {"time", {put_gap_time, put_part_time}},
        {"weight", {put_gap_weight, put_part_weight}},
    };
    uint64_t length = 0;
    open_table(g, "samples");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        length = put_column(g, thread, columns[i].name, &columns[i].column);
    put_same(g, "eventDelay", "null", length);
    put_text(g, "weightType", "tracing-ms");
    put_length(g, length);
}

/* ---- markers ---- */

static pr_code
add_marker(gecko *g, marker m, pr_err *err)
{
    if (!pr_grow(&g->markers, &g->cap_markers, g->n_markers + 1,
                 sizeof *g->markers))
        return pr_no_memory(err);
    g->markers[g->n_markers++] = m;
    return PR_OK;
}

/* The marker of each kind that the next span may go on with. */
typedef struct open_markers {
    marker marker[N_KINDS];
    bool is_open[N_KINDS];
} open_markers;

/* Spans with the bit that are less than two intervals apart are one. */
static pr_code
mark_span(gecko *g, open_markers *open, const conv_span *span, pr_err *err)
{
    uint64_t join = JOIN_INTERVALS * g->model->start.interval_us;
    pr_code rc = PR_OK;
    for (uint32_t kind = 0; kind < N_KINDS && rc == PR_OK; kind++) {
        const marker_kind *k = &marker_kinds[kind];
        marker *m = &open->marker[kind];
        if (!(span->status & k->bit))
            continue;
        if (open->is_open[kind] && span->start_us - m->end_us < join) {
            m->end_us = span->end_us;
            continue;
        }
        if (open->is_open[kind])
            rc = add_marker(g, *m, err);
        *m = (marker){.start_us = span->start_us,
                      .end_us = span->end_us,
                      .string = kind,
                      .category = k->category};
        open->is_open[kind] = true;
    }
    return rc;
}

static pr_code
mark_events(gecko *g, uint32_t process, pr_err *err)
{
    pr_code rc = PR_OK;
    g->has_events[process] = true;
    for (uint32_t i = 0; i < g->model->n_events && rc == PR_OK; i++) {
        const conv_event *e = &g->model->events[i];
        if (e->process != process)
            continue;
        const marker m = {.start_us = e->first_us,
                          .end_us = e->end_us,
                          .string = e->is_gc ? TEXT_GC : TEXT_MARK,
                          .category = e->is_gc ? GC : OTHER,
                          .event = i + 1};
        rc = add_marker(g, m, err);
    }
    return rc;
}

/* At one time events come first, then statuses in the order of their kinds. */
static int
compare_markers(const void *a_marker, const void *b_marker)
{
    const marker *a = a_marker, *b = b_marker;
    if (a->start_us != b->start_us)
        return a->start_us < b->start_us ? -1 : 1;
    if (!a->event != !b->event)
        return a->event ? -1 : 1;
    if (a->event != b->event)
        return a->event < b->event ? -1 : 1;
    return (a->string > b->string) - (a->string < b->string);
}

static void
put_data(gecko *g, const marker *m)
{
    conv_json_open(&g->json, '{');
    if (!m->event) {
        put_text(g, "type", "Status");
        put_text(g, "name", marker_kinds[m->string].name);
    } else {
        const conv_event *e = &g->model->events[m->event - 1];
        pr_bytes text = pr_strings_get(&g->model->strings, e->text);
        put_text(g, "type", e->is_gc ? "Collection" : "Mark");
        put_text(g, "name", e->is_gc ? "gc" : conv_mark_name(e->kind));
        conv_json_key(&g->json, "detail");
        conv_json_string(&g->json, text.at, text.len);
    }
    conv_json_close(&g->json, '}');
}

static void
put_markers(gecko *g)
{
    size_t n = g->n_markers;
    const marker *m = g->markers;
    open_table(g, "markers");
    open_column(g, "name");
    for (size_t i = 0; i < n; i++)
        conv_json_u64(&g->json, m[i].string);
    close_column(g);
    open_column(g, "startTime");
    for (size_t i = 0; i < n; i++)
        conv_json_ms(&g->json, m[i].start_us);
    close_column(g);
    open_column(g, "endTime");
    for (size_t i = 0; i < n; i++)
        conv_json_ms(&g->json, m[i].end_us);
    close_column(g);
    put_same(g, "phase", "1", n);
    open_column(g, "category");
    for (size_t i = 0; i < n; i++)
        conv_json_u64(&g->json, m[i].category);
    close_column(g);
    open_column(g, "data");
    for (size_t i = 0; i < n; i++)
        put_data(g, &m[i]);
    close_column(g);
    put_length(g, n);
}

/* Number what the thread uses and make its markers, in one walk of its runs. */
static pr_code
scan_thread(gecko *g, const conv_thread *thread, pr_err *err)
{
    open_markers open = {.is_open = {false}};
    conv_timeline line;
    conv_span span;
    g->n_markers = 0;
    pr_code rc = g->has_events[thread->process]
                     ? PR_OK
                     : mark_events(g, thread->process, err);
    reset_numbering(&g->nodes);
    reset_numbering(&g->frames);
    reset_numbering(&g->functions);
    conv_timeline_init(&line, thread);
    while (rc == PR_OK && conv_timeline_next(&line, &span)) {
        rc = number_stack(g, span.node, err);
        if (rc == PR_OK)
            rc = mark_span(g, &open, &span, err);
    }
    for (uint32_t kind = 0; kind < N_KINDS && rc == PR_OK; kind++)
        if (open.is_open[kind])
            rc = add_marker(g, open.marker[kind], err);
    if (rc == PR_OK && g->n_markers)
        qsort(g->markers, g->n_markers, sizeof *g->markers, compare_markers);
    return rc;
}

/* ---- threads ---- */

/* The site takes threads of one pid for those of one process: the pids of two
 * containers may be equal. */
static void
put_pid(gecko *g, uint32_t process)
{
    uint64_t pid = g->model->processes[process].pid;
    char text[48];
    int n = snprintf(text, sizeof text, "%" PRIu64, pid);
    for (uint32_t i = 0; i < process; i++)
        if (g->model->processes[i].pid == pid) {
            snprintf(text + n, sizeof text - (size_t)n, "-%" PRIu32,
                     process + 1);
            break;
        }
    put_text(g, "pid", text);
}

static void
put_thread_head(gecko *g, uint32_t id)
{
    const conv_thread *thread = &g->model->threads[id];
    pr_buffer name = {0};
    pr_buffer process = {0};
    conv_label_process(&process, PR_QUOTE_UTF8, g->model, thread->process);
    conv_label_thread(&name, PR_QUOTE_UTF8, g->model, id);
    put_text(g, "processType", "default");
    conv_json_key(&g->json, "processName");
    conv_json_string(&g->json, process.at, process.len);
    put_number(g, "processStartupTime", 0);
    put_raw(g, "processShutdownTime", "null");
    conv_json_key(&g->json, "registerTime");
    conv_json_ms(&g->json, thread->first_us);
    conv_json_key(&g->json, "unregisterTime");
    conv_json_ms(&g->json, thread->end_us);
    put_raw(g, "pausedRanges", "[]");
    conv_json_key(&g->json, "name");
    conv_json_string(&g->json, name.at, name.len);
    put_raw(g, "isMainThread",
            thread->is_main && !thread->interp ? "true" : "false");
    put_pid(g, thread->process);
    put_number(g, "tid", thread->tid);
    g->job->names_changed += name.changed + process.changed;
    pr_buffer_release(&name);
    pr_buffer_release(&process);
}

static pr_code
put_thread(gecko *g, uint32_t id, pr_err *err)
{
    const conv_thread *thread = &g->model->threads[id];
    pr_code rc = scan_thread(g, thread, err);
    if (rc != PR_OK)
        return rc;
    conv_json_open(&g->json, '{');
    put_thread_head(g, id);
    put_samples(g, thread);
    put_markers(g);
    put_stacks(g);
    put_frames(g);
    rc = put_functions(g, err);
    put_empty_tables(g);
    conv_json_close(&g->json, '}');
    return rc;
}

/* ---- the document ---- */

static void
put_categories(gecko *g)
{
    open_column(g, "categories");
    for (int i = 0; i < N_CATEGORIES; i++) {
        conv_json_open(&g->json, '{');
        put_text(g, "name", categories[i][0]);
        put_text(g, "color", categories[i][1]);
        put_raw(g, "subcategories", "[\"Other\"]");
        conv_json_close(&g->json, '}');
    }
    close_column(g);
}

static void
put_schema(gecko *g, const char *name, bool detail)
{
    conv_json_open(&g->json, '{');
    put_text(g, "name", name);
    put_raw(g, "display",
            "[\"marker-chart\",\"marker-table\",\"timeline-overview\"]");
    put_text(g, "tableLabel", "{marker.data.name}");
    put_text(g, "tooltipLabel", "{marker.data.name}");
    put_text(g, "chartLabel", "{marker.data.name}");
    put_raw(g, "fields",
            detail ? "[{\"key\":\"name\",\"label\":\"Name\",\"format\":"
                     "\"string\"},{\"key\":\"detail\",\"label\":\"Detail\","
                     "\"format\":\"string\"}]"
                   : "[{\"key\":\"name\",\"label\":\"Name\",\"format\":"
                     "\"string\"}]");
    conv_json_close(&g->json, '}');
}

static void
put_meta(gecko *g)
{
    const pr_start *start = &g->model->start;
    open_table(g, "meta");
    conv_json_key(&g->json, "interval");
    conv_json_ms(&g->json, start->interval_us);
    conv_json_key(&g->json, "startTime");
    conv_json_ms(&g->json, start->wall_us);
    put_number(g, "version", 32);
    put_number(g, "preprocessedProfileVersion", PROCESSED_VERSION);
    put_number(g, "processType", 0);
    put_number(g, "stackwalk", 0);
    put_text(g, "product", "Python");
    put_text(g, "importedFrom", "pyconv " PYREC_VERSION);
    put_text(g, "misc", "");
    put_text(g, "oscpu", "");
    put_text(g, "platform", "");
    put_text(g, "toolkit", "");
    put_text(g, "abi", "");
    put_text(g, "appBuildID", "");
    put_raw(g, "symbolicated", "true");
    put_raw(g, "debug", "false");
    put_raw(g, "extensions",
            "{\"id\":[],\"name\":[],\"baseURL\":[],\"length\":0}");
    put_categories(g);
    open_column(g, "markerSchema");
    put_schema(g, "Status", false);
    put_schema(g, "Collection", true);
    put_schema(g, "Mark", true);
    close_column(g);
    conv_json_close(&g->json, '}');
}

static void
put_strings(gecko *g)
{
    open_table(g, "shared");
    open_column(g, "stringArray");
    for (int i = 0; i < N_KINDS; i++)
        conv_json_literal(&g->json, marker_kinds[i].name);
    conv_json_literal(&g->json, "(idle)");
    conv_json_literal(&g->json, "Garbage collection");
    conv_json_literal(&g->json, "Mark");
    for (size_t i = 0; i < g->strings.used.n; i++) {
        pr_bytes s = pr_strings_get(&g->model->strings, g->strings.used.at[i]);
        conv_json_string(&g->json, s.at, s.len);
    }
    close_column(g);
    put_raw(g, "sources", "{\"length\":0,\"uuid\":[],\"filename\":[]}");
    conv_json_close(&g->json, '}');
}

static pr_code
put_document(gecko *g, pr_err *err)
{
    const conv_model *m = g->model;
    pr_code rc = PR_OK;
    conv_json_open(&g->json, '{');
    put_meta(g);
    put_raw(g, "libs", "[]");
    put_raw(g, "pages", "[]");
    open_column(g, "threads");
    for (uint32_t i = 0; i < m->n_threads && rc == PR_OK; i++) {
        if (m->threads[i].samples)
            rc = put_thread(g, i, err);
    }
    close_column(g);
    put_strings(g);
    conv_json_close(&g->json, '}');
    conv_out_puts(g->job->out, "\n");
    return rc == PR_OK && g->json.text.failed ? pr_no_memory(err) : rc;
}

static pr_code
write_firefox(conv_job *job, pr_err *err)
{
    const conv_model *m = job->model;
    gecko g = {.job = job, .model = m, .json = {.out = job->out}};
    pr_code rc = PR_OK;
    if (!begin_numbering(&g.strings, m->strings.n) ||
        !begin_numbering(&g.nodes, m->n_nodes) ||
        !begin_numbering(&g.frames, m->frames.n) ||
        !begin_numbering(&g.functions, m->functions.n) ||
        !find_categories(&g) ||
        !(g.has_events = calloc(m->n_processes, sizeof *g.has_events)))
        rc = pr_no_memory(err);
    if (rc == PR_OK)
        rc = put_document(&g, err);
    job->names_changed += g.json.text.changed;
    release_numbering(&g.strings);
    release_numbering(&g.nodes);
    release_numbering(&g.frames);
    release_numbering(&g.functions);
    pr_list_release(&g.pending);
    free(g.markers);
    free(g.category);
    free(g.has_events);
    conv_json_release(&g.json);
    return rc;
}

const conv_target conv_firefox = {
    .info = {"firefox", ".firefox.json.gz .firefox.json",
             "a timeline of threads with GIL, CPU, GC and exceptions",
             "https://profiler.firefox.com, Perfetto, samply load"},
    .level = CONV_LEVEL_LINE,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .takes = CONV_TAKES_LEVEL,
    .write = write_firefox,
};
