/*
 * gc_ring.c - read the ring of collections, prove the copy, tell what is new.
 */
#include "recorder/cpython/gc_ring.h"

#include <math.h>

/* One collection (struct gc_generation_stats, 3.15.2); 8 words of 8 bytes. */
enum {
    ENTRY_BYTES = 64,
    TS_START = 0, /* ns, CLOCK_MONOTONIC */
    TS_STOP = 8,
    COLLECTIONS = 16, /* cumulative, as all but the times and the heap size */
    COLLECTED = 24,
    UNCOLLECTABLE = 32,
    CANDIDATES = 40,
    DURATION = 48, /* double, s */
    HEAP_SIZE = 56
};

/* A ring is its entries and, 8-aligned, the index of the latest one (i8). */
enum { INDEX_BYTES = 8, SEQUENCE_BYTES = 8, MAX_STATS = 2048 };

/* Entries a generation: with the GIL 11 young and 3 of each old one, one each
 * on free-threaded builds. */
static const uint8_t entries_gil[REC_GENERATIONS] = {11, 3, 3};
static const uint8_t entries_free[REC_GENERATIONS] = {1, 1, 1};

static const uint8_t *
entries_of(const rec_layout *layout)
{
    return layout->free_threaded ? entries_free : entries_gil;
}

static size_t
ring_bytes(uint32_t entries)
{
    return (size_t)entries * ENTRY_BYTES + INDEX_BYTES;
}

static size_t
stats_bytes(const rec_layout *layout)
{
    const uint8_t *entries = entries_of(layout);
    size_t n = SEQUENCE_BYTES;
    for (int g = 0; g < REC_GENERATIONS; g++)
        n += ring_bytes(entries[g]);
    return n;
}

pr_code
rec_gc_check(const rec_layout *layout, pr_err *err)
{
    if (layout->gc.stats == REC_ABSENT)
        return PR_FAIL(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                       "CPython 3.%u does not record its collections; "
                       "3.15 is the first that does",
                       layout->minor);
    if (layout->gc.stats_size != stats_bytes(layout))
        return PR_FAIL(err, PR_NOT_PYTHON, 0, PR_NO_OFFSET,
                       "unknown layout of the collections' statistics "
                       "(%u bytes, %zu expected)",
                       layout->gc.stats_size, stats_bytes(layout));
    return PR_OK;
}

/* The copy is good if the sequence is even and did not move. */
static pr_code
copy_stats(const rec_layout *layout, rec_memory *memory, uint64_t address,
           uint8_t *to, pr_err *err)
{
    enum { TRIES = 8 };
    size_t size = stats_bytes(layout);
    for (int i = 0; i < TRIES; i++) {
        uint8_t again[4];
        pr_code rc = rec_memory_read(memory, address, to, size, err);
        if (rc == PR_OK)
            rc = rec_memory_read(memory, address + size - SEQUENCE_BYTES, again,
                                 sizeof again, err);
        if (rc != PR_OK)
            return rc;
        uint32_t sequence = rec_u32(to + size - SEQUENCE_BYTES);
        if (sequence % 2 == 0 && sequence == rec_u32(again))
            return PR_OK;
    }
    return PR_FAIL(err, PR_TORN, 0, PR_NO_OFFSET,
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
tell_entry(const rec_gc *gc, uint32_t generation, const uint8_t *entry,
           uint64_t start_us, rec_gc_tell tell, void *context, pr_err *err)
{
    if (rec_u64(entry + TS_START) / 1000 < start_us)
        return PR_OK;
    const pr_gc_event event = {
        .interp = gc->interp,
        .generation = generation,
        .start_us = since(rec_u64(entry + TS_START), start_us),
        .stop_us = since(rec_u64(entry + TS_STOP), start_us),
        .collections = rec_u64(entry + COLLECTIONS),
        .collected = rec_u64(entry + COLLECTED),
        .uncollectable = rec_u64(entry + UNCOLLECTABLE),
        .candidates = rec_u64(entry + CANDIDATES),
        .heap_size = rec_u64(entry + HEAP_SIZE),
        .duration_ns = nanoseconds(entry + DURATION),
    };
    return tell(context, &event, err);
}

/* The entries follow the one at the index round the ring, oldest first. */
static pr_code
tell_ring(rec_gc *gc, uint32_t generation, const uint8_t *ring,
          uint32_t entries, uint64_t start_us, rec_gc_tell tell, void *context,
          pr_err *err)
{
    uint8_t latest = ring[(size_t)entries * ENTRY_BYTES];
    if (latest >= entries)
        return PR_FAIL(err, PR_TORN, 0, PR_NO_OFFSET,
                       "ring index %u of generation %u", latest, generation);
    for (uint32_t i = 1; i <= entries; i++) {
        const uint8_t *entry =
            ring + (size_t)((latest + i) % entries) * ENTRY_BYTES;
        uint64_t number = rec_u64(entry + COLLECTIONS);
        if (number <= gc->seen[generation])
            continue; /* told, or a slot never used (0) */
        if (gc->seen[generation] > 0)
            gc->lost += number - gc->seen[generation] - 1;
        gc->seen[generation] = number;
        pr_code rc =
            tell_entry(gc, generation, entry, start_us, tell, context, err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

pr_code
rec_gc_poll(rec_gc *gc, const rec_layout *layout, rec_memory *memory,
            uint64_t interpreter, uint64_t start_us, rec_gc_tell tell,
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
        return PR_FAIL(err, PR_TORN, 0, PR_NO_OFFSET,
                       "no statistics of collections in interpreter %u",
                       gc->interp);
    rc = copy_stats(layout, memory, address, stats, err);
    const uint8_t *ring = stats;
    for (uint32_t g = 0; g < REC_GENERATIONS && rc == PR_OK; g++) {
        uint32_t entries = entries_of(layout)[g];
        rc = tell_ring(gc, g, ring, entries, start_us, tell, context, err);
        ring += ring_bytes(entries);
    }
    return rc;
}
