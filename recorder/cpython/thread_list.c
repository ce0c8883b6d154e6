/*
 * thread_list.c - lists of interpreters and threads (thread_list.h).
 */
#include "recorder/cpython/thread_list.h"

#include "recorder/linux/clock.h"
#include "recorder/linux/procfs.h"
#include <base/array.h>
#include <base/hash.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    INTERP_SPAN_MAX = 16384,
    DESCRIPTORS_LEFT = 64,
    PACK_LEAST = 64, /* threads that ended are not worth less work */
    RSEQ_CPU_ID = 4  /* offset in struct rseq (linux/rseq.h) */
};

/* ---- the table ---- */

typedef struct key {
    const rec_threads_table *table;
    uint64_t tid;
    uint32_t interp;
} key;

static bool
same_key(const void *context, uint32_t value)
{
    const key *k = context;
    const rec_thread *t = k->table->all[value];
    return t->tid == k->tid && t->interp_id == k->interp;
}

static uint64_t
hash_key(uint32_t interp, uint64_t tid)
{
    return pr_mix64(tid ^ (uint64_t)interp << 40);
}

static bool
same_tstate(const void *context, uint32_t value)
{
    const key *k = context;
    return k->table->live[value]->tstate == k->tid;
}

rec_thread *
rec_threads_find(const rec_threads_table *table, uint64_t tstate)
{
    key k = {table, tstate, 0};
    uint32_t i =
        pr_table_find(&table->by_tstate, pr_mix64(tstate), same_tstate, &k);
    return i == PR_TABLE_NONE ? NULL : table->live[i];
}

/* The thread ended, or its state belongs to another one: forget all but its
 * identity, the data that the sink has of it, and its counts. */
static void
forget(rec_thread *t)
{
    rec_sched_release(&t->sched);
    rec_data_stack_release(&t->source);
    rec_code_set_release(&t->codes);
    rec_stack_release(&t->stack);
    rec_thread kept = {.tid = t->tid,
                       .interp_id = t->interp_id,
                       .is_main = t->is_main,
                       .sink_id = t->sink_id,
                       .ended_at = t->ended_at,
                       .left = t->left,
                       .name = t->name,
                       .name_len = t->name_len,
                       .named_us = t->named_us,
                       .last_us = t->last_us,
                       .counts = t->counts,
                       .spent = t->spent,
                       .listed_at = t->listed_at};
    rec_sched_init(&kept.sched, t->sched.keep_below);
    *t = kept;
}

static void
free_thread(rec_thread *t)
{
    free(t->name);
    free(t);
}

static rec_thread *
new_thread(rec_threads_table *table, uint32_t interp_id, uint64_t tid)
{
    if (!pr_grow(&table->all, &table->cap_all, table->n_all + 1,
                 sizeof *table->all))
        return NULL;
    rec_thread *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->tid = tid;
    t->interp_id = interp_id;
    t->sink_id = PR_NO_THREAD;
    rec_sched_init(&t->sched, table->keep_below);
    if (!pr_table_insert(&table->by_key, hash_key(interp_id, tid),
                         (uint32_t)table->n_all)) {
        free(t);
        return NULL;
    }
    table->all[table->n_all++] = t;
    return t;
}

static bool
same_ended(const void *context, uint32_t value)
{
    const key *k = context;
    const rec_ended *e = &k->table->ended[value];
    return e->tid == k->tid && e->interp_id == k->interp;
}

/* Restore to a thread the record of the earlier one with its pair. */
static void
unpack(rec_threads_table *table, rec_thread *t)
{
    key k = {table, t->tid, t->interp_id};
    uint32_t i = pr_table_find(&table->ended_by_key,
                               hash_key(t->interp_id, t->tid), same_ended, &k);
    if (i == PR_TABLE_NONE)
        return;
    const rec_ended *e = &table->ended[i];
    t->ended_at = i + 1;
    t->sink_id = e->sink_id;
    for (size_t c = 0; c < REC_COUNTS; c++) {
        t->counts.value[c] = e->count[c];
        table->ended_counts.value[c] -= e->count[c];
    }
}

