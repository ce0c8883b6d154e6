/*
 * tell.h - strings and frames as they were told to the sink, each once.
 */
#ifndef RECORDER_TELL_H
#define RECORDER_TELL_H

#include <pyrec/base.h>
#include <pyrec/sink.h>

typedef struct rec_told {
    pr_sink *sink;
    char *bytes; /* of all strings */
    size_t used, cap_bytes;
    struct rec_name *name; /* by string id */
    size_t n_names, cap_names;
    pr_frame *frame; /* by frame id */
    size_t n_frames, cap_frames;
    pr_table by_bytes, by_frame;
} rec_told;

void rec_told_init(rec_told *names, pr_sink *sink);
void rec_told_release(rec_told *names);

/* The id of a string or frame; a new one is told to the sink. */
pr_code rec_told_string(rec_told *names, const char *bytes, size_t len,
                        uint32_t *ret, pr_err *err);
pr_code rec_told_frame(rec_told *names, const pr_frame *frame, uint32_t *ret,
                       pr_err *err);

#endif
