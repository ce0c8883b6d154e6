/*
 * source.c - open, order, replay.
 */
#include "converter/input/source.h"

#include "converter/input/handoff.h"
#include "converter/input/merge.h"
#include "converter/input/recording.h"
#include <string.h>

#include <stdlib.h>

typedef struct source {
    const char *path;
    conv_recording *recording; /* NULL before and after its turn */
    bool is_profile;           /* or an import */
    bool is_totals;            /* without stacks */
    pf_info info;              /* of an import: start and samples */
    uint64_t length_us;
    pr_process first; /* process 0: numbers, and texts in `texts` */
    char *texts;
    uint32_t process;  /* files of one process have one number */
    uint64_t shift_us; /* of its time 0 */
} source;

struct conv_sources {
    const char *from;
    uint64_t memory;
    uint32_t n_processes;
    bool compared;   /* the first item is the base of a comparison */
    uint32_t n_base; /* processes of the base */
    size_t n;
    source *item;
};

/* ---- which process ---- */

static const pr_start *
start_of(const source *s)
{
    return &s->info.start;
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
    return x < y ? y - x < a->length_us : x - y < b->length_us;
}

static bool
same_identity(const pr_process *p, const pr_process *q)
{
    bool both_start = p->start_us && q->start_us;
    return p->pid == q->pid && same_text(p->host, q->host) &&
           same_text(p->scope, q->scope) &&
           (!both_start || p->start_us == q->start_us);
}

/* A process that a file does not name (CPython's do not) may be that of any
 * file that does not overlap it in time. */
static bool
same_process(const source *a, const source *b)
{
    const pr_process *p = &a->first, *q = &b->first;
    if (p->pid == 0 || q->pid == 0)
        return p->pid == q->pid && !overlap(a, b);
    return same_identity(p, q);
}

/* The same samples, by all that a profile says of itself. */
static bool
same_recording(const source *a, const source *b)
{
    const pf_info *x = &a->info, *y = &b->info;
    return a->is_profile && b->is_profile && x->samples > 0 &&
           x->start.mode == y->start.mode &&
           x->start.start_us == y->start.start_us &&
           x->first_us == y->first_us && x->last_us == y->last_us &&
           x->samples == y->samples && x->threads == y->threads &&
           x->strings == y->strings && x->frames == y->frames &&
           same_identity(&a->first, &b->first);
}

/* Samples that are given twice would count twice. */
static pr_code
refuse_twice(const conv_sources *s, pr_err *err)
{
    for (size_t i = s->compared; i < s->n; i++)
        for (size_t j = s->compared; j < i; j++)
            if (same_recording(&s->item[i], &s->item[j]))
                return PR_FAIL(err, PR_INCOMPARABLE,
                               "'%.80s' holds the same recording as '%.80s'",
                               s->item[i].path, s->item[j].path);
    return PR_OK;
}

