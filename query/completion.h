/*
 * completion.h - the words that the last word of a typed query may become.
 */
#ifndef QUERY_COMPLETION_H
#define QUERY_COMPLETION_H

#include <pyrec/query.h>

typedef void (*q_completion_fn)(void *context, const char *word);

/* Call with each word that begins with `word` and may stand after `before`: verbs,
 * clauses, names of functions, files and threads of the profile. */
void q_complete(q_database *database, const char *before, const char *word,
                q_completion_fn add, void *context);

#endif
