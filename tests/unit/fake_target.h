/*
 * fake_target.h - a made-up CPython 3.15 or 3.13 with threads, and an unwinder
 * that is attached to it.
 *
 * The memory is made up; the threads' kernel ids are those of real threads of
 * the test, so that the kernel's counts of their runs are real.  What the
 * target writes while it is read, it writes at a chosen piece of the read.
 */
#ifndef TESTS_UNIT_FAKE_TARGET_H
#define TESTS_UNIT_FAKE_TARGET_H

#include "debug_offsets.h"
#include "fake_memory.h"
#include "recorder/sample/prove.h"

#include <sys/syscall.h>
#include <unistd.h>

enum {
    FAKE_THREADS = 4,
    FAKE_CHUNK = 16384,
    FAKE_FRAME_WORDS = 20,
    FAKE_UNITS = 16,
    FAKE_RSEQ = 64,  /* from a thread's pthread_self() to its struct rseq */
    FAKE_CPU = 1000, /* no real one: only the made-up words name it */
    FAKE_LOG = 4096
};

typedef struct fake_thread {
    uint64_t tstate, pthread, rseq; /* rseq: address of its cpu_id */
    uint64_t base, shim, chunk, top, last;
} fake_thread;

/* A sink that writes down the calls, a line each; frames by their names. */
typedef struct fake_sink {
    pr_sink sink;
    char name[64][32];
    uint32_t func[64];
    uint32_t n_names, n_frames;
    char log[FAKE_LOG];
    size_t used;
    bool counts; /* write them down as well */
} fake_sink;

typedef struct fake_target {
    fake_memory fake;
    fake_sink sink;
    rec_unwinder u;
    fake_thread thread[FAKE_THREADS];
    size_t n_threads;
    uint64_t interp, gil, type, lines;
    uint64_t poke_at;                   /* address: when it is read, ... */
    void (*poke)(struct fake_target *); /* ... this happens just before */
    void *context;                      /* of the test */
} fake_target;

/* ---- the sink ---- */

static inline void
fake_log(fake_sink *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(s->log + s->used, FAKE_LOG - s->used, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < FAKE_LOG - s->used);
    s->used += (size_t)n;
}

static inline pr_code
fake_take_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    (void)err;
    fake_sink *s = (fake_sink *)sink;
    assert_true(s->n_names < 64);
    snprintf(s->name[s->n_names++], 32, "%.*s", (int)len, bytes);
    return PR_OK;
}

static inline pr_code
fake_take_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    (void)err;
    fake_sink *s = (fake_sink *)sink;
    assert_true(s->n_frames < 64);
    s->func[s->n_frames++] = frame->func;
    return PR_OK;
}

static inline pr_code
fake_take_thread(pr_sink *sink, const pr_thread *thread, pr_err *err)
{
    (void)err;
    fake_log((fake_sink *)sink, "thread%s\n", thread->is_main ? " main" : "");
    return PR_OK;
}

static inline pr_code
fake_take_rename(pr_sink *sink, uint32_t thread, const char *name, size_t len,
                 pr_err *err)
{
    (void)err;
    fake_log((fake_sink *)sink, "rename %u %.*s\n", thread, (int)len, name);
    return PR_OK;
}

static inline pr_code
fake_take_leave(pr_sink *sink, uint32_t thread, pr_err *err)
{
    (void)err;
    fake_log((fake_sink *)sink, "leave %u\n", thread);
    return PR_OK;
}

static inline pr_code
fake_take_delta(pr_sink *sink, const pr_delta *d, pr_err *err)
{
    (void)err;
    fake_sink *s = (fake_sink *)sink;
    fake_log(s, "samples %u keep %u", d->thread, d->keep);
    for (uint32_t i = 0; i < d->n_push; i++)
        if (d->push[i] < s->n_frames)
            fake_log(s, " %s", s->name[s->func[d->push[i]]]);
        else
            fake_log(s, " #%u", d->push[i]);
    for (uint32_t i = 0; i < d->n; i++)
        fake_log(s, " @%llu/%u", (unsigned long long)d->time_us[i],
                 d->status[i]);
    fake_log(s, "\n");
    return PR_OK;
}

static inline pr_code
fake_take_count(pr_sink *sink, const pr_count *c, pr_err *err)
{
    (void)err;
    fake_sink *s = (fake_sink *)sink;
    if (s->counts && c->kind < PR_COUNT_CPU_NS)
        fake_log(s, "count %d %u = %llu\n", (int)c->thread, c->kind,
                 (unsigned long long)c->value);
    return PR_OK;
}

static const pr_sink_ops fake_sink_ops = {.string = fake_take_string,
                                          .frame = fake_take_frame,
                                          .thread = fake_take_thread,
                                          .rename = fake_take_rename,
                                          .leave = fake_take_leave,
                                          .delta = fake_take_delta,
                                          .count = fake_take_count};

/* The calls since the last expectation. */
static inline void
fake_expect(fake_target *f, const char *log)
{
    assert_string_equal(f->sink.log, log);
    f->sink.used = 0;
    f->sink.log[0] = '\0';
}