static rec_thread *
thread_of(rec_threads_table *table, uint32_t interp_id, uint64_t tid)
{
    key k = {table, tid, interp_id};
    uint32_t i =
        pr_table_find(&table->by_key, hash_key(interp_id, tid), same_key, &k);
    if (i != PR_TABLE_NONE)
        return table->all[i];
    rec_thread *t = new_thread(table, interp_id, tid);
    if (t)
        unpack(table, t);
    return t;
}

/* ---- threads that ended ---- */

/* A thread with a count beyond 32 bits is not packed. */
static bool
can_be_packed(const rec_thread *t)
{
    for (size_t c = 0; c < REC_COUNTS; c++)
        if (t->counts.value[c] > UINT32_MAX)
            return false;
    return t->tstate == 0 && !t->counts.changed;
}

/* Its place among the ended: the one it came from, or a new one. */
static rec_ended *
place_of_ended(rec_threads_table *table, const rec_thread *t)
{
    if (t->ended_at)
        return &table->ended[t->ended_at - 1];
    if (!pr_grow(&table->ended, &table->cap_ended, table->n_ended + 1,
                 sizeof *table->ended) ||
        !pr_table_insert(&table->ended_by_key, hash_key(t->interp_id, t->tid),
                         (uint32_t)table->n_ended))
        return NULL;
    return &table->ended[table->n_ended++];
}

static bool
pack(rec_threads_table *table, const rec_thread *t)
{
    if (t->sink_id == PR_NO_THREAD)
        return true; /* the sink never had it */
    rec_ended *e = place_of_ended(table, t);
    if (!e)
        return false;
    *e = (rec_ended){t->tid, t->interp_id, t->sink_id, {0}};
    for (size_t c = 0; c < REC_COUNTS; c++) {
        e->count[c] = (uint32_t)t->counts.value[c];
        table->ended_counts.value[c] += t->counts.value[c];
    }
    return true;
}

bool
rec_threads_pack(rec_threads_table *table)
{
    if (table->n_all < 2 * table->n_live + PACK_LEAST)
        return true;
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; i < table->n_all; i++) {
        rec_thread *t = table->all[i];
        if (ok && can_be_packed(t) && (ok = pack(table, t)))
            free_thread(t);
        else
            table->all[n++] = t;
    }
    table->n_all = n;
    pr_table_reset(&table->by_key);
    for (size_t i = 0; i < n && ok; i++) {
        const rec_thread *t = table->all[i];
        ok = pr_table_insert(&table->by_key, hash_key(t->interp_id, t->tid),
                             (uint32_t)i);
    }
    return ok;
}

/* With thousands of threads the limit of descriptors may be reached: some stay
 * free for the rest of the process. */
static int
descriptors_to_keep(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX)
        return INT_MAX;
    return (int)limit.rlim_cur - DESCRIPTORS_LEFT;
}

pr_code
rec_threads_init(rec_threads_table *table, const rec_process *process,
                 const rec_runtime *runtime, rec_memory *memory, pr_err *err)
{
    *table = (rec_threads_table){.process = process,
                                 .runtime = runtime,
                                 .memory = memory,
                                 .keep_below = descriptors_to_keep()};
    return rec_batch_init(&table->batch, memory, err);
}

void
rec_threads_release(rec_threads_table *table)
{
    for (size_t i = 0; i < table->n_all; i++) {
        forget(table->all[i]);
        free_thread(table->all[i]);
    }
    free(table->all);
    rec_thread_names_release(&table->names);
    free(table->ended);
    free(table->live);
    free(table->interp);
    pr_table_release(&table->by_key);
    pr_table_release(&table->ended_by_key);
    pr_table_release(&table->by_tstate);
    rec_batch_release(&table->batch);
    *table = (rec_threads_table){0};
}

void
rec_threads_forget(rec_threads_table *table)
{
    for (size_t i = 0; i < table->n_live; i++)
        forget(table->live[i]);
    table->n_live = table->n_interps = table->n_unbound = 0;
    pr_table_reset(&table->by_tstate);
    rec_thread_names_release(&table->names);
}

/* ---- the words of an interpreter ---- */

typedef struct span {
    uint32_t from, to;
} span;

