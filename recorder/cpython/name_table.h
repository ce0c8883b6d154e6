/*
 * name_table.h - the strings and frames that were emitted, each once.
 */
#ifndef RECORDER_CPYTHON_NAME_TABLE_H
#define RECORDER_CPYTHON_NAME_TABLE_H

#include <base/hash_table.h>
#include <pyrec/error.h>
#include <pyrec/sink.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rec_name_table {
    pr_sink *sink;
    char *bytes; /* of all strings */
    size_t used, cap_bytes;
    struct rec_name *name; /* by string id */
    size_t n_names, cap_names;
    pr_frame *frame; /* by frame id */
    size_t n_frames, cap_frames;
    pr_table by_bytes, by_frame;
} rec_name_table;

void rec_name_table_init(rec_name_table *names, pr_sink *sink);
void rec_name_table_release(rec_name_table *names);

/* The id of a string or frame; a new one is emitted to the sink. */
pr_code rec_name_table_string(rec_name_table *names, const char *bytes,
                              size_t len, uint32_t *ret, pr_err *err);
pr_code rec_name_table_frame(rec_name_table *names, const pr_frame *frame,
                             uint32_t *ret, pr_err *err);

#endif
