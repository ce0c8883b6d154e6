/*
 * dump.c - a profile as sink text (canon.py), by the library's reader.
 *
 *     dump FILE [FROM TO [JOBS]]
 *
 * The last line is "end CODE SAMPLES": how the replay ended and how many
 * samples it taken.  The exit status is the programs'; why is on stderr.
 */
#include <pyrec/reader.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
put_bytes(const char *bytes, size_t n)
{
    putchar(' ');
    if (n == 0)
        putchar('-');
    for (size_t i = 0; i < n; i++)
        printf("%02x", (unsigned char)bytes[i]);
}

static void
put_thread(uint32_t thread)
{
    if (thread == PR_NO_THREAD)
        printf(" -");
    else
        printf(" %" PRIu32, thread);
}

static pr_code
end_line(void)
{
    putchar('\n');
    return PR_OK;
}

static pr_code
on_start(pr_sink *sink, const pr_start *start, pr_err *err)
{
    (void)sink, (void)err;
    printf("start %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d %d %d %" PRIu32,
           start->start_us, start->wall_us, start->interval_us,
           start->python[0], start->python[1], start->python[2],
           (int)start->mode, start->capture);
    return end_line();
}

static pr_code
on_meta(pr_sink *sink, const char *key, const char *value, size_t value_len,
        pr_err *err)
{
    (void)sink, (void)err;
    printf("meta");
    put_bytes(key, strlen(key));
    put_bytes(value, value_len);
    return end_line();
}

static pr_code
on_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    (void)sink, (void)err;
    printf("string");
    put_bytes(bytes, len);
    return end_line();
}

static pr_code
on_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    (void)sink, (void)err;
    printf("frame %" PRIu32 " %" PRIu32 " %" PRId32 " %" PRId32 " %" PRId32
           " %" PRId32 " %" PRId32 " %d",
           frame->file, frame->func, frame->line, frame->end_line,
           frame->column, frame->end_column, frame->first_line, frame->opcode);
    return end_line();
}

static pr_code
on_thread(pr_sink *sink, const pr_thread *thread, pr_err *err)
{
    (void)sink, (void)err;
    printf("thread %" PRIu64 " %" PRIu32 " %d", thread->tid, thread->interp,
           thread->is_main);
    put_bytes(thread->name, thread->name_len);
    printf(" %" PRIu32, thread->process);
    return end_line();
}

static pr_code
on_process(pr_sink *sink, const pr_process *p, pr_err *err)
{
    (void)sink, (void)err;
    printf("process %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
           " %d %d %d",
           p->index, p->pid, p->parent, p->start_us, p->end_us, p->python[0],
           p->python[1], p->python[2]);
    put_bytes(p->command.bytes, p->command.len);
    put_bytes(p->host.bytes, p->host.len);
    put_bytes(p->scope.bytes, p->scope.len);
    printf(" %" PRIu32, p->n_meta);
    for (uint32_t i = 0; i < p->n_meta; i++) {
        put_bytes(p->meta[i].key.bytes, p->meta[i].key.len);
        put_bytes(p->meta[i].value.bytes, p->meta[i].value.len);
    }
    return end_line();
}

static pr_code
on_rate(pr_sink *sink, const pr_rate *rate, pr_err *err)
{
    (void)sink, (void)err;
    printf("rate %" PRIu32 " %" PRIu64 " %" PRIu64, rate->process,
           rate->time_us, rate->interval_us);
    return end_line();
}

static pr_code
on_rename(pr_sink *sink, uint32_t thread, const char *name, size_t len,
          pr_err *err)
{
    (void)sink, (void)err;
    printf("rename %" PRIu32, thread);
    put_bytes(name, len);
    return end_line();
}

/* A reader's threads do not end: a later delta says all. */
static pr_code
on_leave(pr_sink *sink, uint32_t thread, pr_err *err)
{
    (void)sink, (void)err;
    printf("leave %" PRIu32, thread);
    return end_line();
}

static pr_code
on_delta(pr_sink *sink, const pr_delta *delta, pr_err *err)
{
    (void)sink, (void)err;
    printf("delta %" PRIu32 " %" PRIu32 " %" PRIu32, delta->thread, delta->keep,
           delta->n_push);
    for (uint32_t i = 0; i < delta->n_push; i++)
        printf(" %" PRIu32, delta->push[i]);
    printf(" %" PRIu32, delta->n);
    for (uint32_t i = 0; i < delta->n; i++)
        printf(" %" PRIu64 " %d", delta->time_us[i], delta->status[i]);
    return end_line();
}

