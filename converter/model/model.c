/*
 * model.c - a profile becomes names, a tree and logs of runs.
 *
 * The log of a thread is, per run: varint first sample's time less the last
 * sample's of the run before, varint duration, varint samples, u8 status,
 * varint node, varint weight; about 10 bytes.
 */
#include "converter/model/model.h"

#include <base/array.h>
#include <base/buffer.h>
#include <base/hash.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VARINT_MAX = 10, RUN_MAX = 5 * VARINT_MAX + 1, FIRST_SLOTS = 1024 };

/* Where a thread stands while the sink lives. */
typedef struct thread_state {
    uint32_t *path; /* nodes, outermost first */
    size_t depth, cap;
    conv_model_run run; /* the open run; n 0: none */
    uint64_t log_us;
} thread_state;

struct conv_model_input {
    pr_list strings, frames; /* the producer's ids to ours */
    thread_state *threads;
    size_t cap_threads;
    bool failed;   /* out of memory where no error could be given */
    uint8_t *used; /* [n_used] frames that are in model->used */
    size_t n_used, cap_used;
};

static conv_model *
model_of(pr_sink *sink)
{
    return (conv_model *)sink;
}

static pr_code
broken_producer(const char *what, pr_err *err)
{
    return PR_FAIL(err, PR_INTERNAL, "%s was used before it was sent", what);
}

/* ---- names ---- */

static pr_code
model_start(pr_sink *sink, const pr_start *start, pr_err *err)
{
    (void)err;
    conv_model *model = model_of(sink);
    model->start = *start;
    /* samples that the recorder left out make gaps that do not stand for time */
    if (model->opts.time == CONV_TIME_REAL &&
        (start->mode == PR_MODE_CPU || start->mode == PR_MODE_GIL ||
         start->mode == PR_MODE_EXCEPTION))
        model->opts.time = CONV_TIME_NOMINAL;
    return PR_OK;
}

static pr_code
model_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    conv_model *model = model_of(sink);
    uint32_t id;
    pr_code rc = pr_strings_add(&model->strings, bytes, len, &id, err);
    return rc == PR_OK ? pr_list_add(&model->input->strings, id, err) : rc;
}

static pr_code
model_meta(pr_sink *sink, const char *key, const char *value, size_t len,
           pr_err *err)
{
    conv_model *model = model_of(sink);
    uint32_t key_id, value_id, at;
    pr_code rc =
        pr_strings_add(&model->strings, key, strlen(key), &key_id, err);
    if (rc == PR_OK)
        rc = pr_strings_add(&model->strings, value, len, &value_id, err);
    if (rc == PR_OK)
        rc = pr_set_add(&model->meta_keys, &key_id, &at, err);
    if (rc != PR_OK)
        return rc;
    model->is_totals |= strcmp(key, CONV_META_CONTENT) == 0;
    /* the gaps are the filter's, no time */
    if (strcmp(key, CONV_META_FILTERED) == 0 &&
        model->opts.time == CONV_TIME_REAL)
        model->opts.time = CONV_TIME_NOMINAL;
    if (at == model->meta_values.n)
        return pr_list_add(&model->meta_values, value_id, err);
    model->meta_values.at[at] = value_id;
    return PR_OK;
}

static pr_code
add_function(conv_model *model, const conv_function *function, int32_t line,
             uint32_t *ret, pr_err *err)
{
    size_t before = model->functions.n;
    pr_code rc = pr_set_add(&model->functions, function, ret, err);
    if (rc != PR_OK)
        return rc;
    if (!pr_grow(&model->min_line, &model->cap_min_line, model->functions.n,
                 sizeof *model->min_line))
        return pr_no_memory(err);
    int32_t *least = &model->min_line[*ret];
    if (model->functions.n > before) {
        *least = PR_NO_LINE;
        model->has_tasks |= conv_model_is_task(model, *ret);
    }
    if (line > 0 && (*least < 0 || line < *least))
        *least = line;
    return PR_OK;
}

/* The part of a frame that the model's level keeps. */
static conv_frame
frame_at_level(const conv_model *model, const pr_frame *frame,
               uint32_t function)
{
    conv_frame whole = {function,      frame->line,       frame->end_line,
                        frame->column, frame->end_column, frame->opcode};
    if (model->opts.level != CONV_LEVEL_DEFAULT) {
        whole.end_line = whole.column = whole.end_column = PR_NO_LINE;
        whole.opcode = PR_NO_OPCODE;
    }
    if (model->opts.level == CONV_LEVEL_FUNCTION)
        whole.line = PR_NO_LINE;
    return whole;
}

