/*
 * decode.c - how fast a profile is decoded by a sink that only counts.
 *
 *   decode FILE [JOBS [TIMES]]
 *
 * Prints NAME=VALUE words: of the best of TIMES (5) replays the seconds on the
 * clock and of the processor; the peak of resident memory in KiB.
 */
#include <inttypes.h>
#include <pyrec/reader.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

typedef struct counter {
    pr_sink sink;
    uint64_t samples, deltas, frames;
} counter;

static pr_code
count_delta(pr_sink *sink, const pr_delta *delta, pr_err *err)
{
    (void)err;
    counter *c = (counter *)sink;
    c->samples += delta->n;
    c->frames += delta->n_push;
    c->deltas++;
    return PR_OK;
}

static double
now_s(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One replay; the seconds it took, on the clock and of the CPU. */
static pr_code
run(pf_reader *reader, const pf_replay_opts *opts, counter *c, double *ret_s,
    double *ret_cpu_s, pr_err *err)
{
    static const pr_sink_ops ops = {.delta = count_delta};
    *c = (counter){.sink = {&ops}};
    double start = now_s(CLOCK_MONOTONIC);
    double cpu = now_s(CLOCK_PROCESS_CPUTIME_ID);
    pr_code code = pf_reader_replay(reader, opts, &c->sink, NULL, err);
    *ret_s = now_s(CLOCK_MONOTONIC) - start;
    *ret_cpu_s = now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    return code;
}

static int
fail(const pr_err *err)
{
    char line[1024];
    pr_err_format(err, line, sizeof line);
    fprintf(stderr, "decode: %s\n", line);
    return pr_exit_status(err->code);
}

int
main(int argc, char **argv)
{
    pr_err err = PR_ERR_INIT;
    pf_reader *reader;
    pf_replay_opts opts = PF_REPLAY_OPTS_INIT;
    counter c = {.samples = 0};
    double best_s = 1e9, best_cpu_s = 1e9;
    if (argc < 2) {
        fprintf(stderr, "usage: decode FILE [JOBS [TIMES]]\n");
        return 2;
    }
    opts.jobs = argc > 2 ? atoi(argv[2]) : 1;
    int times = argc > 3 ? atoi(argv[3]) : 5;
    double start = now_s(CLOCK_MONOTONIC);
    if (pf_reader_open(argv[1], NULL, &reader, &err) != PR_OK)
        return fail(&err);
    double open_s = now_s(CLOCK_MONOTONIC) - start;
    for (int i = 0; i < times; i++) {
        double s, cpu_s;
        pr_code code = run(reader, &opts, &c, &s, &cpu_s, &err);
        if (code != PR_OK) {
            pf_reader_free(reader);
            return fail(&err);
        }
        best_s = s < best_s ? s : best_s;
        best_cpu_s = cpu_s < best_cpu_s ? cpu_s : best_cpu_s;
    }
    pf_reader_free(reader);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("samples=%" PRIu64 " deltas=%" PRIu64 " frames=%" PRIu64
           " open=%.4f seconds=%.4f cpu=%.4f peak=%ld\n",
           c.samples, c.deltas, c.frames, open_s, best_s, best_cpu_s,
           usage.ru_maxrss);
    return 0;
}
