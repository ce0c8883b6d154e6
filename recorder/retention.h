/*
 * retention.h - the recordings of a folder that stay, by age and by size.
 */
#ifndef RECORDER_RETENTION_H
#define RECORDER_RETENTION_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0: no such bound. */
typedef struct rec_retention {
    uint64_t keep_ns, max_bytes;
} rec_retention;

typedef struct rec_kept {
    char *name; /* in the folder; malloc() */
    uint64_t time_ns, bytes;
    bool removed;
} rec_kept;

/* The recordings in a folder, and those that were removed so far. */
typedef struct rec_folder_state {
    uint64_t files, bytes;
    uint64_t largest; /* file that was seen */
    uint64_t removed_age, removed_size;
} rec_folder_state;

/* Mark the files to remove: all older than keep_ns, then the oldest until the
 * rest and `reserved` bytes fit into max_bytes.  Puts the files in the order of
 * time. */
void rec_retention_choose(const rec_retention *bounds, rec_kept *file, size_t n,
                          uint64_t now_ns, uint64_t reserved,
                          rec_folder_state *state);

/* Remove the recordings of the folder, pyrec-*.bin and the leftovers of a
 * killed recorder, that the bounds exclude.  Other files are neither counted
 * nor touched.  Times are CLOCK_REALTIME. */
pr_code rec_retention_apply(const rec_retention *bounds, const char *folder,
                            uint64_t now_ns, uint64_t reserved,
                            rec_folder_state *state, pr_err *err);

#endif
