/*
 * metadata.h - the facts about a recording that its file keeps (spec/format.md
 * 5.5).
 */
#ifndef RECORDER_METADATA_H
#define RECORDER_METADATA_H

#include <pyrec/sink.h>
#include <pyrec/unwinder.h>
#include <stdbool.h>

typedef struct rec_label {
    const char *key; /* not terminated: key_len bytes */
    size_t key_len;
    const char *value;
} rec_label;

/* 128 bits as hexadecimal digits, terminated. */
typedef struct rec_recording_id {
    char text[33];
} rec_recording_id;

/* A random one. */
rec_recording_id rec_recording_id_make(void);

typedef struct rec_metadata {
    const char *recording_id; /* the same in all files of one process tree */
    bool command_lines;       /* of the target and of pyrec are kept */
    const char *options;      /* the command line of pyrec */
    const rec_label *label;
    size_t n_labels;
} rec_metadata;

/* At the start: emit the known facts about the target and the recorder.  The
 * sink's start() brings the wall clock. */
pr_code rec_metadata_emit(const rec_metadata *facts, const rec_target *target,
                          pr_sink *sink, pr_err *err);

/* One key whose value is a text. */
pr_code rec_metadata_text(pr_sink *sink, const char *key, const char *value,
                          pr_err *err);
pr_code rec_metadata_number(pr_sink *sink, const char *key, uint64_t value,
                            pr_err *err);

#endif
