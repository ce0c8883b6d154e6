/*
 * name_match.h - the functions and threads that a name of the command line
 * means (spec/convert.md 3.2).
 */
#ifndef CONVERTER_FILTER_NAME_MATCH_H
#define CONVERTER_FILTER_NAME_MATCH_H

#include <base/intern.h>
#include <pyrec/convert.h>

/* The parts of a function that a name may mean. */
typedef struct conv_called {
    pr_bytes file, name; /* path, qualified name */
    int32_t first_line;  /* 0: not known */
} conv_called;

/* The strings of a profile, by the ids in its frames.  Zero is empty; release
 * frees the content. */
typedef struct conv_called_names {
    pr_strings strings;
    pr_list string_of; /* [id in the profile] id in `strings` */
} conv_called_names;

/* Take the next string of the profile.  PR_NOMEM. */
pr_code conv_called_names_add(conv_called_names *names, const char *bytes,
                              size_t len, pr_err *err);

/* The function of a frame.  PR_INTERNAL if its strings are not known. */
pr_code conv_called_names_get(const conv_called_names *names,
                              const pr_frame *frame, conv_called *ret,
                              pr_err *err);
void conv_called_names_release(conv_called_names *names);

/* Does one of the names mean the function?  matched[i] of [names->n] becomes 1
 * for each name that does. */
bool conv_name_means(const conv_name_list *names, const conv_called *function,
                     uint8_t *matched);

/* The same for a thread.  A main thread without a name is MainThread. */
bool conv_name_means_thread(const conv_name_list *names, pr_bytes name,
                            uint64_t tid, bool is_main, uint8_t *matched);

#endif
