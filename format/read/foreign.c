/*
 * foreign.c - the kind of a file that is not a profile.
 */
#include "format/read/foreign.h"

#include <stdbool.h>
#include <string.h>

typedef struct signature {
    const char *bytes;
    size_t n;
    const char *name;
} signature;

#define SIGNATURE(bytes, name)             \
    {                                      \
        (bytes), sizeof(bytes) - 1, (name) \
    }

/* A profile that has lost its header begins with it, too. */
#define ZSTD_MAGIC "\x28\xb5\x2f\xfd"

static const signature known[] = {
    SIGNATURE("\x1f\x8b", "a gzip file, to be unpacked first"),
    SIGNATURE(ZSTD_MAGIC, "a zstd file"),
    SIGNATURE("\xfd"
              "7zXZ",
              "an xz file, to be unpacked first"),
    SIGNATURE("BZh", "a bzip2 file, to be unpacked first"),
    SIGNATURE("PK\x03\x04", "a zip archive, to be unpacked first"),
    SIGNATURE("\x7f"
              "ELF",
              "an ELF program or library"),
    SIGNATURE("SQLite format 3", "an SQLite database"),
    SIGNATURE("PERFILE2", "a recording of perf"),
    SIGNATURE("\x89PNG", "a PNG picture"),
};

/* CPython's marshal of a dict, the content of pstats files: '{', then a
 * tuple as the first key; both may carry the reference flag 0x80. */
static bool
is_pstats(const uint8_t *p, size_t n)
{
    return n >= 2 && (p[0] & 0x7f) == '{' &&
           ((p[1] & 0x7f) == '(' || (p[1] & 0x7f) == ')');
}

static bool
is_text(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] == 0x7f || (p[i] < 0x20 && !memchr("\t\n\r\f", p[i], 4)))
            return false;
    return true;
}

static const char *
find_known(const uint8_t *start, size_t n)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (n >= known[i].n && !memcmp(start, known[i].bytes, known[i].n))
            return known[i].name;
    return is_pstats(start, n) ? "a pstats file" : NULL;
}

bool
pf_foreign_is_known(const uint8_t *start, size_t n)
{
    size_t zstd = sizeof ZSTD_MAGIC - 1;
    return find_known(start, n) != NULL &&
           (n < zstd || memcmp(start, ZSTD_MAGIC, zstd) != 0);
}

const char *
pf_foreign_name(const uint8_t *start, size_t n)
{
    if (n == 0)
        return "empty";
    const char *name = find_known(start, n);
    if (name)
        return name;
    if (!is_text(start, n))
        return "data of an unknown kind";
    size_t i = 0;
    while (i < n && memchr(" \t\r\n", start[i], 4))
        i++;
    if (i < n && (start[i] == '{' || start[i] == '['))
        return "JSON";
    if (i < n && start[i] == '<')
        return "HTML or XML";
    return "text";
}
