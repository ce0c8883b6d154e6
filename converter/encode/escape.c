/*
 * escape.c - the name on one line first, then the markup.
 */
#include "converter/encode/escape.h"

/* What stands for the character at the beginning; NULL: itself. */
typedef const char *(*entity)(const char *at);

static void
escape(conv_text *text, const char *at, size_t len, entity find)
{
    conv_text plain = {0};
    conv_text_name(&plain, CONV_TEXT_LINE, at, len);
    conv_text_append(&plain, "\0\0", 2); /* entities may look ahead */
    text->changed += plain.changed;
    text->failed = text->failed || plain.failed;
    size_t n = plain.failed ? 0 : plain.len - 2, from = 0;
    for (size_t i = 0; i < n; i++) {
        const char *instead = find(plain.at + i);
        if (!instead)
            continue;
        conv_text_append(text, plain.at + from, i - from);
        conv_text_puts(text, instead);
        from = i + 1;
    }
    conv_text_append(text, plain.at + from, n - from);
    conv_text_release(&plain);
}

static const char *
xml_entity(const char *at)
{
    switch (at[0]) {
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

/* EF BF BE and EF BF BF are the only characters that end so; EF BF BD is
 * U+FFFD. */
static void
replace_noncharacters(conv_text *text, size_t from)
{
    for (size_t i = from; !text->failed && i + 2 < text->len; i++) {
        if (memcmp(text->at + i, "\xef\xbf\xbe", 3) != 0 &&
            memcmp(text->at + i, "\xef\xbf\xbf", 3) != 0)
            continue;
        text->at[i + 2] = '\xbd';
        text->changed++;
    }
}

void
conv_escape_xml(conv_text *text, const char *at, size_t len)
{
    size_t from = text->len;
    escape(text, at, len, xml_entity);
    replace_noncharacters(text, from);
}

static const char *
markdown_entity(const char *at)
{
    static const char special[] = "\\`*_[]|~#$:@>";
    static const char *const escaped[] = {"\\\\", "\\`", "\\*", "\\_", "\\[",
                                          "\\]",  "\\|", "\\~", "\\#", "\\$",
                                          "\\:",  "\\@", "\\>"};
    if (at[0] == '<')
        return "&lt;";
    if (at[0] == '&')
        return "&amp;";
    const char *found = at[0] ? strchr(special, at[0]) : NULL;
    return found ? escaped[found - special] : NULL;
}

void
conv_escape_markdown(conv_text *text, const char *at, size_t len)
{
    escape(text, at, len, markdown_entity);
}

static const char *
csv_entity(const char *at)
{
    return at[0] == '"' ? "\"\"" : NULL;
}

static bool
needs_quotes(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (at[i] == '"' || at[i] == ',' || at[i] == ' ')
            return true;
    return false;
}

void
conv_escape_csv(conv_text *text, const char *at, size_t len)
{
    bool formula = len && strchr("=+-@", at[0]) && at[0];
    bool quotes = formula || needs_quotes(at, len);
    uint64_t changed = text->changed;
    if (quotes)
        conv_text_append(text, "\"", 1);
    if (formula)
        conv_text_append(text, "'", 1);
    escape(text, at, len, csv_entity);
    if (quotes)
        conv_text_append(text, "\"", 1);
    text->changed = changed + (formula || text->changed > changed);
}
