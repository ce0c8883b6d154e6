/*
 * foreign_stacks.c - a tree of stacks and, for each thread, its entries.
 */
#include "converter/import/foreign_stacks.h"

#include <base/array.h>
#include <base/intern.h>
#include <inttypes.h>
#include <pyrec/convert.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_A_BYTE = 256, FRAMES_LEAST = 1 << 24, CHUNK = 4096 };
#define SAMPLES_MAX UINT64_C(1000000000)

/* An interval that entries imply gives at most so many samples. */
#define SAMPLES_IMPLIED UINT64_C(10000000)

typedef struct entry {
    uint64_t n, us;
    uint32_t node;
    uint8_t status;
    bool is_gap;
} entry;

typedef struct thread {
    uint64_t tid;
    uint32_t interp, process;
    uint32_t name; /* string */
    bool is_main;
    entry *entries;
    size_t n, cap;
} thread;

typedef struct node {
    uint32_t parent, frame;
} node;

/* Facts about a node. */
typedef struct node_facts {
    uint32_t depth;
    uint32_t recent; /* the child that was asked for last; 0: none */
} node_facts;

typedef struct thread_key {
    uint64_t pid, tid;
    uint64_t interp;
} thread_key;

typedef struct process {
    pr_process known;
    uint32_t command; /* string */
} process;

typedef struct meta {
    char *key;
    uint32_t value; /* string */
} meta;

struct conv_stacks {
    const char *kind;
    conv_stacks_facts facts;
    pr_start start;
    bool assumed; /* the interval */
    uint64_t frames_left;
    uint64_t n, us; /* of all entries */
    uint64_t samples, length_us;
    pr_strings strings;
    pr_set frames;       /* pr_frame without padding: place_key */
    pr_set nodes;        /* node; id 0 is the empty stack */
    node_facts *of_node; /* [nodes.n] */
    size_t cap_of_node;
    pr_set thread_keys;
    thread *threads; /* [thread_keys.n] */
    size_t cap_threads;
    pr_set pids;        /* uint64_t */
    process *processes; /* [pids.n] */
    size_t cap_processes;
    meta *metas;
    size_t n_metas, cap_metas;
    pr_total *totals;
    size_t n_totals, cap_totals;
};

typedef struct place_key {
    uint32_t file, function;
    int32_t line, end_line, column, end_column, first_line;
} place_key;

/* ---- life ---- */

pr_code
conv_stacks_new(const char *kind, uint64_t file_bytes, conv_stacks **ret,
                pr_err *err)
{
    conv_stacks *s = calloc(1, sizeof *s);
    const node root = {0, UINT32_MAX};
    uint32_t id;
    if (!s)
        return pr_no_memory(err);
    s->kind = kind;
    s->frames.size = sizeof(place_key);
    s->nodes.size = sizeof(node);
    s->thread_keys.size = sizeof(thread_key);
    s->pids.size = sizeof(uint64_t);
    uint64_t most = UINT64_MAX / FRAMES_A_BYTE;
    s->frames_left = (file_bytes < most ? file_bytes : most) * FRAMES_A_BYTE;
    if (s->frames_left < FRAMES_LEAST)
        s->frames_left = FRAMES_LEAST;
    pr_code rc = pr_strings_add(&s->strings, "", 0, &id, err);
    if (rc == PR_OK)
        rc = pr_set_add(&s->nodes, &root, &id, err);
    if (rc == PR_OK &&
        !pr_grow(&s->of_node, &s->cap_of_node, 1, sizeof *s->of_node))
        rc = pr_no_memory(err);
    if (rc != PR_OK) {
        conv_stacks_free(s);
        return rc;
    }
    s->of_node[0] = (node_facts){.depth = 0};
    *ret = s;
    return PR_OK;
}

void
conv_stacks_free(conv_stacks *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->thread_keys.n; i++)
        free(s->threads[i].entries);
    for (size_t i = 0; i < s->n_metas; i++)
        free(s->metas[i].key);
    free(s->metas);
    free(s->totals);
    free(s->threads);
    free(s->processes);
    free(s->of_node);
    pr_strings_release(&s->strings);
    pr_set_release(&s->frames);
    pr_set_release(&s->nodes);
    pr_set_release(&s->thread_keys);
    pr_set_release(&s->pids);
    free(s);
}

/* ---- names ---- */

