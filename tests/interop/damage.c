/*
 * damage.c - every single fault of a small profile, by the library's reader.
 *
 *     damage flip FILE            flip each bit
 *     damage cut FILE END SAMPLES [END SAMPLES]...
 *                                 cut at each byte; the samples that lie
 *                                 before the END of each whole checkpoint
 *
 * A flip must be found (another answer than the whole file's) or harmless (the
 * same calls of the sink).  In a file that is cut already, it may make the cut
 * longer.  In no case may the reader emit a sample that the whole file lacks.
 * It must emit exactly the samples of a cut file up to the last whole
 * checkpoint.
 * Prints the counts; exit status 1 if one fault went wrong.
 */
#include <base/array.h>
#include <base/hash.h>
#include <pyrec/error.h>
#include <pyrec/reader.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A thread as emitted: its identity and the meanings of its stack's frames,
 * outermost first. */
typedef struct seen_thread {
    uint64_t id;
    uint64_t *stack;
    size_t depth, cap;
} seen_thread;

typedef struct list {
    uint64_t *v;
    size_t n, cap;
} list;

/* The meaning of a frame whose name was lost (spec/format.md 7.6). */
#define LOST 0

/* A sink that turns all its calls into numbers: one for the whole, and for
 * each sample its meaning (thread, time, status, names and lines), unless a
 * name was lost, and its outline (thread, time, status, depth). */
typedef struct witness {
    pr_sink sink;
    uint64_t calls; /* hash of all calls in order */
    list string, frame, sample, outline;
    seen_thread *thread;
    size_t n_threads, thread_cap;
} witness;

static void
die(const char *what)
{
    perror(what);
    exit(2);
}

static void
need(bool ok)
{
    if (!ok)
        die("no memory, or a promise of sink.h is broken");
}

static void
append(list *l, uint64_t value)
{
    need(pr_grow(&l->v, &l->cap, l->n + 1, sizeof *l->v));
    l->v[l->n++] = value;
}

static pr_code
note(witness *w, const char *op, const void *bytes, size_t n)
{
    w->calls = pr_hash_seeded(op, strlen(op), w->calls);
    w->calls = pr_hash_seeded(bytes, n, w->calls);
    return PR_OK;
}

static witness *
of(pr_sink *sink)
{
    return (witness *)(void *)sink;
}

static pr_code
on_start(pr_sink *sink, const pr_start *s, pr_err *err)
{
    (void)err;
    const uint64_t v[] = {s->start_us,  s->wall_us,       s->interval_us,
                          s->python[0], s->python[1],     s->python[2],
                          s->capture,   (uint64_t)s->mode};
    return note(of(sink), "start", v, sizeof v);
}

static pr_code
on_meta(pr_sink *sink, const char *key, const char *value, size_t len,
        pr_err *err)
{
    (void)err;
    note(of(sink), "meta", key, strlen(key));
    return note(of(sink), "value", value, len);
}

static pr_code
on_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    (void)err;
    append(&of(sink)->string, pr_hash_bytes(bytes, len));
    return note(of(sink), "string", bytes, len);
}

static pr_code
on_frame(pr_sink *sink, const pr_frame *f, pr_err *err)
{
    (void)err;
    witness *w = of(sink);
    need(f->file < w->string.n && f->func < w->string.n);
    const uint64_t v[] = {w->string.v[f->file],
                          w->string.v[f->func],
                          (uint64_t)f->line,
                          (uint64_t)f->end_line,
                          (uint64_t)f->column,
                          (uint64_t)f->end_column,
                          f->opcode,
                          (uint64_t)f->first_line};
    /* a lost checkpoint takes first lines with it, which no sample needs */
    uint64_t lost = pr_hash_bytes("<lost>", 6);
    bool known = v[0] != lost && v[1] != lost;
    append(&w->frame, known ? pr_hash_bytes(v, sizeof v - sizeof *v) : LOST);
    return note(w, "frame", v, sizeof v);
}

