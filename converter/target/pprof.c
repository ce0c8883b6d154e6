/*
 * pprof.c - profile.proto of https://github.com/google/pprof, in gzip.
 *
 * One sample for each stack, thread and state, with two values: samples and
 * nanoseconds.  One location for each function and line, so that pprof can
 * show both; the labels thread, tid and state let it filter and group.
 */
#include "converter/encode/protobuf.h"
#include "converter/model/label.h"
#include "converter/model/tally.h"
#include "converter/target/table.h"

#include <base/buffer.h>
#include <base/pprof_fields.h>
#include <base/quote.h>
#include <stdlib.h>
#include <string.h>

/* The texts of our own, in the order of the string table. */
enum {
    TEXT_EMPTY,
    TEXT_SAMPLES,
    TEXT_COUNT,
    TEXT_TIME,
    TEXT_NANOSECONDS,
    TEXT_PYTHON,
    TEXT_THREAD,
    TEXT_TID,
    TEXT_STATE,
    TEXT_PROCESS,
    TEXT_PID,
    TEXT_FIRST_STATE,
    N_TEXTS = TEXT_FIRST_STATE + CONV_STATES
};

/* The location ids of the present stack, innermost first, at the end of a
 * buffer: what the next stack shares with it stays where it is. */
typedef struct location_list {
    uint8_t *bytes;
    size_t cap;
    pr_list path;   /* nodes, outermost first */
    pr_list length; /* [path.n] bytes up to that node, from the end */
    pr_list pending;
} location_list;

typedef struct proto {
    conv_job *job;
    const conv_model *model;
    uint32_t *depth;  /* [node] */
    uint32_t *string; /* [model string] index in the table; 0: none yet */
    uint32_t n_strings;
    pr_buffer message, part, name;
    pr_buffer label[CONV_STATES]; /* of the present thread */
    conv_tally tally;
    location_list list;
} proto;

static void
put_field(proto *p, uint32_t field, const pr_buffer *message)
{
    uint8_t head[2 * CONV_PB_VARINT_MAX];
    uint8_t *end = conv_pb_put(head, (uint64_t)field << 3 | CONV_PB_BYTES);
    end = conv_pb_put(end, message->len);
    conv_out_write(p->job->out, head, (size_t)(end - head));
    conv_out_write(p->job->out, message->at, message->len);
}

static void
put_number(proto *p, uint32_t field, uint64_t value)
{
    pr_buffer_reset(&p->message);
    conv_pb_uint(&p->message, field, value);
    conv_out_write(p->job->out, p->message.at, p->message.len);
}

/* ---- texts ---- */

static uint32_t
put_text(proto *p, const char *at, size_t len)
{
    pr_buffer_reset(&p->name);
    pr_quote_name(&p->name, PR_QUOTE_LINE, at, len);
    put_field(p, PR_PROFILE_STRING, &p->name);
    return p->n_strings++;
}

static uint32_t
put_string(proto *p, uint32_t id)
{
    if (!p->string[id]) {
        pr_bytes bytes = pr_strings_get(&p->model->strings, id);
        p->string[id] = put_text(p, bytes.at, bytes.len);
    }
    return p->string[id];
}

static const char *
time_name(const conv_model *model)
{
    switch (model->start.mode) {
    case PR_MODE_CPU:
        return "cpu";
    case PR_MODE_GIL:
        return "gil";
    case PR_MODE_EXCEPTION:
        return "exception";
    case PR_MODE_WALL:
    case PR_MODE_ALL:
    case PR_MODE_UNKNOWN:
        break;
    }
    return "wall";
}

static void
put_texts(proto *p)
{
    static const char *const texts[TEXT_FIRST_STATE] = {
        [TEXT_EMPTY] = "",          [TEXT_SAMPLES] = "samples",
        [TEXT_COUNT] = "count",     [TEXT_NANOSECONDS] = "nanoseconds",
        [TEXT_PYTHON] = "python",   [TEXT_THREAD] = "thread",
        [TEXT_TID] = "tid",         [TEXT_STATE] = "state",
        [TEXT_PROCESS] = "process", [TEXT_PID] = "pid",
    };
    for (int i = 0; i < TEXT_FIRST_STATE; i++) {
        const char *text = i == TEXT_TIME ? time_name(p->model) : texts[i];
        put_text(p, text, strlen(text));
    }
    for (int i = 0; i < CONV_STATES; i++) {
        const char *text = conv_state_name((conv_state)i);
        put_text(p, text, strlen(text));
    }
}

