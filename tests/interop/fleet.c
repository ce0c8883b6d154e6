/*
 * fleet.c - many small profiles of a day, by the library's writer.
 *
 *     fleet DIR PROFILES SAMPLES SEED WALL_S [PROCESSES]
 *
 * Twenty services of 60 functions each; profile i is of process i % PROCESSES
 * (without it each is of one of its own), which is of service process % 20.  It
 * was recorded i / PROFILES of a day after WALL_S (seconds since 1970), and has
 * three threads and SAMPLES samples, and the labels service and region.  Equal
 * arguments give equal files.
 */
#include <base/array.h>
#include <pyrec/writer.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SERVICES = 20,
    FUNCTIONS = 60, /* of a service; the first 20 are shared by all */
    SHARED = 20,
    LINES = 4,
    DEEPEST = 24,
    THREADS = 3,
    INTERVAL_US = 10000,
    DAY_S = 86400
};

typedef struct worker {
    uint32_t frame[DEEPEST]; /* innermost last */
    uint32_t depth;
} worker;

typedef struct fleet {
    uint64_t random;
    const char *folder;
    uint64_t profiles, samples, wall_s, processes;
    pr_sink *sink;
    pr_err err;
} fleet;

static uint32_t
below(fleet *f, uint32_t n)
{
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    f->random ^= f->random << 17;
    return (uint32_t)((f->random >> 32) * n >> 32);
}

static void
need(const fleet *f, pr_code rc)
{
    if (rc == PR_OK)
        return;
    fprintf(stderr, "fleet: %s\n", f->err.what);
    exit(1);
}

static void
emit_names(fleet *f, uint32_t service)
{
    char text[96];
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        if (i < SHARED)
            snprintf(text, sizeof text,
                     "/usr/lib/python3.14/site-packages/base/m%u.py", i / 5);
        else
            snprintf(text, sizeof text, "/srv/service%02u/app/m%u.py", service,
                     i / 5);
        need(f, pr_sink_string(f->sink, text, strlen(text), &f->err));
        snprintf(text, sizeof text, "Handler%u.step_%02u", i / 3, i);
        need(f, pr_sink_string(f->sink, text, strlen(text), &f->err));
    }
    for (uint32_t i = 0; i < FUNCTIONS * LINES; i++) {
        uint32_t function = i / LINES;
        int32_t first = (int32_t)(10 + function * 40);
        int32_t line = first + 1 + (int32_t)(i % LINES);
        const pr_frame frame = {.file = 2 * function,
                                .func = 2 * function + 1,
                                .line = line,
                                .end_line = line,
                                .column = 4,
                                .end_column = 20,
                                .first_line = first,
                                .opcode = PR_NO_OPCODE};
        need(f, pr_sink_frame(f->sink, &frame, &f->err));
    }
}

