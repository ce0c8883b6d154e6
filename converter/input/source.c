/*
 * source.c - open, order, replay.
 */
#include "converter/input/source.h"

#include "converter/input/merge.h"
#include "converter/input/recording.h"
#include <string.h>

#include <stdlib.h>

typedef struct source {
    const char *path;
    conv_recording *recording;
    uint32_t process;  /* files of one process have one number */
    uint64_t shift_us; /* of its time 0 */
} source;

struct conv_sources {
    uint32_t n_processes;
    bool compared; /* the first item is the base of a comparison */
    size_t n;
    source *item;
};

/* ---- which process ---- */

static const pr_start *
start_of(const source *s)
{
    return conv_recording_start(s->recording);
}

static bool
same_text(pr_text a, pr_text b)
{
    return a.len == b.len &&
           (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0);
}

static bool
overlap(const source *a, const source *b)
{
    uint64_t x = start_of(a)->start_us, y = start_of(b)->start_us;
    return x < y ? y - x < conv_recording_length_us(a->recording)
                 : x - y < conv_recording_length_us(b->recording);
}

/* A process that a file does not name (CPython's do not) may be that of any
 * file that does not overlap it in time. */
static bool
same_process(const source *a, const source *b)
{
    const pr_process *p = conv_recording_process(a->recording, 0);
    const pr_process *q = conv_recording_process(b->recording, 0);
    if (p->pid == 0 || q->pid == 0)
        return p->pid == q->pid && !overlap(a, b);
    bool both_start = p->start_us && q->start_us;
    return p->pid == q->pid && same_text(p->host, q->host) &&
           same_text(p->scope, q->scope) &&
           (!both_start || p->start_us == q->start_us);
}

static int
compare_sources(const void *a_source, const void *b_source)
{
    const source *a = a_source, *b = b_source;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    uint64_t x = start_of(a)->start_us, y = start_of(b)->start_us;
    return (x > y) - (x < y);
}

static void
number_processes(conv_sources *s)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        source *new = &s->item[i];
        size_t j = 0;
        while (j < i &&
               ((s->compared && j == 0) || !same_process(&s->item[j], new)))
            j++;
        new->process = j < i ? s->item[j].process : n++;
    }
    s->n_processes = n;
}

/* ---- when ---- */

/* The earliest wall clock; 0 if one of them does not know it. */
static uint64_t
first_wall(const conv_sources *s)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < s->n; i++) {
        uint64_t wall = start_of(&s->item[i])->wall_us;
        first = wall < first ? wall : first;
    }
    return first;
}

/* The wall clock places processes in time; without one they begin together.
 * Files of one process are apart by its own clock, which no user can set. */
static void
lay_out(conv_sources *s)
{
    number_processes(s);
    qsort(s->item, s->n, sizeof *s->item, compare_sources);
    uint64_t wall = s->compared ? 0 : first_wall(s);
    for (size_t i = 0; i < s->n; i++) {
        size_t first = i;
        while (first > 0 && s->item[first - 1].process == s->item[i].process)
            first--;
        uint64_t begin = wall ? start_of(&s->item[first])->wall_us - wall : 0;
        s->item[i].shift_us = begin + start_of(&s->item[i])->start_us -
                              start_of(&s->item[first])->start_us;
    }
}

/* ---- life ---- */

static pr_code
open_all(const char *const *path, size_t n, const char *from, bool compared,
         conv_sources **ret, pr_err *err)
{
    if (n == 0)
        return PR_FAIL(err, PR_USAGE, "no input given");
    conv_sources *s = calloc(1, sizeof *s);
    source *item = calloc(n, sizeof *item);
    if (!s || !item) {
        free(s);
        free(item);
        return pr_no_memory(err);
    }
    s->item = item;
    s->compared = compared;
    pr_code rc = PR_OK;
    for (; s->n < n && rc == PR_OK; s->n++) {
        item[s->n].path = path[s->n];
        rc = conv_recording_open(path[s->n], from, &item[s->n].recording, err);
    }
    if (rc == PR_OK) {
        lay_out(s);
        *ret = s;
    } else {
        conv_sources_free(s);
    }
    return rc;
}

pr_code
conv_sources_open(const char *const *path, size_t n, const char *from,
                  conv_sources **ret, pr_err *err)
{
    return open_all(path, n, from, false, ret, err);
}

