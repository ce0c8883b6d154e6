/*
 * speedscope.c - https://www.speedscope.app, file format "sampled".
 *
 * One profile a thread, in time order, one sample a run; in front of them, if
 * there are several, one of all threads together, one sample a distinct stack.
 * Times are whole microseconds since the start of the recording.  A sample
 * without a frame has "(idle)", time that no sample stands for "(not
 * observed)": speedscope does not show an empty stack as what it is.  A stack
 * deeper than the limit keeps both its ends around one frame that says so:
 * speedscope recurses and fails on some thousand frames.
 */
#include "converter/encode/json.h"
#include "converter/model/index.h"
#include "converter/model/label.h"
#include "converter/model/source_path.h"
#include "converter/model/stack_text.h"
#include "converter/target/table.h"
#include <base/buffer.h>
#include <base/quote.h>
#include <pyrec/version.h>
#include <string.h>

#include <stdlib.h>

enum { DEFAULT_MAX_DEPTH = 2000 };

typedef struct scope {
    conv_job *job;
    const conv_model *model;
    conv_index index;
    conv_json json;
    conv_stack_text trail;     /* ",frame" of each position but the outermost */
    uint64_t end_us;           /* of the recording */
    uint32_t idle, unobserved; /* numbers of frames of our own */
} scope;

/* ---- frames ---- */

static void
put_frame_number(const void *context, uint32_t position, bool outermost,
                 pr_buffer *text)
{
    const scope *s = context;
    if (!outermost)
        pr_buffer_append(text, ",", 1);
    pr_buffer_u64(text, s->model->nodes[s->index.node[position]].frame);
}

static void
put_frame(scope *s, uint32_t id)
{
    const conv_model *model = s->model;
    const conv_frame *frame = conv_model_frame(model, id);
    const conv_function *f = conv_model_function(model, frame->function);
    pr_bytes name = pr_strings_get(&model->strings, f->name);
    pr_bytes file = pr_strings_get(&model->strings, f->file);
    int32_t line = s->job->level == CONV_LEVEL_LINE
                       ? frame->line
                       : conv_model_line_of(model, frame->function);
    conv_json_open(&s->json, '{');
    conv_json_key(&s->json, "name");
    conv_json_string(&s->json, name.at, name.len);
    if (conv_path_of(file) != CONV_PATH_SPECIAL) {
        conv_json_key(&s->json, "file");
        conv_json_string(&s->json, file.at, file.len);
        if (line > 0) {
            conv_json_key(&s->json, "line");
            conv_json_u64(&s->json, (uint64_t)line);
        }
    }
    conv_json_close(&s->json, '}');
}

static void
put_own_frame(scope *s, const char *name)
{
    conv_json_open(&s->json, '{');
    conv_json_key(&s->json, "name");
    conv_json_literal(&s->json, name);
    conv_json_close(&s->json, '}');
}

static void
put_shared(scope *s)
{
    conv_json_key(&s->json, "shared");
    conv_json_open(&s->json, '{');
    conv_json_key(&s->json, "frames");
    conv_json_open(&s->json, '[');
    for (uint32_t i = 0; i < s->model->frames.n; i++)
        put_frame(s, i);
    put_own_frame(s, "(idle)");
    put_own_frame(s, "(not observed)");
    conv_json_close(&s->json, ']');
    conv_json_close(&s->json, '}');
}

/* ---- samples ---- */

static pr_code
put_stack(scope *s, uint32_t position, pr_err *err)
{
    pr_code rc = conv_stack_text_set(&s->trail, position, err);
    if (rc != PR_OK)
        return rc;
    const pr_buffer *text = &s->trail.text;
    conv_json_open(&s->json, '[');
    if (text->len)
        conv_json_raw(&s->json, text->at, text->len);
    else
        conv_json_u64(&s->json, s->idle);
    conv_json_close(&s->json, ']');
    return PR_OK;
}

static void
begin_profile(scope *s)
{
    conv_json_open(&s->json, '{');
    conv_json_key(&s->json, "type");
    conv_json_literal(&s->json, "sampled");
    conv_json_key(&s->json, "unit");
    conv_json_literal(
        &s->json, s->job->time == CONV_TIME_SAMPLES ? "none" : "microseconds");
    conv_json_key(&s->json, "startValue");
    conv_json_u64(&s->json, 0);
}

