/*
 * dump.c - keep the last stack of each thread, write them at the end.
 */
#include "recorder/dump.h"

#include "recorder/sample/prove.h"
#include "recorder/sample/thread_status.h"
#include <base/array.h>
#include <base/opcode_names.h>
#include <base/printed.h>
#include <base/quote.h>
#include <base/terminal.h>
#include <inttypes.h>
#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIES = 200, PAUSE_NS = 1000000 };

typedef struct text {
    char *bytes;
    size_t len;
} text;

typedef struct seen {
    pr_thread thread;
    text name;
    uint32_t *frame; /* outermost first */
    size_t depth, cap;
    uint8_t status;
    bool sampled;
    const char *left_out; /* by this option; NULL: by none */
} seen;

typedef struct dump {
    pr_sink sink;
    FILE *to;
    bool json;
    rec_target target;
    text *string;
    size_t n_strings, cap_strings;
    pr_frame *frame;
    size_t n_frames, cap_frames;
    seen *thread;
    size_t n_threads, cap_threads;
} dump;

/* ---- taking ---- */

static bool
copy_text(text *to, const char *bytes, size_t len)
{
    char *copy = malloc(len + 1);
    if (!copy)
        return false;
    if (len)
        memcpy(copy, bytes, len);
    free(to->bytes);
    *to = (text){copy, len};
    return true;
}

static pr_code
take_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    dump *d = (dump *)sink;
    if (!pr_grow(&d->string, &d->cap_strings, d->n_strings + 1,
                 sizeof *d->string))
        return pr_no_memory(err);
    text t = {NULL, 0};
    if (!copy_text(&t, bytes, len))
        return pr_no_memory(err);
    d->string[d->n_strings++] = t;
    return PR_OK;
}

static pr_code
take_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    dump *d = (dump *)sink;
    if (!pr_grow(&d->frame, &d->cap_frames, d->n_frames + 1, sizeof *d->frame))
        return pr_no_memory(err);
    d->frame[d->n_frames++] = *frame;
    return PR_OK;
}

static pr_code
take_thread(pr_sink *sink, const pr_thread *thread, pr_err *err)
{
    dump *d = (dump *)sink;
    seen s = {.thread = *thread,
              .status = thread->is_main ? PR_MAIN_THREAD : 0};
    if (!pr_grow(&d->thread, &d->cap_threads, d->n_threads + 1,
                 sizeof *d->thread) ||
        !copy_text(&s.name, thread->name, thread->name_len))
        return pr_no_memory(err);
    d->thread[d->n_threads++] = s;
    return PR_OK;
}

static pr_code
take_rename(pr_sink *sink, uint32_t thread, const char *name, size_t len,
            pr_err *err)
{
    dump *d = (dump *)sink;
    return copy_text(&d->thread[thread].name, name, len) ? PR_OK
                                                         : pr_no_memory(err);
}

static pr_code
take_delta(pr_sink *sink, const pr_delta *delta, pr_err *err)
{
    dump *d = (dump *)sink;
    seen *s = &d->thread[delta->thread];
    size_t depth = (size_t)delta->keep + delta->n_push;
    if (!pr_grow(&s->frame, &s->cap, depth, sizeof *s->frame))
        return pr_no_memory(err);
    for (uint32_t i = 0; i < delta->n_push; i++)
        s->frame[depth - 1 - i] = delta->push[i];
    s->depth = depth;
    s->status = delta->status[delta->n - 1];
    s->sampled = true;
    return PR_OK;
}

/* ---- writing ---- */

typedef struct status_word {
    uint8_t bit;
    const char *key, *text;
} status_word;

static const status_word status_words[] = {
    {PR_MAIN_THREAD, "main_thread", "main"},
    {PR_HAS_GIL, "has_gil", "holds the GIL"},
    {PR_ON_CPU, "on_cpu", "on CPU"},
    {PR_GIL_REQUESTED, "gil_requested", "waits for the GIL"},
    {PR_HAS_EXCEPTION, "has_exception", "handles an exception"},
};
enum { N_STATUS_WORDS = sizeof status_words / sizeof *status_words };

static const text *
string_of(const dump *d, uint32_t id)
{
    return &d->string[id];
}

/* NULL: not captured, or of a version that is not known. */
static const char *
opcode_of(const dump *d, const pr_frame *f)
{
    return f->opcode == PR_NO_OPCODE
               ? NULL
               : pr_opcode_name(d->target.python[1], f->opcode);
}

static void
write_text_frame(const dump *d, const pr_frame *f)
{
    const char *opcode = opcode_of(d, f);
    const text *file = string_of(d, f->file), *func = string_of(d, f->func);
    fputs("    ", d->to);
    pr_print_terminal(d->to, func->bytes, func->len);
    if (f->line != PR_NO_LINE) {
        fputs(" (", d->to);
        pr_print_terminal(d->to, file->bytes, file->len);
        fprintf(d->to, ":%" PRId32 ")", f->line);
    }
    if (opcode)
        fprintf(d->to, " %s", opcode);
    fputc('\n', d->to);
}