static pr_code
add_text(conv_stacks *s, pr_text text, uint32_t *ret, pr_err *err)
{
    return pr_strings_add(&s->strings, text.len ? text.bytes : "", text.len,
                          ret, err);
}

static pr_text
text_of(const conv_stacks *s, uint32_t id)
{
    pr_bytes bytes = pr_strings_get(&s->strings, id);
    return (pr_text){bytes.at, bytes.len};
}

pr_code
conv_stacks_meta(conv_stacks *s, const char *key, pr_text value, pr_err *err)
{
    if (!pr_grow(&s->metas, &s->cap_metas, s->n_metas + 1, sizeof *s->metas))
        return pr_no_memory(err);
    meta *new = &s->metas[s->n_metas];
    pr_code rc = add_text(s, value, &new->value, err);
    if (rc != PR_OK)
        return rc;
    new->key = strdup(key);
    if (!new->key)
        return pr_no_memory(err);
    s->n_metas++;
    return PR_OK;
}

pr_code
conv_stacks_frame(conv_stacks *s, const conv_place *place, uint32_t *ret,
                  pr_err *err)
{
    place_key key = {.line = place->line,
                     .end_line = place->end_line,
                     .column = place->column,
                     .end_column = place->end_column,
                     .first_line = place->first_line};
    pr_code rc = add_text(s, place->file, &key.file, err);
    if (rc == PR_OK)
        rc = add_text(s, place->function, &key.function, err);
    return rc == PR_OK ? pr_set_add(&s->frames, &key, ret, err) : rc;
}

static pr_code
find_process(conv_stacks *s, const conv_owner *owner, uint32_t *ret,
             pr_err *err)
{
    size_t before = s->pids.n;
    if (!pr_grow(&s->processes, &s->cap_processes, before + 1,
                 sizeof *s->processes))
        return pr_no_memory(err);
    process new = {.known = {.index = (uint32_t)before, .pid = owner->pid}};
    pr_code rc = add_text(s, owner->command, &new.command, err);
    if (rc == PR_OK)
        rc = pr_set_add(&s->pids, &owner->pid, ret, err);
    if (rc == PR_OK && s->pids.n > before)
        s->processes[before] = new;
    return rc;
}

static bool
is_main_name(pr_text name)
{
    static const char main_name[] = "MainThread";
    return name.len == sizeof main_name - 1 &&
           memcmp(name.bytes, main_name, name.len) == 0;
}

pr_code
conv_stacks_thread(conv_stacks *s, const conv_owner *owner, uint32_t *ret,
                   pr_err *err)
{
    const thread_key key = {owner->pid, owner->tid, owner->interp};
    size_t before = s->thread_keys.n;
    if (!pr_grow(&s->threads, &s->cap_threads, before + 1, sizeof *s->threads))
        return pr_no_memory(err);
    s->threads[before] = (thread){.tid = owner->tid,
                                  .interp = owner->interp,
                                  .is_main = is_main_name(owner->name)};
    thread *new = &s->threads[before];
    pr_code rc = add_text(s, owner->name, &new->name, err);
    if (rc == PR_OK)
        rc = find_process(s, owner, &new->process, err);
    return rc == PR_OK ? pr_set_add(&s->thread_keys, &key, ret, err) : rc;
}

/* ---- stacks ---- */

static const node *
node_of(const conv_stacks *s, uint32_t id)
{
    return (const node *)s->nodes.item + id;
}

static pr_code
find_child(conv_stacks *s, node key, uint32_t *ret, pr_err *err)
{
    size_t before = s->nodes.n;
    pr_code rc = pr_set_add(&s->nodes, &key, ret, err);
    if (rc != PR_OK || s->nodes.n == before)
        return rc;
    if (!pr_grow(&s->of_node, &s->cap_of_node, s->nodes.n, sizeof *s->of_node))
        return pr_no_memory(err);
    s->of_node[*ret] = (node_facts){.depth = s->of_node[key.parent].depth + 1};
    return PR_OK;
}

/* A stack mostly begins like the one before it. */
pr_code
conv_stacks_child(conv_stacks *s, uint32_t parent, uint32_t frame,
                  uint32_t *ret, pr_err *err)
{
    uint32_t recent = s->of_node[parent].recent;
    if (s->frames_left == 0)
        return PR_FAIL(err, PR_LIMIT,
                       "the stacks have more than %d frames for each byte of "
                       "the file",
                       FRAMES_A_BYTE);
    s->frames_left--;
    if (recent && node_of(s, recent)->frame == frame) {
        *ret = recent;
        return PR_OK;
    }
    pr_code rc = find_child(s, (node){parent, frame}, ret, err);
    if (rc == PR_OK)
        s->of_node[parent].recent = *ret;
    return rc;
}

