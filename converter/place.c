/*
 * place.c - patterns of CPython's installation schemes (3.15 Lib/sysconfig).
 */
#include "converter/place.h"

static bool
starts(conv_bytes bytes, const char *with)
{
    size_t n = strlen(with);
    return bytes.len >= n && memcmp(bytes.at, with, n) == 0;
}

static bool
equals(conv_bytes bytes, const char *string)
{
    return bytes.len == strlen(string) && starts(bytes, string);
}

static conv_bytes
behind(conv_bytes bytes, size_t n)
{
    return (conv_bytes){bytes.at + n, bytes.len - n};
}

/* If a path continues with the folder of a library's version, "python3.14/",
 * "python3.13t/" or "pypy3.11/": its length, or 0. */
static size_t
version_folder(conv_bytes rest)
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
library_part(conv_bytes path, conv_place_class *ret)
{
    size_t found = 0;
    for (size_t i = 0; i < path.len; i++) {
        if (path.at[i] != '/')
            continue;
        conv_bytes rest = behind(path, i + 1);
        size_t lib = starts(rest, "lib/") ? 4 : starts(rest, "lib64/") ? 6 : 0;
        size_t version = lib ? version_folder(behind(rest, lib)) : 0;
        if (starts(rest, "site-packages/") || starts(rest, "dist-packages/")) {
            found = i + 1 + strlen("site-packages/");
            *ret = CONV_PLACE_SITE;
        } else if (version) {
            found = i + 1 + lib + version;
            *ret = CONV_PLACE_STDLIB;
        }
    }
    return found;
}

conv_place_class
conv_place_of(conv_bytes path)
{
    conv_place_class place = CONV_PLACE_PROJECT;
    if (starts(path, "<frozen "))
        return CONV_PLACE_FROZEN;
    if (path.len == 0 || path.at[0] == '<' || equals(path, "~"))
        return CONV_PLACE_SPECIAL;
    library_part(path, &place);
    return place;
}

const char *
conv_place_name(conv_place_class place)
{
    switch (place) {
    case CONV_PLACE_STDLIB:
        return "stdlib";
    case CONV_PLACE_SITE:
        return "site";
    case CONV_PLACE_FROZEN:
        return "frozen";
    case CONV_PLACE_SPECIAL:
        return "special";
    case CONV_PLACE_PROJECT:
        break;
    }
    return "project";
}

conv_bytes
conv_place_base(conv_bytes path)
{
    size_t i = path.len;
    while (i > 0 && path.at[i - 1] != '/')
        i--;
    return behind(path, i);
}

conv_bytes
conv_place_short(conv_bytes path)
{
    conv_place_class unused;
    return behind(path, library_part(path, &unused));
}

static conv_bytes
without_end(conv_bytes bytes, const char *end)
{
    size_t n = strlen(end);
    if (bytes.len >= n && memcmp(bytes.at + bytes.len - n, end, n) == 0)
        bytes.len -= n;
    return bytes;
}

void
conv_place_module(conv_text *text, conv_bytes path)
{
    conv_place_class place = conv_place_of(path);
    if (place == CONV_PLACE_SPECIAL)
        return;
    if (place == CONV_PLACE_FROZEN) {
        conv_bytes name = without_end(behind(path, strlen("<frozen ")), ">");
        conv_text_name(text, CONV_TEXT_SQL, name.at, name.len);
        return;
    }
    conv_bytes part = place == CONV_PLACE_PROJECT ? conv_place_base(path)
                                                  : conv_place_short(path);
    part = without_end(without_end(part, ".py"), "/__init__");
    size_t from = text->len;
    conv_text_name(text, CONV_TEXT_SQL, part.at, part.len);
    for (size_t i = from; i < text->len && !text->failed; i++)
        if (text->at[i] == '/')
            text->at[i] = '.';
}