static void
cover(span *s, uint32_t offset)
{
    if (offset == REC_ABSENT)
        return;
    if (offset < s->from)
        s->from = offset;
    if (offset + 8 > s->to)
        s->to = offset + 8;
}

/* The part of an interpreter that each tick reads: its lists, and the state of
 * the collector where that lies near. */
static span
interp_span(const rec_layout *l)
{
    span s = {UINT32_MAX, 0};
    cover(&s, l->interp.next);
    cover(&s, l->interp.threads_head);
    cover(&s, l->interp.threads_main);
    cover(&s, l->interp.code_generation);
    if (l->gc.frame != REC_ABSENT) {
        cover(&s, l->interp.gc + l->gc.frame);
        cover(&s, l->interp.gc + l->gc.collecting);
    }
    return s;
}

static uint64_t
word_at(const uint8_t *bytes, span s, uint32_t offset)
{
    return offset == REC_ABSENT ? 0 : rec_u64(bytes + (offset - s.from));
}

void
rec_interp_add(const rec_threads_table *table, size_t i, rec_batch *w,
               rec_interp_words *ret)
{
    span s = interp_span(&table->runtime->layout);
    const rec_interp *in = &table->interp[i];
    ret->own = rec_batch_add(w, in->address + s.from, s.to - s.from);
    ret->gil = in->gil.address ? rec_batch_add(w, in->gil.address, REC_CAP_GIL)
                               : REC_NO_PIECE;
}

void
rec_interps_add(rec_threads_table *table, rec_batch *w)
{
    const rec_layout *l = &table->runtime->layout;
    uint32_t offset = l->tstate.native_thread_id;
    table->newest = rec_batch_add(
        w, table->runtime->address + l->runtime.interpreters_head, 8);
    for (size_t i = 0; i < table->n_interps; i++)
        rec_interp_add(table, i, w, &table->interp[i].words);
    for (size_t i = 0; i < table->n_unbound; i++)
        table->unbound[i].piece =
            rec_batch_add(w, table->unbound[i].tstate + offset, 8);
}

static void
parse_gil(const rec_threads_table *table, const uint8_t *bytes, rec_gil *gil)
{
    const rec_layout *l = &table->runtime->layout;
    gil->holder = rec_u64(bytes + l->gil.holder);
    gil->locked = rec_u32(bytes + l->gil.locked) != 0;
    gil->switches = rec_u64(bytes + l->gil.switch_number);
}

bool
rec_interp_parse(rec_threads_table *table, size_t i, const rec_batch *w,
                 const rec_interp_words *words)
{
    const rec_layout *l = &table->runtime->layout;
    span s = interp_span(l);
    rec_interp *in = &table->interp[i];
    const uint8_t *p = rec_batch_bytes(w, words->own);
    const uint8_t *gil = rec_batch_bytes(w, words->gil);
    if (!p || (in->gil.address && !gil))
        return false;
    uint64_t next = i + 1 < table->n_interps ? table->interp[i + 1].address : 0;
    in->generation = word_at(p, s, l->interp.code_generation);
    in->gc_frame = 0;
    if (l->gc.frame != REC_ABSENT &&
        rec_u32(p + (l->interp.gc + l->gc.collecting - s.from)))
        in->gc_frame = word_at(p, s, l->interp.gc + l->gc.frame);
    if (gil)
        parse_gil(table, gil, &in->gil);
    return word_at(p, s, l->interp.next) == next &&
           word_at(p, s, l->interp.threads_head) == in->threads_head;
}

static bool
is_still_unbound(const rec_unbound *unbound, const rec_batch *w)
{
    const uint8_t *p = rec_batch_bytes(w, unbound->piece);
    return p && rec_u64(p) == unbound->said;
}

bool
rec_interps_parse(rec_threads_table *table, const rec_batch *w)
{
    const uint8_t *newest = rec_batch_bytes(w, table->newest);
    bool same = newest && table->n_interps &&
                rec_u64(newest) == table->interp[0].address;
    for (size_t i = 0; i < table->n_interps; i++)
        same = rec_interp_parse(table, i, w, &table->interp[i].words) && same;
    for (size_t i = 0; i < table->n_unbound; i++)
        same = is_still_unbound(&table->unbound[i], w) && same;
    return same;
}