uint32_t
conv_stacks_parent(const conv_stacks *s, uint32_t id)
{
    return node_of(s, id)->parent;
}

uint32_t
conv_stacks_top(const conv_stacks *s, uint32_t id)
{
    return node_of(s, id)->frame;
}

static pr_code
add_entry(thread *t, const entry *new, pr_err *err)
{
    if (!pr_grow(&t->entries, &t->cap, t->n + 1, sizeof *t->entries))
        return pr_no_memory(err);
    t->entries[t->n++] = *new;
    return PR_OK;
}

static pr_code
too_long(pr_err *err)
{
    return PR_FAIL(err, PR_LIMIT, "the times add up to more than 2^62 us");
}

pr_code
conv_stacks_add(conv_stacks *s, uint32_t id, uint32_t stack,
                const conv_entry_value *value, pr_err *err)
{
    if (value->n == 0 && value->us == 0)
        return PR_OK;
    if (value->n > SAMPLES_MAX - s->n)
        return PR_FAIL(err, PR_LIMIT, "more than %" PRIu64 " samples",
                       SAMPLES_MAX);
    if (value->us > ((uint64_t)1 << 62) - s->us)
        return too_long(err);
    s->n += value->n;
    s->us += value->us;
    thread *t = &s->threads[id];
    const entry new = {
        .n = value->n,
        .us = value->us,
        .node = stack,
        .status = (uint8_t)(value->status | (t->is_main ? PR_MAIN_THREAD : 0))};
    return add_entry(t, &new, err);
}

pr_code
conv_stacks_gap(conv_stacks *s, uint32_t id, uint64_t us, pr_err *err)
{
    const entry gap = {.us = us, .is_gap = true};
    if (us > ((uint64_t)1 << 62) - s->us)
        return too_long(err);
    s->us += us;
    thread *t = &s->threads[id];
    if (t->n && t->entries[t->n - 1].is_gap) {
        t->entries[t->n - 1].us += us;
        return PR_OK;
    }
    return us ? add_entry(t, &gap, err) : PR_OK;
}

pr_code
conv_stacks_total(conv_stacks *s, const pr_total *total, pr_err *err)
{
    if (!pr_grow(&s->totals, &s->cap_totals, s->n_totals + 1,
                 sizeof *s->totals))
        return pr_no_memory(err);
    s->totals[s->n_totals++] = *total;
    return PR_OK;
}

/* ---- the interval ---- */

/* The last entry of a thread that is not a gap; NULL: none.  Two gaps never
 * follow one another. */
static entry *
last_entry(const thread *t)
{
    size_t n = t->n;
    n -= n > 0 && t->entries[n - 1].is_gap;
    return n ? &t->entries[n - 1] : NULL;
}

static int
compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The entries' median; no more than the least of what must hold an interval:
 * the last entry of a thread, and half of an entry before a gap. */
static pr_code
imply_interval(const conv_stacks *s, uint64_t *ret, pr_err *err)
{
    size_t n = 0, k = 0;
    uint64_t most = UINT64_MAX;
    for (size_t i = 0; i < s->thread_keys.n; i++)
        n += s->threads[i].n;
    uint64_t *us = malloc((n + 1) * sizeof *us);
    if (!us)
        return pr_no_memory(err);
    for (size_t i = 0; i < s->thread_keys.n; i++) {
        const thread *t = &s->threads[i];
        for (size_t j = 0; j < t->n; j++) {
            const entry *e = &t->entries[j];
            if (e->is_gap)
                continue;
            us[k++] = e->us;
            uint64_t room = e == last_entry(t) ? e->us
                            : e[1].is_gap      ? e->us / 2
                                               : UINT64_MAX;
            most = room < most ? room : most;
        }
    }
    qsort(us, k, sizeof *us, compare_numbers);
    uint64_t median = k ? us[k / 2] : 1;
    free(us);
    uint64_t least = s->us / SAMPLES_IMPLIED + 1;
    *ret = median < most ? median : most;
    *ret = *ret < least ? least : *ret;
    return PR_OK;
}

