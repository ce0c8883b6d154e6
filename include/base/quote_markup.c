/*
 * quote_markup.c - text within XML, Markdown and CSV: safe for a terminal
 * first, then the markup.
 */
#include <base/quote.h>

#include <base/terminal.h>

#include <string.h>

/* The text in place of an ASCII character; NULL: itself. */
typedef const char *(*entity)(char c);

static void
append_markup(pr_buffer *text, const char *at, size_t len, entity find)
{
    pr_buffer plain = {0};
    pr_quote_terminal(&plain, at, len);
    text->changed += plain.changed;
    text->failed = text->failed || plain.failed;
    size_t from = 0;
    for (size_t i = 0; i < plain.len; i++) {
        const char *instead = find(plain.at[i]);
        if (!instead)
            continue;
        pr_buffer_append(text, plain.at + from, i - from);
        pr_buffer_puts(text, instead);
        from = i + 1;
    }
    pr_buffer_append(text, plain.at + from, plain.len - from);
    pr_buffer_release(&plain);
}

static const char *
xml_entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void
pr_quote_xml(pr_buffer *text, const char *at, size_t len)
{
    append_markup(text, at, len, xml_entity);
}

void
pr_print_xml(FILE *to, const char *at, size_t len)
{
    pr_buffer text = {0};
    pr_quote_xml(&text, at, len);
    if (text.len)
        fwrite(text.at, 1, text.len, to);
    pr_buffer_release(&text);
}

static const char *
markdown_entity(char c)
{
    static const char special[] = "\\`*_[]|~#$:@>";
    static const char *const escaped[] = {"\\\\", "\\`", "\\*", "\\_", "\\[",
                                          "\\]",  "\\|", "\\~", "\\#", "\\$",
                                          "\\:",  "\\@", "\\>"};
    if (c == '<')
        return "&lt;";
    if (c == '&')
        return "&amp;";
    const char *found = c ? strchr(special, c) : NULL;
    return found ? escaped[found - special] : NULL;
}

void
pr_quote_markdown(pr_buffer *text, const char *at, size_t len)
{
    append_markup(text, at, len, markdown_entity);
}

static const char *
csv_entity(char c)
{
    return c == '"' ? "\"\"" : NULL;
}

static bool
needs_quotes(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (at[i] == '"' || at[i] == ',')
            return true;
    return len && (at[0] == ' ' || at[len - 1] == ' ');
}

void
pr_quote_csv(pr_buffer *text, const char *at, size_t len)
{
    bool formula = len && at[0] && strchr("=+-@", at[0]);
    bool quotes = formula || needs_quotes(at, len);
    uint64_t changed = text->changed;
    if (quotes)
        pr_buffer_char(text, '"');
    if (formula)
        pr_buffer_char(text, '\'');
    append_markup(text, at, len, csv_entity);
    if (quotes)
        pr_buffer_char(text, '"');
    text->changed = changed + (formula || text->changed > changed);
}