/* ---- the memory ---- */

/* As fake_read(), piece by piece, with what happens before one of them. */
static inline ssize_t
fake_target_read(void *context, const struct iovec *local,
                 const struct iovec *remote, size_t n)
{
    fake_target *f = context;
    ssize_t arrived = 0;
    for (size_t i = 0; i < n; i++) {
        if (f->poke && (uint64_t)(uintptr_t)remote[i].iov_base == f->poke_at)
            f->poke(f);
        ssize_t one = fake_read(&f->fake, &local[i], &remote[i], 1);
        if (one < 0)
            return arrived ? arrived : one;
        arrived += one;
    }
    return arrived;
}

static inline void
fake_put_frame(fake_target *f, uint64_t at, uint64_t code, uint64_t previous,
               uint8_t owner)
{
    const rec_layout *l = &f->u.program.runtime.layout;
    fake_put64(&f->fake, at + l->frame.executable, code);
    fake_put64(&f->fake, at + l->frame.previous, previous);
    fake_put64(&f->fake, at + l->frame.instr_ptr,
               code ? code + l->code.code_adaptive + 4 : 0);
    fake_put(&f->fake, at + l->frame.owner, &owner, 1);
}

static inline uint64_t
fake_code(fake_target *f, const char *name)
{
    const rec_layout *l = &f->u.program.runtime.layout;
    fake_memory *m = &f->fake;
    uint64_t at = fake_alloc(m, l->code.size + 2 * FAKE_UNITS);
    fake_put64(m, at + l->object.ob_type, f->type);
    fake_put64(m, at + l->code.n_units, FAKE_UNITS);
    fake_put64(m, at + l->code.filename, fake_ascii(m, l, "file.py"));
    fake_put64(m, at + l->code.qualname, fake_ascii(m, l, name));
    fake_put64(m, at + l->code.linetable, f->lines);
    fake_put32(m, at + l->code.firstlineno, 1);
    fake_put32(m, at + l->code.framesize, FAKE_FRAME_WORDS);
    return at;
}

/* Thread i calls a new function. */
static inline void
fake_call(fake_target *f, size_t i, const char *name)
{
    const rec_layout *l = &f->u.program.runtime.layout;
    fake_thread *t = &f->thread[i];
    fake_put_frame(f, t->top, fake_code(f, name), t->last,
                   l->frame.owner_thread);
    t->last = t->top;
    t->top += 8 * FAKE_FRAME_WORDS;
    fake_put64(&f->fake, t->tstate + l->tstate.current_frame, t->last);
    fake_put64(&f->fake, t->tstate + l->tstate.datastack_top, t->top);
}

/* The state of a thread whose kernel id is `tid`, with the stack "main". */
static inline fake_thread *
fake_add_thread(fake_target *f, pid_t tid)
{
    const rec_layout *l = &f->u.program.runtime.layout;
    fake_memory *m = &f->fake;
    assert_true(f->n_threads < FAKE_THREADS);
    fake_thread *t = &f->thread[f->n_threads];
    t->tstate = fake_alloc(m, rec_tstate_bytes(l) + 64);
    t->pthread = fake_alloc(m, 256);
    t->rseq = t->pthread + FAKE_RSEQ + 4;
    t->base = fake_alloc(m, l->frame.size);
    t->shim = fake_alloc(m, l->frame.size);
    t->chunk = fake_alloc(m, FAKE_CHUNK);
    fake_put64(m, t->chunk + l->chunk.size, FAKE_CHUNK);
    t->top = t->chunk + l->chunk.head + 8;
    fake_put32(m, t->rseq, FAKE_CPU);
    fake_put_frame(f, t->base, 0, 0, l->frame.owner_shim);
    bool has_base = l->tstate.base_frame != REC_ABSENT;
    fake_put_frame(f, t->shim, 0, has_base ? t->base : 0, l->frame.owner_shim);
    if (has_base)
        fake_put64(m, t->tstate + l->tstate.base_frame, t->base);
    t->last = has_base ? t->shim : 0;
    fake_put64(m, t->tstate + l->tstate.interp, f->interp);
    fake_put64(m, t->tstate + l->tstate.native_thread_id, (uint64_t)tid);
    fake_put64(m, t->tstate + l->tstate.thread_id, t->pthread);
    fake_put64(m, t->tstate + l->tstate.datastack_chunk, t->chunk);
    if (l->tstate.exc_info != REC_ABSENT)
        fake_put64(m, t->tstate + l->tstate.exc_info,
                   t->tstate + l->tstate.exc_state);
    fake_call(f, f->n_threads++, "main");
    return t;
}

/* Link the first n states into the list, newest first as CPython does. */
static inline void
fake_link(fake_target *f, size_t n)
{
    const rec_layout *l = &f->u.program.runtime.layout;
    for (size_t i = 0; i < n; i++) {
        uint64_t at = f->thread[i].tstate;
        fake_put64(&f->fake, at + l->tstate.next,
                   i ? f->thread[i - 1].tstate : 0);
        fake_put64(&f->fake, at + l->tstate.prev,
                   i + 1 < n ? f->thread[i + 1].tstate : 0);
    }
    fake_put64(&f->fake, f->interp + l->interp.threads_head,
               n ? f->thread[n - 1].tstate : 0);
    if (n && l->interp.threads_main != REC_ABSENT)
        fake_put64(&f->fake, f->interp + l->interp.threads_main,
                   f->thread[0].tstate);
}

