/*
 * name_match.h - which functions and threads a name of the command line means
 * (spec/convert.md 3.2).
 */
#ifndef CONVERTER_FILTER_NAME_MATCH_H
#define CONVERTER_FILTER_NAME_MATCH_H

#include <base/intern.h>
#include <pyrec/convert.h>

/* A function as a name may mean it. */
typedef struct conv_called {
    pr_bytes file, name; /* path, qualified name */
    int32_t first_line;  /* 0: not known */
} conv_called;

/* Does one of the names mean the function?  matched[i] becomes 1 for each
 * name that does; names->n of them. */
bool conv_name_means(const conv_name_list *names, const conv_called *function,
                     uint8_t *matched);

/* The same for a thread.  A main thread without a name is MainThread. */
bool conv_name_means_thread(const conv_name_list *names, pr_bytes name,
                            uint64_t tid, bool is_main, uint8_t *matched);

#endif
