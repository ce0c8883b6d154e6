/*
 * paths.c - sorted from the end, a path needs to differ from its neighbours
 * only.
 */
#include "query/render/paths.h"

#include <base/array.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool
q_paths_add(q_paths *paths, const char *path, size_t len)
{
    if (!pr_grow(&paths->path, &paths->cap, paths->len + 1,
                 sizeof *paths->path))
        return false;
    char *whole = malloc(len + 1);
    if (!whole)
        return false;
    memcpy(whole, path, len);
    whole[len] = '\0';
    paths->path[paths->len++] = (struct q_path){whole, whole};
    return true;
}

/* From the last byte to the first. */
static int
compare_ends(const void *x, const void *y)
{
    const char *a = ((const struct q_path *)x)->whole;
    const char *b = ((const struct q_path *)y)->whole;
    size_t i = strlen(a), j = strlen(b);
    while (i && j && a[i - 1] == b[j - 1]) {
        i--;
        j--;
    }
    if (!i || !j)
        return (i > 0) - (j > 0);
    return (unsigned char)a[i - 1] < (unsigned char)b[j - 1] ? -1 : 1;
}

/* How many bytes at their ends are the same. */
static size_t
common_end(const char *a, const char *b)
{
    size_t i = strlen(a), j = strlen(b), n = 0;
    while (i && j && a[i - 1] == b[j - 1]) {
        i--;
        j--;
        n++;
    }
    return n;
}

/* The part after the last slash that makes it longer than `common`. */
static const char *
end_longer_than(const char *path, size_t common)
{
    size_t len = strlen(path);
    for (size_t i = len; i > 0; i--)
        if (path[i - 1] == '/' && len - i > common && len - i > 0)
            return path + i;
    return path;
}

void
q_paths_shorten(q_paths *paths)
{
    if (!paths->len)
        return;
    qsort(paths->path, paths->len, sizeof *paths->path, compare_ends);
    size_t n = 1; /* each once */
    for (size_t i = 1; i < paths->len; i++)
        if (strcmp(paths->path[n - 1].whole, paths->path[i].whole) == 0)
            free(paths->path[i].whole);
        else
            paths->path[n++] = paths->path[i];
    paths->len = n;
    for (size_t i = 0; i < n; i++) {
        const char *whole = paths->path[i].whole;
        size_t common = 0;
        if (i > 0)
            common = common_end(whole, paths->path[i - 1].whole);
        if (i + 1 < n) {
            size_t next = common_end(whole, paths->path[i + 1].whole);
            common = next > common ? next : common;
        }
        paths->path[i].shown = end_longer_than(whole, common);
    }
}

const char *
q_paths_short(const q_paths *paths, const char *path)
{
    const struct q_path key = {(char *)(uintptr_t)path, NULL};
    const struct q_path *found =
        paths->len ? bsearch(&key, paths->path, paths->len, sizeof *paths->path,
                             compare_ends)
                   : NULL;
    return found ? found->shown : path;
}

void
q_paths_release(q_paths *paths)
{
    for (size_t i = 0; i < paths->len; i++)
        free(paths->path[i].whole);
    free(paths->path);
    *paths = (q_paths){0};
}
