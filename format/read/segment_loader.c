/*
 * segment_loader.c - the records of segments, checked and decompressed.
 */
#include "format/read/segment_loader.h"
#include "format/limits.h"

#include <base/hash.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <zstd.h>

/* Slot i holds the i-th, (i + n_slots)-th, ... wanted segment.  A worker fills
 * a slot after the caller has left it, and the caller reads it when it is
 * full. */
typedef struct slot {
    pf_loaded loaded;
    size_t segment;
    bool full;
} slot;

struct pf_loader {
    const pf_input *in;
    bool swapped;
    const pf_segment *segment;
    const bool *wanted;
    size_t n;

    slot *slots;
    size_t n_slots;
    ZSTD_DCtx *zstd; /* of the caller's own loads */

    pthread_t *worker;
    size_t n_workers;
    pthread_mutex_t lock; /* guards all fields below and slot.full */
    pthread_cond_t changed;
    size_t next_segment; /* the first that no worker took */
    size_t taken;        /* wanted segments that workers took */
    size_t given;        /* wanted segments that the caller got */
    bool in_use;         /* the caller holds the slot of the last one given */
    bool stop;
};

/* ---- one segment ---- */

static pr_code
read_frame(const pf_loader *l, const pf_segment *s, pf_loaded *out, pr_err *err)
{
    if (s->data_size > PF_ZSTD_BOUND(PF_RECORDS_MAX))
        return PR_FAIL(err, PR_DAMAGED, "a data frame of %" PRIu64 " bytes",
                       s->data_size);
    size_t size = (size_t)s->data_size;
    out->frame.n = 0;
    if (!pf_buf_reserve(&out->frame, size))
        return pr_no_memory(err);
    out->frame.n = size;
    pr_code code = pf_input_read(l->in, s->data_at, out->frame.p, size, err);
    if (code == PR_OK && pr_hash_bytes(out->frame.p, size) != s->data_check)
        return PR_FAIL(err, PR_DAMAGED, "the file changed while it was read");
    return code;
}

/* A data frame may claim any number of bytes: allocate no more than the
 * checkpoint promised, and no more than the frame's blocks can hold. */
static pr_code
unpack_records(const pf_segment *s, ZSTD_DCtx *zstd, pf_loaded *out,
               pr_err *err)
{
    size_t n = (size_t)s->record_bytes, size = (size_t)s->data_size;
    unsigned long long said = ZSTD_getFrameContentSize(out->frame.p, size);
    if (said == ZSTD_CONTENTSIZE_UNKNOWN)
        said = 0; /* 5.1: a segment without records */
    if (said != n || ZSTD_findFrameCompressedSize(out->frame.p, size) != size ||
        n > (size / PF_ZSTD_BLOCK_MIN) * (uint64_t)PF_ZSTD_BLOCK_MAX)
        return PR_FAIL(err, PR_DAMAGED,
                       "its data frame does not hold %zu bytes", n);
    out->record_bytes.n = 0;
    if (!pf_buf_reserve(&out->record_bytes, n + 1))
        return pr_no_memory(err);
    size_t got =
        ZSTD_decompressDCtx(zstd, out->record_bytes.p, n, out->frame.p, size);
    if (ZSTD_isError(got) || got != n)
        return PR_FAIL(err, PR_DAMAGED, "its records do not decompress: %s",
                       ZSTD_isError(got) ? ZSTD_getErrorName(got)
                                         : "too short");
    out->record_bytes.n = n;
    return PR_OK;
}

static void
load(const pf_loader *l, size_t segment, ZSTD_DCtx *zstd, pf_loaded *out)
{
    const pf_segment *s = &l->segment[segment];
    pr_err_clear(&out->err);
    out->code = read_frame(l, s, out, &out->err);
    if (out->code == PR_OK)
        out->code = unpack_records(s, zstd, out, &out->err);
    out->records =
        pf_cur_of(out->record_bytes.p, out->record_bytes.n, l->swapped);
}

/* ---- in order ---- */

/* The next wanted segment from `from` on; l->n after the last. */
static size_t
next_wanted(const pf_loader *l, size_t from)
{
    while (from < l->n && !l->wanted[from])
        from++;
    return from;
}