/* ---- listing ---- */

/* A thread state as found in a list. */
typedef struct found {
    rec_thread *thread;
    uint64_t tstate, prev, next, pthread;
    uint64_t said; /* native_thread_id */
    uint32_t interp;
} found;

typedef struct listing {
    rec_threads_table *table;
    rec_interp interp[REC_INTERPS_MAX];
    size_t n_interps;
    found *found;
    size_t n_found, cap_found;
    rec_unbound unbound[REC_UNBOUND_MAX];
    size_t n_unbound;
    pid_t *kernel; /* ids of the kernel's threads, once they are needed */
    size_t n_kernel;
} listing;

/* A piece at `address`, read ahead or now. */
static pr_code
fetch(rec_batch *w, uint64_t address, size_t len, const uint8_t **ret,
      pr_err *err)
{
    const uint8_t *p = rec_batch_find(w, address, len);
    if (!p) {
        size_t piece = rec_batch_add(w, address, len);
        pr_code code = rec_batch_read(w, err);
        if (code != PR_OK)
            return code;
        p = rec_batch_bytes(w, piece);
    }
    if (!p)
        return PR_FAIL_AT(err, PR_TORN, address, "a list leads nowhere");
    *ret = p;
    return PR_OK;
}

static uint64_t
gil_address(const rec_threads_table *table, uint64_t ceval_gil)
{
    const rec_layout *l = &table->runtime->layout;
    if (l->free_threaded)
        return 0;
    if (l->runtime.gil != REC_ABSENT) /* 3.11: one for all */
        return table->runtime->address + l->runtime.gil;
    return rec_plausible(ceval_gil) ? ceval_gil : 0;
}

static pr_code
list_interp(listing *list, uint64_t address, rec_interp *ret, uint64_t *next,
            pr_err *err)
{
    const rec_layout *l = &list->table->runtime->layout;
    rec_batch *w = &list->table->batch;
    if (!rec_plausible(address))
        return PR_FAIL_AT(err, PR_TORN, address, "not an interpreter");
    rec_interp in = {.address = address};
    span s = interp_span(l);
    cover(&s, l->interp.id);
    const uint8_t *p;
    pr_code code = fetch(w, address + s.from, s.to - s.from, &p, err);
    if (code != PR_OK)
        return code;
    in.id = (uint32_t)word_at(p, s, l->interp.id);
    in.threads_head = word_at(p, s, l->interp.threads_head);
    in.threads_main = word_at(p, s, l->interp.threads_main);
    *next = word_at(p, s, l->interp.next);
    uint64_t gil = 0;
    if (l->interp.ceval_gil != REC_ABSENT) {
        code = fetch(w, address + l->interp.ceval_gil, 8, &p, err);
        if (code != PR_OK)
            return code;
        gil = rec_u64(p);
    }
    in.gil.address = gil_address(list->table, gil);
    *ret = in;
    return PR_OK;
}

static bool
is_main_thread(const rec_threads_table *table, const rec_interp *in,
               const rec_thread *t)
{
    if (table->runtime->layout.interp.threads_main != REC_ABSENT)
        return in->threads_main == t->tstate;
    return t->host == table->process->pid;
}

/* A state whose thread the kernel does not know stays in the list after a fork
 * in C, or after a thread that ended without deleting it: one sample is lost,
 * and later ones are not attempted. */
static void
note_dead(const rec_process *process, rec_thread *t)
{
    t->vanished = t->vanished && !rec_sched_is_there(process->pid, t->host);
    if (t->vanished && !t->dead)
        rec_count_add(&t->counts, PR_COUNT_LOST_GONE, 1);
    t->dead = t->vanished;
    t->wanted = t->wanted && !t->dead;
}

