/*
 * merge.c - from the ids of each input to common ones.
 */
#include "converter/input/merge.h"

#include <base/intern.h>
#include <string.h>

#include <inttypes.h>
#include <stdlib.h>

/* pr_frame without padding. */
typedef struct frame_key {
    uint32_t file, func;
    int32_t line, end_line, column, end_column, first_line;
    uint32_t opcode;
} frame_key;

typedef struct thread_key {
    uint64_t tid;
    uint32_t interp, process;
} thread_key;

typedef struct count_key {
    uint32_t thread, process, kind;
} count_key;

/* A counter is cumulative within its input. */
typedef struct counter {
    uint64_t before; /* of the inputs that are over */
    uint64_t now;
} counter;

struct conv_merge {
    pr_sink sink;
    pr_sink *next;
    bool several, one_namespace;
    bool apart; /* processes of two inputs are never one */
    uint64_t shift_us;
    uint32_t process;
    uint32_t input; /* from 1; 0: none yet */
    pr_start start;
    uint64_t interval_us; /* of this input */
    pr_strings strings;
    pr_set frames, threads, counts;
    pr_strings processes; /* by what identifies them */
    pr_list rates;        /* [processes.n] last interval, us */
    char *identity;       /* scratch */
    size_t cap_identity;
    uint64_t *last_us; /* [thread] of its last sample */
    size_t cap_last;
    counter *counters; /* [counts.n] */
    size_t cap_counters;
    pr_strings meta_keys;
    pr_list meta_input; /* the input that had it first */
    pr_list string_map, frame_map, process_map, thread_map; /* of this input */
    uint32_t *push;                                         /* scratch */
    size_t cap_push;
    uint64_t *time;
    size_t cap_time;
    pr_stats stats;
    double recorded_s; /* durations of the inputs so far */
};

static conv_merge *
merge_of(pr_sink *sink)
{
    return (conv_merge *)sink;
}

static pr_code
broken_producer(pr_err *err)
{
    return PR_FAIL(err, PR_INTERNAL,
                   "a name, frame or thread was used before it was sent");
}

/* In the time of the first input. */
static uint64_t
shifted(const conv_merge *m, uint64_t time)
{
    return time > UINT64_MAX - m->shift_us ? UINT64_MAX : time + m->shift_us;
}

/* ---- start ---- */

static void
end_input(conv_merge *m)
{
    for (size_t i = 0; i < m->counts.n; i++) {
        m->counters[i].before += m->counters[i].now;
        m->counters[i].now = 0;
    }
    m->string_map.n = m->frame_map.n = 0;
    m->process_map.n = m->thread_map.n = 0;
}

static uint64_t
less(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static pr_code
merge_start(pr_sink *sink, const pr_start *start, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    if (m->input++ == 0) {
        m->start = *start;
        m->interval_us = start->interval_us;
        /* time 0 is that of the earliest input */
        m->start.start_us -= less(m->start.start_us, m->shift_us);
        m->start.wall_us -= less(m->start.wall_us, m->shift_us);
        return PR_SINK_CALL(m->next, start, &m->start, err);
    }
    if (start->mode != m->start.mode)
        return PR_FAIL(err, PR_INCOMPARABLE,
                       "the profiles were recorded in different modes");
    m->interval_us = start->interval_us;
    end_input(m);
    return PR_OK;
}

/* ---- names ---- */

static pr_code
merge_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    size_t before = m->strings.n;
    uint32_t id;
    pr_code rc = pr_strings_add(&m->strings, bytes, len, &id, err);
    if (rc == PR_OK)
        rc = pr_list_add(&m->string_map, id, err);
    if (rc != PR_OK || m->strings.n == before)
        return rc;
    return PR_SINK_CALL(m->next, string, bytes, len, err);
}

static pr_code
merge_frame(pr_sink *sink, const pr_frame *given, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    const pr_list *map = &m->string_map;
    if (given->file >= map->n || given->func >= map->n)
        return broken_producer(err);
    pr_frame frame = *given;
    frame.file = map->at[given->file];
    frame.func = map->at[given->func];
    const frame_key key = {frame.file,       frame.func,   frame.line,
                           frame.end_line,   frame.column, frame.end_column,
                           frame.first_line, frame.opcode};
    size_t before = m->frames.n;
    uint32_t id;
    pr_code rc = pr_set_add(&m->frames, &key, &id, err);
    if (rc == PR_OK)
        rc = pr_list_add(&m->frame_map, id, err);
    if (rc != PR_OK || m->frames.n == before)
        return rc;
    return PR_SINK_CALL(m->next, frame, &frame, err);
}

