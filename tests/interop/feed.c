/*
 * feed.c - sink text (canon.py) from stdin into a file, by the library's
 * writer.
 *
 *     feed FILE COMPRESSION LEVEL SEGMENT_BYTES CHECKPOINT_US < TEXT
 *
 * COMPRESSION is a pf_compression, the rest as pf_writer_opts.  A line
 * "abort" ends the file as a fault would; otherwise the end of the text
 * finishes it.  The text is the tests' own: a wrong word is a usage error.
 */
#include <base/array.h>
#include <pyrec/error.h>
#include <pyrec/writer.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Growing arrays for the values of a line; one of each for all lines. */
typedef struct arrays {
    uint32_t *id;
    uint64_t *time;
    uint8_t *status;
    pr_pair *pair;
    size_t id_cap, time_cap, status_cap, pair_cap;
} arrays;

/* One line's words, taken from the left. */
typedef struct words {
    char *rest;
    bool bad; /* a word was missing or no number */
    arrays *a;
} words;

static char *
next_word(words *w)
{
    char *word = strtok_r(NULL, " \n", &w->rest);
    w->bad = w->bad || !word;
    return word;
}

static uint64_t
next_u64(words *w)
{
    char *end = NULL;
    const char *word = next_word(w);
    if (!word)
        return 0;
    errno = 0;
    uint64_t value = strtoull(word, &end, 10);
    w->bad = w->bad || errno || *end;
    return value;
}

static uint32_t
next_u32(words *w)
{
    uint64_t value = next_u64(w);
    w->bad = w->bad || value > UINT32_MAX;
    return (uint32_t)value;
}

static int32_t
next_i32(words *w)
{
    char *end = NULL;
    const char *word = next_word(w);
    if (!word)
        return 0;
    long value = strtol(word, &end, 10);
    w->bad = w->bad || *end || value < INT32_MIN || value > INT32_MAX;
    return (int32_t)value;
}

static double
next_double(words *w)
{
    char *end = NULL;
    const char *word = next_word(w);
    if (!word)
        return 0;
    double value = strtod(word, &end);
    w->bad = w->bad || *end;
    return value;
}

static uint32_t
next_thread(words *w)
{
    if (w->rest && w->rest[0] == '-') {
        next_word(w);
        return PR_NO_THREAD;
    }
    return next_u32(w);
}

/* Decode a word of hexadecimal in place and terminate it. */
static char *
next_bytes(words *w, size_t *ret_len)
{
    char *word = next_word(w);
    *ret_len = 0;
    if (!word)
        return NULL;
    size_t n = strcmp(word, "-") == 0 ? 0 : strlen(word) / 2;
    for (size_t i = 0; i < n; i++) {
        char pair[3] = {word[2 * i], word[2 * i + 1], 0};
        word[i] = (char)strtoul(pair, NULL, 16);
    }
    word[n] = 0;
    *ret_len = n;
    return word;
}

static pr_code
wrong(const char *op, pr_err *err)
{
    return PR_FAIL(err, PR_USAGE, "wrong %s line", op);
}

