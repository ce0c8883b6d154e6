/*
 * lines.c - by newlines; a carriage return before one is not of the line.
 */
#include "converter/import/lines.h"

#include "converter/import/frame_text.h"

#include <inttypes.h>
#include <string.h>

static bool
next_line(conv_lines *l)
{
    if (l->at == l->file.n)
        return false;
    const uint8_t *from = l->file.bytes + l->at;
    size_t left = l->file.n - l->at;
    const uint8_t *end = memchr(from, '\n', left);
    size_t n = end ? (size_t)(end - from) : left;
    l->begin = l->at;
    l->at += n + (end != NULL);
    l->number++;
    l->line = (pr_text){(const char *)from, n};
    if (n && from[n - 1] == '\r')
        l->line.len--;
    return true;
}

bool
conv_lines_next(conv_lines *l)
{
    while (next_line(l))
        if (l->line.len && l->line.bytes[0] != '#')
            return true;
    return false;
}

bool
conv_lines_number(pr_text line, pr_text *ret_stack, uint64_t *ret)
{
    size_t n = line.len;
    while (n > 0 && line.bytes[n - 1] != ' ')
        n--;
    if (n == 0 ||
        !conv_frame_text_number(conv_frame_text_after(line, n), 10, ret))
        return false;
    *ret_stack = (pr_text){line.bytes, n - 1};
    return true;
}

pr_code
conv_lines_fail(const conv_lines *l, const char *what, pr_err *err)
{
    return PR_FAIL_AT(err, PR_DAMAGED, l->begin, "line %" PRIu64 " %s",
                      l->number, what);
}

static bool
is_text(conv_content head)
{
    for (size_t i = 0; i < head.n; i++)
        if (head.bytes[i] < 0x20 && !memchr("\t\n\r", head.bytes[i], 3))
            return false;
    return true;
}

bool
conv_lines_first(conv_content head, conv_lines *ret)
{
    *ret = (conv_lines){.file = head};
    return is_text(head) && conv_lines_next(ret);
}

bool
conv_lines_comment(conv_content file, const char *key, pr_text *ret)
{
    conv_lines l = {.file = file};
    size_t n = strlen(key);
    while (next_line(&l)) {
        if (!conv_frame_text_begins(l.line, "# "))
            continue;
        pr_text rest = conv_frame_text_after(l.line, 2);
        if (!conv_frame_text_begins(rest, key) ||
            !conv_frame_text_begins(conv_frame_text_after(rest, n), ": "))
            continue;
        *ret = conv_frame_text_after(rest, n + 2);
        return true;
    }
    return false;
}
