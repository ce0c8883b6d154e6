/*
 * info.c - one fact a line, "name  value".
 */
#include "converter/job/info.h"

#include "converter/model/enum_names.h"
#include <base/buffer.h>
#include <base/terminal.h>
#include <pyrec/reader.h>
#include <string.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static void put(pr_buffer *text, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
put(pr_buffer *text, const char *name, const char *format, ...)
{
    pr_buffer_printf(text, "%-24s", name);
    va_list args;
    va_start(args, format);
    pr_buffer_vprintf(text, format, args);
    va_end(args);
    pr_buffer_puts(text, "\n");
}

static void
put_name(pr_buffer *text, const char *name, const char *value, size_t len)
{
    pr_quote_terminal(text, name, strlen(name));
    for (size_t n = strlen(name); n < 23; n++)
        pr_buffer_puts(text, " ");
    pr_buffer_puts(text, " ");
    pr_quote_terminal(text, value, len);
    pr_buffer_puts(text, "\n");
}

static void
put_wall(pr_buffer *text, uint64_t wall_us)
{
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm utc;
    char date[40];
    if (wall_us && gmtime_r(&seconds, &utc) &&
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &utc))
        put(text, "started", "%s UTC", date);
}

static const char *
state_name(pf_state state)
{
    static const char *const names[] = {
        [PF_FINISHED] = "finished", [PF_CUT] = "cut", [PF_DAMAGED] = "damaged"};
    return names[state];
}

static void
put_file(pr_buffer *text, const pf_info *info)
{
    put(text, "state", "%s", state_name(info->state));
    put(text, "made by", "%s", info->has_checkpoints ? "pyrec" : "CPython");
    put(text, "byte order", "%s",
        info->swapped ? "not this machine's" : "this machine's");
    put(text, "compression", "%s", info->compressed ? "zstd" : "none");
    put(text, "bytes", "%" PRIu64, info->file_bytes);
    if (info->state != PF_FINISHED)
        put(text, "bytes whole", "%" PRIu64, info->good_bytes);
    if (info->bytes_records)
        put(text, "bytes of records", "%" PRIu64, info->bytes_records);
    if (info->bytes_compressed)
        put(text, "bytes compressed", "%" PRIu64, info->bytes_compressed);
    put(text, "segments", "%" PRIu64, info->segments);
}

static void
put_recording(pr_buffer *text, const pf_info *info)
{
    const pr_start *start = &info->start;
    char capture[CONV_CAPTURE_MAX];
    put(text, "python", "%d.%d.%d", start->python[0], start->python[1],
        start->python[2]);
    put(text, "mode", "%s", conv_mode_name(start->mode));
    conv_capture_names(capture, start->capture);
    put(text, "capture", "%s", capture);
    put(text, "interval", "%" PRIu64 " us", start->interval_us);
    put_wall(text, start->wall_us);
    if (info->stats.known & PR_STATS_PRESENT) {
        put(text, "duration", "%.3f s", info->stats.duration_s);
        put(text, "rate", "%.1f Hz", info->stats.rate_hz);
        if (info->stats.known & 1)
            put(text, "errors", "%.2f %%", info->stats.error_percent);
        if (info->stats.known & 2)
            put(text, "missed", "%.2f %%", info->stats.missed_percent);
    } else if (info->last_us) {
        put(text, "duration", "%.3f s", (double)info->last_us / 1e6);
    }
    put(text, "samples", "%" PRIu64, info->samples);
    put(text, "threads", "%" PRIu32, info->threads);
    put(text, "strings", "%" PRIu64, info->strings);
    put(text, "frames", "%" PRIu64, info->frames);
}

static void
put_encoding(pr_buffer *text, const pf_reader *reader)
{
    pf_reader_stats stats;
    pf_reader_get_stats(reader, &stats);
    put(text, "repeat records", "%" PRIu64 " (%" PRIu64 " samples)",
        stats.repeat_records, stats.repeat_samples);
    put(text, "full records", "%" PRIu64, stats.full_records);
    put(text, "suffix records", "%" PRIu64, stats.suffix_records);
    put(text, "pop-push records", "%" PRIu64, stats.pop_push_records);
    put(text, "samples read", "%" PRIu64, stats.total_samples);
    if (stats.segments_damaged)
        put(text, "segments damaged", "%" PRIu64, stats.segments_damaged);
}

/* Counters by kind, those of all threads added up. */
static void
put_counts(pr_buffer *text, const pf_reader *reader)
{
    uint64_t sum[PR_COUNT_KINDS] = {0};
    const pr_count *count;
    for (size_t i = 0; (count = pf_reader_count(reader, i)); i++)
        if (count->kind < PR_COUNT_KINDS)
            sum[count->kind] += count->value;
    for (uint32_t kind = 0; kind < PR_COUNT_KINDS; kind++)
        if (sum[kind] && conv_count_name(kind))
            put(text, conv_count_name(kind), "%" PRIu64, sum[kind]);
}

static void
put_meta(pr_buffer *text, const pf_reader *reader)
{
    const char *key, *value;
    size_t len;
    for (size_t i = 0; (key = pf_reader_meta(reader, i, &value, &len)); i++)
        put_name(text, key, value, len);
}

/* Takes everything and does nothing with it. */
static const pr_sink_ops nothing = {0};

pr_code
conv_info(const char *path, uint64_t memory, pr_buffer *text, pr_err *err)
{
    pf_reader *reader;
    pf_reader_opts budget = PF_READER_OPTS_INIT;
    budget.memory = memory;
    pr_code rc = pf_reader_open(path, &budget, &reader, err);
    if (rc != PR_OK)
        return rc;
    pr_sink sink = {&nothing, NULL};
    pf_replay_opts opts = PF_REPLAY_OPTS_INIT;
    rc = pf_reader_replay(reader, &opts, &sink, NULL, err);
    if (rc == PR_OK || rc == PR_CUT || rc == PR_DAMAGED) {
        put_name(text, "file", path, strlen(path));
        put_file(text, pf_reader_info(reader));
        put_recording(text, pf_reader_info(reader));
        put_encoding(text, reader);
        put_counts(text, reader);
        put_meta(text, reader);
    }
    pf_reader_free(reader);
    return text->failed ? pr_no_memory(err) : rc;
}
