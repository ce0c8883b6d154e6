/*
 * quote.c - names in plain text, SQL, collapsed stacks and a shell's commands.
 */
#include <base/quote.h>

#include <base/terminal.h>
#include <base/utf8.h>

#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static bool
one_line(pr_quote rule)
{
    return rule == PR_QUOTE_LINE || rule == PR_QUOTE_FRAME;
}

/* The form of one byte below 0x80; NULL: itself. */
static const char *
special(pr_quote rule, unsigned char c)
{
    if (rule == PR_QUOTE_SQL && c == 0)
        return replacement;
    if (rule == PR_QUOTE_FRAME && c == ';')
        return ":";
    return one_line(rule) && (c < 0x20 || c == 0x7f) ? " " : NULL;
}

static size_t
plain_prefix(pr_quote rule, const char *at, size_t len)
{
    size_t n = 0;
    while (n < len && (unsigned char)at[n] < 0x80 &&
           !special(rule, (unsigned char)at[n]))
        n++;
    return n;
}

/* C1 controls and the line separators end a line for some readers. */
static bool
breaks_line(uint32_t point)
{
    return (point >= 0x80 && point < 0xa0) || point == 0x2028 ||
           point == 0x2029;
}

/* The form of the character; NULL: itself. */
static const char *
instead_of(pr_quote rule, pr_char c)
{
    if (c.point == PR_MALFORMED)
        return replacement;
    if (c.point < 0x80)
        return special(rule, (unsigned char)c.point);
    return one_line(rule) && breaks_line(c.point) ? " " : NULL;
}

void
pr_quote_name(pr_buffer *text, pr_quote rule, const char *at, size_t len)
{
    bool changed = false;
    for (size_t i = 0; i < len;) {
        size_t n = plain_prefix(rule, at + i, len - i);
        pr_buffer_append(text, at + i, n);
        i += n;
        if (i == len)
            break;
        pr_char c = pr_utf8_next(at + i, len - i, rule == PR_QUOTE_SURROGATES);
        const char *instead = instead_of(rule, c);
        if (instead)
            pr_buffer_puts(text, instead);
        else
            pr_buffer_append(text, at + i, c.len);
        changed = changed || instead;
        i += c.len;
    }
    text->changed += changed;
}

static size_t
digits_before(const pr_buffer *text, size_t from, size_t end)
{
    size_t i = end;
    while (i > from && text->at[i - 1] >= '0' && text->at[i - 1] <= '9')
        i--;
    return end - i;
}

void
pr_quote_count(pr_buffer *text, size_t from)
{
    size_t digits = digits_before(text, from, text->len);
    size_t i = text->len - digits;
    if (i > from && text->at[i - 1] == '.') {
        size_t whole = digits_before(text, from, i - 1);
        digits = whole; /* ".5" is not a number to flamegraph.pl */
        i -= whole + 1;
    }
    if (digits && i > from && text->at[i - 1] == ' ') {
        text->at[i - 1] = '_';
        text->changed++;
    }
}

/* ---- a shell ---- */

/* What a name needs to be one word, and one line on a terminal. */
typedef enum word_form {
    AS_IT_IS,
    IN_QUOTES, /* '...': a shell takes nothing in it for syntax */
    ESCAPED    /* $'...': what a terminal must not get is in octal */
} word_form;

static bool
is_plain_to_a_shell(uint32_t point)
{
    return (point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z') ||
           (point >= '0' && point <= '9') || point >= 0x80 ||
           (point && strchr("_-./:@%+=,", (int)point));
}

static word_form
form_of_character(pr_char c)
{
    if (c.point == PR_MALFORMED || !pr_is_shown(c.point))
        return ESCAPED;
    return is_plain_to_a_shell(c.point) ? AS_IT_IS : IN_QUOTES;
}

static word_form
form_of(const char *at, size_t len)
{
    word_form form = len ? AS_IT_IS : IN_QUOTES;
    for (size_t i = 0; i < len;) {
        pr_char c = pr_utf8_next(at + i, len - i, false);
        word_form needed = form_of_character(c);
        if (needed > form)
            form = needed;
        i += c.len;
    }
    return form;
}

static void
put_quoted(pr_buffer *text, const char *at, size_t len)
{
    pr_buffer_char(text, '\'');
    for (size_t i = 0; i < len; i++)
        if (at[i] == '\'')
            pr_buffer_puts(text, "'\\''");
        else
            pr_buffer_char(text, at[i]);
    pr_buffer_char(text, '\'');
}

static void
put_escaped(pr_buffer *text, const char *at, size_t len)
{
    pr_buffer_puts(text, "$'");
    for (size_t i = 0; i < len;) {
        pr_char c = pr_utf8_next(at + i, len - i, false);
        bool in_octal = form_of_character(c) == ESCAPED;
        for (size_t end = i + c.len; i < end; i++)
            if (in_octal)
                pr_buffer_printf(text, "\\%03o", (unsigned char)at[i]);
            else if (at[i] == '\'' || at[i] == '\\')
                pr_buffer_printf(text, "\\%c", at[i]);
            else
                pr_buffer_char(text, at[i]);
    }
    pr_buffer_char(text, '\'');
}

void
pr_quote_shell(pr_buffer *text, const char *at, size_t len)
{
    static void (*const put[])(pr_buffer *, const char *, size_t) = {
        pr_buffer_append, put_quoted, put_escaped};
    put[form_of(at, len)](text, at, len);
}

void
pr_quote_path(pr_buffer *text, const char *at, size_t len)
{
    if (len && at[0] == '-')
        pr_buffer_puts(text, "./");
    pr_quote_shell(text, at, len);
}