static void
bind_thread(const rec_threads_table *table, const found *f)
{
    rec_thread *t = f->thread;
    if (t->tstate != f->tstate || t->pthread != f->pthread ||
        t->said != f->said) {
        forget(t);
        t->tstate = t->source.tstate = f->tstate;
        t->pthread = f->pthread;
        t->said = f->said;
        t->host = rec_process_host_tid(table->process, t->tid);
        t->bound_in = table->listings;
        t->named_us = 0;
        t->sched.cpu = UINT32_MAX;
        t->left = false;
    }
    int64_t rseq = table->runtime->rseq_offset;
    t->rseq = rseq && rec_plausible(f->pthread)
                  ? f->pthread + (uint64_t)rseq + RSEQ_CPU_ID
                  : 0;
    t->prev = f->prev;
    t->next = f->next;
    t->interp = f->interp;
    note_dead(table->process, t);
    t->is_main = is_main_thread(table, &table->interp[f->interp], t);
}

static void
note_unbound(listing *list, const found *f)
{
    if (list->n_unbound < REC_UNBOUND_MAX)
        list->unbound[list->n_unbound++] =
            (rec_unbound){f->tstate, f->said, REC_NO_PIECE};
}

/* Two states of one thread: a new thread's state bears the id of the thread
 * that made it until it runs (3.11 Python/pystate.c), so the older counts. */
static pr_code
note_found(listing *list, found f, pr_err *err)
{
    if (f.thread->listed_at) {
        found *newer = &list->found[f.thread->listed_at - 1];
        note_unbound(list, newer);
        *newer = f;
        return PR_OK;
    }
    if (!pr_grow(&list->found, &list->cap_found, list->n_found + 1,
                 sizeof *list->found))
        return pr_no_memory(err);
    list->found[list->n_found++] = f;
    f.thread->listed_at = list->n_found;
    return PR_OK;
}

/* ---- the kernel's id of a thread ---- */

static bool
knows_kernel(listing *list)
{
    if (list->kernel)
        return true;
    return rec_process_threads(list->table->process->pid, &list->kernel,
                               &list->n_kernel, NULL) == PR_OK;
}

/* Does the kernel have a thread that the target knows as `tid`? */
static bool
is_in_kernel(listing *list, uint64_t tid)
{
    pid_t host = rec_process_host_tid(list->table->process, tid);
    for (size_t i = 0; host > 0 && i < list->n_kernel; i++)
        if (list->kernel[i] == host)
            return true;
    return false;
}

/* The id that the thread's own struct pthread holds, or 0. */
static uint64_t
own_tid(const rec_threads_table *table, uint64_t pthread)
{
    uint8_t word[4];
    uint32_t offset = table->runtime->pthread_tid;
    if (offset == REC_ABSENT || !rec_plausible(pthread) ||
        rec_memory_read(table->memory, pthread + offset, word, sizeof word,
                        NULL) != PR_OK)
        return 0;
    return rec_u32(word);
}

/* fork() called from C does not run PyOS_AfterFork_Child(): the states in the
 * child keep the ids that their threads had in the parent, while glibc's fork()
 * stores the new one in struct pthread.  So the state's word counts only where
 * struct pthread does not contradict it. */
static uint64_t
tid_of(listing *list, uint64_t tstate, uint64_t said, uint64_t pthread)
{
    const rec_thread *known = rec_threads_find(list->table, tstate);
    if (known && known->said == said && known->pthread == pthread &&
        !known->vanished) /* a child may not have run since its fork */
        return known->tid;
    uint64_t own = own_tid(list->table, pthread);
    if (own == said || !own || own > INT32_MAX || !knows_kernel(list) ||
        !is_in_kernel(list, own))
        return said;
    return own;
}

/* Where the C library does not show its thread ids: a process of one thread
 * whose only state bears an id that the kernel does not have. */
static void
pair_single(listing *list)
{
    rec_threads_table *table = list->table;
    if (list->n_found != 1 || table->process->own_pid_ns)
        return;
    found *f = &list->found[0];
    if ((f->thread->tstate == f->tstate && !f->thread->vanished) ||
        !knows_kernel(list) || list->n_kernel != 1 ||
        is_in_kernel(list, f->thread->tid))
        return;
    rec_thread *t =
        thread_of(table, f->thread->interp_id, (uint64_t)list->kernel[0]);
    if (!t)
        return;
    f->thread->listed_at = 0;
    t->listed_at = 1;
    f->thread = t;
}

/* ---- states ---- */

