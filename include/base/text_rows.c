/*
 * text_rows.c - escapes and rows.
 */
#include <base/text_rows.h>

#include <string.h>

enum { MAX_FIELDS = 64, MAX_DIGITS = 20 };

/* The byte that an escape stands for. */
static char
unescape(char c)
{
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'v':
        return '\v';
    case '0':
        return '\0';
    default:
        return c;
    }
}

/* Reads one value in place; *at moves to the tab or newline that ends it. */
static pr_field
read_field(char **at, const char *end)
{
    char *from = *at, *to = *at;
    if (end - from >= 2 && from[0] == '\\' && from[1] == 'N') {
        *at += 2;
        return (pr_field){NULL, 0};
    }
    for (; from < end && *from != '\t' && *from != '\n'; from++)
        *to++ = *from == '\\' && from + 1 < end ? unescape(*++from) : *from;
    pr_field field = {*at, (size_t)(to - *at)};
    *at = from;
    return field;
}

pr_code
pr_rows_read(char *text, size_t len, pr_take_row take, void *context,
             pr_err *err)
{
    pr_field field[MAX_FIELDS];
    char *at = text;
    const char *end = text + len;
    size_t n = 0;
    while (at < end) {
        if (n == MAX_FIELDS)
            return PR_FAIL(err, PR_DAMAGED, "a row of the server is too long");
        field[n++] = read_field(&at, end);
        if (at == end || (*at != '\t' && *at != '\n'))
            return PR_FAIL(err, PR_DAMAGED, "the server's answer is cut");
        if (*at++ == '\t')
            continue;
        pr_code rc = take(context, field, n, err);
        if (rc != PR_OK)
            return rc;
        n = 0;
    }
    return n ? PR_FAIL(err, PR_DAMAGED, "the server's answer is cut") : PR_OK;
}

int
pr_field_integer(const pr_field *field, int64_t *ret)
{
    size_t i = field->at && field->len && field->at[0] == '-';
    int64_t value = 0; /* negative: INT64_MIN has no positive one */
    if (!field->at || i == field->len || field->len > MAX_DIGITS)
        return 0;
    for (; i < field->len; i++) {
        int digit = field->at[i] - '0';
        if (digit < 0 || digit > 9 ||
            __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value))
            return 0;
    }
    if (field->at[0] != '-' && __builtin_sub_overflow(0, value, &value))
        return 0;
    *ret = value;
    return 1;
}
