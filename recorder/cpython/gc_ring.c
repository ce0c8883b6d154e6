/*
 * gc_ring.c - read the ring of collections, prove the copy, emit the new ones.
 */
#include "recorder/cpython/gc_ring.h"

#include <math.h>

/* A ring is its entries and, 8-aligned, the index of the latest one (i8). */
enum { INDEX_BYTES = 8, SEQUENCE_BYTES = 8, MAX_STATS = 2048 };

static size_t
ring_bytes(const rec_layout *layout, uint32_t generation)
{
    return (size_t)layout->gc_ring.entries[generation] *
               layout->gc_ring.entry_size +
           INDEX_BYTES;
}

static size_t
stats_bytes(const rec_layout *layout)
{
    size_t n = SEQUENCE_BYTES;
    for (uint32_t g = 0; g < REC_GENERATIONS; g++)
        n += ring_bytes(layout, g);
    return n;
}

pr_code
rec_gc_check(const rec_layout *layout, pr_err *err)
{
    if (layout->gc.stats == REC_ABSENT)
        return PR_FAIL(err, PR_UNSUPPORTED,
                       "CPython 3.%u does not record its collections; "
                       "3.15 is the first that does",
                       layout->minor);
    if (layout->gc.stats_size != stats_bytes(layout))
        return PR_FAIL(err, PR_UNSUPPORTED,
                       "unknown layout of the collections' statistics "
                       "(%u bytes, %zu expected)",
                       layout->gc.stats_size, stats_bytes(layout));
    return PR_OK;
}

static pr_code
read_sequence(const rec_layout *layout, rec_memory *memory, uint64_t address,
              uint32_t *ret, pr_err *err)
{
    uint8_t word[4];
    pr_code rc =
        rec_memory_read(memory, address + stats_bytes(layout) - SEQUENCE_BYTES,
                        word, sizeof word, err);
    if (rc == PR_OK)
        *ret = rec_u32(word);
    return rc;
}

/* The copy is good if the sequence was even before it and the same after it.
 * The sequence in the copy itself shows neither: it was read with the block, at
 * its end. */
static pr_code
copy_stats(const rec_layout *layout, rec_memory *memory, uint64_t address,
           uint8_t *to, pr_err *err)
{
    enum { TRIES = 8 };
    for (int i = 0; i < TRIES; i++) {
        uint32_t before = 0, after = 0;
        pr_code rc = read_sequence(layout, memory, address, &before, err);
        if (rc == PR_OK)
            rc = rec_memory_read(memory, address, to, stats_bytes(layout), err);
        if (rc == PR_OK)
            rc = read_sequence(layout, memory, address, &after, err);
        if (rc != PR_OK)
            return rc;
        if (before % 2 == 0 && before == after)
            return PR_OK;
    }
    return PR_FAIL(err, PR_TORN,
                   "the statistics of collections change all the time");
}

/* Seconds of a hostile double to nanoseconds. */
static uint64_t
nanoseconds(const uint8_t *p)
{
    double seconds;
    memcpy(&seconds, p, sizeof seconds);
    if (!(seconds > 0) || seconds > 1e9)
        return 0;
    return (uint64_t)llround(seconds * 1e9);
}

static uint64_t
since(uint64_t ns, uint64_t start_us)
{
    return ns / 1000 > start_us ? ns / 1000 - start_us : 0;
}

static pr_code
emit_entry(const rec_gc *gc, const rec_layout *l, uint32_t generation,
           const uint8_t *entry, uint64_t start_us, rec_gc_emit emit,
           void *context, pr_err *err)
{
    if (rec_u64(entry + l->gc_ring.start) / 1000 < start_us)
        return PR_OK;
    const pr_gc_event event = {
        .interp = gc->interp,
        .generation = generation,
        .start_us = since(rec_u64(entry + l->gc_ring.start), start_us),
        .stop_us = since(rec_u64(entry + l->gc_ring.stop), start_us),
        .collections = rec_u64(entry + l->gc_ring.collections),
        .collected = rec_u64(entry + l->gc_ring.collected),
        .uncollectable = rec_u64(entry + l->gc_ring.uncollectable),
        .candidates = rec_u64(entry + l->gc_ring.candidates),
        .heap_size = rec_u64(entry + l->gc_ring.heap_size),
        .duration_ns = nanoseconds(entry + l->gc_ring.duration),
    };
    return emit(context, &event, err);
}

/* The entries follow the one at the index round the ring, oldest first. */
static pr_code
emit_ring(rec_gc *gc, const rec_layout *l, uint32_t generation,
          const uint8_t *ring, uint64_t start_us, rec_gc_emit emit,
          void *context, pr_err *err)
{
    uint32_t entries = l->gc_ring.entries[generation];
    uint8_t latest = ring[(size_t)entries * l->gc_ring.entry_size];
    if (latest >= entries)
        return PR_FAIL(err, PR_TORN, "ring index %u of generation %u", latest,
                       generation);
    for (uint32_t i = 1; i <= entries; i++) {
        const uint8_t *entry =
            ring + (size_t)((latest + i) % entries) * l->gc_ring.entry_size;
        uint64_t number = rec_u64(entry + l->gc_ring.collections);
        if (number <= gc->seen[generation])
            continue; /* emitted, or a slot never used (0) */
        if (gc->seen[generation] > 0)
            gc->lost += number - gc->seen[generation] - 1;
        gc->seen[generation] = number;
        pr_code rc =
            emit_entry(gc, l, generation, entry, start_us, emit, context, err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

pr_code
rec_gc_poll(rec_gc *gc, const rec_layout *layout, rec_memory *memory,
            uint64_t interpreter, uint64_t start_us, rec_gc_emit emit,
            void *context, pr_err *err)
{
    uint8_t stats[MAX_STATS], pointer[8];
    pr_code rc = rec_gc_check(layout, err);
    if (rc == PR_OK)
        rc = rec_memory_read(memory,
                             interpreter + layout->interp.gc + layout->gc.stats,
                             pointer, sizeof pointer, err);
    if (rc != PR_OK)
        return rc;
    uint64_t address = rec_u64(pointer);
    if (!rec_plausible(address))
        return PR_FAIL(err, PR_TORN,
                       "no statistics of collections in interpreter %u",
                       gc->interp);
    rc = copy_stats(layout, memory, address, stats, err);
    const uint8_t *ring = stats;
    for (uint32_t g = 0; g < REC_GENERATIONS && rc == PR_OK; g++) {
        rc = emit_ring(gc, layout, g, ring, start_us, emit, context, err);
        ring += ring_bytes(layout, g);
    }
    return rc;
}