pr_code
conv_sources_open_base(const char *const *path, size_t n, const char *from,
                       conv_sources **ret, uint32_t *ret_base, pr_err *err)
{
    conv_sources *s;
    uint32_t base = 0;
    pr_code rc = open_all(path, n, from, true, &s, err);
    if (rc != PR_OK)
        return rc;
    while (conv_recording_process(s->item[0].recording, base))
        base++;
    *ret = s;
    *ret_base = base;
    return PR_OK;
}

pr_code
conv_sources_check_rewrite(const conv_sources *sources, pr_err *err)
{
    for (size_t i = 0; i < sources->n; i++) {
        if (conv_recording_is_newer(sources->item[i].recording))
            return PR_FAIL(err, PR_NEWER,
                           "'%s' holds what this version would lose: only a "
                           "newer one may rewrite it",
                           sources->item[i].path);
    }
    return PR_OK;
}

void
conv_sources_free(conv_sources *sources)
{
    if (!sources)
        return;
    for (size_t i = 0; i < sources->n; i++)
        conv_recording_free(sources->item[i].recording);
    free(sources->item);
    free(sources);
}

/* ---- feeding ---- */

/* The progress of one input as part of that of all. */
typedef struct part_progress {
    const pr_progress *whole;
    uint64_t before, total;
} part_progress;

static void
report_part(void *context, uint64_t current, uint64_t total)
{
    const part_progress *part = context;
    (void)total;
    part->whole->report(part->whole->context, part->before + current,
                        part->total);
}

static uint64_t
less(uint64_t time, uint64_t shift)
{
    if (time == UINT64_MAX)
        return time;
    return time > shift ? time - shift : 0;
}

/* Is it an answer with data, or the end? */
static bool
partial(pr_code rc)
{
    return rc == PR_OK || rc == PR_CUT || rc == PR_DAMAGED;
}

static pr_code
replay(const source *s, const conv_opts *opts, part_progress *progress,
       pr_sink *sink, uint64_t *samples, pr_err *err)
{
    pf_replay_opts replay = PF_REPLAY_OPTS_INIT;
    replay.from_us = less(opts->from_us, s->shift_us);
    replay.to_us = less(opts->to_us, s->shift_us);
    replay.jobs = opts->jobs;
    if (opts->progress.report)
        replay.progress = (pr_progress){report_part, progress};
    uint64_t emitted = 0;
    pr_code rc =
        conv_recording_replay(s->recording, &replay, sink, &emitted, err);
    *samples += emitted;
    progress->before += emitted;
    return rc;
}

static pr_code
feed_all(conv_sources *s, const conv_opts *opts, conv_merge *merge,
         pr_sink *sink, uint64_t *samples, pr_err *ret_err)
{
    part_progress progress = {&opts->progress, 0, 0};
    pr_code worst = PR_OK;
    for (size_t i = 0; i < s->n; i++)
        progress.total += conv_recording_samples(s->item[i].recording);
    for (size_t i = 0; i < s->n; i++) {
        pr_err err = PR_ERR_INIT;
        if (merge)
            conv_merge_next(merge, s->item[i].shift_us, s->item[i].process,
                            s->compared);
        pr_code rc = replay(&s->item[i], opts, &progress, sink, samples, &err);
        if (rc == PR_INCOMPARABLE) /* with those before it */
            pr_err_wrap(&err, "'%s'", s->item[i].path);
        if (!partial(rc)) {
            *ret_err = err;
            return rc;
        }
        if (rc != PR_OK && worst == PR_OK) {
            worst = rc;
            *ret_err = err;
        }
    }
    return worst;
}

pr_code
conv_sources_feed(conv_sources *sources, const conv_opts *opts, pr_sink *sink,
                  bool one_namespace, uint64_t *ret_samples, pr_err *err)
{
    conv_merge *merge = NULL;
    uint64_t samples = 0;
    pr_err seen = PR_ERR_INIT;
    if (sources->n > 1) {
        pr_code rc = conv_merge_new(sink, sources->n_processes > 1,
                                    one_namespace, &merge, err);
        if (rc != PR_OK) {
            sink->ops->abort(sink);
            return rc;
        }
        sink = conv_merge_sink(merge);
    }
    pr_code rc = feed_all(sources, opts, merge, sink, &samples, &seen);
    if (partial(rc)) {
        pr_err finish = PR_ERR_INIT;
        pr_code ended = sink->ops->finish(sink, &finish);
        if (ended != PR_OK) {
            rc = ended;
            seen = finish;
        }
    } else {
        sink->ops->abort(sink);
    }
    if (partial(rc))
        *ret_samples = samples;
    if (rc != PR_OK && err && err->code == PR_OK)
        *err = seen;
    return rc;
}
