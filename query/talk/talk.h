/*
 * talk.h - questions typed one after the other, with line editing, history
 * and completion (libedit).
 */
#ifndef QUERY_TALK_TALK_H
#define QUERY_TALK_TALK_H

#include <stddef.h>

/* A call with each candidate for the word at the end of a line. */
typedef void (*q_talk_candidate)(void *list, const char *word);

typedef struct q_talk_source {
    void *context;
    /* Run the query, and show its answer or its error. */
    void (*ask)(void *context, const char *query);
    /* Add the completions of `word`, which stands after `before` in the
     * line. */
    void (*complete)(void *context, const char *before, const char *word,
                     q_talk_candidate add, void *list);
} q_talk_source;

/* Read and run queries until the end of input, "quit" or "exit". */
void q_talk_run(const q_talk_source *source);

#endif
