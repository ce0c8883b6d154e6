/*
 * cache.h - the place of the database of a folder.
 */
#ifndef QUERY_DATABASE_CACHE_H
#define QUERY_DATABASE_CACHE_H

#include <pyrec/error.h>

/* The path of the folder's database in the user's cache, $XDG_CACHE_HOME or
 * ~/.cache, in a folder that only the user can enter; the caller frees *ret.
 * PR_END: the environment names no cache, or it cannot be written. */
pr_code q_cache_path(const char *folder, char **ret, pr_err *err);

#endif
