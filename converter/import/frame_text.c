/*
 * frame_text.c - by the last colons and parentheses of a text.
 */
#include "converter/import/frame_text.h"

#include <string.h>

pr_text
conv_frame_text_after(pr_text text, size_t n)
{
    return (pr_text){text.bytes + n, text.len - n};
}

static pr_text
before(pr_text text, size_t n)
{
    return (pr_text){text.bytes, n};
}

size_t
conv_frame_text_find(pr_text text, char c)
{
    const char *found = text.len ? memchr(text.bytes, c, text.len) : NULL;
    return found ? (size_t)(found - text.bytes) : text.len;
}

/* The last byte of it that is c, or its length. */
static size_t
find_last(pr_text text, char c)
{
    for (size_t i = text.len; i-- > 0;)
        if (text.bytes[i] == c)
            return i;
    return text.len;
}

/* The beginning of the first or last " (", or the length. */
static size_t
find_parens(pr_text text, bool last)
{
    size_t found = text.len;
    for (size_t i = 1; i < text.len && (last || found == text.len); i++)
        if (text.bytes[i] == '(' && text.bytes[i - 1] == ' ')
            found = i - 1;
    return found;
}

bool
conv_frame_text_begins(pr_text text, const char *word)
{
    size_t n = strlen(word);
    return text.len >= n && memcmp(text.bytes, word, n) == 0;
}

bool
conv_frame_text_number(pr_text text, unsigned base, uint64_t *ret)
{
    uint64_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.bytes[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit >= base || value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    *ret = value;
    return text.len > 0;
}

static bool
line_number(pr_text text, int32_t *ret)
{
    uint64_t value;
    if (!conv_frame_text_number(text, 10, &value) || value > INT32_MAX)
        return false;
    *ret = (int32_t)value;
    return true;
}

static bool
is(pr_text text, const char *word)
{
    return text.len == strlen(word) && conv_frame_text_begins(text, word);
}

conv_place
conv_frame_text_name(pr_text name)
{
    static const char file[] = PR_SYNTHETIC_FILE;
    static const char left_out[] = "<frames left out>"; /* --max-depth */
    bool synthetic =
        is(name, PR_NATIVE_FUNC) || is(name, PR_GC_FUNC) || is(name, left_out);
    const pr_text of = {file, synthetic ? sizeof file - 1 : 0};
    const conv_place place = CONV_PLACE(of, name);
    return place;
}

/* "file:line" or "file". */
static void
set_file(conv_place *place, pr_text text)
{
    int32_t line;
    size_t colon = find_last(text, ':');
    place->file = text;
    place->line = place->end_line = 0;
    if (colon == text.len ||
        !line_number(conv_frame_text_after(text, colon + 1), &line))
        return;
    place->file = before(text, colon);
    place->line = place->end_line = line;
}

conv_place
conv_frame_text_parens(pr_text text, bool first)
{
    size_t parens = find_parens(text, false);
    if (parens == text.len || text.bytes[text.len - 1] != ')')
        return conv_frame_text_name(text);
    conv_place place = conv_frame_text_name(before(text, parens));
    pr_text inner = conv_frame_text_after(text, parens + 2);
    set_file(&place, before(inner, inner.len - 1));
    if (first)
        place.first_line = place.line;
    return place;
}

conv_place
conv_frame_text_colons(pr_text text)
{
    int32_t line;
    size_t colon = find_last(text, ':');
    if (colon == text.len ||
        !line_number(conv_frame_text_after(text, colon + 1), &line))
        return conv_frame_text_name(text);
    pr_text rest = before(text, colon);
    size_t name = find_last(rest, ':');
    if (name == rest.len)
        return conv_frame_text_name(text);
    conv_place place =
        conv_frame_text_name(conv_frame_text_after(rest, name + 1));
    place.file = before(rest, name);
    place.line = place.end_line = line;
    return place;
}

/* "BEFORE (INNER)". */
static bool
split(pr_text text, pr_text *ret_before, pr_text *ret_inner)
{
    size_t parens = find_parens(text, true);
    if (parens == text.len || text.bytes[text.len - 1] != ')')
        return false;
    *ret_before = before(text, parens);
    pr_text inner = conv_frame_text_after(text, parens + 2);
    *ret_inner = before(inner, inner.len - 1);
    return true;
}

bool
conv_frame_text_thread(pr_text text, conv_owner *ret)
{
    static const char of_interpreter[] = ", interpreter ";
    pr_text name, inner;
    uint64_t interp = 0;
    if (!split(text, &name, &inner))
        return false;
    size_t comma = conv_frame_text_find(inner, ',');
    pr_text rest = conv_frame_text_after(inner, comma);
    if (rest.len) {
        size_t n = sizeof of_interpreter - 1;
        if (!conv_frame_text_begins(rest, of_interpreter) ||
            !conv_frame_text_number(conv_frame_text_after(rest, n), 10,
                                    &interp) ||
            interp > UINT32_MAX)
            return false;
    }
    if (!conv_frame_text_number(before(inner, comma), 10, &ret->tid))
        return false;
    ret->interp = (uint32_t)interp;
    /* pyconv's word for a thread whose name is not known */
    ret->name = is(name, "thread") ? (pr_text){NULL, 0} : name;
    return true;
}

bool
conv_frame_text_process(pr_text text, conv_owner *ret)
{
    pr_text inner;
    if (!split(text, &ret->command, &inner) ||
        !conv_frame_text_begins(inner, "pid "))
        return false;
    return conv_frame_text_number(conv_frame_text_after(inner, 4), 10,
                                  &ret->pid);
}
