/*
 * run_emitter.c - samples into deltas (run_emitter.h).
 */
#include "recorder/sample/run_emitter.h"

#include <base/array.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void
rec_emitter_init(rec_emitter *emitter, pr_sink *sink, rec_threads_table *table)
{
    *emitter = (rec_emitter){.sink = sink, .table = table};
}

static void
release_ended(rec_thread *t)
{
    rec_stack_release(&t->stack);
    free(t->name);
}

void
rec_emitter_release(rec_emitter *emitter)
{
    for (size_t i = 0; i < emitter->n_ended; i++)
        release_ended(&emitter->ended[i]);
    free(emitter->ended);
    free(emitter->tick_us);
    free(emitter->status);
    free(emitter->push);
    *emitter = (rec_emitter){0};
}

pr_code
rec_emitter_tick(rec_emitter *emitter, uint64_t time_us, pr_err *err)
{
    if (!pr_grow(&emitter->tick_us, &emitter->cap_ticks, emitter->n_ticks + 1,
                 sizeof *emitter->tick_us))
        return pr_no_memory(err);
    if (time_us < emitter->sampled_us)
        time_us = emitter->sampled_us;
    emitter->tick_us[emitter->n_ticks++] = time_us;
    return PR_OK;
}

pr_code
rec_emitter_introduce(rec_emitter *emitter, rec_thread *t, pr_err *err)
{
    if (t->sink_id != PR_NO_THREAD)
        return PR_OK;
    if (!t->name &&
        !rec_threads_name(emitter->table, t, &t->name, &t->name_len))
        return pr_no_memory(err);
    pr_thread thread = {t->tid, t->interp_id, t->is_main, t->name, t->name_len};
    pr_code code = PR_SINK_CALL(emitter->sink, thread, &thread, err);
    if (code == PR_OK)
        t->sink_id = emitter->n_threads++;
    return code;
}

pr_code
rec_emitter_rename(rec_emitter *emitter, rec_thread *t, pr_err *err)
{
    char *name;
    size_t len;
    if (!rec_threads_name(emitter->table, t, &name, &len))
        return pr_no_memory(err);
    bool same = len == 0 || (len == t->name_len && t->name &&
                             memcmp(name, t->name, len) == 0);
    if (same) {
        free(name);
        return PR_OK;
    }
    free(t->name);
    t->name = name;
    t->name_len = len;
    return PR_SINK_CALL(emitter->sink, rename, t->sink_id, name, len, err);
}

rec_thread *
rec_emitter_ended_thread(rec_emitter *emitter, uint32_t interp)
{
    for (size_t i = 0; i < emitter->n_ended; i++)
        if (emitter->ended[i].interp_id == interp)
            return &emitter->ended[i];
    if (!pr_grow(&emitter->ended, &emitter->cap_ended, emitter->n_ended + 1,
                 sizeof *emitter->ended))
        return NULL;
    rec_thread *t = &emitter->ended[emitter->n_ended++];
    *t = (rec_thread){.interp_id = interp, .sink_id = PR_NO_THREAD};
    rec_sched_init(&t->sched, 0);
    return t;
}

/* Emit the pending samples. */
static pr_code
settle(rec_emitter *emitter, rec_thread *t, pr_err *err)
{
    size_t n = emitter->n_ticks - t->pending_from;
    if (!t->pending)
        return PR_OK;
    t->pending = false;
    if (n == 0)
        return PR_OK;
    if (!pr_grow(&emitter->status, &emitter->cap_status, n, 1))
        return pr_no_memory(err);
    memset(emitter->status, t->status, n);
    pr_delta delta = {
        t->sink_id,     t->stack.n, 0,
        (uint32_t)n,    NULL,       emitter->tick_us + t->pending_from,
        emitter->status};
    t->last_us = emitter->tick_us[emitter->n_ticks - 1];
    return PR_SINK_CALL(emitter->sink, delta, &delta, err);
}

pr_code
rec_emitter_settle_before(rec_emitter *emitter, rec_thread *t, pr_err *err)
{
    if (!t->pending)
        return PR_OK;
    emitter->n_ticks--;
    pr_code code = settle(emitter, t, err);
    emitter->n_ticks++;
    return code;
}

pr_code
rec_emitter_sample(rec_emitter *emitter, rec_thread *t, uint64_t time_us,
                   uint8_t status, pr_err *err)
{
    pr_code code = rec_emitter_settle_before(emitter, t, err);
    if (code == PR_OK)
        code = rec_emitter_introduce(emitter, t, err);
    if (code != PR_OK)
        return code;
    uint32_t n_push = t->stack.n - t->shared;
    if (!pr_grow(&emitter->push, &emitter->cap_push, n_push,
                 sizeof *emitter->push))
        return pr_no_memory(err);
    for (uint32_t i = 0; i < n_push; i++)
        emitter->push[i] = t->stack.v[t->stack.n - 1 - i].id;
    if (time_us < t->last_us)
        time_us = t->last_us;
    pr_delta delta = {t->sink_id,    t->shared, n_push, 1,
                      emitter->push, &time_us,  &status};
    code = PR_SINK_CALL(emitter->sink, delta, &delta, err);
    if (code != PR_OK)
        return code;
    t->shared = t->stack.n;
    t->status = status;
    t->last_us = time_us;
    if (time_us > emitter->sampled_us)
        emitter->sampled_us = time_us;
    return PR_OK;
}

