/*
 * wrap.c - words one after the other, a new line where one does not fit.
 */
#include "query/render/wrap.h"

#include <base/terminal.h>
#include <base/utf8.h>

/* The position on a line. */
typedef struct line {
    const q_wrap *how;
    FILE *out;
    size_t at; /* cells that are taken */
} line;

static void
begin_line(line *l)
{
    putc('\n', l->out);
    for (l->at = 0; l->at < l->how->indent; l->at++)
        putc(' ', l->out);
}

static void
write_word(line *l, const char *word, size_t len)
{
    size_t width = l->how->width;
    while (len) {
        size_t n = pr_utf8_next(word, len, false).len;
        size_t cells = pr_terminal_width(word, n);
        if (width && l->at + cells > width && l->at > l->how->indent)
            begin_line(l);
        fwrite(word, 1, n, l->out);
        l->at += cells;
        word += n;
        len -= n;
    }
}

static size_t
length_of_word(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && text[n] != ' ')
        n++;
    return n;
}

static size_t
count_spaces(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && text[n] == ' ')
        n++;
    return n;
}

/* Spaces go before a word that follows on the same line. */
static void
write_spaces_or_break(line *l, size_t spaces, size_t cells)
{
    if (l->how->width && l->at + spaces + cells > l->how->width &&
        l->at > l->how->indent) {
        begin_line(l);
        return;
    }
    l->at += spaces;
    for (; spaces; spaces--)
        putc(' ', l->out);
}

void
q_write_wrapped(const char *text, size_t len, const q_wrap *how, FILE *out)
{
    line l = {how, out, how->at};
    if (how->bold)
        fputs("\033[1m", out);
    for (size_t at = 0; at < len;) {
        size_t spaces = count_spaces(text + at, len - at);
        size_t n = length_of_word(text + at + spaces, len - at - spaces);
        write_spaces_or_break(&l, spaces,
                              pr_terminal_width(text + at + spaces, n));
        write_word(&l, text + at + spaces, n);
        if (how->bold > at && how->bold <= at + spaces + n)
            fputs("\033[0m", out);
        at += spaces + n;
    }
    putc('\n', out);
}