static pr_code
model_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    conv_model *model = model_of(sink);
    const pr_list *strings = &model->input->strings;
    if (frame->file >= strings->n || frame->func >= strings->n)
        return broken_producer("a frame's name", err);
    const conv_function function = {
        strings->at[frame->file], strings->at[frame->func],
        model->opts.no_first_lines ? 0 : frame->first_line};
    uint32_t function_id, id;
    pr_code rc = add_function(model, &function, frame->line, &function_id, err);
    if (rc != PR_OK)
        return rc;
    const conv_frame whole = frame_at_level(model, frame, function_id);
    rc = pr_set_add(&model->frames, &whole, &id, err);
    return rc == PR_OK ? pr_list_add(&model->input->frames, id, err) : rc;
}

/* ---- processes ---- */

/* Processes up to that index exist. */
static bool
have_process(conv_model *model, uint32_t index)
{
    if (!pr_grow(&model->processes, &model->cap_processes, (size_t)index + 1,
                 sizeof *model->processes))
        return false;
    for (; model->n_processes <= index; model->n_processes++) {
        conv_process *new = &model->processes[model->n_processes];
        *new = (conv_process){.pid = 0};
        memset(&new->counts, 0xff, sizeof new->counts);
    }
    return true;
}

static pr_code
model_process(pr_sink *sink, const pr_process *given, pr_err *err)
{
    conv_model *model = model_of(sink);
    if (given->index > model->n_processes)
        return broken_producer("a process", err);
    if (!have_process(model, given->index))
        return pr_no_memory(err);
    conv_process *p = &model->processes[given->index];
    p->pid = given->pid;
    p->parent = given->parent;
    p->start_us = given->start_us;
    p->end_us = given->end_us;
    memcpy(p->python, given->python, sizeof p->python);
    pr_code rc = pr_strings_add(&model->strings, given->command.bytes,
                                given->command.len, &p->command, err);
    if (rc == PR_OK)
        rc = pr_strings_add(&model->strings, given->host.bytes, given->host.len,
                            &p->host, err);
    return rc;
}

static pr_code
model_rate(pr_sink *sink, const pr_rate *rate, pr_err *err)
{
    conv_model *model = model_of(sink);
    if (!pr_grow(&model->intervals, &model->cap_intervals,
                 model->n_intervals + 1, sizeof *model->intervals))
        return pr_no_memory(err);
    model->intervals[model->n_intervals++] =
        (conv_interval){rate->process, rate->time_us, rate->interval_us};
    return PR_OK;
}

/* The distance of samples at that time. */
static uint64_t
interval_at(const conv_model *model, uint32_t process, uint64_t time_us)
{
    uint64_t interval = model->start.interval_us;
    for (size_t i = 0; i < model->n_intervals; i++)
        if (model->intervals[i].process == process &&
            model->intervals[i].time_us <= time_us)
            interval = model->intervals[i].interval_us;
    return interval;
}

/* ---- threads ---- */

static pr_code
name_thread(conv_model *model, conv_thread *thread, const char *name,
            size_t len, pr_err *err)
{
    if (len == 0)
        return PR_OK;
    pr_code rc = pr_strings_add(&model->strings, name, len, &thread->name, err);
    if (rc == PR_OK)
        thread->named = 1;
    return rc;
}

static pr_code
model_thread(pr_sink *sink, const pr_thread *given, pr_err *err)
{
    conv_model *model = model_of(sink);
    struct conv_model_input *input = model->input;
    size_t n = model->n_threads;
    if (n >= PR_NO_THREAD - 1)
        return PR_FAIL(err, PR_LIMIT, "too many threads");
    if (!pr_grow(&model->threads, &model->cap_threads, n + 1,
                 sizeof *model->threads) ||
        !pr_grow(&input->threads, &input->cap_threads, n + 1,
                 sizeof *input->threads))
        return pr_no_memory(err);
    if (given->process >= model->n_processes)
        return broken_producer("a process", err);
    conv_thread thread = {.tid = given->tid,
                          .process = given->process,
                          .interp = given->interp,
                          .is_main = given->is_main};
    memset(&thread.counts, 0xff, sizeof thread.counts);
    pr_code rc = name_thread(model, &thread, given->name, given->name_len, err);
    if (rc != PR_OK)
        return rc;
    model->threads[n] = thread;
    input->threads[n] = (thread_state){0};
    model->n_threads++;
    return PR_OK;
}

static pr_code
model_rename(pr_sink *sink, uint32_t thread, const char *name, size_t len,
             pr_err *err)
{
    conv_model *model = model_of(sink);
    if (thread >= model->n_threads)
        return broken_producer("a thread", err);
    return name_thread(model, &model->threads[thread], name, len, err);
}

/* ---- the budget ---- */

static pr_code
check_memory(const conv_model *model, uint64_t more, pr_err *err)
{
    uint64_t most = model->opts.memory ? model->opts.memory : CONV_MODEL_MEMORY;
    if (more <= most && model->memory <= most - more)
        return PR_OK;
    PR_FAIL(err, PR_LIMIT,
            "the stacks of the profile need more than %" PRIu64
            " MiB of memory",
            most >> 20);
    pr_err_hint(err, "raise the limit with --memory");
    return PR_LIMIT;
}