/* ---- the profile ---- */

static void
put_value_type(proto *p, uint32_t field, uint32_t type, uint32_t unit)
{
    pr_buffer_reset(&p->message);
    conv_pb_uint(&p->message, PR_VALUE_TYPE, type);
    conv_pb_uint(&p->message, PR_VALUE_UNIT, unit);
    put_field(p, field, &p->message);
}

static void
put_comment(proto *p)
{
    pr_buffer_reset(&p->part);
    pr_buffer_puts(&p->part, "time that no sample stands for: ");
    pr_buffer_u64(&p->part, p->model->unobserved_us);
    pr_buffer_puts(&p->part, " us of all threads");
    uint32_t text = put_text(p, p->part.at, p->part.len);
    put_number(p, PR_PROFILE_COMMENT, text);
}

static void
put_head(proto *p)
{
    const pr_start *start = &p->model->start;
    put_value_type(p, PR_PROFILE_SAMPLE_TYPE, TEXT_SAMPLES, TEXT_COUNT);
    put_value_type(p, PR_PROFILE_SAMPLE_TYPE, TEXT_TIME, TEXT_NANOSECONDS);
    put_value_type(p, PR_PROFILE_PERIOD_TYPE, TEXT_TIME, TEXT_NANOSECONDS);
    put_number(p, PR_PROFILE_PERIOD, start->interval_us * 1000);
    put_number(p, PR_PROFILE_TIME_NANOS, start->wall_us * 1000);
    put_number(p, PR_PROFILE_DURATION_NANOS,
               conv_model_end_us(p->model) * 1000);
    put_number(p, PR_PROFILE_DEFAULT_SAMPLE_TYPE, TEXT_TIME);
    if (p->model->unobserved_us)
        put_comment(p);
}

/* pprof searches for symbols that a mapping does not promise to have. */
static void
put_mapping(proto *p)
{
    pr_buffer_reset(&p->message);
    conv_pb_uint(&p->message, PR_MAPPING_ID, 1);
    conv_pb_uint(&p->message, PR_MAPPING_FILENAME, TEXT_PYTHON);
    conv_pb_uint(&p->message, PR_MAPPING_HAS_FUNCTIONS, 1);
    conv_pb_uint(&p->message, PR_MAPPING_HAS_FILENAMES, 1);
    conv_pb_uint(&p->message, PR_MAPPING_HAS_LINES, 1);
    conv_pb_uint(&p->message, PR_MAPPING_HAS_INLINES, 1);
    put_field(p, PR_PROFILE_MAPPING, &p->message);
}

static void
put_function(proto *p, uint32_t id)
{
    const conv_function *f = conv_model_function(p->model, id);
    uint32_t name = put_string(p, f->name), file = put_string(p, f->file);
    int32_t line = conv_model_line_of(p->model, id);
    pr_buffer_reset(&p->message);
    conv_pb_uint(&p->message, PR_FUNCTION_ID, (uint64_t)id + 1);
    conv_pb_uint(&p->message, PR_FUNCTION_NAME, name);
    conv_pb_uint(&p->message, PR_FUNCTION_SYSTEM_NAME, name);
    conv_pb_uint(&p->message, PR_FUNCTION_FILENAME, file);
    conv_pb_uint(&p->message, PR_FUNCTION_START_LINE, (uint64_t)line);
    put_field(p, PR_PROFILE_FUNCTION, &p->message);
}

static void
put_location(proto *p, uint32_t id)
{
    const conv_frame *frame = conv_model_frame(p->model, id);
    int32_t line = p->job->level == CONV_LEVEL_LINE
                       ? frame->line
                       : conv_model_line_of(p->model, frame->function);
    pr_buffer_reset(&p->part);
    conv_pb_uint(&p->part, PR_LINE_FUNCTION, (uint64_t)frame->function + 1);
    if (line > 0)
        conv_pb_uint(&p->part, PR_LINE_LINE, (uint64_t)line);
    pr_buffer_reset(&p->message);
    conv_pb_uint(&p->message, PR_LOCATION_ID, (uint64_t)id + 1);
    conv_pb_uint(&p->message, PR_LOCATION_MAPPING, 1);
    conv_pb_bytes(&p->message, PR_LOCATION_LINE, p->part.at, p->part.len);
    put_field(p, PR_PROFILE_LOCATION, &p->message);
}