static pr_code
on_thread(pr_sink *sink, const pr_thread *t, pr_err *err)
{
    (void)err;
    witness *w = of(sink);
    const uint64_t v[] = {t->tid, t->interp};
    need(pr_grow(&w->thread, &w->thread_cap, w->n_threads + 1,
                 sizeof *w->thread));
    w->thread[w->n_threads++] = (seen_thread){.id = pr_hash_bytes(v, sizeof v)};
    note(w, "thread", v, sizeof v);
    note(w, t->is_main ? "main" : "other", NULL, 0);
    return note(w, "name", t->name, t->name_len);
}

static pr_code
on_rename(pr_sink *sink, uint32_t thread, const char *name, size_t len,
          pr_err *err)
{
    (void)err;
    note(of(sink), "rename", &thread, sizeof thread);
    return note(of(sink), "name", name, len);
}

static void
change_stack(witness *w, seen_thread *t, const pr_delta *d)
{
    need(d->keep <= t->depth);
    need(pr_grow(&t->stack, &t->cap, (size_t)d->keep + d->n_push,
                 sizeof *t->stack));
    t->depth = d->keep;
    for (uint32_t i = d->n_push; i-- > 0;) {
        need(d->push[i] < w->frame.n);
        t->stack[t->depth++] = w->frame.v[d->push[i]];
    }
}

static pr_code
on_delta(pr_sink *sink, const pr_delta *d, pr_err *err)
{
    (void)err;
    witness *w = of(sink);
    need(d->thread < w->n_threads);
    seen_thread *t = &w->thread[d->thread];
    change_stack(w, t, d);
    bool named = true;
    for (size_t i = 0; i < t->depth; i++)
        named = named && t->stack[i] != LOST;
    uint64_t stack =
        pr_hash_seeded(t->stack, t->depth * sizeof *t->stack, t->id);
    for (uint32_t i = 0; i < d->n; i++) {
        const uint64_t full[] = {stack, d->time_us[i], d->status[i]};
        const uint64_t bare[] = {t->id, t->depth, d->time_us[i], d->status[i]};
        if (named)
            append(&w->sample, pr_hash_bytes(full, sizeof full));
        append(&w->outline, pr_hash_bytes(bare, sizeof bare));
        note(w, "sample", full, sizeof full);
    }
    return PR_OK;
}

static pr_code
on_count(pr_sink *sink, const pr_count *c, pr_err *err)
{
    (void)err;
    const uint64_t v[] = {c->thread, c->kind, c->value};
    return note(of(sink), "count", v, sizeof v);
}

static pr_code
on_gc(pr_sink *sink, const pr_gc_event *gc, pr_err *err)
{
    (void)err;
    const uint64_t v[] = {gc->interp,        gc->generation,  gc->start_us,
                          gc->stop_us,       gc->collections, gc->collected,
                          gc->uncollectable, gc->candidates,  gc->heap_size,
                          gc->duration_ns};
    return note(of(sink), "gc", v, sizeof v);
}

static pr_code
on_task(pr_sink *sink, const pr_task *t, pr_err *err)
{
    (void)err;
    const uint64_t v[] = {t->key, t->time_us, t->thread};
    note(of(sink), "task", v, sizeof v);
    note(of(sink), "name", t->name, t->name_len);
    return note(of(sink), "parents", t->parent,
                t->n_parents * sizeof *t->parent);
}

static pr_code
on_mark(pr_sink *sink, const pr_mark *m, pr_err *err)
{
    (void)err;
    const uint64_t v[] = {m->kind, m->time_us, m->end_us};
    note(of(sink), "mark", v, sizeof v);
    return note(of(sink), "text", m->text, m->text_len);
}

static pr_code
on_stats(pr_sink *sink, const pr_stats *s, pr_err *err)
{
    (void)err;
    const double v[] = {s->duration_s, s->rate_hz, s->error_percent,
                        s->missed_percent, s->known};
    return note(of(sink), "stats", v, sizeof v);
}