static void
write_text_thread(const dump *d, const seen *s)
{
    fprintf(d->to, "\nthread %" PRIu64, s->thread.tid);
    if (s->thread.interp)
        fprintf(d->to, " of interpreter %" PRIu32, s->thread.interp);
    if (s->name.len) {
        fputs(" \"", d->to);
        pr_print_terminal(d->to, s->name.bytes, s->name.len);
        fputc('"', d->to);
    }
    const char *before = ": ";
    for (size_t i = 0; i < N_STATUS_WORDS; i++)
        if (s->status & status_words[i].bit) {
            fprintf(d->to, "%s%s", before, status_words[i].text);
            before = ", ";
        }
    fputc('\n', d->to);
    if (!s->sampled && s->left_out)
        fprintf(d->to, "    (left out by --%s)\n", s->left_out);
    else if (!s->sampled)
        fputs("    (its stack changed during every read)\n", d->to);
    else if (!s->depth)
        fputs("    (no Python code)\n", d->to);
    for (size_t i = s->depth; i-- > 0;)
        write_text_frame(d, &d->frame[s->frame[i]]);
}

static void
write_text(const dump *d)
{
    const rec_target *t = &d->target;
    fprintf(d->to, "process %d: CPython %u.%u.%u%s, %zu thread%s\n",
            (int)t->pid, t->python[0], t->python[1], t->python[2],
            t->free_threaded ? " free-threaded" : "", d->n_threads,
            d->n_threads == 1 ? "" : "s");
    for (size_t i = 0; i < d->n_threads; i++)
        write_text_thread(d, &d->thread[i]);
}

static void
write_json_number(const dump *d, const char *key, int32_t value)
{
    if (value != PR_NO_LINE)
        fprintf(d->to, ",\"%s\":%" PRId32, key, value);
}

static void
write_json_frame(const dump *d, const pr_frame *f)
{
    const text *file = string_of(d, f->file), *func = string_of(d, f->func);
    fputs("{\"function\":", d->to);
    pr_print_json(d->to, PR_JSON_SURROGATES, func->bytes, func->len);
    fputs(",\"file\":", d->to);
    pr_print_json(d->to, PR_JSON_SURROGATES, file->bytes, file->len);
    write_json_number(d, "line", f->line);
    write_json_number(d, "end_line", f->end_line);
    write_json_number(d, "column", f->column);
    write_json_number(d, "end_column", f->end_column);
    const char *opcode = opcode_of(d, f);
    if (f->opcode != PR_NO_OPCODE)
        fprintf(d->to, ",\"opcode\":%u", f->opcode);
    if (opcode)
        fprintf(d->to, ",\"opcode_name\":\"%s\"", opcode);
    fputc('}', d->to);
}

static void
write_json_thread(const dump *d, const seen *s)
{
    fprintf(d->to, "{\"tid\":%" PRIu64 ",\"interpreter\":%" PRIu32 ",\"name\":",
            s->thread.tid, s->thread.interp);
    pr_print_json(d->to, PR_JSON_SURROGATES, s->name.bytes, s->name.len);
    for (size_t i = 0; i < N_STATUS_WORDS; i++)
        fprintf(d->to, ",\"%s\":%s", status_words[i].key,
                s->status & status_words[i].bit ? "true" : "false");
    fprintf(d->to, ",\"sampled\":%s", s->sampled ? "true" : "false");
    if (s->left_out)
        fprintf(d->to, ",\"left_out_by\":\"%s\"", s->left_out);
    fputs(",\"frames\":[", d->to);
    for (size_t i = s->depth; i-- > 0;) {
        write_json_frame(d, &d->frame[s->frame[i]]);
        if (i)
            fputc(',', d->to);
    }
    fputs("]}", d->to);
}

static void
write_json(const dump *d)
{
    const rec_target *t = &d->target;
    fprintf(d->to,
            "{\"pid\":%d,\"python\":\"%u.%u.%u\",\"free_threaded\":%s,"
            "\"threads\":[",
            (int)t->pid, t->python[0], t->python[1], t->python[2],
            t->free_threaded ? "true" : "false");
    for (size_t i = 0; i < d->n_threads; i++) {
        fputs(i ? ",\n" : "\n", d->to);
        write_json_thread(d, &d->thread[i]);
    }
    fputs("]}\n", d->to);
}

/* ---- life ---- */

static void
release(pr_sink *sink)
{
    dump *d = (dump *)sink;
    for (size_t i = 0; i < d->n_strings; i++)
        free(d->string[i].bytes);
    for (size_t i = 0; i < d->n_threads; i++) {
        free(d->thread[i].name.bytes);
        free(d->thread[i].frame);
    }
    free(d->string);
    free(d->frame);
    free(d->thread);
    free(d);
}

