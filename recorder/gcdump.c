/*
 * gcdump.c - a sink that prints collections, and the loop that feeds it.
 */
#include "recorder/gcdump.h"

#include "recorder/sample/gc_watch.h"
#include <base/printed.h>
#include <errno.h>
#include <inttypes.h>
#include <time.h>

typedef struct printer {
    pr_sink sink;
    FILE *to;
    bool json;
    uint64_t lost; /* as printed last */
} printer;

static void
print_json(FILE *to, const pr_gc_event *e)
{
    fprintf(to,
            "{\"interpreter\":%" PRIu32 ",\"generation\":%" PRIu32
            ",\"start_us\":%" PRIu64 ",\"stop_us\":%" PRIu64
            ",\"collections\":%" PRIu64 ",\"collected\":%" PRIu64
            ",\"uncollectable\":%" PRIu64 ",\"candidates\":%" PRIu64
            ",\"heap_size\":%" PRIu64 ",\"duration_ns\":%" PRIu64 "}\n",
            e->interp, e->generation, e->start_us, e->stop_us, e->collections,
            e->collected, e->uncollectable, e->candidates, e->heap_size,
            e->duration_ns);
}

/* Times are of the machine's monotonic clock. */
static void
print_row(FILE *to, const pr_gc_event *e)
{
    fprintf(to,
            "%6" PRIu32 " %3" PRIu32 " %14.6f %10.3f %11" PRIu64 " %11" PRIu64
            " %13" PRIu64 " %11" PRIu64 " %11" PRIu64 "\n",
            e->interp, e->generation, (double)e->start_us / 1e6,
            (double)(e->stop_us - e->start_us) / 1e3, e->collections,
            e->collected, e->uncollectable, e->candidates, e->heap_size);
}

static pr_code
take_gc(pr_sink *sink, const pr_gc_event *event, pr_err *err)
{
    (void)err;
    const printer *p = (const printer *)sink;
    if (p->json)
        print_json(p->to, event);
    else
        print_row(p->to, event);
    return PR_OK;
}

/* Print the number of collections that were overwritten before they were read,
 * whenever it grows: a watch of hours ends with a signal, not with a
 * summary. */
static void
print_lost(printer *p, uint64_t lost)
{
    if (lost == p->lost)
        return;
    p->lost = lost;
    if (p->json)
        fprintf(p->to, "{\"lost\":%" PRIu64 "}\n", lost);
    else
        fprintf(p->to,
                "%" PRIu64 " so far were overwritten before they were read\n",
                lost);
}

static pr_code
poll_once(rec_gc_watch *watch, rec_threads_table *table, printer *p,
          pr_err *err)
{
    pr_code code = rec_threads_list_patiently(table, err);
    if (code == PR_OK)
        code = rec_gc_watch_poll(watch, table, 0, &p->sink, err);
    print_lost(p, rec_gc_watch_lost(watch));
    return code == PR_OK ? pr_flush(p->to, "the collections", err) : code;
}

static void
wait_ns(uint64_t ns)
{
    struct timespec left = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static pr_code
poll_all(const rec_process *process, rec_threads_table *table, printer *p,
         uint64_t every_ns, pr_err *err)
{
    rec_gc_watch watch = {0};
    if (!p->json)
        fputs("interp gen      start (s)  time (ms) collections   collected "
              "uncollectable  candidates   heap size\n",
              p->to);
    pr_code code = poll_once(&watch, table, p, err);
    while (code == PR_OK && every_ns) {
        wait_ns(every_ns);
        if (rec_process_check(process) != REC_ALIVE)
            break;
        code = poll_once(&watch, table, p, err);
    }
    rec_gc_watch_release(&watch);
    return code;
}

/* The process is open, its memory can be read. */
static pr_code
dump(const rec_process *process, rec_memory *memory, printer *p,
     uint64_t every_ns, pr_err *err)
{
    rec_runtime runtime;
    rec_threads_table table;
    pr_code code = rec_runtime_find(process, memory, &runtime, err);
    if (code == PR_OK)
        code = rec_gc_check(&runtime.layout, err);
    if (code == PR_OK)
        code = rec_threads_init(&table, process, &runtime, memory, err);
    if (code != PR_OK)
        return code;
    code = poll_all(process, &table, p, every_ns, err);
    rec_threads_release(&table);
    return code;
}

pr_code
rec_gcdump_process(pid_t pid, FILE *to, bool json, uint64_t every_ns,
                   pr_err *err)
{
    static const pr_sink_ops ops = {.gc = take_gc};
    printer p = {{&ops}, to, json, 0};
    rec_process process;
    rec_memory memory;
    pr_code code = rec_process_open(pid, &process, err);
    if (code != PR_OK)
        return code;
    rec_memory_init(&memory, pid);
    code = dump(&process, &memory, &p, every_ns, err);
    rec_memory_release(&memory);
    rec_process_release(&process);
    return code;
}
