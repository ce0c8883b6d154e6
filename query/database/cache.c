/*
 * cache.c - pyrec/archive-HASH-VERSION.db in the cache of freedesktop.org's
 * base directory specification.
 */
#include "query/database/cache.h"

#include <base/hash.h>
#include <errno.h>
#include <limits.h>
#include <pyrec/schema.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Make a folder, or accept it as it is. */
static bool
have_folder(const char *path)
{
    return (mkdir(path, 0700) == 0 || errno == EEXIST) &&
           access(path, W_OK | X_OK) == 0;
}

/* Can only the user put files there? */
static bool
is_private(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
           st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

static bool format_path(char *path, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Into PATH_MAX bytes; false: it does not fit. */
static bool
format_path(char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(path, PATH_MAX, format, args);
    va_end(args);
    return n > 0 && n < PATH_MAX;
}

/* The specification ignores a relative path. */
static bool
find_cache(char *path)
{
    char base[PATH_MAX];
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/') {
        if (!format_path(base, "%s", cache))
            return false;
    } else if (!home || home[0] != '/' || !format_path(base, "%s/.cache", home))
        return false;
    return have_folder(base) && format_path(path, "%s/pyrec", base) &&
           have_folder(path) && is_private(path);
}

/* A home may be shared by machines, on which one path is different folders;
 * and a log of SQLite works between processes of one machine only. */
static uint64_t
identify(const char *folder)
{
    struct utsname machine;
    uint64_t hash = pr_hash_bytes(folder, strlen(folder));
    if (uname(&machine) != 0)
        return hash;
    return pr_hash_seeded(machine.nodename, strlen(machine.nodename), hash);
}

pr_code
q_cache_path(const char *folder, char **ret, pr_err *err)
{
    char cache[PATH_MAX], path[PATH_MAX];
    char *whole = realpath(folder, NULL);
    if (!whole)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot read the folder '%s'",
                           folder);
    uint64_t hash = identify(whole);
    free(whole);
    if (!find_cache(cache) ||
        !format_path(path, "%s/archive-%016llx-%d.db", cache,
                     (unsigned long long)hash, PR_SCHEMA_VERSION))
        return PR_END;
    *ret = strdup(path);
    return *ret ? PR_OK : pr_no_memory(err);
}