static const pr_sink_ops witness_ops = {
    .start = on_start,
    .meta = on_meta,
    .string = on_string,
    .frame = on_frame,
    .thread = on_thread,
    .rename = on_rename,
    .delta = on_delta,
    .count = on_count,
    .gc = on_gc,
    .task = on_task,
    .mark = on_mark,
    .stats = on_stats,
};

static void
witness_reset(witness *w)
{
    for (size_t i = 0; i < w->n_threads; i++)
        free(w->thread[i].stack);
    w->n_threads = w->string.n = w->frame.n = 0;
    w->sample.n = w->outline.n = 0;
    w->calls = 0;
}

static void
witness_release(witness *w)
{
    witness_reset(w);
    free(w->thread);
    free(w->string.v);
    free(w->frame.v);
    free(w->sample.v);
    free(w->outline.v);
}

/* Read all of the file; the answer is the reader's. */
static pr_code
observe(const char *path, witness *w)
{
    pf_reader *reader;
    pf_replay_opts opts = PF_REPLAY_OPTS_INIT;
    pr_err err = PR_ERR_INIT;
    witness_reset(w);
    pr_code rc = pf_reader_open(path, NULL, &reader, &err);
    if (rc)
        return rc;
    rc = pf_reader_replay(reader, &opts, &w->sink, NULL, &err);
    pf_reader_free(reader);
    return rc;
}

static int
compare_u64(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void
sort(list *l)
{
    if (l->n)
        qsort(l->v, l->n, sizeof *l->v, compare_u64);
}

static void
sort_samples(witness *w)
{
    sort(&w->sample);
    sort(&w->outline);
}

/* Is each number of `taken` one of `truth` (both sorted), and not oftener? */
static bool
is_part(const list *taken, const list *truth)
{
    size_t j = 0;
    for (size_t i = 0; i < taken->n; i++, j++) {
        while (j < truth->n && truth->v[j] < taken->v[i])
            j++;
        if (j == truth->n || truth->v[j] != taken->v[i])
            return false;
    }
    return true;
}

static bool
is_part_of(const witness *taken, const witness *truth)
{
    return is_part(&taken->sample, &truth->sample) &&
           is_part(&taken->outline, &truth->outline);
}

/* A copy of a file in memory that can be changed, under a path. */
typedef struct copy {
    int fd;
    char path[64];
    uint8_t *bytes;
    size_t size;
} copy;

static void
copy_open(copy *c, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        die(path);
    long size = ftell(file);
    c->size = (size_t)size;
    c->bytes = malloc(c->size + 1);
    need(c->bytes != NULL);
    rewind(file);
    if (fread(c->bytes, 1, c->size, file) != c->size)
        die(path);
    fclose(file);
    c->fd = memfd_create("profile", 0);
    if (c->fd < 0 || write(c->fd, c->bytes, c->size) != size)
        die("copy in memory");
    snprintf(c->path, sizeof c->path, "/proc/self/fd/%d", c->fd);
}

static void
copy_put(const copy *c, size_t at, uint8_t byte)
{
    if (pwrite(c->fd, &byte, 1, (off_t)at) != 1)
        die("copy in memory");
}

static void
copy_close(copy *c)
{
    close(c->fd);
    free(c->bytes);
}

/* The outcomes of all faults of one kind. */
typedef struct tally {
    uint64_t found, harmless, shorter, silent, lies;
} tally;

static void
judge_flip(tally *t, size_t bit, pr_code whole, pr_code rc,
           const witness *truth, const witness *taken)
{
    bool same = taken->calls == truth->calls;
    bool lied = !is_part_of(taken, truth);
    bool shorter = rc == PR_CUT && taken->outline.n < truth->outline.n;
    if (rc != whole)
        t->found++;
    else if (same)
        t->harmless++;
    else if (shorter)
        t->shorter++;
    else
        t->silent++;
    t->lies += lied;
    if (lied || (rc == whole && !same && !shorter))
        printf("byte %zu bit %zu: %s, %s\n", bit / 8, bit % 8, pr_code_name(rc),
               lied ? "wrong samples" : "not found");
}

static int
flip_all(const copy *c, witness *truth, witness *taken)
{
    pr_code whole = observe(c->path, truth);
    sort_samples(truth);
    tally t = {0};
    for (size_t bit = 0; bit < c->size * 8; bit++) {
        copy_put(c, bit / 8, (uint8_t)(c->bytes[bit / 8] ^ 1u << bit % 8));
        pr_code rc = observe(c->path, taken);
        copy_put(c, bit / 8, c->bytes[bit / 8]);
        sort_samples(taken);
        judge_flip(&t, bit, whole, rc, truth, taken);
    }
    printf("%zu flips: %" PRIu64 " found, %" PRIu64 " harmless, %" PRIu64
           " cut shorter, %" PRIu64 " silent, %" PRIu64
           " with wrong samples; %zu samples\n",
           c->size * 8, t.found, t.harmless, t.shorter, t.silent, t.lies,
           truth->outline.n);
    return t.silent || t.lies || t.found == 0;
}

/* Whole checkpoints: where they end and the samples up to there. */
typedef struct checkpoints {
    const uint64_t (*row)[2];
    size_t n;
} checkpoints;

static uint64_t
samples_before(const checkpoints *known, size_t cut)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < known->n && known->row[i][0] <= cut; i++)
        samples = known->row[i][1];
    return samples;
}