static pr_code
choose_interval(conv_stacks *s, uint64_t *ret, pr_err *err)
{
    *ret = s->facts.is_totals ? 1 : s->facts.interval_us;
    if (*ret)
        return PR_OK;
    if (s->us && s->n) {
        *ret = s->us / s->n ? s->us / s->n : 1;
        return PR_OK;
    }
    if (s->us)
        return imply_interval(s, ret, err);
    *ret = s->facts.assumed_us;
    s->assumed = true;
    return PR_OK;
}

/* ---- samples ---- */

/* How the samples of an entry lie: `body` of them, evenly in the time before
 * the last `tail_us`; and one at the beginning of these, if there are any. */
typedef struct layout {
    uint64_t us, body, tail_us;
} layout;

static uint64_t
samples_of(const layout *l)
{
    return l->body + (l->tail_us != 0);
}

/* The time of sample i, since the entry's begin. */
static uint64_t
time_of(const layout *l, uint64_t i)
{
    uint64_t all = l->us - l->tail_us;
    if (i >= l->body)
        return all;
    return all / l->body * i + all % l->body * i / l->body;
}

/* So many samples that none stands for more than two intervals. */
static uint64_t
fit(uint64_t n, uint64_t us, uint64_t interval)
{
    if (us && n == 0)
        n = us / interval ? us / interval : 1;
    bool fits = us == 0 || (us - 1) / (n ? n : 1) / 2 < interval;
    return fits ? n : us / interval + 1;
}

static layout
lay_out(const entry *e, const entry *end, uint64_t interval)
{
    layout l = {.us = e->us ? e->us : e->n * interval};
    bool last = e + 1 == end, gap = !last && e[1].is_gap;
    uint64_t tail = last ? interval : gap ? 2 * interval : 0;
    uint64_t n = e->n;
    if (tail && l.us >= tail && n != 1) {
        l.tail_us = tail;
        n -= n != 0;
    } else if (last && l.us == interval) {
        l.tail_us = tail;
        n = 0;
    }
    uint64_t rest = l.us - l.tail_us;
    if (rest || !l.tail_us)
        l.body = fit(n, rest, interval);
    else
        l.body = n;
    return l;
}

/* An entry with several samples comes last among entries without order: it has
 * room for a sample of one interval. */
static void
choose_last(thread *t)
{
    size_t best = 0;
    for (size_t i = 1; i < t->n; i++)
        if (t->entries[i].n > t->entries[best].n)
            best = i;
    if (t->n == 0)
        return;
    entry last = t->entries[t->n - 1];
    t->entries[t->n - 1] = t->entries[best];
    t->entries[best] = last;
}

/* The end of its entries; a gap at the end of a thread has no samples. */
static const entry *
entries_end(const thread *t)
{
    const entry *last = last_entry(t);
    return last ? last + 1 : t->entries;
}

static void
measure(conv_stacks *s)
{
    for (size_t i = 0; i < s->thread_keys.n; i++) {
        const thread *t = &s->threads[i];
        const entry *end = entries_end(t);
        uint64_t now = 0;
        for (size_t k = 0; k < t->n; k++) {
            const entry *e = &t->entries[k];
            uint64_t n = e->n * s->start.interval_us;
            now += e->us ? e->us : n;
            if (e->is_gap || e >= end)
                continue;
            layout l = lay_out(e, end, s->start.interval_us);
            s->samples += samples_of(&l);
        }
        s->length_us = now > s->length_us ? now : s->length_us;
    }
}

pr_code
conv_stacks_finish(conv_stacks *s, const conv_stacks_facts *facts, pr_err *err)
{
    static const conv_owner nobody = {.pid = 0};
    uint64_t interval;
    uint32_t first;
    s->facts = *facts;
    pr_code rc = choose_interval(s, &interval, err);
    if (rc == PR_OK && s->pids.n == 0)
        rc = find_process(s, &nobody, &first, err);
    if (rc != PR_OK)
        return rc;
    if (interval == 0 || interval > (uint64_t)1 << 32 ||
        s->us / interval > SAMPLES_MAX)
        return PR_FAIL(err, PR_LIMIT,
                       "the times are those of more than %" PRIu64 " samples",
                       SAMPLES_MAX);
    s->start = (pr_start){.wall_us = facts->wall_us,
                          .interval_us = interval,
                          .mode = facts->mode};
    for (size_t i = 0; i < s->thread_keys.n && !facts->in_time; i++)
        choose_last(&s->threads[i]);
    measure(s);
    for (size_t i = 0; i < s->pids.n; i++)
        s->processes[i].known.command = text_of(s, s->processes[i].command);
    return PR_OK;
}