/* Take the next segment if there is one and its slot is free.  The caller holds
 * the lock. */
static slot *
take_slot(pf_loader *l)
{
    size_t held = l->given - l->in_use; /* earlier slots are free again */
    if (l->taken - held >= l->n_slots)
        return NULL;
    slot *s = &l->slots[l->taken % l->n_slots];
    s->segment = l->next_segment;
    l->taken++;
    l->next_segment = next_wanted(l, l->next_segment + 1);
    return s;
}

static void *
work(void *context)
{
    pf_loader *l = context;
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    pthread_mutex_lock(&l->lock);
    while (!l->stop && l->next_segment < l->n) {
        slot *s = take_slot(l);
        if (!s) {
            pthread_cond_wait(&l->changed, &l->lock);
            continue;
        }
        pthread_mutex_unlock(&l->lock);
        if (zstd)
            load(l, s->segment, zstd, &s->loaded);
        else
            s->loaded.code = pr_no_memory(&s->loaded.err);
        pthread_mutex_lock(&l->lock);
        s->full = true;
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
    ZSTD_freeDCtx(zstd);
    return NULL;
}

static const pf_loaded *
next_by_workers(pf_loader *l, size_t *ret_segment)
{
    pthread_mutex_lock(&l->lock);
    if (l->in_use) {
        l->slots[(l->given - 1) % l->n_slots].full = false;
        l->in_use = false;
        pthread_cond_broadcast(&l->changed);
    }
    slot *s = &l->slots[l->given % l->n_slots];
    while (!s->full && (l->given < l->taken || l->next_segment < l->n))
        pthread_cond_wait(&l->changed, &l->lock);
    bool there = s->full;
    l->given += there;
    l->in_use = there;
    pthread_mutex_unlock(&l->lock);
    if (!there)
        return NULL;
    *ret_segment = s->segment;
    return &s->loaded;
}

const pf_loaded *
pf_loader_next(pf_loader *l, size_t *ret_segment)
{
    if (l->n_workers)
        return next_by_workers(l, ret_segment);
    if (l->next_segment >= l->n)
        return NULL;
    *ret_segment = l->next_segment;
    load(l, l->next_segment, l->zstd, &l->slots[0].loaded);
    l->next_segment = next_wanted(l, l->next_segment + 1);
    return &l->slots[0].loaded;
}

/* ---- life ---- */

static bool
allocate(pf_loader *l, int jobs)
{
    l->n_slots = jobs > 1 ? (size_t)jobs + 1 : 1;
    l->slots = calloc(l->n_slots, sizeof *l->slots);
    l->worker = calloc(l->n_slots, sizeof *l->worker);
    l->zstd = ZSTD_createDCtx();
    return l->slots && l->worker && l->zstd;
}

pr_code
pf_loader_new(const pf_input *in, bool swapped, const pf_segment *segment,
              const bool *wanted, size_t n, int jobs, pf_loader **ret,
              pr_err *err)
{
    pf_loader *l = calloc(1, sizeof *l);
    if (!l)
        return pr_no_memory(err);
    l->in = in;
    l->swapped = swapped;
    l->segment = segment;
    l->wanted = wanted;
    l->n = n;
    l->next_segment = next_wanted(l, 0);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    if (jobs > PF_JOBS_MAX)
        jobs = PF_JOBS_MAX;
    if (!allocate(l, jobs)) {
        pf_loader_free(l);
        return pr_no_memory(err);
    }
    /* with fewer threads loading is slower; without any the caller loads */
    while (jobs > 1 && l->n_workers < (size_t)jobs &&
           !pthread_create(&l->worker[l->n_workers], NULL, work, l))
        l->n_workers++;
    *ret = l;
    return PR_OK;
}

void
pf_loader_free(pf_loader *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    for (size_t i = 0; i < l->n_workers; i++)
        pthread_join(l->worker[i], NULL);
    for (size_t i = 0; l->slots && i < l->n_slots; i++) {
        free(l->slots[i].loaded.frame.p);
        free(l->slots[i].loaded.record_bytes.p);
    }
    free(l->slots);
    free(l->worker);
    ZSTD_freeDCtx(l->zstd);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