/* spec/format.md 5.5: what describes process 0. */
static bool
is_of_process(const char *key)
{
    return strcmp(key, "pid") == 0 || strcmp(key, "command") == 0 ||
           strncmp(key, "process.", 8) == 0;
}

static pr_code
merge_meta(pr_sink *sink, const char *key, const char *value, size_t len,
           pr_err *err)
{
    conv_merge *m = merge_of(sink);
    uint32_t id;
    if (m->several && is_of_process(key))
        return PR_OK;
    pr_code rc = pr_strings_add(&m->meta_keys, key, strlen(key), &id, err);
    if (rc == PR_OK && id == m->meta_input.n)
        rc = pr_list_add(&m->meta_input, m->input, err);
    if (rc != PR_OK || m->meta_input.at[id] != m->input)
        return rc;
    return PR_SINK_CALL(m->next, meta, key, value, len, err);
}

/* ---- processes ---- */

/* Host, scope, pid and start; of a process without a pid the input. */
static pr_code
identify(conv_merge *m, const pr_process *given, uint32_t *ret, pr_err *err)
{
    bool named = given->pid && !m->apart;
    const uint64_t number[3] = {named ? given->pid : 0,
                                named ? given->start_us : m->process,
                                named ? given->host.len : given->index};
    size_t n = sizeof number + given->host.len + given->scope.len;
    if (!pr_grow(&m->identity, &m->cap_identity, n, 1))
        return pr_no_memory(err);
    memcpy(m->identity, number, sizeof number);
    char *at = m->identity + sizeof number;
    if (given->host.len)
        memcpy(at, given->host.bytes, given->host.len);
    if (given->scope.len)
        memcpy(at + given->host.len, given->scope.bytes, given->scope.len);
    return pr_strings_add(&m->processes, m->identity, n, ret, err);
}

/* A process whose interval is not the one that the next sink knows. */
static pr_code
emit_interval(conv_merge *m, uint32_t process, pr_err *err)
{
    uint32_t *known = &m->rates.at[process];
    if (*known == m->interval_us)
        return PR_OK;
    *known = (uint32_t)m->interval_us;
    const pr_rate rate = {.process = process,
                          .time_us = m->shift_us,
                          .interval_us = m->interval_us};
    return PR_SINK_CALL(m->next, rate, &rate, err);
}

static pr_code
merge_process(pr_sink *sink, const pr_process *given, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    pr_process process = *given;
    size_t before = m->processes.n;
    pr_code rc = identify(m, given, &process.index, err);
    if (rc == PR_OK && m->processes.n > before)
        rc = pr_list_add(&m->rates, (uint32_t)m->start.interval_us, err);
    bool first = given->index == m->process_map.n;
    if (rc == PR_OK && first)
        rc = pr_list_add(&m->process_map, process.index, err);
    if (rc == PR_OK)
        rc = PR_SINK_CALL(m->next, process, &process, err);
    return rc == PR_OK && first ? emit_interval(m, process.index, err) : rc;
}

/* Process 0 exists without its emission. */
static pr_code
map_process(conv_merge *m, uint32_t *process, pr_err *err)
{
    if (m->process_map.n == 0 && *process == 0) {
        const pr_process unknown = {.python = {m->start.python[0],
                                               m->start.python[1],
                                               m->start.python[2]}};
        pr_code rc = merge_process(&m->sink, &unknown, err);
        if (rc != PR_OK)
            return rc;
    }
    if (*process >= m->process_map.n)
        return broken_producer(err);
    *process = m->process_map.at[*process];
    return PR_OK;
}

static pr_code
merge_rate(pr_sink *sink, const pr_rate *given, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    pr_rate rate = *given;
    rate.time_us = shifted(m, given->time_us);
    pr_code rc = map_process(m, &rate.process, err);
    return rc ? rc : PR_SINK_CALL(m->next, rate, &rate, err);
}

/* ---- threads ---- */

static pr_code
refuse_shared_thread(const conv_merge *m, const pr_thread *given, pr_err *err)
{
    for (uint32_t process = 0; process < m->processes.n; process++) {
        const thread_key key = {given->tid, given->interp, process};
        if (process != given->process &&
            pr_set_find(&m->threads, &key) != PR_TABLE_NONE)
            return PR_FAIL(err, PR_INCOMPARABLE,
                           "two processes have a thread %" PRIu64
                           ", which a file of CPython cannot keep apart",
                           given->tid);
    }
    return PR_OK;
}

static pr_code
add_thread(conv_merge *m, const pr_thread *given, uint32_t id, pr_err *err)
{
    if (!pr_grow(&m->last_us, &m->cap_last, m->threads.n, sizeof *m->last_us))
        return pr_no_memory(err);
    m->last_us[id] = 0;
    return PR_SINK_CALL(m->next, thread, given, err);
}

