/*
 * bench_writer.c - the cost of a sample in the writer, and in the file.
 *
 *     bench_writer
 *     bench_writer PROFILE RATE_HZ SECONDS OUT [LEVEL [SEGMENT_BYTES]]
 *
 * Without arguments it measures what a sample costs.  PROFILE is one of
 *   server  8 threads of a web server, one at work: most samples repeat
 *   busy    1 thread that never stops: nearly every stack differs
 *   idle    1 thread asleep, at exact ticks
 *   deep    1 thread, 250 frames deep, working at its end
 * The profile is generated from SEED (environment, default 7), which is
 * printed, and reaches the writer sample by sample as from a recorder.
 * LEVEL 0: the default; -1: a plain file without compression.
 */
#include <inttypes.h>
#include <pyrec/writer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FUNCTIONS 1200
#define FILES     120
#define LINES     6   /* call places in a function */
#define DEEPEST   256 /* the most that CPython 3.15 replays */
#define NO_ID     UINT32_MAX

typedef struct profile_shape {
    const char *name;
    uint32_t threads, least, most; /* depth */
    double moves; /* chance that a thread which is not at work moves */
    double still; /* chance that one at work does not */
    int jitter;   /* of a tick, in parts of 1000 */
} profile_shape;

static const profile_shape shapes[] = {
    {"server", 8, 30, 60, 0.35, 0.35, 15},
    {"busy", 1, 20, 60, 1, 0.1, 50},
    {"idle", 1, 30, 30, 0, 1, 0},
    {"deep", 1, 220, 250, 1, 0.3, 50},
};

/* One sample as the writer gets it. */
typedef struct event {
    uint64_t time_us;
    size_t push; /* into events.push, innermost first */
    uint32_t thread, keep, n_push;
    uint8_t status;
} event;

typedef struct worker {
    uint32_t place[DEEPEST]; /* function * LINES + line, outermost first */
    uint32_t depth, emitted, keep;
    int asleep;
} worker;

typedef struct generator {
    const profile_shape *shape;
    uint64_t random;
    worker worker[8];
    uint32_t callee[FUNCTIONS][12];
    uint8_t n_callees[FUNCTIONS];
    uint32_t id[FUNCTIONS * LINES]; /* of a place's frame */
    uint32_t *place;                /* the reverse */
    uint32_t n_frames;
    event *events;
    size_t n_events, cap_events;
    uint32_t *push;
    size_t n_push, cap_push;
} generator;

static void
need(const void *p)
{
    if (!p) {
        fprintf(stderr, "bench_writer: out of memory\n");
        exit(1);
    }
}

static double
chance(generator *g)
{
    g->random ^= g->random << 13;
    g->random ^= g->random >> 7;
    g->random ^= g->random << 17;
    return (double)(g->random >> 11) / 9007199254740992.0;
}

static uint32_t
below(generator *g, uint32_t n)
{
    return (uint32_t)(chance(g) * n);
}

/* A call from the innermost frame: few callees, the first ones the likely. */
static void
call(generator *g, worker *w)
{
    uint32_t f = w->place[w->depth - 1] / LINES, k = 0;
    while (k + 1u < g->n_callees[f] && chance(g) < 0.5)
        k++;
    w->place[w->depth++] = g->callee[f][k] * LINES + below(g, LINES);
}

static void
start(generator *g)
{
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        g->n_callees[f] = (uint8_t)(2 + below(g, 10));
        for (uint32_t k = 0; k < g->n_callees[f]; k++)
            g->callee[f][k] = below(g, FUNCTIONS);
    }
    memset(g->id, 0xff, sizeof g->id);
    for (uint32_t t = 0; t < g->shape->threads; t++) {
        worker *w = &g->worker[t];
        w->place[0] = t * LINES;
        for (w->depth = 1; w->depth < g->shape->least;)
            call(g, w);
    }
}

static void
keep_at_most(worker *w, uint32_t depth)
{
    if (depth < w->keep)
        w->keep = depth;
}

/* Between two samples: nothing, the next line, or returns and calls. */
static void
move(generator *g, worker *w, double still)
{
    if (w->asleep > 0) {
        w->asleep--;
        return;
    }
    double x = chance(g);
    if (x < still) {
        if (x < still * 0.1 && still < 1)
            w->asleep = 5 + (int)below(g, 55);
        return;
    }
    if (x < still + (1 - still) * 0.4) {
        uint32_t *top = &w->place[w->depth - 1];
        *top = *top / LINES * LINES + (*top + 1) % LINES;
        keep_at_most(w, w->depth - 1);
        return;
    }
    uint32_t pop = 1;
    while (chance(g) < 0.7 && pop + 12 < w->depth)
        pop++;
    w->depth -= pop;
    uint32_t *top = &w->place[w->depth - 1];
    *top = *top / LINES * LINES + below(g, LINES);
    keep_at_most(w, w->depth - 1);
    uint32_t push = pop + below(g, 3);
    push = push > 1 ? push - 1 : 1;
    while (w->depth < g->shape->least ||
           (push-- > 0 && w->depth < g->shape->most))
        call(g, w);
}