/* ---- reading ---- */

bool
conv_stacks_is_totals(const conv_stacks *s)
{
    return s->facts.is_totals;
}

const pr_start *
conv_stacks_start(const conv_stacks *s)
{
    return &s->start;
}

uint64_t
conv_stacks_samples(const conv_stacks *s)
{
    return s->samples;
}

uint64_t
conv_stacks_length_us(const conv_stacks *s)
{
    return s->length_us;
}

const pr_process *
conv_stacks_process(const conv_stacks *s, size_t i)
{
    return i < s->pids.n ? &s->processes[i].known : NULL;
}

/* ---- replay ---- */

typedef struct replay {
    conv_stacks *s;
    pr_sink *sink;
    const conv_stacks_opts *opts;
    uint64_t samples, done; /* in range; of all */
    uint32_t shown;         /* the thread's stack, as the sink knows it */
    bool awaits; /* no sample of the thread follows its emitted ones */
    pr_list push;
    uint64_t time[CHUNK];
    uint8_t status[CHUNK];
} replay;

static pr_code
emit_meta(replay *r, const char *key, pr_text value, pr_err *err)
{
    return PR_SINK_CALL(r->sink, meta, key, value.bytes, value.len, err);
}

static pr_code
emit_facts(replay *r, pr_err *err)
{
    const conv_stacks *s = r->s;
    const pr_text kind = {s->kind, strlen(s->kind)}, assumed = {"assumed", 7};
    const pr_text totals = {"totals", 6};
    pr_code rc = PR_SINK_CALL(r->sink, start, &s->start, err);
    if (rc == PR_OK)
        rc = emit_meta(r, "import", kind, err);
    if (rc == PR_OK && s->assumed)
        rc = emit_meta(r, "import.interval", assumed, err);
    if (rc == PR_OK && s->facts.is_totals)
        rc = emit_meta(r, CONV_META_CONTENT, totals, err);
    for (size_t i = 0; i < s->n_metas && rc == PR_OK; i++)
        rc = emit_meta(r, s->metas[i].key, text_of(s, s->metas[i].value), err);
    return rc;
}

static pr_code
emit_names(replay *r, pr_err *err)
{
    const conv_stacks *s = r->s;
    const place_key *place = s->frames.item;
    pr_code rc = PR_OK;
    for (uint32_t i = 0; i < s->strings.n && rc == PR_OK; i++) {
        pr_text text = text_of(s, i);
        rc = PR_SINK_CALL(r->sink, string, text.bytes, text.len, err);
    }
    for (size_t i = 0; i < s->frames.n && rc == PR_OK; i++) {
        const pr_frame frame = {.file = place[i].file,
                                .func = place[i].function,
                                .line = place[i].line,
                                .end_line = place[i].end_line,
                                .column = place[i].column,
                                .end_column = place[i].end_column,
                                .first_line = place[i].first_line,
                                .opcode = PR_NO_OPCODE};
        rc = PR_SINK_CALL(r->sink, frame, &frame, err);
    }
    for (size_t i = 0; i < s->pids.n && rc == PR_OK; i++)
        rc = PR_SINK_CALL(r->sink, process, &s->processes[i].known, err);
    for (size_t i = 0; i < s->thread_keys.n && rc == PR_OK; i++) {
        const thread *t = &s->threads[i];
        pr_text name = text_of(s, t->name);
        const pr_thread known = {.tid = t->tid,
                                 .interp = t->interp,
                                 .is_main = t->is_main,
                                 .name = name.bytes,
                                 .name_len = name.len,
                                 .process = t->process};
        rc = PR_SINK_CALL(r->sink, thread, &known, err);
    }
    return rc;
}

/* r->push becomes what leads from the stack the sink knows to this one; the
 * depth of what they share is returned. */
static pr_code
step_to(replay *r, uint32_t to, uint32_t *ret_keep, pr_err *err)
{
    const conv_stacks *s = r->s;
    uint32_t from = r->shown;
    pr_code rc = PR_OK;
    r->push.n = 0;
    while (s->of_node[from].depth > s->of_node[to].depth)
        from = node_of(s, from)->parent;
    while (rc == PR_OK && from != to) {
        if (s->of_node[to].depth == s->of_node[from].depth)
            from = node_of(s, from)->parent;
        rc = pr_list_add(&r->push, node_of(s, to)->frame, err);
        to = node_of(s, to)->parent;
    }
    *ret_keep = s->of_node[to].depth;
    return rc;
}