/* Its thread is done with it; it may stay in the list for a moment. */
static bool
is_over(const rec_layout *l, const uint8_t *tstate)
{
    return l->tstate.status != REC_ABSENT &&
           (tstate[l->tstate.status] & l->tstate.status_over);
}

static pr_code
list_thread(listing *list, uint64_t tstate, uint32_t interp, uint64_t *next,
            pr_err *err)
{
    rec_threads_table *table = list->table;
    const rec_layout *l = &table->runtime->layout;
    const rec_interp *in = &list->interp[interp];
    if (!rec_plausible(tstate))
        return PR_FAIL_AT(err, PR_TORN, tstate, "not a thread state");
    const uint8_t *p;
    pr_code code = fetch(&table->batch, tstate, rec_tstate_bytes(l), &p, err);
    if (code != PR_OK)
        return code;
    if (rec_u64(p + l->tstate.interp) != in->address)
        return PR_FAIL_AT(err, PR_TORN, tstate,
                          "thread state of another interpreter");
    *next = rec_u64(p + l->tstate.next);
    found f = {.tstate = tstate,
               .prev = rec_u64(p + l->tstate.prev),
               .next = *next,
               .pthread = rec_u64(p + l->tstate.thread_id),
               .said = rec_u64(p + l->tstate.native_thread_id),
               .interp = interp};
    if (f.said > INT32_MAX || is_over(l, p))
        return PR_OK;
    if (f.said == 0) {
        note_unbound(list, &f);
        return PR_OK;
    }
    f.thread =
        thread_of(table, in->id, tid_of(list, tstate, f.said, f.pthread));
    if (!f.thread)
        return pr_no_memory(err);
    return note_found(list, f, err);
}

static pr_code
list_threads(listing *list, uint32_t interp, pr_err *err)
{
    uint64_t at = list->interp[interp].threads_head;
    for (uint32_t n = 0; at; n++) {
        if (n == REC_THREADS_MAX)
            return PR_FAIL_AT(err, PR_LIMIT, at, "more than %d threads",
                              REC_THREADS_MAX);
        pr_code code = list_thread(list, at, interp, &at, err);
        if (code != PR_OK)
            return code;
    }
    return PR_OK;
}

static pr_code
list_all(listing *list, pr_err *err)
{
    rec_threads_table *table = list->table;
    const rec_layout *l = &table->runtime->layout;
    uint64_t head = table->runtime->address + l->runtime.interpreters_head;
    const uint8_t *p;
    pr_code code = fetch(&table->batch, head, 8, &p, err);
    if (code != PR_OK)
        return code;
    for (uint64_t at = rec_u64(p); at && code == PR_OK;) {
        if (list->n_interps == REC_INTERPS_MAX)
            return PR_FAIL_AT(err, PR_LIMIT, at, "more than %d interpreters",
                              REC_INTERPS_MAX);
        code = list_interp(list, at, &list->interp[list->n_interps], &at, err);
        if (code == PR_OK)
            code = list_threads(list, (uint32_t)list->n_interps++, err);
    }
    return code;
}

static void
adopt_interps(listing *list)
{
    rec_threads_table *table = list->table;
    for (size_t i = 0; i < list->n_interps; i++)
        for (size_t k = 0; k < table->n_interps; k++)
            if (table->interp[k].address == list->interp[i].address)
                list->interp[i].last_gil = table->interp[k].last_gil;
    if (list->n_interps)
        memcpy(table->interp, list->interp,
               list->n_interps * sizeof *list->interp);
    table->n_interps = list->n_interps;
}

/* Replace the live threads by the listed ones; a thread that is missing has
 * ended. */
static pr_code
adopt(listing *list, pr_err *err)
{
    rec_threads_table *table = list->table;
    if (!pr_grow(&table->interp, &table->cap_interps, list->n_interps,
                 sizeof *table->interp) ||
        !pr_grow(&table->live, &table->cap_live, list->n_found,
                 sizeof *table->live))
        return pr_no_memory(err);
    adopt_interps(list);
    memcpy(table->unbound, list->unbound, sizeof table->unbound);
    table->n_unbound = list->n_unbound;
    for (size_t i = 0; i < table->n_live; i++)
        if (!table->live[i]->listed_at)
            forget(table->live[i]);
    table->n_live = list->n_found;
    pr_table_reset(&table->by_tstate);
    for (size_t i = 0; i < list->n_found; i++) {
        bind_thread(table, &list->found[i]);
        table->live[i] = list->found[i].thread;
        if (!pr_table_insert(&table->by_tstate,
                             pr_mix64(table->live[i]->tstate), (uint32_t)i))
            return pr_no_memory(err);
    }
    return PR_OK;
}