static pr_code
on_count(pr_sink *sink, const pr_count *count, pr_err *err)
{
    (void)sink, (void)err;
    printf("count");
    put_thread(count->thread);
    printf(" %" PRIu32 " %" PRIu64 " %" PRIu32 " %" PRIu64, count->kind,
           count->value, count->process, count->time_us);
    return end_line();
}

static pr_code
on_gc(pr_sink *sink, const pr_gc_event *gc, pr_err *err)
{
    (void)sink, (void)err;
    printf("gc %" PRIu32 " %" PRIu32, gc->interp, gc->generation);
    const uint64_t rest[] = {gc->start_us,  gc->stop_us,       gc->collections,
                             gc->collected, gc->uncollectable, gc->candidates,
                             gc->heap_size, gc->duration_ns};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        printf(" %" PRIu64, rest[i]);
    printf(" %" PRIu32, gc->process);
    return end_line();
}

static pr_code
on_task(pr_sink *sink, const pr_task *task, pr_err *err)
{
    (void)sink, (void)err;
    printf("task %" PRIu64 " %" PRIu64, task->key, task->time_us);
    put_thread(task->thread);
    put_bytes(task->name, task->name_len);
    printf(" %" PRIu32 " %" PRIu32, task->process, task->n_parents);
    for (uint32_t i = 0; i < task->n_parents; i++)
        printf(" %" PRIu64, task->parent[i]);
    return end_line();
}

static pr_code
on_mark(pr_sink *sink, const pr_mark *mark, pr_err *err)
{
    (void)sink, (void)err;
    printf("mark %" PRIu32 " %" PRIu64 " %" PRIu64, mark->kind, mark->time_us,
           mark->end_us);
    put_bytes(mark->text, mark->text_len);
    printf(" %" PRIu32, mark->process);
    return end_line();
}

static pr_code
on_total(pr_sink *sink, const pr_total *total, pr_err *err)
{
    (void)sink, (void)err;
    printf("total %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64
           " %a %a %" PRIu32,
           total->frame, total->caller, total->calls, total->primitive_calls,
           total->self_s, total->total_s, total->has_times);
    return end_line();
}

static pr_code
on_stats(pr_sink *sink, const pr_stats *stats, pr_err *err)
{
    (void)sink, (void)err;
    printf("stats %a %a %a %a %" PRIu32, stats->duration_s, stats->rate_hz,
           stats->error_percent, stats->missed_percent,
           stats->known & ~PR_STATS_PRESENT);
    return end_line();
}

static const pr_sink_ops dump_ops = {
#define DUMP_OP(op, params, args) .op = on_##op,
    PR_SINK_MAP(DUMP_OP)
#undef DUMP_OP
};

static pr_code
dump(const char *path, const pf_replay_opts *opts, pr_err *err)
{
    pf_reader *reader;
    pr_sink sink = {&dump_ops};
    uint64_t samples = 0;
    pr_code rc = pf_reader_open(path, NULL, &reader, err);
    if (rc == PR_OK) {
        rc = pf_reader_replay(reader, opts, &sink, &samples, err);
        pf_reader_free(reader);
    }
    printf("end %s %" PRIu64 "\n", pr_code_name(rc), samples);
    return rc;
}

int
main(int argc, char **argv)
{
    if (argc != 2 && argc != 4 && argc != 5) {
        fprintf(stderr, "usage: dump FILE [FROM TO [JOBS]]\n");
        return pr_exit_status(PR_USAGE);
    }
    pf_replay_opts opts = PF_REPLAY_OPTS_INIT;
    if (argc > 3) {
        opts.from_us = strtoull(argv[2], NULL, 10);
        opts.to_us = strtoull(argv[3], NULL, 10);
    }
    if (argc > 4)
        opts.jobs = atoi(argv[4]);
    pr_err err = PR_ERR_INIT;
    pr_code rc = dump(argv[1], &opts, &err);
    if (rc) {
        char line[1024];
        pr_err_format(&err, line, sizeof line);
        fprintf(stderr, "dump: %s\n", line);
    }
    return pr_exit_status(rc);
}