static uint32_t
frame_of(generator *g, uint32_t place)
{
    if (g->id[place] == NO_ID) {
        g->place = realloc(g->place, (g->n_frames + 1) * sizeof *g->place);
        need(g->place);
        g->place[g->n_frames] = place;
        g->id[place] = g->n_frames++;
    }
    return g->id[place];
}

static void
emit(generator *g, uint32_t thread, uint64_t time_us, uint8_t status)
{
    worker *w = &g->worker[thread];
    if (g->n_events == g->cap_events) {
        g->cap_events = g->cap_events ? g->cap_events * 2 : 1024;
        g->events = realloc(g->events, g->cap_events * sizeof *g->events);
        need(g->events);
    }
    if (g->n_push + DEEPEST > g->cap_push) {
        g->cap_push = g->cap_push * 2 + DEEPEST;
        g->push = realloc(g->push, g->cap_push * sizeof *g->push);
        need(g->push);
    }
    event *e = &g->events[g->n_events++];
    *e = (event){time_us, g->n_push,          thread,
                 w->keep, w->depth - w->keep, status};
    for (uint32_t i = w->depth; i-- > w->keep;)
        g->push[g->n_push++] = frame_of(g, w->place[i]);
    w->keep = w->depth;
}

static void
generate(generator *g, double rate_hz, double seconds)
{
    start(g);
    double period = 1e6 / rate_hz, noise = g->shape->jitter / 1000.0;
    uint32_t at_work = 0;
    for (double t = period; t < seconds * 1e6; t += period) {
        if (chance(g) < 0.3)
            at_work = below(g, g->shape->threads);
        double late = noise * (chance(g) + chance(g)) * period;
        for (uint32_t i = 0; i < g->shape->threads; i++) {
            worker *w = &g->worker[i];
            if (i == at_work || chance(g) < g->shape->moves)
                move(g, w, g->shape->still);
            uint8_t status = i == at_work ? PR_HAS_GIL | PR_ON_CPU : 0;
            emit(g, i, (uint64_t)(t + late),
                 status | (i == 0 ? PR_MAIN_THREAD : 0));
        }
    }
}

/* ---- emitting ---- */

/* The names that the sink has by now. */
typedef struct emitted {
    uint32_t n_strings, n_frames;
    uint32_t file[FILES], function[FUNCTIONS]; /* string ids */
} emitted;

/* Emit a name unless it has an id already. */
static pr_code
emit_string(emitted *t, pr_sink *sink, uint32_t *id, const char *name,
            pr_err *err)
{
    if (*id != NO_ID)
        return PR_OK;
    *id = t->n_strings++;
    return PR_SINK_CALL(sink, string, name, strlen(name), err);
}

static pr_code
emit_next_frame(const generator *g, emitted *t, pr_sink *sink, pr_err *err)
{
    uint32_t place = g->place[t->n_frames++];
    uint32_t f = place / LINES, l = place % LINES, file = f % FILES;
    char path[96], name[48];
    snprintf(path, sizeof path,
             "/srv/app/venv/lib/python3.15/site-packages/lib%02u/core/"
             "mod_%03u/handlers.py",
             file % 11, file);
    snprintf(name, sizeof name, "Handler%u.process_request_%u", f % 97, f);
    pr_code rc = emit_string(t, sink, &t->file[file], path, err);
    if (rc == PR_OK)
        rc = emit_string(t, sink, &t->function[f], name, err);
    if (rc != PR_OK)
        return rc;
    int32_t line = (int32_t)(10 + f * 37 % 1900 + l);
    int32_t column = (int32_t)(4 + 4 * ((f + l) % 5));
    pr_frame frame = {.file = t->file[file],
                      .func = t->function[f],
                      .line = line,
                      .end_line = line,
                      .column = column,
                      .end_column = column + 10 + (int32_t)(l * 3),
                      .first_line = line - (int32_t)l - 1,
                      .opcode = PR_NO_OPCODE};
    return PR_SINK_CALL(sink, frame, &frame, err);
}

static pr_code
emit_start(const generator *g, pr_sink *sink, uint64_t interval_us, pr_err *err)
{
    pr_start start = {.start_us = 1000000000,
                      .interval_us = interval_us,
                      .python = {3, 15, 2},
                      .capture = PR_CAPTURE_KNOWN};
    pr_code rc = PR_SINK_CALL(sink, start, &start, err);
    for (uint32_t i = 0; i < g->shape->threads && rc == PR_OK; i++) {
        pr_thread thread = {.tid = 140000000000000u + i * 8192u,
                            .is_main = i == 0};
        rc = PR_SINK_CALL(sink, thread, &thread, err);
    }
    return rc;
}