static pr_code
merge_thread(pr_sink *sink, const pr_thread *given, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    pr_thread thread = *given;
    pr_code rc = map_process(m, &thread.process, err);
    if (rc == PR_OK && m->one_namespace)
        rc = refuse_shared_thread(m, &thread, err);
    if (rc != PR_OK)
        return rc;
    const thread_key key = {given->tid, given->interp, thread.process};
    size_t before = m->threads.n;
    uint32_t id;
    rc = pr_set_add(&m->threads, &key, &id, err);
    if (rc == PR_OK)
        rc = pr_list_add(&m->thread_map, id, err);
    if (rc == PR_OK && m->threads.n > before)
        return add_thread(m, &thread, id, err);
    if (rc == PR_OK && given->name_len)
        return PR_SINK_CALL(m->next, rename, id, given->name, given->name_len,
                            err);
    return rc;
}

static pr_code
merge_rename(pr_sink *sink, uint32_t thread, const char *name, size_t len,
             pr_err *err)
{
    conv_merge *m = merge_of(sink);
    if (thread >= m->thread_map.n)
        return broken_producer(err);
    return PR_SINK_CALL(m->next, rename, m->thread_map.at[thread], name, len,
                        err);
}

/* ---- samples ---- */

static pr_code
map_push(conv_merge *m, pr_delta *delta, pr_err *err)
{
    if (!pr_grow(&m->push, &m->cap_push, delta->n_push, sizeof *m->push))
        return pr_no_memory(err);
    for (uint32_t i = 0; i < delta->n_push; i++) {
        if (delta->push[i] >= m->frame_map.n)
            return broken_producer(err);
        m->push[i] = m->frame_map.at[delta->push[i]];
    }
    delta->push = m->push;
    return PR_OK;
}

static pr_code
merge_delta(pr_sink *sink, const pr_delta *given, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    if (given->thread >= m->thread_map.n)
        return broken_producer(err);
    pr_delta delta = *given;
    delta.thread = m->thread_map.at[given->thread];
    pr_code rc = map_push(m, &delta, err);
    if (rc != PR_OK)
        return rc;
    if (!pr_grow(&m->time, &m->cap_time, given->n, sizeof *m->time))
        return pr_no_memory(err);
    for (uint32_t i = 0; i < given->n; i++)
        m->time[i] = shifted(m, given->time_us[i]);
    delta.time_us = m->time;
    uint64_t *last = &m->last_us[delta.thread];
    if (given->n && m->time[0] < *last)
        return PR_FAIL(err, PR_INCOMPARABLE, "the profiles overlap in time");
    if (given->n)
        *last = m->time[given->n - 1];
    return PR_SINK_CALL(m->next, delta, &delta, err);
}

/* ---- the rest ---- */

/* A thread, or its process if there is none. */
static pr_code
map_owner(conv_merge *m, uint32_t *thread, uint32_t *process, pr_err *err)
{
    if (*thread == PR_NO_THREAD)
        return map_process(m, process, err);
    *process = 0;
    if (*thread >= m->thread_map.n)
        return broken_producer(err);
    *thread = m->thread_map.at[*thread];
    return PR_OK;
}

static pr_code
merge_count(pr_sink *sink, const pr_count *given, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    pr_count count = *given;
    pr_code rc = map_owner(m, &count.thread, &count.process, err);
    if (rc != PR_OK)
        return rc;
    const count_key key = {count.thread, count.process, count.kind};
    size_t before = m->counts.n;
    uint32_t id;
    rc = pr_set_add(&m->counts, &key, &id, err);
    if (rc != PR_OK)
        return rc;
    if (!pr_grow(&m->counters, &m->cap_counters, m->counts.n,
                 sizeof *m->counters))
        return pr_no_memory(err);
    if (m->counts.n > before)
        m->counters[id] = (counter){0, 0};
    m->counters[id].now = given->value;
    count.value = m->counters[id].before + given->value;
    count.time_us = shifted(m, given->time_us);
    return PR_SINK_CALL(m->next, count, &count, err);
}

static pr_code
merge_gc(pr_sink *sink, const pr_gc_event *given, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    pr_gc_event event = *given;
    event.start_us = shifted(m, given->start_us);
    event.stop_us = shifted(m, given->stop_us);
    pr_code rc = map_process(m, &event.process, err);
    return rc ? rc : PR_SINK_CALL(m->next, gc, &event, err);
}

static pr_code
merge_task(pr_sink *sink, const pr_task *given, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    pr_task task = *given;
    pr_code rc = map_owner(m, &task.thread, &task.process, err);
    if (rc != PR_OK)
        return rc;
    task.time_us = shifted(m, given->time_us);
    return PR_SINK_CALL(m->next, task, &task, err);
}

