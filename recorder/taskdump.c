/*
 * taskdump.c - read all tasks, name their frames, write them.
 */
#include "recorder/taskdump.h"

#include "recorder/cpython/asyncio_tasks.h"
#include "recorder/cpython/code.h"
#include "recorder/cpython/runtime.h"
#include "recorder/dump.h"
#include "recorder/linux/procfs.h"
#include <base/printed.h>
#include <base/quote.h>
#include <base/terminal.h>
#include <inttypes.h>

typedef struct taskdump {
    FILE *to;
    bool json;
    rec_process process;
    rec_memory memory;
    rec_runtime runtime;
    rec_threads_table table;
    rec_asyncio asyncio;
    rec_tasks tasks;
    pr_sink *dump; /* keeps strings and frames */
    rec_name_table names;
    rec_codes *codes;
    rec_batch batch;
} taskdump;

/* The frame of a call; false: it is not valid (the task moved on). */
static bool
frame_of(taskdump *d, const rec_call *call, uint32_t *ret)
{
    const rec_code *code;
    rec_batch_reset(&d->batch);
    if (rec_codes_get(d->codes, &d->batch, call->code, &code, NULL) != PR_OK)
        return false;
    return rec_codes_frame(d->codes, code, call->instr, PR_NO_OPCODE, ret,
                           NULL) == PR_OK;
}

/* ---- text ---- */

static void
write_name(const taskdump *d, const rec_task *t)
{
    fputc('"', d->to);
    pr_print_terminal(d->to, t->name, t->name_len);
    fputc('"', d->to);
}

static void
write_text_task(taskdump *d, const rec_task *t)
{
    fputs("\ntask ", d->to);
    write_name(d, t);
    if (t->tid)
        fprintf(d->to, " of thread %" PRIu64, t->tid);
    else
        fputs(" of a thread that ended", d->to);
    if (t->interp)
        fprintf(d->to, " of interpreter %" PRIu32, t->interp);
    fputs(t->running ? ": running\n" : "\n", d->to);
    for (size_t i = 0; i < t->n_calls; i++) {
        uint32_t frame;
        if (frame_of(d, &t->call[i], &frame))
            rec_dump_write_frame(d->dump, frame);
    }
    for (size_t i = 0; i < t->n_parents; i++) {
        const rec_task *parent = rec_tasks_find(&d->tasks, t->parent[i]);
        if (!parent)
            continue;
        fputs("  awaited by ", d->to);
        write_name(d, parent);
        fputc('\n', d->to);
    }
}

static void
write_text(taskdump *d)
{
    char name[64];
    rec_procfs_name(d->process.pid, name, sizeof name);
    fprintf(d->to, "process %d (", (int)d->process.pid);
    pr_print_terminal(d->to, name, strlen(name));
    fprintf(d->to, "): %zu task%s\n", d->tasks.n, d->tasks.n == 1 ? "" : "s");
    for (size_t i = 0; i < d->tasks.n; i++)
        write_text_task(d, &d->tasks.v[i]);
    if (d->tasks.lost)
        fprintf(d->to,
                "\n%" PRIu64 " that kept changing while they were read\n",
                d->tasks.lost);
}

/* ---- JSON ---- */

static void
write_json_task(taskdump *d, const rec_task *t)
{
    fprintf(d->to, "{\"id\":%" PRIu64 ",\"name\":", t->key);
    pr_print_json(d->to, PR_JSON_SURROGATES, t->name, t->name_len);
    fprintf(d->to,
            ",\"tid\":%" PRIu64 ",\"interpreter\":%" PRIu32
            ",\"running\":%s,\"frames\":[",
            t->tid, t->interp, t->running ? "true" : "false");
    const char *before = "";
    for (size_t i = 0; i < t->n_calls; i++) {
        uint32_t frame;
        if (!frame_of(d, &t->call[i], &frame))
            continue;
        fputs(before, d->to);
        before = ",";
        rec_dump_write_frame(d->dump, frame);
    }
    fputs("],\"awaited_by\":[", d->to);
    for (size_t i = 0; i < t->n_parents; i++)
        fprintf(d->to, "%s%" PRIu64, i ? "," : "", t->parent[i]);
    fputs("]}", d->to);
}

static void
write_json(taskdump *d)
{
    fprintf(d->to, "{\"pid\":%d,\"lost\":%" PRIu64 ",\"tasks\":[",
            (int)d->process.pid, d->tasks.lost);
    for (size_t i = 0; i < d->tasks.n; i++) {
        fputs(i ? ",\n" : "\n", d->to);
        write_json_task(d, &d->tasks.v[i]);
    }
    fputs("]}\n", d->to);
}

/* ---- the process ---- */

static pr_code
read_all(taskdump *d, pr_err *err)
{
    const rec_layout *l = &d->runtime.layout;
    pr_code code = rec_runtime_find(&d->process, &d->memory, &d->runtime, err);
    if (code == PR_OK)
        code = rec_asyncio_load(&d->process, l, &d->memory, &d->asyncio, err);
    if (code == PR_OK)
        code = rec_threads_init(&d->table, &d->process, &d->runtime, &d->memory,
                                err);
    if (code == PR_OK)
        code = rec_threads_list_patiently(&d->table, err);
    if (code == PR_OK)
        code = rec_tasks_read(&d->asyncio, &d->table, false, &d->tasks, err);
    if (code == PR_OK)
        code = rec_dump_new(d->to, d->json, &d->dump, err);
    if (code != PR_OK)
        return code;
    rec_name_table_init(&d->names, d->dump);
    code = rec_batch_init(&d->batch, &d->memory, err);
    return code == PR_OK ? rec_codes_new(l, &d->names, false, &d->codes, err)
                         : code;
}

static pr_code
write_all(taskdump *d, pr_err *err)
{
    if (d->json)
        write_json(d);
    else
        write_text(d);
    return pr_flush(d->to, "the tasks", err);
}

pr_code
rec_taskdump_process(pid_t pid, FILE *to, bool json, pr_err *err)
{
    taskdump d = {.to = to, .json = json};
    pr_code code = rec_process_open(pid, &d.process, err);
    if (code != PR_OK)
        return code;
    rec_memory_init(&d.memory, pid);
    code = read_all(&d, err);
    if (code == PR_OK)
        code = write_all(&d, err);
    rec_codes_free(d.codes);
    rec_batch_release(&d.batch);
    rec_name_table_release(&d.names);
    if (d.dump)
        d.dump->ops->abort(d.dump);
    rec_tasks_release(&d.tasks);
    rec_threads_release(&d.table);
    rec_memory_release(&d.memory);
    rec_process_release(&d.process);
    return code;
}