static void
read_ahead(rec_threads_table *table)
{
    uint32_t len = rec_tstate_bytes(&table->runtime->layout);
    rec_batch_reset(&table->batch);
    for (size_t i = 0; i < table->n_live; i++)
        rec_batch_add(&table->batch, table->live[i]->tstate, len);
}

pr_code
rec_threads_list(rec_threads_table *table, pr_err *err)
{
    listing *list = calloc(1, sizeof *list);
    if (!list)
        return pr_no_memory(err);
    list->table = table;
    table->listings++;
    for (size_t i = 0; i < table->n_all; i++)
        table->all[i]->listed_at = 0;
    read_ahead(table);
    pr_code code = rec_batch_read(&table->batch, err);
    if (code == PR_OK)
        code = list_all(list, err);
    if (code == PR_OK) {
        pair_single(list);
        code = adopt(list, err);
    }
    free(list->kernel);
    free(list->found);
    free(list);
    return code;
}

pr_code
rec_threads_list_patiently(rec_threads_table *table, pr_err *err)
{
    enum { TRIES = 8 };
    pr_code code = PR_TORN;
    for (int i = 0; i < TRIES && code == PR_TORN; i++) {
        pr_err_clear(err);
        code = rec_threads_list(table, err);
    }
    return code;
}

/* ---- names ---- */

enum { NAMES_EVERY_NS = 1000000000, COMM_BYTES = 32 };

/* A load of names holds for a thread only if it came after the thread's state
 * was found: the ident may have been another thread's before. */
static bool
has_loaded_for(const rec_threads_table *table, const rec_thread *t)
{
    return table->names.loaded_ns && table->named_in >= t->bound_in &&
           table->names.interp == table->interp[t->interp].address;
}

static bool
get_name(const rec_threads_table *table, const rec_thread *t, char **ret,
         size_t *ret_len)
{
    return has_loaded_for(table, t) &&
           rec_thread_names_get(&table->names, &table->runtime->layout,
                                table->memory, t->pthread, ret, ret_len,
                                NULL) == PR_OK;
}

static bool
load_names(rec_threads_table *table, const rec_thread *t)
{
    uint64_t interp = table->interp[t->interp].address;
    if (table->names.interp == interp &&
        rec_now_ns() - table->names.loaded_ns < NAMES_EVERY_NS)
        return false;
    table->named_in = table->listings;
    return rec_thread_names_load(&table->names, &table->runtime->layout,
                                 table->memory, interp, NULL) == PR_OK;
}

bool
rec_threads_name(rec_threads_table *table, const rec_thread *t, char **ret,
                 size_t *ret_len)
{
    if (t->tstate && t->interp < table->n_interps &&
        (get_name(table, t, ret, ret_len) ||
         (load_names(table, t) && get_name(table, t, ret, ret_len))))
        return true;
    char *name = malloc(COMM_BYTES);
    if (!name)
        return false;
    rec_procfs_thread_name(table->process->pid, t->host, name, COMM_BYTES);
    *ret = name;
    *ret_len = strlen(name);
    return true;
}

/* ---- one thread ---- */

bool
rec_thread_matches(const rec_thread *t, const rec_layout *l, const uint8_t *p)
{
    if (rec_u64(p + l->tstate.native_thread_id) != t->said ||
        rec_u64(p + l->tstate.thread_id) != t->pthread)
        return false;
    if (l->tstate.status != REC_ABSENT)
        return !is_over(l, p);
    /* 3.11 does not mark a deleted state; its place in the list is another */
    return rec_u64(p + l->tstate.prev) == t->prev &&
           rec_u64(p + l->tstate.next) == t->next;
}