/* The GIL belongs to thread i; SIZE_MAX: to none. */
static inline void
fake_hold(fake_target *f, size_t i)
{
    const rec_layout *l = &f->u.program.runtime.layout;
    fake_put32(&f->fake, f->gil + l->gil.locked, i != SIZE_MAX);
    if (i != SIZE_MAX)
        fake_put64(&f->fake, f->gil + l->gil.holder, f->thread[i].tstate);
}

/* List the threads and read the GIL, as the begin of a pass does. */
static inline void
fake_list(fake_target *f)
{
    fake_link(f, f->n_threads);
    assert_int_equal(rec_threads_list(&f->u.table, NULL), PR_OK);
    assert_int_equal(f->u.table.n_live, f->n_threads);
    rec_batch_reset(&f->u.program.batch);
    rec_interps_add(&f->u.table, &f->u.program.batch);
    assert_int_equal(rec_batch_read(&f->u.program.batch, NULL), PR_OK);
    assert_true(rec_interps_parse(&f->u.table, &f->u.program.batch));
}

/* The unwinder's record of thread i. */
static inline rec_thread *
fake_find(fake_target *f, size_t i)
{
    rec_thread *t = rec_threads_find(&f->u.table, f->thread[i].tstate);
    assert_non_null(t);
    return t;
}

/* ---- the whole ---- */

static inline void
fake_put_interp(fake_target *f, uint64_t interp_size)
{
    const rec_layout *l = &f->u.program.runtime.layout;
    fake_memory *m = &f->fake;
    static const uint8_t one_line[] = {0xdf, 4, 9, 0xdf, 4, 9};
    f->u.program.runtime.address = fake_alloc(m, REC_TABLE_BYTES);
    f->interp = fake_alloc(m, interp_size);
    f->gil = fake_alloc(m, REC_CAP_GIL);
    f->type = fake_type(m, l, "code", 0);
    f->lines = fake_bytes(m, l, one_line, sizeof one_line);
    fake_put64(m, f->u.program.runtime.address + l->runtime.interpreters_head,
               f->interp);
    fake_put64(m, f->interp + l->interp.ceval_gil, f->gil);
}

/* `table`: the first words of its _PyRuntime (debug_offsets.h). */
static inline fake_target *
fake_target_new(const uint64_t *table, size_t size)
{
    enum { INTERP_SIZE = 6 }; /* word of the table: interpreter_state.size */
    fake_target *f = calloc(1, sizeof *f);
    assert_non_null(f);
    rec_unwinder *u = &f->u;
    rec_program *p = &u->program;
    uint8_t bytes[REC_TABLE_BYTES] = {0};
    memcpy(bytes, table, size);
    assert_int_equal(rec_layout_load(bytes, 0, &p->runtime.layout, NULL),
                     PR_OK);
    fake_begin(&f->fake, 1 << 21);
    rec_memory_init(&p->memory, getpid());
    p->memory.read = fake_target_read;
    p->memory.context = f;
    p->runtime.rseq_offset = FAKE_RSEQ;
    p->runtime.pthread_tid = REC_ABSENT;
    f->sink.sink.ops = &fake_sink_ops;
    u->sink = &f->sink.sink;
    u->opts = (rec_unwinder_opts)REC_UNWINDER_OPTS_INIT;
    assert_int_equal(rec_process_open(getpid(), &u->process, NULL), PR_OK);
    rec_name_table_init(&u->names, u->sink);
    rec_emitter_init(&u->emitter, u->sink, &u->table);
    assert_int_equal(
        rec_threads_init(&u->table, &u->process, &p->runtime, &p->memory, NULL),
        PR_OK);
    assert_int_equal(rec_batch_init(&p->batch, &p->memory, NULL), PR_OK);
    assert_int_equal(
        rec_codes_new(&p->runtime.layout, &u->names, false, &p->codes, NULL),
        PR_OK);
    p->walker = (rec_walker){.layout = &p->runtime.layout, .codes = p->codes};
    u->tick.batch = &p->batch;
    u->tick.cpu = REC_NO_CPU;
    fake_put_interp(f, table[INTERP_SIZE]);
    return f;
}

static inline void
fake_target_free(fake_target *f)
{
    rec_unwinder *u = &f->u;
    rec_program *p = &u->program;
    rec_emitter_release(&u->emitter);
    rec_threads_release(&u->table);
    rec_codes_free(p->codes);
    rec_batch_release(&p->batch);
    rec_walker_release(&p->walker);
    rec_stack_release(&p->fresh);
    rec_memory_release(&p->memory);
    rec_name_table_release(&u->names);
    rec_process_release(&u->process);
    free(u->tick.next.v);
    fake_end(&f->fake);
    free(f);
}

static inline pid_t
fake_own_tid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

#endif