static int
compare_threads(const void *a, const void *b)
{
    const pr_thread *x = &((const seen *)a)->thread;
    const pr_thread *y = &((const seen *)b)->thread;
    if (x->interp != y->interp)
        return x->interp < y->interp ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static pr_code
finish(pr_sink *sink, pr_err *err)
{
    dump *d = (dump *)sink;
    FILE *to = d->to;
    if (d->n_threads)
        qsort(d->thread, d->n_threads, sizeof *d->thread, compare_threads);
    if (d->json)
        write_json(d);
    else
        write_text(d);
    release(sink);
    return pr_flush(to, "the dump", err);
}

pr_code
rec_dump_new(FILE *to, bool json, pr_sink **ret, pr_err *err)
{
    static const pr_sink_ops ops = {.string = take_string,
                                    .frame = take_frame,
                                    .thread = take_thread,
                                    .rename = take_rename,
                                    .delta = take_delta,
                                    .finish = finish,
                                    .abort = release};
    dump *d = calloc(1, sizeof *d);
    if (!d)
        return pr_no_memory(err);
    d->sink.ops = &ops;
    d->to = to;
    d->json = json;
    *ret = &d->sink;
    return PR_OK;
}

void
rec_dump_set_target(pr_sink *sink, const rec_target *target)
{
    ((dump *)sink)->target = *target;
}

void
rec_dump_write_frame(const pr_sink *sink, uint32_t frame)
{
    const dump *d = (const dump *)sink;
    if (d->json)
        write_json_frame(d, &d->frame[frame]);
    else
        write_text_frame(d, &d->frame[frame]);
}

bool
rec_dump_is_whole(const pr_sink *sink)
{
    const dump *d = (const dump *)sink;
    for (size_t i = 0; i < d->n_threads; i++)
        if (!d->thread[i].sampled && !d->thread[i].left_out)
            return false;
    return true;
}

/* ---- the process ---- */

/* Emit all threads, including those that cannot be sampled, but not states
 * that their threads left over. */
static pr_code
introduce_all(rec_unwinder *u, pr_err *err)
{
    pr_code code = rec_tick_prepare(u, err);
    for (size_t i = 0; i < u->table.n_live && code == PR_OK; i++)
        if (!u->table.live[i]->vanished)
            code = rec_emitter_introduce(&u->emitter, u->table.live[i], err);
    return code;
}

/* The option that keeps a listed thread from being sampled, or NULL. */
static const char *
option_against(const rec_unwinder *u, const rec_thread *t)
{
    const rec_gil *gil = &u->table.interp[t->interp].gil;
    if (u->opts.async_mode != REC_ASYNC_OFF)
        return u->program.tasks.tasks.lost ? NULL : "async"; /* it runs none */
    if ((u->opts.threads == REC_THREADS_MAIN && !t->is_main) ||
        (u->opts.threads == REC_THREADS_GIL &&
         !(gil->locked && gil->holder == t->tstate)))
        return "threads";
    return t->known && !rec_status_matches(&u->opts, t->status) ? "mode" : NULL;
}

static void
note_left_out(const rec_unwinder *u, dump *d)
{
    for (size_t i = 0; i < u->table.n_live; i++) {
        const rec_thread *t = u->table.live[i];
        if (t->sink_id >= d->n_threads || d->thread[t->sink_id].sampled)
            continue;
        seen *s = &d->thread[t->sink_id];
        s->left_out = option_against(u, t);
        if (t->known)
            s->status = t->status;
    }
}

static pr_code
sample_once(rec_unwinder *unwinder, pr_sink *sink, pr_err *err)
{
    const uint64_t period_us = PAUSE_NS / 1000;
    pr_code code = introduce_all(unwinder, err);
    for (int i = 0; i < TRIES && code == PR_OK; i++) {
        code = rec_unwinder_tick(unwinder, (uint64_t)i * period_us, err);
        if (code == PR_OK)
            code = rec_tick_flush(unwinder, err);
        note_left_out(unwinder, (dump *)sink);
        if (code != PR_OK || rec_dump_is_whole(sink))
            break;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return code;
}

pr_code
rec_dump_process(pid_t pid, const rec_unwinder_opts *opts, FILE *to, bool json,
                 pr_err *err)
{
    pr_sink *sink;
    rec_unwinder *unwinder;
    pr_code code = rec_dump_new(to, json, &sink, err);
    if (code != PR_OK)
        return code;
    code = rec_unwinder_open(pid, opts, sink, &unwinder, err);
    if (code == PR_OK) {
        rec_dump_set_target(sink, rec_unwinder_target(unwinder));
        code = sample_once(unwinder, sink, err);
        rec_unwinder_free(unwinder);
    }
    if (code == PR_OK)
        return sink->ops->finish(sink, err);
    sink->ops->abort(sink);
    return code;
}
