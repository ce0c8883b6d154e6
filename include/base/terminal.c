/*
 * terminal.c - the characters that a terminal must not get, and their escapes.
 */
#include <base/terminal.h>

#include <base/utf8.h>

#include <locale.h>
#include <string.h>
#include <wchar.h>

enum { ESCAPE = 16 /* room for the longest escape */ };

typedef struct range {
    uint32_t first, last;
} range;

/* General categories Cc, Cf, Cs, Zl and Zp (UnicodeData.txt) and
 * Default_Ignorable_Code_Point (DerivedCoreProperties.txt) of Unicode 16,
 * and U+FFFE and U+FFFF, which no XML document may hold. */
static const range hidden[] = {
    {0x0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},
    {0x34f, 0x34f},     {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
    {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x3164, 0x3164},   {0xd800, 0xdfff},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool
pr_is_shown(uint32_t point)
{
    size_t low = 0, high = sizeof hidden / sizeof *hidden;
    if (point >= 0x20 && point < 0x7f)
        return true;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (point > hidden[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low == sizeof hidden / sizeof *hidden || point < hidden[low].first;
}

/* The text in place of the character c, into `at`; its length. */
static size_t
escape(pr_char c, const char *at, char to[ESCAPE])
{
    if (c.point == PR_MALFORMED) {
        size_t n = 0;
        for (uint32_t i = 0; i < c.len; i++) /* at most three bytes */
            n += (size_t)snprintf(to + n, ESCAPE - n, "\\x%02x",
                                  (unsigned char)at[i]);
        return n;
    }
    if (pr_is_shown(c.point)) {
        memcpy(to, at, c.len);
        return c.len;
    }
    if (c.point == '\n' || c.point == '\r' || c.point == '\t')
        return (size_t)snprintf(to, ESCAPE, "\\%c",
                                c.point == '\n'   ? 'n'
                                : c.point == '\r' ? 'r'
                                                  : 't');
    return (size_t)snprintf(to, ESCAPE,
                            c.point < 0x100     ? "\\x%02x"
                            : c.point < 0x10000 ? "\\u%04x"
                                                : "\\U%08x",
                            c.point);
}

/* The bytes at the beginning that stay as they are, if all are ASCII. */
static size_t
plain_prefix(const char *at, size_t len)
{
    size_t n = 0;
    while (n < len && at[n] >= 0x20 && at[n] < 0x7f)
        n++;
    return n;
}

typedef void (*put_bytes)(void *to, const char *at, size_t len);

/* True if all characters are shown as they are. */
static bool
each(put_bytes put, void *to, const char *at, size_t len)
{
    char out[ESCAPE];
    bool same = true;
    for (size_t i = 0; i < len;) {
        size_t n = plain_prefix(at + i, len - i);
        put(to, at + i, n);
        i += n;
        if (i == len)
            break;
        pr_char c = pr_utf8_next(at + i, len - i, true);
        put(to, out, escape(c, at + i, out));
        same = same && c.point != PR_MALFORMED && pr_is_shown(c.point);
        i += c.len;
    }
    return same;
}

static void
put_text(void *to, const char *at, size_t len)
{
    pr_buffer_append(to, at, len);
}

void
pr_quote_terminal(pr_buffer *text, const char *at, size_t len)
{
    text->changed += !each(put_text, text, at, len);
}

static void
put_stream(void *to, const char *at, size_t len)
{
    fwrite(at, 1, len, to);
}

void
pr_print_terminal(FILE *to, const char *at, size_t len)
{
    each(put_stream, to, at, len);
}

typedef struct buffer {
    char *at;
    size_t size, n;
    bool full;
} buffer;

/* A run of ASCII may be cut anywhere, all else is taken whole or not. */
static void
put_buffer(void *to, const char *at, size_t len)
{
    buffer *b = to;
    size_t room = b->size - b->n - 1;
    if (len > room && (unsigned char)at[0] < 0x80 && at[0] != '\\')
        len = room;
    b->full = b->full || len > room;
    if (b->full)
        return;
    memcpy(b->at + b->n, at, len);
    b->n += len;
}

void
pr_snprint_terminal(char *to, size_t size, const char *at, size_t len)
{
    buffer b = {to, size, 0, false};
    each(put_buffer, &b, at, len);
    to[b.n] = '\0';
}

static size_t
width_of(const char *at, size_t len)
{
    size_t width = 0;
    for (size_t i = 0; i < len;) {
        pr_char c = pr_utf8_next(at + i, len - i, false);
        int cells = c.point == PR_MALFORMED ? 1 : wcwidth((wchar_t)c.point);
        width += cells < 0 ? 1 : (size_t)cells;
        i += c.len;
    }
    return width;
}

size_t
pr_terminal_width(const char *at, size_t len)
{
    if (plain_prefix(at, len) == len)
        return len;
    /* wcwidth() knows only the characters of the thread's locale */
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t old = uselocale(utf8); /* no change if there is none */
    size_t width = width_of(at, len);
    uselocale(old);
    if (utf8)
        freelocale(utf8);
    return width;
}
