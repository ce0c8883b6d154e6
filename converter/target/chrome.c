/*
 * chrome.c - trace events (Trace Event Format, the JSON object form).
 *
 * A stack that stays on a thread from sample to sample is a slice; so a slice
 * is not a call: two calls between two samples make one slice, and a note in
 * the file says so.  Time that no sample stands for has no slice.
 */
#include "converter/encode/json.h"
#include "converter/model/enum_names.h"
#include "converter/model/label.h"
#include "converter/model/source_path.h"
#include "converter/model/timeline.h"
#include "converter/target/table.h"

#include <base/buffer.h>
#include <base/quote.h>
#include <stdlib.h>

typedef struct trace {
    conv_job *job;
    const conv_model *model;
    uint64_t pid;          /* of the present process */
    uint32_t *depth;       /* [node] */
    pr_buffer frames;      /* the JSON members of all frames */
    pr_list end_of_frame;  /* [frame] in `frames` */
    pr_list path, pending; /* nodes of the open slices, outermost first */
    pr_buffer text;
    bool begun; /* an event is written */
} trace;

/* ---- events ---- */

static void
begin_event(trace *t, const char *phase, uint64_t tid)
{
    pr_buffer_reset(&t->text);
    pr_buffer_puts(&t->text, t->begun ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    pr_buffer_puts(&t->text, phase);
    pr_buffer_puts(&t->text, "\",\"pid\":");
    pr_buffer_u64(&t->text, t->pid);
    pr_buffer_puts(&t->text, ",\"tid\":");
    pr_buffer_u64(&t->text, tid);
    t->begun = true;
}

static void
put_member(trace *t, const char *name, uint64_t value)
{
    pr_buffer_puts(&t->text, name);
    pr_buffer_u64(&t->text, value);
}

static void
end_event(trace *t)
{
    pr_buffer_puts(&t->text, "}");
    conv_out_write(t->job->out, t->text.at, t->text.len);
}

static void
put_name_of(trace *t, const char *what, uint64_t tid, pr_bytes name)
{
    begin_event(t, "M", tid);
    pr_buffer_puts(&t->text, ",\"name\":\"");
    pr_buffer_puts(&t->text, what);
    pr_buffer_puts(&t->text, "\",\"args\":{\"name\":");
    pr_quote_json(&t->text, PR_JSON_UTF8, name.at, name.len);
    pr_buffer_puts(&t->text, "}");
    end_event(t);
}

/* ---- frames ---- */

static pr_code
describe_frame(trace *t, uint32_t id, pr_err *err)
{
    const conv_model *m = t->model;
    const conv_frame *frame = conv_model_frame(m, id);
    const conv_function *f = conv_model_function(m, frame->function);
    pr_bytes name = pr_strings_get(&m->strings, f->name);
    pr_bytes file = pr_strings_get(&m->strings, f->file);
    int32_t line = t->job->level == CONV_LEVEL_LINE
                       ? frame->line
                       : conv_model_line_of(m, frame->function);
    pr_buffer_puts(&t->frames, ",\"cat\":\"");
    pr_buffer_puts(&t->frames, conv_path_name(conv_path_of(file)));
    pr_buffer_puts(&t->frames, "\",\"name\":");
    pr_quote_json(&t->frames, PR_JSON_UTF8, name.at, name.len);
    pr_buffer_puts(&t->frames, ",\"args\":{\"file\":");
    pr_quote_json(&t->frames, PR_JSON_UTF8, file.at, file.len);
    pr_buffer_puts(&t->frames, ",\"line\":");
    pr_buffer_u64(&t->frames, line > 0 ? (uint64_t)line : 0);
    pr_buffer_puts(&t->frames, "}");
    if (t->frames.failed || t->frames.len > UINT32_MAX)
        return pr_no_memory(err);
    return pr_list_add(&t->end_of_frame, (uint32_t)t->frames.len, err);
}

/* ---- slices ---- */

static void
close_to(trace *t, size_t depth, uint64_t tid, uint64_t time_us)
{
    for (; t->path.n > depth; t->path.n--) {
        begin_event(t, "E", tid);
        put_member(t, ",\"ts\":", time_us);
        end_event(t);
    }
}

static pr_code
open_slice(trace *t, uint32_t node, uint64_t tid, uint64_t time_us, pr_err *err)
{
    uint32_t frame = t->model->nodes[node].frame;
    uint32_t from = frame ? t->end_of_frame.at[frame - 1] : 0;
    begin_event(t, "B", tid);
    put_member(t, ",\"ts\":", time_us);
    pr_buffer_append(&t->text, t->frames.at + from,
                     t->end_of_frame.at[frame] - from);
    end_event(t);
    return pr_list_add(&t->path, node, err);
}

/* From the open slices to those of the stack. */
static pr_code
change_stack(trace *t, uint32_t node, uint64_t tid, uint64_t time_us,
             pr_err *err)
{
    t->pending.n = 0;
    for (uint32_t depth; (depth = t->depth[node]) > 0;
         node = t->model->nodes[node].parent) {
        if (depth <= t->path.n && t->path.at[depth - 1] == node)
            break;
        pr_code rc = pr_list_add(&t->pending, node, err);
        if (rc != PR_OK)
            return rc;
    }
    close_to(t, t->depth[node], tid, time_us);
    for (size_t i = t->pending.n; i-- > 0;) {
        pr_code rc = open_slice(t, t->pending.at[i], tid, time_us, err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

/* Pids of two containers may be equal: the second one gets another number. */
static uint64_t
pid_of(const trace *t, uint32_t process)
{
    enum { BEYOND_PIDS = 1 << 22 }; /* Linux PID_MAX_LIMIT */
    uint64_t pid = t->model->processes[process].pid;
    for (uint32_t i = 0; i < process; i++)
        if (t->model->processes[i].pid == pid)
            return BEYOND_PIDS + (uint64_t)process;
    return pid;
}

static pr_code
put_thread(trace *t, uint32_t id, pr_err *err)
{
    const conv_thread *thread = &t->model->threads[id];
    pr_buffer name = {0};
    conv_timeline line;
    conv_span span;
    uint64_t end = 0;
    pr_code rc = PR_OK;
    if (thread->samples == 0)
        return PR_OK;
    t->pid = pid_of(t, thread->process);
    conv_label_thread(&name, PR_QUOTE_UTF8, t->model, id);
    put_name_of(t, "thread_name", thread->tid, (pr_bytes){name.at, name.len});
    t->job->names_changed += name.changed;
    pr_buffer_release(&name);
    conv_timeline_init(&line, thread);
    while (rc == PR_OK && conv_timeline_next(&line, &span) &&
           conv_out_good(t->job->out)) {
        if (span.start_us > end)
            close_to(t, 0, thread->tid, end);
        rc = change_stack(t, span.node, thread->tid, span.start_us, err);
        end = span.end_us;
    }
    close_to(t, 0, thread->tid, end);
    return rc;
}

/* ---- events of the process ---- */

static void
put_process_event(trace *t, const conv_event *event)
{
    pr_bytes text = pr_strings_get(&t->model->strings, event->text);
    const char *name = conv_mark_name(event->kind);
    begin_event(t, "X", 0);
    put_member(t, ",\"ts\":", event->first_us);
    put_member(t, ",\"dur\":", event->end_us - event->first_us);
    pr_buffer_puts(&t->text, ",\"cat\":\"event\",\"name\":\"");
    pr_buffer_puts(&t->text, event->is_gc ? "garbage collection" : name);
    pr_buffer_puts(&t->text, "\",\"args\":");
    if (event->is_gc) {
        pr_buffer_append(&t->text, text.at, text.len);
    } else {
        pr_buffer_puts(&t->text, "{\"text\":");
        pr_quote_json(&t->text, PR_JSON_UTF8, text.at, text.len);
        pr_buffer_puts(&t->text, "}");
    }
    end_event(t);
}

static void
put_process(trace *t, uint32_t process)
{
    static const char title[] = "events of the process";
    bool named = false;
    pr_buffer name = {0};
    t->pid = pid_of(t, process);
    conv_label_process(&name, PR_QUOTE_UTF8, t->model, process);
    put_name_of(t, "process_name", 0, (pr_bytes){name.at, name.len});
    t->job->names_changed += name.changed;
    pr_buffer_release(&name);
    for (size_t i = 0; i < t->model->n_events; i++) {
        if (t->model->events[i].process != process)
            continue;
        if (!named)
            put_name_of(t, "thread_name", 0,
                        (pr_bytes){title, sizeof title - 1});
        named = true;
        put_process_event(t, &t->model->events[i]);
    }
}

static void
put_end(trace *t)
{
    pr_buffer_reset(&t->text);
    pr_buffer_puts(&t->text,
                   "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{"
                   "\"note\":\"made of samples: a slice is a stack that was "
                   "seen, not a call\",\"interval_us\":");
    pr_buffer_u64(&t->text, t->model->start.interval_us);
    put_member(t, ",\"unobserved_us\":", t->model->unobserved_us);
    pr_buffer_puts(&t->text, "}}\n");
    conv_out_write(t->job->out, t->text.at, t->text.len);
}

static pr_code
write_trace(trace *t, pr_err *err)
{
    pr_code rc = conv_model_depths(t->model, &t->depth, err);
    for (uint32_t i = 0; i < t->model->frames.n && rc == PR_OK; i++)
        rc = describe_frame(t, i, err);
    conv_out_puts(t->job->out, "{\"traceEvents\":[");
    for (uint32_t i = 0; i < t->model->n_processes; i++)
        put_process(t, i);
    for (uint32_t i = 0; i < t->model->n_threads && rc == PR_OK; i++)
        rc = put_thread(t, i, err);
    put_end(t);
    return rc == PR_OK && t->text.failed ? pr_no_memory(err) : rc;
}

static pr_code
write_chrome(conv_job *job, pr_err *err)
{
    trace t = {.job = job, .model = job->model};
    pr_code rc = write_trace(&t, err);
    job->names_changed += t.frames.changed + t.text.changed;
    free(t.depth);
    pr_buffer_release(&t.frames);
    pr_buffer_release(&t.text);
    pr_list_release(&t.end_of_frame);
    pr_list_release(&t.path);
    pr_list_release(&t.pending);
    return rc;
}

const conv_target conv_chrome = {
    .info = {"chrome", ".trace.json",
             "trace events: the stacks of each thread as slices of time",
             "https://ui.perfetto.dev, chrome://tracing, speedscope"},
    .level = CONV_LEVEL_FUNCTION,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .takes = CONV_TAKES_LEVEL,
    .write = write_chrome,
};