static void
end_profile(scope *s, uint64_t end)
{
    conv_json_key(&s->json, "endValue");
    conv_json_u64(&s->json, end);
    conv_json_close(&s->json, '}');
}

static void
put_unobserved(scope *s)
{
    conv_json_open(&s->json, '[');
    conv_json_u64(&s->json, s->unobserved);
    conv_json_close(&s->json, ']');
}

/* Time in which the thread was not seen has a frame of its own, so that
 * threads stay in step. */
static uint64_t
gap_before(const scope *s, const conv_model_run *run, uint64_t now)
{
    if (s->job->time == CONV_TIME_SAMPLES || run->first_us <= now)
        return 0;
    return run->first_us - now;
}

static uint64_t
gap_after(const scope *s, uint64_t now)
{
    return s->job->time == CONV_TIME_SAMPLES || now >= s->end_us
               ? 0
               : s->end_us - now;
}

static pr_code
put_thread_samples(scope *s, const conv_thread *thread, pr_err *err)
{
    conv_cursor cursor;
    conv_model_run run;
    uint64_t now = 0;
    pr_code rc = PR_OK;
    conv_json_key(&s->json, "samples");
    conv_json_open(&s->json, '[');
    conv_cursor_init(&cursor, thread);
    while (rc == PR_OK && conv_cursor_next(&cursor, &run)) {
        uint64_t gap = gap_before(s, &run, now);
        if (gap)
            put_unobserved(s);
        if (run.weight_us)
            rc = put_stack(s, s->index.position[run.node], err);
        now += gap + run.weight_us;
    }
    if (gap_after(s, now))
        put_unobserved(s);
    conv_json_close(&s->json, ']');
    return rc;
}

/* Exactly as many as there are samples. */
static uint64_t
put_thread_weights(scope *s, const conv_thread *thread)
{
    conv_cursor cursor;
    conv_model_run run;
    uint64_t now = 0;
    conv_json_key(&s->json, "weights");
    conv_json_open(&s->json, '[');
    conv_cursor_init(&cursor, thread);
    while (conv_cursor_next(&cursor, &run)) {
        uint64_t gap = gap_before(s, &run, now);
        if (gap)
            conv_json_u64(&s->json, gap);
        if (run.weight_us)
            conv_json_u64(&s->json, run.weight_us);
        now += gap + run.weight_us;
    }
    if (gap_after(s, now))
        conv_json_u64(&s->json, gap_after(s, now));
    conv_json_close(&s->json, ']');
    return now + gap_after(s, now);
}

static pr_code
put_thread(scope *s, uint32_t id, pr_err *err)
{
    pr_buffer name = {0};
    conv_label_owner(&name, PR_QUOTE_UTF8, s->model, id, ", ");
    begin_profile(s);
    conv_json_key(&s->json, "name");
    conv_json_string(&s->json, name.at, name.len);
    s->job->names_changed += name.changed;
    bool good = !name.failed;
    pr_buffer_release(&name);
    if (!good)
        return pr_no_memory(err);
    pr_code rc = put_thread_samples(s, &s->model->threads[id], err);
    end_profile(s, put_thread_weights(s, &s->model->threads[id]));
    return rc;
}

static pr_code
put_all_threads(scope *s, const char *name, pr_err *err)
{
    conv_total *self = NULL;
    pr_code rc = conv_index_self(s->model, &s->index, &self, err);
    if (rc != PR_OK)
        return rc;
    uint64_t sum = 0;
    begin_profile(s);
    conv_json_key(&s->json, "name");
    conv_json_literal(&s->json, name);
    conv_json_key(&s->json, "samples");
    conv_json_open(&s->json, '[');
    for (uint32_t p = 0; p < s->index.n && rc == PR_OK; p++)
        if (self[p].weight_us)
            rc = put_stack(s, p, err);
    conv_json_close(&s->json, ']');
    conv_json_key(&s->json, "weights");
    conv_json_open(&s->json, '[');
    for (uint32_t p = 0; p < s->index.n; p++) {
        if (self[p].weight_us)
            conv_json_u64(&s->json, self[p].weight_us);
        sum += self[p].weight_us;
    }
    conv_json_close(&s->json, ']');
    end_profile(s, sum);
    free(self);
    return rc;
}

