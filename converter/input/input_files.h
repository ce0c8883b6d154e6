/*
 * input_files.h - the files that the inputs of a conversion stand for.
 */
#ifndef CONVERTER_INPUT_INPUT_FILES_H
#define CONVERTER_INPUT_INPUT_FILES_H

#include <pyrec/error.h>
#include <stddef.h>
#include <stdint.h>

typedef struct conv_paths {
    char **at;
    size_t n, cap;
} conv_paths;

/* List `base`, unless it is NULL, and the inputs.  A file stands for itself, a
 * directory for its files whose names end in .bin, in order of name.  The
 * caller releases *ret in any case.  PR_IO; PR_USAGE: a directory without such
 * a file, a base that is a directory, or no input. */
pr_code conv_paths_expand(const char *base, const char *const *input, size_t n,
                          conv_paths *ret, pr_err *err);
void conv_paths_release(conv_paths *paths);

/* Can all files be opened?  PR_IO with the first one that cannot. */
pr_code conv_paths_check(const conv_paths *paths, pr_err *err);

/* The permissions that all files have: an output may have no more.  A file
 * whose stat() fails counts as private. */
unsigned conv_paths_mode(const conv_paths *paths);

/* The sum of the sizes of all files whose stat() does not fail. */
uint64_t conv_paths_bytes(const conv_paths *paths);

#endif
