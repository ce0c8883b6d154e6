/*
 * paths.h - shorten paths as far as they remain different.
 */
#ifndef QUERY_RENDER_PATHS_H
#define QUERY_RENDER_PATHS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct q_paths {
    struct q_path {
        char *whole;
        const char *shown; /* the end of it */
    } * path;
    size_t len, cap;
} q_paths;

bool q_paths_add(q_paths *paths, const char *path, size_t len);

/* Shorten each path to the fewest folders that make it differ from all others,
 * after the last q_paths_add(). */
void q_paths_shorten(q_paths *paths);
const char *q_paths_short(const q_paths *paths, const char *path);
void q_paths_release(q_paths *paths);

#endif