static void emit_meta(fleet *f, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
emit_meta(fleet *f, const char *key, const char *format, ...)
{
    char text[64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    need(f, pr_sink_meta(f->sink, key, text, strlen(text), &f->err));
}

static void
emit_start(fleet *f, uint64_t number)
{
    uint64_t process = number % f->processes;
    uint32_t service = (uint32_t)(process % SERVICES);
    uint64_t after_us = number * DAY_S * 1000000 / f->profiles;
    const pr_start start = {.start_us = 1000000 + after_us,
                            .wall_us = f->wall_s * 1000000 + after_us,
                            .interval_us = INTERVAL_US,
                            .python = {3, 14, 2},
                            .capture = PR_CAPTURE_KNOWN};
    need(f, pr_sink_start(f->sink, &start, &f->err));
    emit_meta(f, "pid", "%u", (uint32_t)(1000 + process));
    emit_meta(f, "host", "host%03u", (uint32_t)(process / SERVICES % 500));
    emit_meta(f, "command", "service%02u --serve", service);
    emit_meta(f, "label.service", "service%02u", service);
    emit_meta(f, "label.region", "region%u", (uint32_t)(process / 7 % 4));
    emit_names(f, service);
    for (uint32_t i = 0; i < THREADS; i++) {
        static const char *const names[] = {"MainThread", "pool-1", "pool-2"};
        const pr_thread thread = {.tid = 7000 + process * 8 + i,
                                  .is_main = i == 0,
                                  .name = names[i],
                                  .name_len = strlen(names[i])};
        need(f, pr_sink_thread(f->sink, &thread, &f->err));
    }
}

/* The next stack: mostly the same one, else some returns and calls. */
static uint32_t
move(fleet *f, worker *w)
{
    if (w->depth && below(f, 10) < 7)
        return w->depth;
    uint32_t keep = w->depth - (w->depth ? below(f, w->depth) / 2 : 0);
    keep = keep < w->depth ? keep : w->depth ? w->depth - 1 : 0;
    uint32_t depth = keep;
    do
        /* deeper calls are of later functions: few stacks, as programs have */
        w->frame[depth] =
            (depth * 5 % FUNCTIONS + below(f, 5)) * LINES + below(f, LINES);
    while (++depth < DEEPEST && (depth < 6 || below(f, 3)));
    w->depth = depth;
    return keep;
}

static void
emit_sample(fleet *f, worker *w, uint32_t thread, uint64_t time_us)
{
    uint32_t push[DEEPEST];
    uint32_t keep = move(f, w), n = 0;
    const uint8_t status =
        (uint8_t)((below(f, 3) ? 0 : PR_HAS_GIL | PR_ON_CPU) |
                  (thread == 0 ? PR_MAIN_THREAD : 0));
    for (uint32_t i = w->depth; i-- > keep;)
        push[n++] = w->frame[i];
    const pr_delta delta = {thread, keep, n, 1, push, &time_us, &status};
    need(f, pr_sink_delta(f->sink, &delta, &f->err));
}

/* Losses of a thread, and of a process of which no thread is known. */
static void
emit_losses(fleet *f, uint64_t number)
{
    const pr_count counts[] = {
        {.thread = 0, .kind = PR_COUNT_LOST_MOVED, .value = number % 5},
        {.thread = PR_NO_THREAD,
         .kind = PR_COUNT_LOST_TORN,
         .value = 1 + number % 3}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        need(f, pr_sink_count(f->sink, &counts[i], &f->err));
}

static void
write_profile(fleet *f, uint64_t number)
{
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    worker workers[THREADS] = {{.depth = 0}};
    char path[4096];
    opts.force = 1;
    opts.level = 3;
    snprintf(path, sizeof path, "%s/p%07" PRIu64 ".bin", f->folder, number);
    need(f, pf_writer_open(path, &opts, &f->sink, &f->err));
    emit_start(f, number);
    for (uint64_t i = 0; i < f->samples; i++)
        emit_sample(f, &workers[i % THREADS], (uint32_t)(i % THREADS),
                    i / THREADS * INTERVAL_US);
    emit_losses(f, number);
    need(f, f->sink->ops->finish(f->sink, &f->err));
}

int
main(int argc, char **argv)
{
    if (argc != 6 && argc != 7) {
        fputs("usage: fleet DIR PROFILES SAMPLES SEED WALL_S [PROCESSES]\n",
              stderr);
        return 2;
    }
    fleet f = {.folder = argv[1],
               .profiles = strtoull(argv[2], NULL, 10),
               .samples = strtoull(argv[3], NULL, 10),
               .wall_s = strtoull(argv[5], NULL, 10),
               .err = PR_ERR_INIT};
    f.processes = argc == 7 ? strtoull(argv[6], NULL, 10) : f.profiles;
    uint64_t seed = strtoull(argv[4], NULL, 10);
    for (uint64_t i = 0; i < f.profiles; i++) {
        f.random = (seed * 1000003 + i) * 0x9e3779b97f4a7c15u | 1;
        write_profile(&f, i);
    }
    return 0;
}