/* The values of a line, if it could be read. */
#define EMIT(op, ...) \
    (w->bad ? wrong(#op, err) : PR_SINK_CALL(sink, op, __VA_ARGS__, err))

static pr_code
feed_start(pr_sink *sink, words *w, pr_err *err)
{
    pr_start start = {0};
    start.start_us = next_u64(w);
    start.wall_us = next_u64(w);
    start.interval_us = next_u64(w);
    for (int i = 0; i < 3; i++)
        start.python[i] = (uint8_t)next_u32(w);
    start.mode = (pr_mode)next_u32(w);
    start.capture = next_u32(w);
    return EMIT(start, &start);
}

static pr_code
feed_meta(pr_sink *sink, words *w, pr_err *err)
{
    size_t key_len, len;
    const char *key = next_bytes(w, &key_len);
    const char *value = next_bytes(w, &len);
    return EMIT(meta, key, value, len);
}

static pr_code
feed_string(pr_sink *sink, words *w, pr_err *err)
{
    size_t len;
    const char *bytes = next_bytes(w, &len);
    return EMIT(string, bytes, len);
}

static pr_code
feed_frame(pr_sink *sink, words *w, pr_err *err)
{
    pr_frame frame = {0};
    frame.file = next_u32(w);
    frame.func = next_u32(w);
    frame.line = next_i32(w);
    frame.end_line = next_i32(w);
    frame.column = next_i32(w);
    frame.end_column = next_i32(w);
    frame.first_line = next_i32(w);
    frame.opcode = (uint8_t)next_u32(w);
    return EMIT(frame, &frame);
}

static pr_code
feed_thread(pr_sink *sink, words *w, pr_err *err)
{
    pr_thread thread = {0};
    thread.tid = next_u64(w);
    thread.interp = next_u32(w);
    thread.is_main = (uint8_t)next_u32(w);
    thread.name = next_bytes(w, &thread.name_len);
    thread.process = next_u32(w);
    return EMIT(thread, &thread);
}

static pr_text
next_text(words *w)
{
    pr_text text;
    text.bytes = next_bytes(w, &text.len);
    return text;
}

static pr_code
feed_process(pr_sink *sink, words *w, pr_err *err)
{
    arrays *a = w->a;
    pr_process p = {0};
    p.index = next_u32(w);
    p.pid = next_u64(w);
    p.parent = next_u64(w);
    p.start_us = next_u64(w);
    p.end_us = next_u64(w);
    for (int i = 0; i < 3; i++)
        p.python[i] = (uint8_t)next_u32(w);
    p.command = next_text(w);
    p.host = next_text(w);
    p.scope = next_text(w);
    p.n_meta = next_u32(w);
    if (w->bad || !pr_grow(&a->pair, &a->pair_cap, p.n_meta, sizeof *a->pair))
        return wrong("process", err);
    for (uint32_t i = 0; i < p.n_meta; i++) {
        a->pair[i].key = next_text(w);
        a->pair[i].value = next_text(w);
    }
    p.meta = a->pair;
    return EMIT(process, &p);
}

static pr_code
feed_rate(pr_sink *sink, words *w, pr_err *err)
{
    pr_rate rate = {0};
    rate.process = next_u32(w);
    rate.time_us = next_u64(w);
    rate.interval_us = next_u64(w);
    return EMIT(rate, &rate);
}

static pr_code
feed_leave(pr_sink *sink, words *w, pr_err *err)
{
    uint32_t thread = next_u32(w);
    return EMIT(leave, thread);
}

static pr_code
feed_rename(pr_sink *sink, words *w, pr_err *err)
{
    size_t len;
    uint32_t thread = next_u32(w);
    const char *name = next_bytes(w, &len);
    return EMIT(rename, thread, name, len);
}

static pr_code
feed_delta(pr_sink *sink, words *w, pr_err *err)
{
    arrays *a = w->a;
    pr_delta delta = {0};
    delta.thread = next_u32(w);
    delta.keep = next_u32(w);
    delta.n_push = next_u32(w);
    if (w->bad || !pr_grow(&a->id, &a->id_cap, delta.n_push, sizeof *a->id))
        return wrong("delta", err);
    for (uint32_t i = 0; i < delta.n_push; i++)
        a->id[i] = next_u32(w);
    delta.n = next_u32(w);
    if (w->bad || !pr_grow(&a->time, &a->time_cap, delta.n, sizeof *a->time) ||
        !pr_grow(&a->status, &a->status_cap, delta.n, sizeof *a->status))
        return wrong("delta", err);
    for (uint32_t i = 0; i < delta.n; i++) {
        a->time[i] = next_u64(w);
        a->status[i] = (uint8_t)next_u32(w);
    }
    delta.push = a->id;
    delta.time_us = a->time;
    delta.status = a->status;
    return EMIT(delta, &delta);
}

static pr_code
feed_count(pr_sink *sink, words *w, pr_err *err)
{
    pr_count count = {0};
    count.thread = next_thread(w);
    count.kind = next_u32(w);
    count.value = next_u64(w);
    count.process = next_u32(w);
    count.time_us = next_u64(w);
    return EMIT(count, &count);
}

static pr_code
feed_gc(pr_sink *sink, words *w, pr_err *err)
{
    pr_gc_event gc = {0};
    gc.interp = next_u32(w);
    gc.generation = next_u32(w);
    gc.start_us = next_u64(w);
    gc.stop_us = next_u64(w);
    gc.collections = next_u64(w);
    gc.collected = next_u64(w);
    gc.uncollectable = next_u64(w);
    gc.candidates = next_u64(w);
    gc.heap_size = next_u64(w);
    gc.duration_ns = next_u64(w);
    gc.process = next_u32(w);
    return EMIT(gc, &gc);
}

static pr_code
feed_task(pr_sink *sink, words *w, pr_err *err)
{
    arrays *a = w->a;
    pr_task task = {0};
    task.key = next_u64(w);
    task.time_us = next_u64(w);
    task.thread = next_thread(w);
    task.name = next_bytes(w, &task.name_len);
    task.process = next_u32(w);
    task.n_parents = next_u32(w);
    if (w->bad ||
        !pr_grow(&a->time, &a->time_cap, task.n_parents, sizeof *a->time))
        return wrong("task", err);
    for (uint32_t i = 0; i < task.n_parents; i++)
        a->time[i] = next_u64(w);
    task.parent = a->time;
    return EMIT(task, &task);
}

static pr_code
feed_mark(pr_sink *sink, words *w, pr_err *err)
{
    pr_mark mark = {0};
    mark.kind = next_u32(w);
    mark.time_us = next_u64(w);
    mark.end_us = next_u64(w);
    mark.text = next_bytes(w, &mark.text_len);
    mark.process = next_u32(w);
    return EMIT(mark, &mark);
}

static pr_code
feed_total(pr_sink *sink, words *w, pr_err *err)
{
    pr_total total = {0};
    total.frame = next_u32(w);
    total.caller = next_u32(w);
    total.calls = next_u64(w);
    total.primitive_calls = next_u64(w);
    total.self_s = next_double(w);
    total.total_s = next_double(w);
    total.has_times = next_u32(w);
    return EMIT(total, &total);
}

static pr_code
feed_stats(pr_sink *sink, words *w, pr_err *err)
{
    pr_stats stats = {0};
    stats.duration_s = next_double(w);
    stats.rate_hz = next_double(w);
    stats.error_percent = next_double(w);
    stats.missed_percent = next_double(w);
    stats.known = next_u32(w) | PR_STATS_PRESENT;
    return EMIT(stats, &stats);
}

static const struct {
    const char *op;
    pr_code (*feed)(pr_sink *, words *, pr_err *);
} calls[] = {
#define CALL(op, params, args) {#op, feed_##op},
    PR_SINK_MAP(CALL)
#undef CALL
};

static pr_code
feed_line(pr_sink *sink, char *line, arrays *a, pr_err *err)
{
    words w = {NULL, false, a};
    const char *op = strtok_r(line, " \n", &w.rest);
    for (size_t i = 0; op && i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(op, calls[i].op) == 0)
            return calls[i].feed(sink, &w, err);
    }
    return wrong(op ? op : "empty", err);
}

/* PR_END: the text ends in "abort". */
static pr_code
feed_lines(pr_sink *sink, pr_err *err)
{
    pr_code rc = PR_OK;
    char *line = NULL;
    size_t cap = 0;
    arrays a = {0};
    while (rc == PR_OK && getline(&line, &cap, stdin) > 0) {
        if (strcmp(line, "abort\n") == 0)
            rc = PR_END;
        else
            rc = feed_line(sink, line, &a, err);
    }
    free(a.id);
    free(a.time);
    free(a.status);
    free(a.pair);
    free(line);
    return rc;
}

static pr_code
feed(const char *path, const pf_writer_opts *opts, pr_err *err)
{
    pr_sink *sink;
    pr_code rc = pf_writer_open(path, opts, &sink, err);
    if (rc)
        return rc;
    rc = feed_lines(sink, err);
    if (rc == PR_OK)
        return sink->ops->finish(sink, err);
    sink->ops->abort(sink);
    return rc == PR_END ? PR_OK : rc;
}

int
main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: feed FILE COMPRESSION LEVEL SEGMENT_BYTES "
                        "CHECKPOINT_US\n");
        return pr_exit_status(PR_USAGE);
    }
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.compression = (pf_compression)atoi(argv[2]);
    opts.level = atoi(argv[3]);
    opts.segment_bytes = (uint32_t)strtoul(argv[4], NULL, 10);
    opts.checkpoint_us = (uint32_t)strtoul(argv[5], NULL, 10);
    opts.force = 1;
    pr_err err = PR_ERR_INIT;
    pr_code rc = feed(argv[1], &opts, &err);
    if (rc) {
        char line[1024];
        pr_err_format(&err, line, sizeof line);
        fprintf(stderr, "feed: %s\n", line);
    }
    return pr_exit_status(rc);
}