/* pr_grow() within the budget: for all that grows with the samples. */
static pr_code
grow(conv_model *model, void *array_ptr, size_t *cap, size_t need, size_t size,
     pr_err *err)
{
    if (need <= *cap)
        return PR_OK;
    size_t old = *cap;
    pr_code rc = check_memory(model, (uint64_t)(need - old) * size, err);
    if (rc != PR_OK)
        return rc;
    if (!pr_grow(array_ptr, cap, need, size))
        return pr_no_memory(err);
    model->memory += (uint64_t)(*cap - old) * size;
    return PR_OK;
}

/* ---- the tree ---- */

static size_t
slot_of(const conv_model *model, uint32_t parent, uint32_t frame)
{
    uint64_t both = (uint64_t)parent << 32 | frame;
    return (size_t)pr_mix64(both) & (model->n_slots - 1);
}

static void
place_node(conv_model *model, uint32_t id)
{
    size_t i = slot_of(model, model->nodes[id].parent, model->nodes[id].frame);
    while (model->slot[i])
        i = (i + 1) & (model->n_slots - 1);
    model->slot[i] = id;
}

/* A node that was made directly after its parent: it is found there and has no
 * slot.  Most nodes are, because a new stack makes several in a row. */
static bool
follows_parent(const conv_model *model, uint32_t id)
{
    return model->nodes[id].parent + 1 == id;
}

/* At most 7 of 8 slots are taken.  This is not a pr_table because its 12 bytes
 * a slot would take more than the nodes, and because a key of 8 bytes is
 * compared as fast as a tag. */
static pr_code
grow_slots(conv_model *model, pr_err *err)
{
    size_t n = model->n_slots ? model->n_slots * 2 : FIRST_SLOTS;
    uint64_t more = (n - model->n_slots) * sizeof *model->slot;
    pr_code rc = check_memory(model, more, err);
    if (rc != PR_OK)
        return rc;
    uint32_t *slot = calloc(n, sizeof *slot);
    if (!slot)
        return pr_no_memory(err);
    model->memory += more;
    free(model->slot);
    model->slot = slot;
    model->n_slots = n;
    for (uint32_t id = 1; id < model->n_nodes; id++)
        if (!follows_parent(model, id))
            place_node(model, id);
    return PR_OK;
}

static pr_code
add_node(conv_model *model, conv_node key, uint32_t *ret, pr_err *err)
{
    if (model->n_nodes >= UINT32_MAX)
        return PR_FAIL(err, PR_LIMIT, "too many different stacks");
    pr_code rc = grow(model, &model->nodes, &model->cap_nodes,
                      model->n_nodes + 1, sizeof *model->nodes, err);
    bool placed = key.parent + 1 != model->n_nodes;
    if (rc == PR_OK && placed && model->n_placed / 7 >= model->n_slots / 8)
        rc = grow_slots(model, err);
    if (rc != PR_OK)
        return rc;
    *ret = (uint32_t)model->n_nodes;
    model->nodes[model->n_nodes++] = key;
    if (placed) {
        place_node(model, *ret);
        model->n_placed++;
    }
    return PR_OK;
}

static bool
is_node(const conv_model *model, uint32_t id, uint32_t parent, uint32_t frame)
{
    const conv_node *node = &model->nodes[id];
    return node->parent == parent && node->frame == frame;
}

/* The latest node has no child: a parent's id is less than its children's. */
static pr_code
child_of(conv_model *model, uint32_t parent, uint32_t frame, uint32_t *ret,
         pr_err *err)
{
    uint32_t after = parent + 1;
    if (after == model->n_nodes)
        return add_node(model, (conv_node){parent, frame}, ret, err);
    if (is_node(model, after, parent, frame)) {
        *ret = after;
        return PR_OK;
    }
    size_t mask = model->n_slots - 1;
    size_t i = slot_of(model, parent, frame);
    for (; model->slot[i]; i = (i + 1) & mask)
        if (is_node(model, model->slot[i], parent, frame)) {
            *ret = model->slot[i];
            return PR_OK;
        }
    return add_node(model, (conv_node){parent, frame}, ret, err);
}

