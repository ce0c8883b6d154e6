/*
 * capture.c - reads from several CPUs at once (capture.h).
 */
#include "recorder/sample/capture.h"

#include <base/array.h>
#include <limits.h>
#include <stdlib.h>

enum { CAPTURES_MAX = 1024 };

void
rec_captures_release(rec_program *p)
{
    for (size_t i = 0; i < p->n_captures; i++) {
        rec_batch_release(&p->capture[i]->batch);
        free(p->capture[i]);
    }
    free(p->capture);
    p->capture = NULL;
    p->n_captures = p->cap_captures = p->captures_used = 0;
}

/* ---- before ---- */

/* An unused capture.  Captures keep their addresses: a batch points to its
 * memory. */
static pr_code
take_capture(rec_program *p, rec_capture **ret, pr_err *err)
{
    if (p->captures_used == p->n_captures) {
        if (!pr_grow(&p->capture, &p->cap_captures, p->n_captures + 1,
                     sizeof *p->capture))
            return pr_no_memory(err);
        rec_capture *c = calloc(1, sizeof *c);
        if (!c)
            return pr_no_memory(err);
        pr_code code = rec_batch_init(&c->batch, &c->memory, err);
        if (code != PR_OK) {
            free(c);
            return code;
        }
        p->capture[p->n_captures++] = c;
    }
    *ret = p->capture[p->captures_used++];
    return PR_OK;
}

static bool
is_listed(const rec_cpu_list *list, uint32_t cpu)
{
    for (size_t i = 0; i < list->n; i++)
        if ((uint32_t)list->v[i] == cpu)
            return true;
    return false;
}

static pr_code
prepare(rec_unwinder *u, rec_thread *t, pr_err *err)
{
    rec_capture *c;
    pr_code code = take_capture(&u->program, &c, err);
    if (code != PR_OK)
        return code;
    c->thread = t;
    c->cpu = (int)t->sched.cpu;
    c->memory = u->program.memory;
    c->memory.reads = c->memory.bytes = 0;
    c->still = false;
    c->code = PR_TORN; /* until it is read */
    rec_batch_reset(&c->batch);
    rec_interp_add(&u->table, t->interp, &c->batch, &c->words);
    u->tick.batch = &c->batch;
    bool added = rec_sample_add(u, t, t->rseq, &c->read);
    u->tick.batch = &u->program.batch;
    return added ? PR_OK : pr_no_memory(err);
}

pr_code
rec_captures_prepare(rec_unwinder *u, pr_err *err)
{
    pr_code code = PR_OK;
    u->program.captures_used = 0;
    for (size_t i = 0; i < u->table.n_live && code == PR_OK; i++) {
        rec_thread *t = u->table.live[i];
        if (t->wanted && is_listed(&u->tick.next, t->sched.cpu) &&
            u->program.captures_used < CAPTURES_MAX)
            code = prepare(u, t, err);
    }
    return code;
}

/* ---- on each CPU ---- */

/* The proof "still": its rseq.cpu_id, first and last in the batch, is compared
 * when the capture is judged. */
static void
read_still(rec_capture *c)
{
    uint64_t before, after;
    bool counted = rec_own_switches(&before);
    c->code = rec_batch_read(&c->batch, NULL);
    c->still = counted && rec_own_switches(&after) && before == after;
}

/* The proof "quiet", of a thread without an rseq. */
static void
read_quiet(rec_capture *c, pid_t pid)
{
    rec_thread *t = c->thread;
    bool ran;
    if (rec_sched_ran(&t->sched, pid, t->host, &ran) != REC_SCHED_KNOWN ||
        !rec_sched_read(&t->sched, pid, t->host) ||
        (!t->sched.asleep && t->sched.cpu != (uint32_t)c->cpu))
        return;
    c->code = rec_batch_read(&c->batch, NULL);
    c->still =
        rec_sched_ran(&t->sched, pid, t->host, &ran) == REC_SCHED_KNOWN && !ran;
}

void
rec_captures_read(rec_unwinder *u, int cpu)
{
    for (size_t i = 0; i < u->program.captures_used; i++) {
        rec_capture *c = u->program.capture[i];
        if (c->cpu != cpu)
            continue;
        if (c->read.guard)
            read_still(c);
        else
            read_quiet(c, u->process.pid);
    }
}

/* ---- after ---- */

pr_code
rec_captures_judge(rec_unwinder *u, pr_err *err)
{
    rec_program *p = &u->program;
    pr_code code = PR_OK;
    for (size_t i = 0; i < p->captures_used && code == PR_OK; i++) {
        rec_capture *c = p->capture[i];
        p->memory.reads += c->memory.reads;
        p->memory.bytes += c->memory.bytes;
        if (rec_is_fatal(c->code))
            code = PR_FAIL(err, c->code, "cannot read thread %llu",
                           (unsigned long long)c->thread->tid);
        if (c->code != PR_OK)
            continue;
        c->memory.reads = c->memory.bytes = 0;
        u->tick.batch = &c->batch;
        code = rec_sample_captured(u, c, err);
        p->memory.reads += c->memory.reads;
        p->memory.bytes += c->memory.bytes;
    }
    u->tick.batch = &p->batch;
    p->captures_used = 0;
    return code;
}