static int
cut_all(const copy *c, const checkpoints *known, witness *truth, witness *w)
{
    observe(c->path, truth);
    sort_samples(truth);
    uint64_t right = 0, wrong = 0, silent = 0;
    for (size_t cut = c->size; cut-- > 0;) {
        if (ftruncate(c->fd, (off_t)cut))
            die("copy in memory");
        pr_code rc = observe(c->path, w);
        uint64_t want = samples_before(known, cut);
        sort_samples(w);
        bool good = w->outline.n == want && is_part_of(w, truth);
        silent += rc == PR_OK;
        right += good;
        wrong += !good;
        if (!good || rc == PR_OK)
            printf("cut at %zu: %s, %zu samples of %" PRIu64 "\n", cut,
                   pr_code_name(rc), w->outline.n, want);
    }
    printf("%zu cuts: %" PRIu64 " with all whole samples, %" PRIu64
           " without, %" PRIu64 " not noticed\n",
           c->size, right, wrong, silent);
    return wrong || silent || right == 0;
}

static int
run_cut(const copy *c, int n, char **words, witness *truth, witness *w)
{
    uint64_t(*row)[2] = calloc((size_t)n / 2 + 1, sizeof *row);
    need(row != NULL);
    for (int i = 0; i < n; i++)
        row[i / 2][i % 2] = strtoull(words[i], NULL, 10);
    checkpoints known = {(const uint64_t(*)[2])row, (size_t)n / 2};
    int failed = cut_all(c, &known, truth, w);
    free(row);
    return failed;
}

int
main(int argc, char **argv)
{
    bool flip = argc == 3 && strcmp(argv[1], "flip") == 0;
    bool cut = argc >= 3 && strcmp(argv[1], "cut") == 0 && argc % 2;
    if (!flip && !cut) {
        fprintf(stderr, "usage: damage flip FILE | "
                        "damage cut FILE [END SAMPLES]...\n");
        return pr_exit_status(PR_USAGE);
    }
    copy c;
    witness truth = {.sink = {&witness_ops}}, w = {.sink = {&witness_ops}};
    copy_open(&c, argv[2]);
    int failed = flip ? flip_all(&c, &truth, &w)
                      : run_cut(&c, argc - 3, argv + 3, &truth, &w);
    copy_close(&c);
    witness_release(&truth);
    witness_release(&w);
    return failed;
}