/* Frames that are kept were used before. */
static pr_code
note_used(conv_model *model, const pr_delta *delta, pr_err *err)
{
    struct conv_model_input *input = model->input;
    for (uint32_t i = 0; i < delta->n_push; i++) {
        if (delta->push[i] >= input->frames.n)
            return broken_producer("a frame", err);
        uint32_t frame = input->frames.at[delta->push[i]];
        if (!pr_grow(&input->used, &input->cap_used, (size_t)frame + 1, 1))
            return pr_no_memory(err);
        if (frame >= input->n_used) {
            memset(input->used + input->n_used, 0, frame + 1 - input->n_used);
            input->n_used = (size_t)frame + 1;
        }
        if (input->used[frame])
            continue;
        input->used[frame] = 1;
        pr_code rc = pr_list_add(&model->used, frame, err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

/* Follow a delta from the thread's last stack to its new one. */
static pr_code
walk(conv_model *model, thread_state *state, const pr_delta *delta, pr_err *err)
{
    const pr_list *frames = &model->input->frames;
    if (delta->keep > state->depth)
        return broken_producer("a stack", err);
    size_t depth = delta->keep;
    pr_code rc = grow(model, &state->path, &state->cap,
                      depth + delta->n_push + 1, sizeof *state->path, err);
    if (rc != PR_OK)
        return rc;
    uint32_t node = depth ? state->path[depth - 1] : 0;
    for (uint32_t i = delta->n_push; i-- > 0;) {
        if (delta->push[i] >= frames->n)
            return broken_producer("a frame", err);
        rc = child_of(model, node, frames->at[delta->push[i]], &node, err);
        if (rc != PR_OK)
            return rc;
        state->path[depth++] = node;
    }
    state->depth = depth;
    return PR_OK;
}

/* ---- runs ---- */

static uint8_t *
put_varint(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

static uint64_t
get_varint(const uint8_t **p)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*p)++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
}

/* Times of a hostile file may be of any size; a sum of them stops at the
 * largest signed number, so that no sum of its parts overflows. */
static uint64_t
add_time(uint64_t sum, uint64_t more)
{
    return more > INT64_MAX - sum ? INT64_MAX : sum + more;
}

/* Append a run; log_us: the last sample's time of the run before. */
static pr_code
log_run(conv_model *model, conv_thread *thread, const conv_model_run *run,
        uint64_t log_us, pr_err *err)
{
    pr_code rc = grow(model, &thread->log, &thread->cap_log,
                      thread->n_log + RUN_MAX, 1, err);
    if (rc != PR_OK)
        return rc;
    uint8_t *p = thread->log + thread->n_log;
    p = put_varint(p, run->first_us - log_us);
    p = put_varint(p, run->last_us - run->first_us);
    p = put_varint(p, run->n);
    *p++ = run->status;
    p = put_varint(p, run->node);
    p = put_varint(p, run->weight_us);
    thread->n_log = (size_t)(p - thread->log);
    return PR_OK;
}

static pr_code
close_run(conv_model *model, conv_thread *thread, thread_state *state,
          pr_err *err)
{
    conv_model_run *run = &state->run;
    if (run->n == 0)
        return PR_OK;
    if (run->weight_us > INT64_MAX - model->weight_us)
        run->weight_us = INT64_MAX - model->weight_us;
    pr_code rc = log_run(model, thread, run, state->log_us, err);
    if (rc != PR_OK)
        return rc;
    thread->runs++;
    thread->samples += run->n;
    thread->weight_us += run->weight_us;
    model->weight_us += run->weight_us;
    state->log_us = run->last_us;
    state->run.n = 0;
    return PR_OK;
}

/* A sample stands for the time up to the next one of its thread, but for no
 * more than two intervals: the rest was not observed. */
static void
weigh(conv_model *model, conv_thread *thread, conv_model_run *run,
      uint64_t until_us)
{
    uint64_t interval = interval_at(model, thread->process, run->last_us);
    uint64_t gap = until_us - run->last_us;
    if (model->opts.time == CONV_TIME_NOMINAL)
        run->weight_us = add_time(run->weight_us, interval);
    else if (model->opts.time == CONV_TIME_SAMPLES)
        run->weight_us++;
    else if (gap / 2 < interval)
        run->weight_us = add_time(run->weight_us, gap);
    else {
        uint64_t unobserved = gap - 2 * interval;
        run->weight_us = add_time(run->weight_us, 2 * interval);
        thread->unobserved_us = add_time(thread->unobserved_us, unobserved);
        model->unobserved_us = add_time(model->unobserved_us, unobserved);
    }
}

static pr_code
add_samples(conv_model *model, conv_thread *thread, thread_state *state,
            const pr_delta *delta, pr_err *err)
{
    uint32_t node = state->depth ? state->path[state->depth - 1] : 0;
    conv_model_run *run = &state->run;
    for (uint32_t i = 0; i < delta->n; i++) {
        uint64_t time = delta->time_us[i];
        uint8_t status = delta->status[i];
        if (run->n) {
            if (time < run->last_us)
                return PR_FAIL(err, PR_INTERNAL,
                               "samples of thread %" PRIu64 " out of order",
                               thread->tid);
            model->simultaneous |=
                time == run->last_us && node != run->node && model->has_tasks;
            weigh(model, thread, run, time);
        }
        if (run->n == 0 || run->node != node || run->status != status) {
            pr_code rc = close_run(model, thread, state, err);
            if (rc != PR_OK)
                return rc;
            *run = (conv_model_run){time, time, 0, 0, node, status};
            thread->is_main |= (status & PR_MAIN_THREAD) != 0;
        }
        run->n++;
        run->last_us = time;
    }
    return PR_OK;
}

static pr_code
model_delta(pr_sink *sink, const pr_delta *delta, pr_err *err)
{
    conv_model *model = model_of(sink);
    if (delta->thread >= model->n_threads)
        return broken_producer("a thread", err);
    conv_thread *thread = &model->threads[delta->thread];
    thread_state *state = &model->input->threads[delta->thread];
    pr_code rc = walk(model, state, delta, err);
    if (rc == PR_OK && model->opts.used_order)
        rc = note_used(model, delta, err);
    if (rc != PR_OK)
        return rc;
    if (thread->samples == 0 && state->run.n == 0 && delta->n)
        thread->first_us = state->log_us = delta->time_us[0];
    model->samples += delta->n;
    return add_samples(model, thread, state, delta, err);
}

/* The end of the time that a sample stands for. */
static uint64_t
observed_until(const conv_model *model, const conv_thread *thread,
               uint64_t last_us, uint64_t until_us)
{
    uint64_t interval = interval_at(model, thread->process, last_us);
    return (until_us - last_us) / 2 < interval ? until_us
                                               : last_us + 2 * interval;
}

void
conv_model_skip(void *context, uint32_t id, uint64_t time_us)
{
    conv_model *model = context;
    conv_thread *thread = &model->threads[id];
    thread_state *state = &model->input->threads[id];
    uint64_t last_us = state->run.last_us;
    if (state->run.n == 0)
        return;
    weigh(model, thread, &state->run, time_us);
    thread->end_us = observed_until(model, thread, last_us, time_us);
    /* its memory is there: a later run takes no more */
    if (close_run(model, thread, state, NULL) != PR_OK)
        model->input->failed = true;
}

/* Every sample of a thread stands for one interval. */
static pr_code
make_nominal(conv_model *model, conv_thread *thread, pr_err *err)
{
    conv_thread old = *thread;
    conv_cursor cursor;
    conv_model_run run;
    uint64_t log_us = thread->first_us;
    pr_code rc = PR_OK;
    thread->log = NULL;
    thread->n_log = thread->cap_log = 0;
    thread->weight_us = thread->unobserved_us = 0;
    conv_cursor_init(&cursor, &old);
    while (rc == PR_OK && conv_cursor_next(&cursor, &run)) {
        uint64_t interval = interval_at(model, thread->process, run.first_us);
        run.weight_us =
            run.n > INT64_MAX / interval ? INT64_MAX : run.n * interval;
        if (run.weight_us > INT64_MAX - model->weight_us)
            run.weight_us = INT64_MAX - model->weight_us;
        rc = log_run(model, thread, &run, log_us, err);
        log_us = run.last_us;
        thread->weight_us += run.weight_us;
        model->weight_us += run.weight_us;
    }
    free(old.log);
    model->memory -= old.cap_log;
    return rc;
}

/* Between samples of several tasks that were taken at one moment lies no time:
 * the last of them would get all of it. */
static pr_code
weigh_tasks(conv_model *model, pr_err *err)
{
    pr_code rc = PR_OK;
    if (!model->simultaneous || model->opts.time != CONV_TIME_REAL)
        return PR_OK;
    model->opts.time = CONV_TIME_NOMINAL;
    model->weight_us = model->unobserved_us = 0;
    for (size_t i = 0; i < model->n_threads && rc == PR_OK; i++)
        rc = make_nominal(model, &model->threads[i], err);
    return rc;
}

/* A gap from the thread's last sample on was not observed either, although no
 * sample follows it. */
static void
add_last_gap(conv_model *model, conv_thread *thread, uint64_t last_us)
{
    uint64_t interval = thread->end_us - last_us;
    for (size_t i = 0; i < model->n_events; i++) {
        const conv_event *e = &model->events[i];
        if (e->kind != PR_MARK_GAP || e->process != thread->process ||
            e->first_us < last_us || e->first_us - last_us > 2 * interval ||
            e->end_us <= thread->end_us)
            continue;
        uint64_t unobserved = e->end_us - thread->end_us;
        thread->unobserved_us = add_time(thread->unobserved_us, unobserved);
        model->unobserved_us = add_time(model->unobserved_us, unobserved);
        return;
    }
}

/* The last sample of a thread stands for one interval: it may have ended. */
static pr_code
end_threads(conv_model *model, pr_err *err)
{
    for (size_t i = 0; i < model->n_threads; i++) {
        conv_thread *thread = &model->threads[i];
        thread_state *state = &model->input->threads[i];
        if (state->run.n == 0)
            continue;
        uint64_t last = state->run.last_us;
        uint64_t interval = interval_at(model, thread->process, last);
        uint64_t end =
            last > UINT64_MAX - interval ? UINT64_MAX : last + interval;
        weigh(model, thread, &state->run, end);
        thread->end_us = end;
        if (model->opts.time == CONV_TIME_REAL)
            add_last_gap(model, thread, last);
        pr_code rc = close_run(model, thread, state, err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

void
conv_cursor_init(conv_cursor *cursor, const conv_thread *thread)
{
    *cursor = (conv_cursor){thread->log, thread->log + thread->n_log,
                            thread->first_us};
}

bool
conv_cursor_next(conv_cursor *cursor, conv_model_run *ret)
{
    if (cursor->at == cursor->end)
        return false;
    ret->first_us = cursor->time_us + get_varint(&cursor->at);
    ret->last_us = ret->first_us + get_varint(&cursor->at);
    ret->n = get_varint(&cursor->at);
    ret->status = *cursor->at++;
    ret->node = (uint32_t)get_varint(&cursor->at);
    ret->weight_us = get_varint(&cursor->at);
    cursor->time_us = ret->last_us;
    return true;
}

/* ---- other records ---- */

static pr_code
model_count(pr_sink *sink, const pr_count *count, pr_err *err)
{
    conv_model *model = model_of(sink);
    if (count->thread != PR_NO_THREAD && count->thread >= model->n_threads)
        return broken_producer("a thread", err);
    if (count->thread == PR_NO_THREAD && count->process >= model->n_processes)
        return broken_producer("a process", err);
    conv_counts *counts = count->thread == PR_NO_THREAD
                              ? &model->processes[count->process].counts
                              : &model->threads[count->thread].counts;
    if (count->kind < PR_COUNT_KINDS)
        counts->value[count->kind] = count->value;
    return PR_OK;
}

static pr_code
add_event(conv_model *model, conv_event event, const char *text, size_t len,
          pr_err *err)
{
    pr_code rc = pr_strings_add(&model->strings, text, len, &event.text, err);
    if (rc != PR_OK)
        return rc;
    if (!pr_grow(&model->events, &model->cap_events, model->n_events + 1,
                 sizeof *model->events))
        return pr_no_memory(err);
    model->events[model->n_events++] = event;
    return PR_OK;
}

static pr_code
model_mark(pr_sink *sink, const pr_mark *mark, pr_err *err)
{
    const conv_event event = {.kind = mark->kind,
                              .process = mark->process,
                              .first_us = mark->time_us,
                              .end_us = mark->end_us};
    return add_event(model_of(sink), event, mark->text, mark->text_len, err);
}

static void
put_member(pr_buffer *text, const char *name, uint64_t value)
{
    pr_buffer_puts(text, text->len ? ",\"" : "{\"");
    pr_buffer_puts(text, name);
    pr_buffer_puts(text, "\":");
    pr_buffer_u64(text, value);
}

static pr_code
model_gc(pr_sink *sink, const pr_gc_event *gc, pr_err *err)
{
    const conv_event event = {.is_gc = true,
                              .process = gc->process,
                              .first_us = gc->start_us,
                              .end_us = gc->stop_us};
    pr_buffer text = {0};
    put_member(&text, "interp", gc->interp);
    put_member(&text, "generation", gc->generation);
    put_member(&text, "collections", gc->collections);
    put_member(&text, "collected", gc->collected);
    put_member(&text, "uncollectable", gc->uncollectable);
    put_member(&text, "candidates", gc->candidates);
    put_member(&text, "heap_size", gc->heap_size);
    put_member(&text, "duration_ns", gc->duration_ns);
    pr_buffer_puts(&text, "}");
    pr_code rc = text.failed
                     ? pr_no_memory(err)
                     : add_event(model_of(sink), event, text.at, text.len, err);
    pr_buffer_release(&text);
    return rc;
}

static pr_code
model_task(pr_sink *sink, const pr_task *given, pr_err *err)
{
    conv_model *model = model_of(sink);
    if (given->thread != PR_NO_THREAD && given->thread >= model->n_threads)
        return broken_producer("a thread", err);
    conv_task task = {.key = given->key,
                      .first_us = given->time_us,
                      .thread = given->thread,
                      .process = given->thread == PR_NO_THREAD
                                     ? given->process
                                     : model->threads[given->thread].process,
                      .first_parent = model->n_task_parents,
                      .n_parents = given->n_parents};
    pr_code rc = pr_strings_add(&model->strings, given->name, given->name_len,
                                &task.name, err);
    if (rc != PR_OK)
        return rc;
    if (!pr_grow(&model->tasks, &model->cap_tasks, model->n_tasks + 1,
                 sizeof *model->tasks) ||
        !pr_grow(&model->task_parents, &model->cap_task_parents,
                 model->n_task_parents + given->n_parents,
                 sizeof *model->task_parents))
        return pr_no_memory(err);
    if (given->n_parents)
        memcpy(model->task_parents + model->n_task_parents, given->parent,
               given->n_parents * sizeof *given->parent);
    model->n_task_parents += given->n_parents;
    model->tasks[model->n_tasks++] = task;
    return PR_OK;
}

static pr_code
model_stats(pr_sink *sink, const pr_stats *stats, pr_err *err)
{
    (void)err;
    model_of(sink)->stats = *stats;
    return PR_OK;
}

/* ---- life ---- */

static void
free_input(conv_model *model)
{
    struct conv_model_input *input = model->input;
    if (!input)
        return;
    for (size_t i = 0; i < model->n_threads; i++)
        free(input->threads[i].path);
    free(input->threads);
    free(input->used);
    free(model->slot); /* nodes are complete */
    model->slot = NULL;
    pr_list_release(&input->strings);
    pr_list_release(&input->frames);
    free(input);
    model->input = NULL;
}

static void
model_abort(pr_sink *sink)
{
    free_input(model_of(sink));
}

/* The function of an input's frame; false: there is none. */
static bool
function_of(const conv_model *model, uint32_t frame, uint32_t *ret)
{
    const pr_list *frames = &model->input->frames;
    if (frame >= frames->n)
        return false;
    *ret = conv_model_frame(model, frames->at[frame])->function;
    return true;
}

static pr_code
model_total(pr_sink *sink, const pr_total *total, pr_err *err)
{
    conv_model *model = model_of(sink);
    conv_stated_key key = {.caller = CONV_ANY_CALLER};
    bool of_caller = total->caller != PR_NO_FRAME;
    if (!function_of(model, total->frame, &key.function) ||
        (of_caller && !function_of(model, total->caller, &key.caller)))
        return broken_producer("a frame", err);
    if (!of_caller)
        model->weight_us =
            add_time(model->weight_us, conv_stated_us(total->self_s));
    return conv_stated_add(&model->stated, key, total, err);
}

static void
add_counts(conv_model *model)
{
    for (size_t i = 0; i < model->n_processes; i++)
        for (size_t kind = 0; kind < PR_COUNT_KINDS; kind++) {
            uint64_t value = model->processes[i].counts.value[kind];
            uint64_t *sum = &model->counts.value[kind];
            if (value != CONV_NO_COUNT)
                *sum = *sum == CONV_NO_COUNT ? value : *sum + value;
        }
}

static uint64_t
less(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Take up to `lost` samples that the thread does not have out of its counts of
 * proofs, and return how many. */
static uint64_t
take_proofs(conv_thread *thread, uint64_t lost)
{
    static const pr_count_kind kinds[] = {PR_COUNT_PROVEN, PR_COUNT_SLEEPING,
                                          PR_COUNT_STOPPED, PR_COUNT_UNPROVEN};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    uint64_t *value = thread->counts.value, counted = 0;
    for (size_t i = 0; i < KINDS; i++)
        if (value[kinds[i]] != CONV_NO_COUNT)
            counted += less(value[kinds[i]], UINT64_MAX - counted);
    uint64_t absent = counted > thread->samples ? counted - thread->samples : 0;
    uint64_t taken = 0, most = less(absent, lost);
    for (size_t i = 0; i < KINDS; i++) {
        if (value[kinds[i]] == CONV_NO_COUNT)
            continue;
        uint64_t part = less(value[kinds[i]], most - taken);
        value[kinds[i]] -= part;
        taken += part;
    }
    return taken;
}

/* The recorder counted the samples in damaged parts of the file by their proof.
 * The file does not say which of the others are proven: those that certainly
 * are remain. */
static pr_code
take_lost_proofs(conv_model *model, pr_err *err)
{
    uint64_t *lost = calloc(model->n_processes, sizeof *lost);
    if (!lost)
        return pr_no_memory(err);
    for (size_t i = 0; i < model->n_processes; i++) {
        uint64_t n = model->processes[i].counts.value[PR_COUNT_LOST_FILE];
        lost[i] = n == CONV_NO_COUNT ? 0 : n;
    }
    for (size_t i = 0; i < model->n_threads; i++) {
        conv_thread *thread = &model->threads[i];
        uint64_t *left = &lost[thread->process];
        *left -= *left ? take_proofs(thread, *left) : 0;
    }
    free(lost);
    return PR_OK;
}

static pr_code
model_finish(pr_sink *sink, pr_err *err)
{
    conv_model *model = model_of(sink);
    pr_code rc = model->input->failed ? pr_no_memory(err) : PR_OK;
    if (rc == PR_OK)
        rc = end_threads(model, err);
    if (rc == PR_OK)
        rc = weigh_tasks(model, err);
    if (rc == PR_OK)
        rc = take_lost_proofs(model, err);
    add_counts(model);
    free_input(model);
    return rc;
}

static const pr_sink_ops model_ops = {
    .start = model_start,
    .meta = model_meta,
    .string = model_string,
    .frame = model_frame,
    .process = model_process,
    .rate = model_rate,
    .thread = model_thread,
    .rename = model_rename,
    .delta = model_delta,
    .count = model_count,
    .gc = model_gc,
    .task = model_task,
    .mark = model_mark,
    .total = model_total,
    .stats = model_stats,
    .finish = model_finish,
    .abort = model_abort,
};

pr_code
conv_model_new(const conv_model_opts *opts, conv_model **ret, pr_err *err)
{
    conv_model *model = calloc(1, sizeof *model);
    if (!model)
        return pr_no_memory(err);
    model->sink.ops = &model_ops;
    model->opts = *opts;
    model->start.interval_us = 1;
    model->functions.size = sizeof(conv_function);
    model->frames.size = sizeof(conv_frame);
    model->meta_keys.size = sizeof(uint32_t);
    model->stated.keys.size = sizeof(conv_stated_key);
    memset(&model->counts, 0xff, sizeof model->counts);
    uint32_t empty; /* string 0: texts that are not known */
    pr_code rc = pr_strings_add(&model->strings, "", 0, &empty, err);
    model->input = calloc(1, sizeof *model->input);
    if (rc == PR_OK && (!model->input || !have_process(model, 0)))
        rc = pr_no_memory(err);
    if (rc == PR_OK)
        rc = grow_slots(model, err);
    if (rc == PR_OK)
        rc = grow(model, &model->nodes, &model->cap_nodes, 1,
                  sizeof *model->nodes, err);
    if (rc != PR_OK) {
        conv_model_free(model);
        return rc;
    }
    model->nodes[model->n_nodes++] = (conv_node){0, UINT32_MAX};
    *ret = model;
    return PR_OK;
}

void
conv_model_free(conv_model *model)
{
    if (!model)
        return;
    free_input(model);
    for (size_t i = 0; i < model->n_threads; i++)
        free(model->threads[i].log);
    free(model->threads);
    free(model->processes);
    free(model->nodes);
    free(model->min_line);
    free(model->events);
    free(model->intervals);
    free(model->tasks);
    free(model->task_parents);
    pr_strings_release(&model->strings);
    pr_set_release(&model->functions);
    pr_set_release(&model->frames);
    pr_set_release(&model->meta_keys);
    conv_stated_release(&model->stated);
    pr_list_release(&model->used);
    pr_list_release(&model->meta_values);
    free(model);
}

static bool
file_is(const conv_model *model, uint32_t function, const char *file)
{
    pr_bytes got = pr_strings_get(&model->strings,
                                  conv_model_function(model, function)->file);
    return got.len == strlen(file) && memcmp(got.at, file, got.len) == 0;
}

bool
conv_model_is_synthetic(const conv_model *model, uint32_t function)
{
    return file_is(model, function, PR_SYNTHETIC_FILE);
}

bool
conv_model_is_task(const conv_model *model, uint32_t function)
{
    return file_is(model, function, PR_TASK_FILE);
}

int32_t
conv_model_line_of(const conv_model *model, uint32_t function)
{
    int32_t first = conv_model_function(model, function)->first_line;
    int32_t least = model->min_line[function];
    if (first > 0)
        return first;
    return least > 0 ? least : 0;
}

bool
conv_model_meta(const conv_model *model, const char *key, pr_bytes *ret)
{
    size_t len = strlen(key);
    for (uint32_t i = 0; i < model->meta_keys.n; i++) {
        uint32_t id = ((const uint32_t *)model->meta_keys.item)[i];
        pr_bytes name = pr_strings_get(&model->strings, id);
        if (name.len != len || memcmp(name.at, key, len) != 0)
            continue;
        *ret = pr_strings_get(&model->strings, model->meta_values.at[i]);
        return true;
    }
    return false;
}

bool
conv_model_counts_calls(const conv_model *model)
{
    static const char calls[] = "calls";
    pr_bytes counts;
    return model->is_totals &&
           conv_model_meta(model, CONV_META_COUNTS, &counts) &&
           counts.len == sizeof calls - 1 &&
           memcmp(counts.at, calls, counts.len) == 0;
}

uint64_t
conv_model_end_us(const conv_model *model)
{
    uint64_t end = 0;
    for (size_t i = 0; i < model->n_threads; i++)
        if (model->threads[i].end_us > end)
            end = model->threads[i].end_us;
    double recorded = model->stats.duration_s * 1e6;
    if (!(model->stats.known & PR_STATS_PRESENT) || !(recorded < 9e18) ||
        recorded <= (double)end)
        return end;
    return (uint64_t)recorded;
}

pr_code
conv_model_depths(const conv_model *model, uint32_t **ret, pr_err *err)
{
    uint32_t *depth = malloc(model->n_nodes * sizeof *depth);
    if (!depth)
        return pr_no_memory(err);
    depth[0] = 0;
    for (size_t i = 1; i < model->n_nodes; i++)
        depth[i] = depth[model->nodes[i].parent] + 1;
    *ret = depth;
    return PR_OK;
}

uint64_t
conv_model_function_hash(const conv_model *model, uint32_t function)
{
    const conv_function *f = conv_model_function(model, function);
    pr_bytes file = pr_strings_get(&model->strings, f->file);
    pr_bytes name = pr_strings_get(&model->strings, f->name);
    uint64_t seed = pr_hash_seeded(file.at, file.len, (uint32_t)f->first_line);
    return pr_hash_seeded(name.at, name.len, seed);
}