/* ---- threads ---- */

typedef struct rank {
    const conv_thread *thread;
    uint32_t id;
} rank;

/* The main thread first, then those with the most samples. */
static int
compare_ranks(const void *a_rank, const void *b_rank)
{
    const rank *a = a_rank, *b = b_rank;
    bool a_main = a->thread->is_main && a->thread->interp == 0;
    bool b_main = b->thread->is_main && b->thread->interp == 0;
    if (a_main != b_main)
        return a_main ? -1 : 1;
    if (a->thread->samples != b->thread->samples)
        return a->thread->samples > b->thread->samples ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static pr_code
put_profiles(scope *s, pr_err *err)
{
    const conv_model *model = s->model;
    rank *order = calloc(model->n_threads + 1, sizeof *order);
    if (!order)
        return pr_no_memory(err);
    size_t n = 0;
    for (uint32_t i = 0; i < model->n_threads; i++) {
        const conv_thread *thread = &model->threads[i];
        if (thread->samples)
            order[n++] = (rank){thread, i};
    }
    qsort(order, n, sizeof *order, compare_ranks);
    pr_code rc = PR_OK;
    conv_json_key(&s->json, "profiles");
    conv_json_open(&s->json, '[');
    if (n != 1) /* a file without a profile is not legal */
        rc = put_all_threads(s, n ? "all threads" : "no samples", err);
    for (size_t i = 0; i < n && rc == PR_OK; i++)
        rc = put_thread(s, order[i].id, err);
    conv_json_close(&s->json, ']');
    free(order);
    return rc;
}

static pr_code
write_document(scope *s, pr_err *err)
{
    pr_bytes path = {s->job->source, strlen(s->job->source)};
    pr_bytes name = conv_path_base(path);
    conv_json_open(&s->json, '{');
    conv_json_key(&s->json, "$schema");
    conv_json_literal(&s->json,
                      "https://www.speedscope.app/file-format-schema.json");
    conv_json_key(&s->json, "exporter");
    conv_json_literal(&s->json, "pyconv@" PYREC_VERSION);
    conv_json_key(&s->json, "name");
    conv_json_string(&s->json, name.at, name.len);
    conv_json_key(&s->json, "activeProfileIndex");
    conv_json_u64(&s->json, 0);
    put_shared(s);
    pr_code rc = put_profiles(s, err);
    conv_json_close(&s->json, '}');
    conv_out_puts(s->job->out, "\n");
    if (rc == PR_OK && s->json.text.failed)
        rc = pr_no_memory(err);
    return rc;
}

static pr_code
write_speedscope(conv_job *job, pr_err *err)
{
    scope s = {.job = job,
               .model = job->model,
               .json = {.out = job->out},
               .end_us = conv_model_end_us(job->model),
               .idle = (uint32_t)job->model->frames.n,
               .unobserved = (uint32_t)job->model->frames.n + 1};
    pr_code rc = conv_index_order(job->model, &s.index, err);
    if (rc != PR_OK)
        return rc;
    s.trail = (conv_stack_text){.parent = s.index.parent,
                                .stride = 1,
                                .depth = s.index.depth,
                                .put = put_frame_number,
                                .context = &s};
    rc = write_document(&s, err);
    job->names_changed += s.json.text.changed;
    conv_stack_text_release(&s.trail);
    conv_json_release(&s.json);
    conv_index_release(&s.index);
    return rc;
}

const conv_target conv_speedscope = {
    .info = {"speedscope", ".speedscope.json",
             "a timeline and a flame graph of each thread",
             "https://www.speedscope.app, its VS Code plugins"},
    .level = CONV_LEVEL_FUNCTION,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_ALL,
    .takes = CONV_TAKES_LEVEL,
    .max_depth = DEFAULT_MAX_DEPTH,
    .write = write_speedscope,
};
