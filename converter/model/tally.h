/*
 * tally.h - the samples of one thread, added up by stack and state.
 */
#ifndef CONVERTER_MODEL_TALLY_H
#define CONVERTER_MODEL_TALLY_H

#include "converter/model/model.h"

/* The activity of a thread at a sample, in one word (spec/convert.md 5). */
typedef enum conv_state {
    CONV_STATE_GIL,     /* held the GIL */
    CONV_STATE_WAITING, /* had asked for it */
    CONV_STATE_CPU,     /* was on a CPU without it */
    CONV_STATE_IDLE,    /* was known to do neither */
    CONV_STATE_UNKNOWN,
    CONV_STATES
} conv_state;

conv_state conv_state_of(uint8_t status);
const char *conv_state_name(conv_state state);

typedef struct conv_tally_entry {
    uint64_t n, weight_us;
    uint32_t node;
    uint32_t next;  /* of the same node, + 1; 0: none */
    uint32_t state; /* conv_state */
} conv_tally_entry;

/* The caller sets it to zero, and may use it for all threads of a model. */
typedef struct conv_tally {
    conv_tally_entry *entry; /* [n], in order of first appearance */
    size_t n, cap;
    uint32_t *first; /* [node] its first entry, + 1; 0: none */
} conv_tally;

/* Replace the content by the samples of one thread.  PR_NOMEM. */
pr_code conv_tally_thread(conv_tally *tally, const conv_model *model,
                          uint32_t thread, pr_err *err);
void conv_tally_release(conv_tally *tally);

#endif