pr_code
rec_emitter_idle(rec_emitter *emitter, rec_thread *t, pr_err *err)
{
    size_t now = emitter->n_ticks - 1;
    if (t->sink_id == PR_NO_THREAD || t->shared != t->stack.n)
        return rec_emitter_sample(emitter, t, emitter->tick_us[now], t->status,
                                  err);
    if (!t->pending) {
        t->pending = true;
        t->pending_from = now;
    }
    return PR_OK;
}

pr_code
rec_emitter_flush(rec_emitter *emitter, rec_threads_table *table, pr_err *err)
{
    for (size_t i = 0; i < table->n_live; i++) {
        pr_code code = settle(emitter, table->live[i], err);
        if (code != PR_OK)
            return code;
    }
    emitter->n_ticks = 0;
    return PR_OK;
}

static pr_code
emit_counts(rec_emitter *emitter, uint32_t thread, rec_counts *counts,
            pr_err *err)
{
    if (!counts->changed)
        return PR_OK;
    for (size_t i = 0; i < REC_COUNTS; i++) {
        if (counts->value[i] == 0)
            continue;
        pr_count c = {thread, rec_count_kinds[i], counts->value[i]};
        pr_code code = PR_SINK_CALL(emitter->sink, count, &c, err);
        if (code != PR_OK)
            return code;
    }
    counts->changed = false;
    return PR_OK;
}

enum { TIMED_MAX = 256 }; /* threads: a status file takes some microseconds */

static void
add_spent(rec_thread *t, const rec_sched_times *now)
{
    if (t->timed) {
        t->spent.run_ns += now->run_ns - t->seen.run_ns;
        t->spent.wait_ns += now->wait_ns - t->seen.wait_ns;
        t->spent.voluntary += now->voluntary - t->seen.voluntary;
        t->spent.involuntary += now->involuntary - t->seen.involuntary;
    }
    t->seen = *now;
    t->timed = true;
}

void
rec_emitter_begin_times(rec_threads_table *table)
{
    rec_sched_times now;
    for (size_t i = 0; i < table->n_live && table->n_live <= TIMED_MAX; i++) {
        rec_thread *t = table->live[i];
        if (rec_sched_times_read(&t->sched, table->process->pid, t->host, &now))
            add_spent(t, &now);
    }
}

/* The time a thread spent on CPUs and waiting for them since it was
 * introduced. */
static pr_code
emit_times(rec_emitter *emitter, rec_thread *t, pid_t pid, pr_err *err)
{
    rec_sched_times now;
    if (t->sink_id == PR_NO_THREAD || !t->tstate ||
        !rec_sched_times_read(&t->sched, pid, t->host, &now))
        return PR_OK;
    add_spent(t, &now);
    const pr_count counts[] = {
        {t->sink_id, PR_COUNT_CPU_NS, t->spent.run_ns},
        {t->sink_id, PR_COUNT_CPU_WAIT_NS, t->spent.wait_ns},
        {t->sink_id, PR_COUNT_SWITCHES_VOLUNTARY, t->spent.voluntary},
        {t->sink_id, PR_COUNT_SWITCHES_INVOLUNTARY, t->spent.involuntary}};
    pr_code code = PR_OK;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && code == PR_OK; i++)
        code = PR_SINK_CALL(emitter->sink, count, &counts[i], err);
    return code;
}

/* The counts of a thread, also of one that has only losses, and its end. */
static pr_code
emit_thread(rec_emitter *emitter, rec_thread *t, pr_err *err)
{
    pr_code code = PR_OK;
    if (t->counts.changed)
        code = rec_emitter_introduce(emitter, t, err);
    if (code == PR_OK)
        code = emit_counts(emitter, t->sink_id, &t->counts, err);
    if (code != PR_OK || t->tstate || t->left || t->sink_id == PR_NO_THREAD)
        return code;
    t->left = true;
    return PR_SINK_CALL(emitter->sink, leave, t->sink_id, err);
}

pr_code
rec_emitter_counts(rec_emitter *emitter, rec_threads_table *table, pr_err *err)
{
    for (size_t i = 0; i < table->n_all; i++) {
        pr_code code = emit_thread(emitter, table->all[i], err);
        if (code != PR_OK)
            return code;
    }
    for (size_t i = 0; i < table->n_live && table->n_live <= TIMED_MAX; i++) {
        pr_code code =
            emit_times(emitter, table->live[i], table->process->pid, err);
        if (code != PR_OK)
            return code;
    }
    if (!rec_threads_pack(table))
        return pr_no_memory(err);
    return emit_counts(emitter, PR_NO_THREAD, &emitter->counts, err);
}