/* Sums of functions have no place in a tree of stacks. */
static pr_code
refuse_mixture(const conv_sources *s, pr_err *err)
{
    for (size_t i = 1; i < s->n; i++) {
        const source *a = &s->item[0], *b = &s->item[i];
        if (a->is_totals == b->is_totals)
            continue;
        PR_FAIL(err, PR_INCOMPARABLE,
                "'%.80s' has totals and no stacks, '%.80s' has stacks",
                (a->is_totals ? a : b)->path, (a->is_totals ? b : a)->path);
        pr_err_hint(err, "convert them one by one");
        return PR_INCOMPARABLE;
    }
    return PR_OK;
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
open_recording(const conv_sources *s, source *item, pr_err *err)
{
    return conv_recording_open(item->path, s->from, s->memory, &item->recording,
                               err);
}

static void
close_recording(source *item)
{
    conv_recording_free(item->recording);
    item->recording = NULL;
}

static pr_text
keep_text(char **at, pr_text text)
{
    pr_text kept = {*at, text.len};
    if (text.len)
        memcpy(*at, text.bytes, text.len);
    *at += text.len;
    return kept;
}

/* All that decides its place among the others. */
static pr_code
note_facts(source *item, pr_err *err)
{
    const conv_recording *r = item->recording;
    const pr_process *first = conv_recording_process(r, 0);
    const pf_info *info = conv_recording_info(r);
    item->is_profile = info != NULL;
    item->is_totals = conv_recording_is_totals(r);
    if (info)
        item->info = *info;
    item->info.start = *conv_recording_start(r);
    item->info.samples = conv_recording_samples(r);
    item->length_us = conv_recording_length_us(r);
    item->first = (pr_process){.pid = first->pid, .start_us = first->start_us};
    item->texts = malloc(first->host.len + first->scope.len + 1);
    if (!item->texts)
        return pr_no_memory(err);
    char *at = item->texts;
    item->first.host = keep_text(&at, first->host);
    item->first.scope = keep_text(&at, first->scope);
    return PR_OK;
}

/* One of several files is closed until its turn, so that their number is not
 * that of open files, nor their memory that of all. */
static pr_code
add_source(conv_sources *s, const char *path, bool keep_open, pr_err *err)
{
    source *item = &s->item[s->n++];
    item->path = path;
    pr_code rc = open_recording(s, item, err);
    if (rc == PR_OK)
        rc = note_facts(item, err);
    if (rc == PR_OK && s->compared && s->n == 1)
        while (conv_recording_process(item->recording, s->n_base))
            s->n_base++;
    if (rc != PR_OK || !keep_open)
        close_recording(item);
    return rc;
}

static pr_code
open_all(const char *const *path, size_t n, const conv_sources *how,
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
    *s = *how;
    s->item = item;
    pr_code rc = PR_OK;
    while (s->n < n && rc == PR_OK)
        rc = add_source(s, path[s->n], n == 1, err);
    if (rc == PR_OK)
        rc = refuse_twice(s, err);
    if (rc == PR_OK)
        rc = refuse_mixture(s, err);
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
                  uint64_t memory, conv_sources **ret, pr_err *err)
{
    const conv_sources how = {.from = from, .memory = memory};
    return open_all(path, n, &how, ret, err);
}

pr_code
conv_sources_open_base(const char *const *path, size_t n, const char *from,
                       uint64_t memory, conv_sources **ret, uint32_t *ret_base,
                       pr_err *err)
{
    const conv_sources how = {.from = from, .memory = memory, .compared = true};
    pr_code rc = open_all(path, n, &how, ret, err);
    if (rc == PR_OK)
        *ret_base = (*ret)->n_base;
    return rc;
}

pr_code
conv_sources_check_rewrite(const conv_sources *sources, pr_err *err)
{
    for (size_t i = 0; i < sources->n; i++) {
        if (sources->item[i].info.newer_rewriter)
            return PR_FAIL(err, PR_NEWER,
                           "'%s' holds what this version would lose: only a "
                           "newer one may rewrite it",
                           sources->item[i].path);
    }
    return PR_OK;
}

const char *
conv_sources_totals(const conv_sources *sources)
{
    return sources->item[0].is_totals ? sources->item[0].path : NULL;
}

void
conv_sources_free(conv_sources *sources)
{
    if (!sources)
        return;
    for (size_t i = 0; i < sources->n; i++) {
        close_recording(&sources->item[i]);
        free(sources->item[i].texts);
    }
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
replay(const conv_sources *sources, source *s, const conv_opts *opts,
       part_progress *progress, pr_sink *sink, uint64_t *samples, pr_err *err)
{
    pr_code rc = s->recording ? PR_OK : open_recording(sources, s, err);
    if (rc != PR_OK)
        return rc;
    pf_replay_opts replay = PF_REPLAY_OPTS_INIT;
    replay.from_us = less(opts->from_us, s->shift_us);
    replay.to_us = less(opts->to_us, s->shift_us);
    replay.with_next = opts->to_us != UINT64_MAX;
    replay.jobs = opts->jobs;
    if (opts->progress.report)
        replay.progress = (pr_progress){report_part, progress};
    uint64_t emitted = 0;
    rc = conv_recording_replay(s->recording, &replay, sink, &emitted, err);
    if (sources->n > 1)
        close_recording(s);
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
        progress.total += s->item[i].info.samples;
    for (size_t i = 0; i < s->n; i++) {
        pr_err err = PR_ERR_INIT;
        if (merge)
            conv_merge_next(merge, s->item[i].shift_us, s->item[i].process,
                            s->compared);
        pr_code rc =
            replay(s, &s->item[i], opts, &progress, sink, samples, &err);
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
    pr_code rc = opts->jobs > 1 ? conv_handoff_new(sink, &sink, err) : PR_OK;
    if (rc == PR_OK && sources->n > 1)
        rc = conv_merge_new(sink, sources->n_processes > 1, one_namespace,
                            &merge, err);
    if (rc != PR_OK) {
        sink->ops->abort(sink);
        return rc;
    }
    if (merge)
        sink = conv_merge_sink(merge);
    rc = feed_all(sources, opts, merge, sink, &samples, &seen);
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