static pr_code
merge_mark(pr_sink *sink, const pr_mark *given, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    pr_mark mark = *given;
    mark.time_us = shifted(m, given->time_us);
    mark.end_us = shifted(m, given->end_us);
    pr_code rc = map_process(m, &mark.process, err);
    return rc ? rc : PR_SINK_CALL(m->next, mark, &mark, err);
}

/* The recording lasts from the beginning of the first input to the end of the
 * last one; rates are means weighted by durations; known is what is known of
 * all. */
/* The frame in the merged profile. */
static bool
map_frame(const conv_merge *m, uint32_t *frame)
{
    if (*frame >= m->frame_map.n)
        return false;
    *frame = m->frame_map.at[*frame];
    return true;
}

static pr_code
merge_total(pr_sink *sink, const pr_total *given, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    pr_total total = *given;
    if (!map_frame(m, &total.frame) ||
        (total.caller != PR_NO_FRAME && !map_frame(m, &total.caller)))
        return broken_producer(err);
    return PR_SINK_CALL(m->next, total, &total, err);
}

static pr_code
merge_stats(pr_sink *sink, const pr_stats *given, pr_err *err)
{
    (void)err;
    conv_merge *m = merge_of(sink);
    pr_stats *sum = &m->stats;
    double end = (double)m->shift_us / 1e6 + given->duration_s;
    double all = m->recorded_s + given->duration_s;
    double a = all > 0 ? m->recorded_s / all : 0, b = 1 - a;
    bool first = !(sum->known & PR_STATS_PRESENT);
    sum->duration_s = end > sum->duration_s ? end : sum->duration_s;
    sum->rate_hz = a * sum->rate_hz + b * given->rate_hz;
    sum->error_percent = a * sum->error_percent + b * given->error_percent;
    sum->missed_percent = a * sum->missed_percent + b * given->missed_percent;
    sum->known = first ? given->known : sum->known & given->known;
    m->recorded_s = all;
    return PR_OK;
}

static void
free_merge(conv_merge *m)
{
    pr_strings_release(&m->strings);
    pr_strings_release(&m->meta_keys);
    pr_set_release(&m->frames);
    pr_strings_release(&m->processes);
    pr_list_release(&m->rates);
    free(m->identity);
    pr_set_release(&m->threads);
    pr_set_release(&m->counts);
    pr_list_release(&m->meta_input);
    pr_list_release(&m->string_map);
    pr_list_release(&m->frame_map);
    pr_list_release(&m->process_map);
    pr_list_release(&m->thread_map);
    free(m->push);
    free(m->last_us);
    free(m->counters);
    free(m->time);
    free(m);
}

static void
merge_abort(pr_sink *sink)
{
    pr_sink *next = merge_of(sink)->next;
    free_merge(merge_of(sink));
    next->ops->abort(next);
}

static pr_code
merge_finish(pr_sink *sink, pr_err *err)
{
    conv_merge *m = merge_of(sink);
    pr_sink *next = m->next;
    pr_code rc = m->stats.known & PR_STATS_PRESENT
                     ? PR_SINK_CALL(next, stats, &m->stats, err)
                     : PR_OK;
    free_merge(m);
    if (rc == PR_OK)
        return next->ops->finish(next, err);
    next->ops->abort(next);
    return rc;
}

static const pr_sink_ops merge_ops = {
    .start = merge_start,
    .meta = merge_meta,
    .string = merge_string,
    .frame = merge_frame,
    .process = merge_process,
    .rate = merge_rate,
    .thread = merge_thread,
    .rename = merge_rename,
    .delta = merge_delta,
    .count = merge_count,
    .gc = merge_gc,
    .task = merge_task,
    .mark = merge_mark,
    .total = merge_total,
    .stats = merge_stats,
    .finish = merge_finish,
    .abort = merge_abort,
};

pr_code
conv_merge_new(pr_sink *next, bool several, bool one_namespace,
               conv_merge **ret, pr_err *err)
{
    conv_merge *m = calloc(1, sizeof *m);
    if (!m)
        return pr_no_memory(err);
    m->sink.ops = &merge_ops;
    m->next = next;
    m->several = several;
    m->one_namespace = one_namespace;
    m->frames.size = sizeof(frame_key);
    m->threads.size = sizeof(thread_key);
    m->counts.size = sizeof(count_key);
    *ret = m;
    return PR_OK;
}

pr_sink *
conv_merge_sink(conv_merge *merge)
{
    return &merge->sink;
}

void
conv_merge_next(conv_merge *merge, uint64_t shift_us, uint32_t process,
                bool apart)
{
    merge->shift_us = shift_us;
    merge->process = process;
    merge->apart = apart;
}