static pr_code
emit_chunk(replay *r, uint32_t id, uint32_t stack, uint32_t n, pr_err *err)
{
    uint32_t keep;
    if (n == 0)
        return PR_OK;
    pr_code rc = step_to(r, stack, &keep, err);
    if (rc != PR_OK)
        return rc;
    r->shown = stack;
    const pr_delta delta = {.thread = id,
                            .keep = keep,
                            .n_push = (uint32_t)r->push.n,
                            .n = n,
                            .push = r->push.at,
                            .time_us = r->time,
                            .status = r->status};
    return PR_SINK_CALL(r->sink, delta, &delta, err);
}

/* Is it in the range, or the sample after it? */
static bool
is_wanted(replay *r, uint64_t time_us)
{
    bool past = time_us >= r->opts->to_us && r->opts->to_us != UINT64_MAX;
    bool next = past && r->awaits && r->opts->with_next;
    bool in_range = !past && time_us >= r->opts->from_us;
    r->samples += in_range;
    if (in_range || next)
        r->awaits = in_range;
    return in_range || next;
}

static pr_code
emit_entry(replay *r, uint32_t id, const entry *e, const layout *l,
           uint64_t begin, pr_err *err)
{
    uint64_t n = samples_of(l);
    pr_code rc = PR_OK;
    for (uint64_t i = 0; i < n && rc == PR_OK;) {
        uint32_t k = 0;
        for (; i < n && k < CHUNK; i++) {
            uint64_t time = begin + time_of(l, i);
            if (!is_wanted(r, time))
                continue;
            r->time[k] = time;
            r->status[k++] = e->status;
        }
        rc = emit_chunk(r, id, e->node, k, err);
    }
    r->done += n;
    if (r->opts->progress.report)
        r->opts->progress.report(r->opts->progress.context, r->done,
                                 r->s->samples);
    return rc;
}

static pr_code
emit_thread(replay *r, uint32_t id, pr_err *err)
{
    const thread *t = &r->s->threads[id];
    const entry *end = entries_end(t);
    uint64_t now = 0;
    pr_code rc = PR_OK;
    r->shown = 0;
    r->awaits = false;
    for (const entry *e = t->entries; e < end && rc == PR_OK; e++) {
        layout l = lay_out(e, end, r->s->start.interval_us);
        if (!e->is_gap)
            rc = emit_entry(r, id, e, &l, now, err);
        now += l.us;
    }
    return rc;
}

static pr_code
emit_all(replay *r, pr_err *err)
{
    const conv_stacks *s = r->s;
    pr_code rc = emit_facts(r, err);
    if (rc == PR_OK)
        rc = emit_names(r, err);
    for (uint32_t i = 0; i < s->thread_keys.n && rc == PR_OK; i++)
        rc = emit_thread(r, i, err);
    for (size_t i = 0; i < s->n_totals && rc == PR_OK; i++)
        rc = PR_SINK_CALL(r->sink, total, &s->totals[i], err);
    const pr_stats stats = {.duration_s = (double)s->length_us / 1e6,
                            .rate_hz = 1e6 / (double)s->start.interval_us,
                            .known = PR_STATS_PRESENT};
    if (rc == PR_OK && s->facts.in_time)
        rc = PR_SINK_CALL(r->sink, stats, &stats, err);
    return rc;
}

pr_code
conv_stacks_replay(conv_stacks *s, const conv_stacks_opts *opts, pr_sink *sink,
                   uint64_t *ret_samples, pr_err *err)
{
    bool part = opts->from_us > 0 || opts->to_us < UINT64_MAX;
    if (part && !s->facts.in_time)
        return PR_FAIL(err, PR_USAGE,
                       "this file does not say when its samples were taken");
    replay *r = calloc(1, sizeof *r);
    if (!r)
        return pr_no_memory(err);
    r->s = s;
    r->sink = sink;
    r->opts = opts;
    pr_code rc = emit_all(r, err);
    if (ret_samples)
        *ret_samples = r->samples;
    pr_list_release(&r->push);
    free(r);
    return rc;
}
