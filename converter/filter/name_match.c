/*
 * name_match.c - the readings of a name, each a comparison.
 */
#include "converter/filter/name_match.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pr_code
conv_called_names_add(conv_called_names *names, const char *bytes, size_t len,
                      pr_err *err)
{
    uint32_t id;
    pr_code rc = pr_strings_add(&names->strings, bytes, len, &id, err);
    return rc == PR_OK ? pr_list_add(&names->string_of, id, err) : rc;
}

pr_code
conv_called_names_get(const conv_called_names *names, const pr_frame *frame,
                      conv_called *ret, pr_err *err)
{
    const pr_list *map = &names->string_of;
    if (frame->file >= map->n || frame->func >= map->n)
        return PR_FAIL(err, PR_INTERNAL, "a frame has a name without bytes");
    *ret = (conv_called){pr_strings_get(&names->strings, map->at[frame->file]),
                         pr_strings_get(&names->strings, map->at[frame->func]),
                         frame->first_line};
    return PR_OK;
}

void
conv_called_names_release(conv_called_names *names)
{
    pr_strings_release(&names->strings);
    pr_list_release(&names->string_of);
}

static pr_bytes
bytes_of(const char *text)
{
    return (pr_bytes){text, strlen(text)};
}

static bool
equal(pr_bytes a, pr_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

static bool
ends_with(pr_bytes text, pr_bytes end)
{
    return text.len >= end.len &&
           memcmp(text.at + text.len - end.len, end.at, end.len) == 0;
}

static pr_bytes
base_of(pr_bytes path)
{
    size_t i = path.len;
    while (i > 0 && path.at[i - 1] != '/')
        i--;
    return (pr_bytes){path.at + i, path.len - i};
}

/* The qualified name itself, or its end after a dot. */
static bool
is_name(pr_bytes name, pr_bytes wanted)
{
    if (equal(name, wanted))
        return true;
    return wanted.len && name.len > wanted.len && ends_with(name, wanted) &&
           name.at[name.len - wanted.len - 1] == '.';
}

/* The path itself, or its last parts. */
static bool
is_file(pr_bytes file, pr_bytes wanted)
{
    if (equal(file, wanted))
        return true;
    return wanted.len && file.len > wanted.len && ends_with(file, wanted) &&
           file.at[file.len - wanted.len - 1] == '/';
}

static bool
is_line(pr_bytes wanted, int32_t line)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRId32, line);
    return line > 0 && equal(wanted, bytes_of(text));
}

/* FILE:FUNCTION and FILE:LINE. */
static bool
is_place(const conv_called *f, pr_bytes wanted)
{
    for (size_t i = wanted.len; i-- > 1;) {
        if (wanted.at[i] != ':')
            continue;
        const pr_bytes file = {wanted.at, i};
        const pr_bytes rest = {wanted.at + i + 1, wanted.len - i - 1};
        if (is_file(f->file, file) &&
            (is_name(f->name, rest) || is_line(rest, f->first_line)))
            return true;
    }
    return false;
}

/* NUL ends a text for fnmatch(): it sees U+FFFD, as outputs show it. */
static bool
fits(const char *pattern, pr_bytes text)
{
    char *copy = malloc(text.len + 1);
    if (!copy)
        return false;
    if (text.len)
        memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    for (size_t i = 0; i < text.len; i++)
        if (copy[i] == '\0')
            copy[i] = '?';
    bool found = fnmatch(pattern, copy, 0) == 0;
    free(copy);
    return found;
}

static bool
is_pattern(const char *wanted)
{
    return strpbrk(wanted, "*?[") != NULL;
}

static bool
means(const char *wanted, const conv_called *f)
{
    pr_bytes text = bytes_of(wanted);
    if (is_name(f->name, text) || is_file(f->file, text) || is_place(f, text))
        return true;
    return is_pattern(wanted) &&
           (fits(wanted, f->name) || fits(wanted, f->file) ||
            fits(wanted, base_of(f->file)));
}

bool
conv_name_means(const conv_name_list *names, const conv_called *function,
                uint8_t *matched)
{
    bool any = false;
    for (size_t i = 0; i < names->n; i++) {
        if (!means(names->at[i], function))
            continue;
        any = true;
        matched[i] = 1;
    }
    return any;
}

static bool
means_thread(const char *wanted, pr_bytes name, uint64_t tid)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, tid);
    return equal(name, bytes_of(wanted)) || strcmp(wanted, number) == 0 ||
           (is_pattern(wanted) && fits(wanted, name));
}

bool
conv_name_means_thread(const conv_name_list *names, pr_bytes name, uint64_t tid,
                       bool is_main, uint8_t *matched)
{
    bool any = false;
    if (name.len == 0 && is_main)
        name = bytes_of("MainThread");
    for (size_t i = 0; i < names->n; i++) {
        if (!means_thread(names->at[i], name, tid))
            continue;
        any = true;
        matched[i] = 1;
    }
    return any;
}
