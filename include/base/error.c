/*
 * error.c - the error record and the one table of codes.
 */
#include <pyrec/error.h>

#include <base/terminal.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* snprintf may have cut a UTF-8 sequence in two: drop its beginning. */
static void
drop_half_character(char *s, size_t size, int wanted)
{
    if (wanted < 0 || (size_t)wanted < size)
        return;
    size_t n = strlen(s);
    size_t start = n;
    while (start > 0 && ((unsigned char)s[start - 1] & 0xc0) == 0x80)
        start--;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)s[start - 1];
    size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (n - (start - 1) < need)
        s[start - 1] = '\0';
}

static void put(char *, size_t, const char *, va_list)
    __attribute__((format(printf, 3, 0)));

/* A message is one line on a terminal, whatever a file or a target put in. */
static void
put(char *text, size_t size, const char *format, va_list args)
{
    char raw[sizeof((pr_err *)NULL)->what];
    int wanted = vsnprintf(raw, sizeof raw, format, args);
    drop_half_character(raw, sizeof raw, wanted);
    pr_snprint_terminal(text, size, raw, strlen(raw));
}

void
pr_err_set(pr_err *err, pr_code code, int sys, uint64_t offset,
           const char *format, ...)
{
    if (!err || err->code != PR_OK)
        return;
    err->code = code;
    err->sys = sys;
    err->offset = offset;
    err->hint[0] = '\0';
    va_list args;
    va_start(args, format);
    put(err->what, sizeof err->what, format, args);
    va_end(args);
}

void
pr_err_hint(pr_err *err, const char *format, ...)
{
    if (!err || err->code == PR_OK || err->hint[0])
        return;
    va_list args;
    va_start(args, format);
    put(err->hint, sizeof err->hint, format, args);
    va_end(args);
}

void
pr_err_wrap(pr_err *err, const char *format, ...)
{
    if (!err || err->code == PR_OK)
        return;
    char outer[sizeof err->what], inner[sizeof err->what];
    va_list args;
    va_start(args, format);
    put(outer, sizeof outer, format, args);
    va_end(args);
    memcpy(inner, err->what, sizeof inner);
    int wanted =
        snprintf(err->what, sizeof err->what, "%.120s: %.130s", outer, inner);
    drop_half_character(err->what, sizeof err->what, wanted);
}

void
pr_err_clear(pr_err *err)
{
    if (err)
        *err = (pr_err)PR_ERR_INIT;
}

const char *
pr_code_name(pr_code code)
{
    switch (code) {
#define NAME(name, value, text, status) \
    case PR_##name:                     \
        return #name;
        PR_CODE_MAP(NAME)
#undef NAME
    }
    return "UNKNOWN";
}

const char *
pr_code_text(pr_code code)
{
    switch (code) {
#define TEXT(name, value, text, status) \
    case PR_##name:                     \
        return text;
        PR_CODE_MAP(TEXT)
#undef TEXT
    }
    return "unknown error";
}

int
pr_exit_status(pr_code code)
{
    switch (code) {
#define STATUS(name, value, text, status) \
    case PR_##name:                       \
        return status;
        PR_CODE_MAP(STATUS)
#undef STATUS
    }
    return 1;
}

int
pr_err_format(const pr_err *err, char *buf, size_t size)
{
    char at[40] = "";
    if (err->offset != PR_NO_OFFSET)
        snprintf(at, sizeof at, " (at byte %" PRIu64 ")", err->offset);
    return snprintf(buf, size, "%s%s%s%s%s%s",
                    err->what[0] ? err->what : pr_code_text(err->code), at,
                    err->sys ? ": " : "", err->sys ? strerror(err->sys) : "",
                    err->hint[0] ? "; " : "", err->hint);
}
