/*
 * source_path.c - patterns of CPython's installation schemes (3.15 Lib/sysconfig).
 */
#include "converter/model/source_path.h"

#include <base/buffer.h>
#include <base/quote.h>
#include <string.h>

static bool
starts(pr_bytes bytes, const char *with)
{
    size_t n = strlen(with);
    return bytes.len >= n && memcmp(bytes.at, with, n) == 0;
}

static bool
equals(pr_bytes bytes, const char *string)
{
    return bytes.len == strlen(string) && starts(bytes, string);
}

static pr_bytes
behind(pr_bytes bytes, size_t n)
{
    return (pr_bytes){bytes.at + n, bytes.len - n};
}

/* If a path continues with the folder of a library's version, "python3.14/",
 * "python3.13t/" or "pypy3.11/": its length, or 0. */
static size_t
version_folder(pr_bytes rest)
{
    size_t i = starts(rest, "python") ? 6 : starts(rest, "pypy") ? 4 : 0;
    if (i == 0 || i >= rest.len || rest.at[i] < '2' || rest.at[i] > '9')
        return 0;
    while (i < rest.len && (rest.at[i] == '.' || rest.at[i] == 't' ||
                            (rest.at[i] >= '0' && rest.at[i] <= '9')))
        i++;
    return i < rest.len && rest.at[i] == '/' ? i + 1 : 0;
}

/* Where the part below the innermost library begins; 0: in none. */
static size_t
library_part(pr_bytes path, conv_path_class *ret)
{
    size_t found = 0;
    for (size_t i = 0; i < path.len; i++) {
        if (path.at[i] != '/')
            continue;
        pr_bytes rest = behind(path, i + 1);
        size_t lib = starts(rest, "lib/") ? 4 : starts(rest, "lib64/") ? 6 : 0;
        size_t version = lib ? version_folder(behind(rest, lib)) : 0;
        if (starts(rest, "site-packages/") || starts(rest, "dist-packages/")) {
            found = i + 1 + strlen("site-packages/");
            *ret = CONV_PATH_SITE;
        } else if (version) {
            found = i + 1 + lib + version;
            *ret = CONV_PATH_STDLIB;
        }
    }
    return found;
}

conv_path_class
conv_path_of(pr_bytes path)
{
    conv_path_class place = CONV_PATH_PROJECT;
    if (starts(path, "<frozen "))
        return CONV_PATH_FROZEN;
    if (path.len == 0 || path.at[0] == '<' || equals(path, "~"))
        return CONV_PATH_SPECIAL;
    library_part(path, &place);
    return place;
}

const char *
conv_path_name(conv_path_class place)
{
    switch (place) {
    case CONV_PATH_STDLIB:
        return "stdlib";
    case CONV_PATH_SITE:
        return "site";
    case CONV_PATH_FROZEN:
        return "frozen";
    case CONV_PATH_SPECIAL:
        return "special";
    case CONV_PATH_PROJECT:
        break;
    }
    return "project";
}

pr_bytes
conv_path_base(pr_bytes path)
{
    size_t i = path.len;
    while (i > 0 && path.at[i - 1] != '/')
        i--;
    return behind(path, i);
}

pr_bytes
conv_path_short(pr_bytes path)
{
    conv_path_class unused;
    return behind(path, library_part(path, &unused));
}

static pr_bytes
without_end(pr_bytes bytes, const char *end)
{
    size_t n = strlen(end);
    if (bytes.len >= n && memcmp(bytes.at + bytes.len - n, end, n) == 0)
        bytes.len -= n;
    return bytes;
}

void
conv_path_module(pr_buffer *text, pr_bytes path)
{
    conv_path_class place = conv_path_of(path);
    if (place == CONV_PATH_SPECIAL)
        return;
    if (place == CONV_PATH_FROZEN) {
        pr_bytes name = without_end(behind(path, strlen("<frozen ")), ">");
        pr_quote_name(text, PR_QUOTE_SQL, name.at, name.len);
        return;
    }
    pr_bytes part = place == CONV_PATH_PROJECT ? conv_path_base(path)
                                               : conv_path_short(path);
    part = without_end(without_end(part, ".py"), "/__init__");
    size_t from = text->len;
    pr_quote_name(text, PR_QUOTE_SQL, part.at, part.len);
    for (size_t i = from; i < text->len && !text->failed; i++)
        if (text->at[i] == '/')
            text->at[i] = '.';
}