static pr_code
replay(const generator *g, pr_sink *sink, uint64_t interval_us, pr_err *err)
{
    emitted t;
    memset(&t, 0xff, sizeof t); /* NO_ID */
    t.n_strings = t.n_frames = 0;
    pr_code rc = emit_start(g, sink, interval_us, err);
    for (size_t i = 0; i < g->n_events && rc == PR_OK; i++) {
        const event *e = &g->events[i];
        for (uint32_t k = 0; k < e->n_push && rc == PR_OK; k++)
            while (t.n_frames <= g->push[e->push + k] && rc == PR_OK)
                rc = emit_next_frame(g, &t, sink, err);
        pr_delta d = {e->thread,         e->keep,     e->n_push, 1,
                      g->push + e->push, &e->time_us, &e->status};
        if (rc == PR_OK)
            rc = PR_SINK_CALL(sink, delta, &d, err);
    }
    return rc;
}

static double
cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static pr_code
write_profile(const generator *g, const char *path, uint64_t interval_us,
              const pf_writer_opts *opts, pf_writer_stats *ret, pr_err *err)
{
    pr_sink *sink;
    pr_code rc = pf_writer_open(path, opts, &sink, err);
    if (rc != PR_OK)
        return rc;
    pf_writer_keep_stats(sink, ret);
    rc = replay(g, sink, interval_us, err);
    if (rc == PR_OK)
        return sink->ops->finish(sink, err);
    sink->ops->abort(sink);
    return rc;
}

typedef struct bench_job {
    const char *path;
    double rate_hz, seconds;
    pf_writer_opts opts;
} bench_job;

static unsigned long long
seed_number(void)
{
    const char *seed = getenv("SEED");
    return strtoull(seed ? seed : "7", NULL, 10);
}

/* Generate a profile, write it, and say what it cost. */
static pr_code
run(const profile_shape *shape, const bench_job *job, pr_err *err)
{
    generator *g = calloc(1, sizeof *g);
    need(g);
    g->shape = shape;
    g->random = (seed_number() + 1) * 0x9e3779b97f4a7c15u;
    generate(g, job->rate_hz, job->seconds);
    pf_writer_stats stats;
    double from = cpu_ns();
    pr_code rc = write_profile(g, job->path, (uint64_t)(1e6 / job->rate_hz),
                               &job->opts, &stats, err);
    double ns = cpu_ns() - from;
    if (rc == PR_OK)
        printf("ok %s seed=%llu samples=%" PRIu64 " repeats=%" PRIu64
               " ns_per_sample=%.1f segments=%" PRIu64 " records=%" PRIu64
               " compressed=%" PRIu64 " file=%" PRIu64 "\n",
               shape->name, seed_number(), stats.total_samples,
               stats.repeat_samples, ns / (double)stats.total_samples,
               stats.segments, stats.bytes_written, stats.bytes_compressed,
               stats.file_bytes);
    free(g->place);
    free(g->events);
    free(g->push);
    free(g);
    return rc;
}

/* The two ends: nearly all samples repeat, and nearly none does. */
static pr_code
measure(pr_err *err)
{
    bench_job job = {"bench_writer.bin", 1000, 60, PF_WRITER_OPTS_INIT};
    job.opts.force = 1;
    pr_code rc = run(&shapes[0], &job, err);
    if (rc == PR_OK)
        rc = run(&shapes[1], &job, err);
    remove(job.path);
    return rc;
}

static const profile_shape *
find_shape(const char *name)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(name, shapes[i].name) == 0)
            return &shapes[i];
    return NULL;
}

static bench_job
job_of(int argc, char **argv)
{
    bench_job job = {argv[4], strtod(argv[2], NULL), strtod(argv[3], NULL),
                     PF_WRITER_OPTS_INIT};
    job.opts.force = 1;
    job.opts.level = argc > 5 ? (int)strtol(argv[5], NULL, 10) : 0;
    if (job.opts.level < 0)
        job.opts.compression = PF_COMPRESSION_NONE;
    if (argc > 6) { /* an archive: segments end by size alone */
        job.opts.segment_bytes = (uint32_t)strtoul(argv[6], NULL, 10);
        job.opts.checkpoint_us = UINT32_MAX;
    }
    return job;
}

int
main(int argc, char **argv)
{
    const profile_shape *shape = argc > 4 ? find_shape(argv[1]) : NULL;
    if (argc > 1 && !shape) {
        fprintf(stderr, "usage: bench_writer [PROFILE RATE_HZ SECONDS OUT "
                        "[LEVEL [SEGMENT_BYTES]]]\n");
        return 2;
    }
    pr_err err = PR_ERR_INIT;
    pr_code rc = PR_OK;
    if (shape) {
        bench_job job = job_of(argc, argv);
        rc = run(shape, &job, &err);
    } else {
        rc = measure(&err);
    }
    if (rc != PR_OK) {
        char line[600];
        pr_err_format(&err, line, sizeof line);
        fprintf(stderr, "bench_writer: %s\n", line);
    }
    return pr_exit_status(rc);
}
