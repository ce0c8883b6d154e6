/*
 * counters.c - the counters of rec_stats by name (counters.h).
 */
#include "recorder/counters.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

double
rec_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static const struct {
    const char *name;
    size_t offset;
} counters[] = {
#define COUNTER(name)                    \
    {                                    \
#name, offsetof(rec_stats, name) \
    }
    COUNTER(total_samples),
    COUNTER(frame_cache_hits),
    COUNTER(frame_cache_misses),
    COUNTER(frame_cache_partial_hits),
    COUNTER(frames_read_from_cache),
    COUNTER(frames_read_from_memory),
    COUNTER(memory_reads),
    COUNTER(memory_bytes_read),
    COUNTER(code_object_cache_hits),
    COUNTER(code_object_cache_misses),
    COUNTER(stale_cache_invalidations),
    COUNTER(batched_read_attempts),
    COUNTER(batched_read_successes),
    COUNTER(batched_read_misses),
    COUNTER(batched_read_segments_requested),
    COUNTER(batched_read_segments_completed),
#undef COUNTER
};

enum { N_COUNTERS = sizeof counters / sizeof *counters, N_RATES = 4 };

typedef struct rate {
    const char *name;
    double percent;
} rate;

static void
rates_of(const rec_stats *s, rate ret[N_RATES])
{
    uint64_t hits = s->frame_cache_hits + s->frame_cache_partial_hits;
    ret[0] = (rate){"frame_cache_hit_rate",
                    rec_percent(hits, hits + s->frame_cache_misses)};
    ret[1] = (rate){
        "code_object_cache_hit_rate",
        rec_percent(s->code_object_cache_hits,
                    s->code_object_cache_hits + s->code_object_cache_misses)};
    ret[2] = (rate){
        "batched_read_success_rate",
        rec_percent(s->batched_read_successes, s->batched_read_attempts)};
    ret[3] = (rate){"batched_read_segment_completion_rate",
                    rec_percent(s->batched_read_segments_completed,
                                s->batched_read_segments_requested)};
}

static uint64_t
counter_value(const rec_stats *s, size_t i)
{
    uint64_t value;
    memcpy(&value, (const char *)s + counters[i].offset, sizeof value);
    return value;
}

void
rec_counters_add(rec_stats *sum, const rec_stats *stats)
{
    for (size_t i = 0; i < N_COUNTERS; i++) {
        uint64_t value = counter_value(sum, i) + counter_value(stats, i);
        memcpy((char *)sum + counters[i].offset, &value, sizeof value);
    }
}

const char *
rec_counter_get(const rec_stats *stats, size_t i, char *ret_value, size_t size)
{
    if (i < N_COUNTERS) {
        snprintf(ret_value, size, "%" PRIu64, counter_value(stats, i));
        return counters[i].name;
    }
    rate rates[N_RATES];
    rates_of(stats, rates);
    if (i >= N_COUNTERS + N_RATES)
        return NULL;
    snprintf(ret_value, size, "%.2f", rates[i - N_COUNTERS].percent);
    return rates[i - N_COUNTERS].name;
}