/* ---- samples ---- */

static pr_code
push_location(proto *p, uint32_t node, pr_err *err)
{
    location_list *l = &p->list;
    uint32_t had = l->path.n ? l->length.at[l->path.n - 1] : 0;
    if (l->cap < had + (size_t)CONV_PB_VARINT_MAX) {
        size_t cap = l->cap ? 2 * l->cap : 4096;
        uint8_t *grown = malloc(cap);
        if (!grown)
            return pr_no_memory(err);
        if (had)
            memcpy(grown + cap - had, l->bytes + l->cap - had, had);
        free(l->bytes);
        l->bytes = grown;
        l->cap = cap;
    }
    uint8_t id[CONV_PB_VARINT_MAX];
    uint64_t location = (uint64_t)p->model->nodes[node].frame + 1;
    uint32_t n = (uint32_t)(conv_pb_put(id, location) - id);
    memcpy(l->bytes + l->cap - had - n, id, n);
    pr_code rc = pr_list_add(&l->path, node, err);
    return rc == PR_OK ? pr_list_add(&l->length, had + n, err) : rc;
}

/* The locations of a stack become those of the list. */
static pr_code
set_stack(proto *p, uint32_t node, pr_err *err)
{
    location_list *l = &p->list;
    l->pending.n = 0;
    for (uint32_t depth; (depth = p->depth[node]) > 0;
         node = p->model->nodes[node].parent) {
        if (depth <= l->path.n && l->path.at[depth - 1] == node)
            break;
        pr_code rc = pr_list_add(&l->pending, node, err);
        if (rc != PR_OK)
            return rc;
    }
    l->path.n = l->length.n = p->depth[node];
    for (size_t i = l->pending.n; i-- > 0;) {
        pr_code rc = push_location(p, l->pending.at[i], err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

static pr_code
put_sample(proto *p, const conv_tally_entry *e, pr_err *err)
{
    enum { HEADS = 8 * CONV_PB_VARINT_MAX };
    pr_code rc = set_stack(p, e->node, err);
    if (rc != PR_OK)
        return rc;
    const location_list *l = &p->list;
    size_t n = l->path.n ? l->length.at[l->path.n - 1] : 0;
    const pr_buffer *label = &p->label[e->state];
    uint8_t values[2 * CONV_PB_VARINT_MAX], middle[HEADS], head[HEADS];
    uint8_t *v = conv_pb_put(values, e->n);
    v = conv_pb_put(v, e->weight_us * 1000);
    size_t n_values = (size_t)(v - values);
    uint8_t *m = conv_pb_put(middle, PR_SAMPLE_VALUE << 3 | CONV_PB_BYTES);
    m = conv_pb_put(m, n_values);
    memcpy(m, values, n_values);
    size_t n_middle = (size_t)(m - middle) + n_values;
    uint8_t list_head[HEADS];
    uint8_t *h =
        conv_pb_put(list_head, PR_SAMPLE_LOCATION << 3 | CONV_PB_BYTES);
    size_t n_list = (size_t)(conv_pb_put(h, n) - list_head);
    uint8_t *s = conv_pb_put(head, PR_PROFILE_SAMPLE << 3 | CONV_PB_BYTES);
    s = conv_pb_put(s, n_list + n + n_middle + label->len);
    conv_out_write(p->job->out, head, (size_t)(s - head));
    conv_out_write(p->job->out, list_head, n_list);
    if (n)
        conv_out_write(p->job->out, l->bytes + l->cap - n, n);
    conv_out_write(p->job->out, middle, n_middle);
    conv_out_write(p->job->out, label->at, label->len);
    return PR_OK;
}

static void
add_label(proto *p, pr_buffer *to, uint32_t key, uint32_t field, uint64_t value)
{
    pr_buffer_reset(&p->part);
    conv_pb_uint(&p->part, PR_LABEL_KEY, key);
    conv_pb_uint(&p->part, field, value);
    conv_pb_bytes(to, PR_SAMPLE_LABEL, p->part.at, p->part.len);
}

/* The text of a label, in the table of strings. */
static uint32_t
put_label_text(proto *p,
               void (*label)(pr_buffer *, pr_quote, const conv_model *,
                             uint32_t),
               uint32_t id)
{
    pr_buffer name = {0};
    label(&name, PR_QUOTE_LINE, p->model, id);
    p->job->names_changed += name.changed;
    uint32_t text = put_text(p, name.at, name.len);
    pr_buffer_release(&name);
    return text;
}

static void
set_labels(proto *p, uint32_t thread)
{
    uint32_t process = p->model->threads[thread].process;
    uint32_t text = put_label_text(p, conv_label_thread, thread);
    uint32_t owner = put_label_text(p, conv_label_process, process);
    for (uint32_t state = 0; state < CONV_STATES; state++) {
        pr_buffer *label = &p->label[state];
        pr_buffer_reset(label);
        add_label(p, label, TEXT_THREAD, PR_LABEL_STR, text);
        add_label(p, label, TEXT_TID, PR_LABEL_NUM,
                  p->model->threads[thread].tid);
        add_label(p, label, TEXT_STATE, PR_LABEL_STR, TEXT_FIRST_STATE + state);
        if (p->model->n_processes > 1)
            add_label(p, label, TEXT_PROCESS, PR_LABEL_STR, owner);
        if (p->model->processes[process].pid)
            add_label(p, label, TEXT_PID, PR_LABEL_NUM,
                      p->model->processes[process].pid);
    }
}

static pr_code
put_thread(proto *p, uint32_t thread, pr_err *err)
{
    pr_code rc = conv_tally_thread(&p->tally, p->model, thread, err);
    if (rc != PR_OK || p->tally.n == 0)
        return rc;
    set_labels(p, thread);
    for (size_t i = 0; i < p->tally.n && conv_out_good(p->job->out); i++) {
        rc = put_sample(p, &p->tally.entry[i], err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

/* ---- all ---- */

static pr_code
write_profile(proto *p, pr_err *err)
{
    const conv_model *model = p->model;
    p->string = calloc(model->strings.n + 1, sizeof *p->string);
    pr_code rc = conv_model_depths(model, &p->depth, err);
    if (rc != PR_OK || !p->string)
        return rc != PR_OK ? rc : pr_no_memory(err);
    put_texts(p);
    put_head(p);
    put_mapping(p);
    for (uint32_t i = 0; i < model->functions.n; i++)
        put_function(p, i);
    for (uint32_t i = 0; i < model->frames.n; i++)
        put_location(p, i);
    for (uint32_t i = 0; i < model->n_threads && rc == PR_OK; i++)
        rc = put_thread(p, i, err);
    bool failed = p->message.failed || p->part.failed || p->name.failed;
    for (int i = 0; i < CONV_STATES; i++)
        failed = failed || p->label[i].failed;
    return rc == PR_OK && failed ? pr_no_memory(err) : rc;
}

static pr_code
write_pprof(conv_job *job, pr_err *err)
{
    proto p = {.job = job, .model = job->model};
    pr_code rc = write_profile(&p, err);
    job->names_changed += p.name.changed;
    for (int i = 0; i < CONV_STATES; i++)
        pr_buffer_release(&p.label[i]);
    pr_buffer_release(&p.message);
    pr_buffer_release(&p.part);
    pr_buffer_release(&p.name);
    conv_tally_release(&p.tally);
    pr_list_release(&p.list.path);
    pr_list_release(&p.list.length);
    pr_list_release(&p.list.pending);
    free(p.list.bytes);
    free(p.depth);
    free(p.string);
    return rc;
}

const conv_target conv_pprof = {
    .info = {"pprof", ".pb.gz .pb .pprof",
             "stacks with their threads and states, compressed",
             "go tool pprof, Pyroscope, Parca, speedscope"},
    .level = CONV_LEVEL_LINE,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .takes = CONV_TAKES_LEVEL,
    .is_gzip = true,
    .write = write_pprof,
};
