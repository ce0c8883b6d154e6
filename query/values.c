/*
 * values.c - digits, and what follows them.
 */
#include "query/values.h"

#include <base/duration.h>
#include <string.h>

enum { MILLION = 1000000 };

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at *at, at most `limit`; moves *at past them. */
static bool
read_digits(const q_token *t, size_t *at, int64_t limit, int64_t *ret)
{
    int64_t value = 0;
    size_t i = *at;
    for (; i < t->len && is_digit(t->text[i]); i++) {
        value = value * 10 + (t->text[i] - '0');
        if (value > limit)
            return false;
    }
    if (i == *at)
        return false;
    *at = i;
    *ret = value;
    return true;
}

/* "12" or "12.345678" at *at, in millionths. */
static bool
read_decimal(const q_token *t, size_t *at, int64_t *ret)
{
    int64_t whole;
    if (!read_digits(t, at, 1000000000, &whole))
        return false;
    int64_t value = whole * MILLION;
    if (*at < t->len && t->text[*at] == '.') {
        size_t i = *at + 1;
        if (i == t->len || !is_digit(t->text[i]))
            return false;
        for (int64_t unit = MILLION / 10; i < t->len && is_digit(t->text[i]);
             i++, unit /= 10)
            value += (t->text[i] - '0') * unit;
        *at = i;
    }
    *ret = value;
    return true;
}

bool
q_read_whole(const q_token *t, int64_t limit, int64_t *ret)
{
    size_t at = 0;
    return t->kind == Q_TOKEN_WORD && read_digits(t, &at, limit, ret) &&
           at == t->len;
}

bool
q_read_share(const q_token *t, int64_t *ret)
{
    size_t at = 0;
    int64_t percent;
    if (t->kind != Q_TOKEN_WORD || !read_decimal(t, &at, &percent) ||
        at + 1 != t->len || t->text[at] != '%' ||
        percent > 100 * (int64_t)MILLION)
        return false;
    *ret = percent / 100;
    return true;
}

bool
q_read_span(const q_token *t, int64_t *ret)
{
    uint64_t ns;
    if (t->kind != Q_TOKEN_WORD || memchr(t->text, ':', t->len) ||
        !pr_duration_parse(t->text, t->len, &ns))
        return false;
    *ret = (int64_t)(ns / 1000);
    return true;
}

/* "12:03" or "12:03:04.5", a time of day; "1:30.5" is minutes and seconds. */
static bool
read_clock(const q_token *t, q_time *ret)
{
    size_t at = 0;
    int64_t first, second, third = 0;
    if (t->kind != Q_TOKEN_WORD || !read_digits(t, &at, 1000000, &first) ||
        at == t->len || t->text[at++] != ':' || !read_decimal(t, &at, &second))
        return false;
    if (second >= 60 * (int64_t)MILLION)
        return false;
    if (at == t->len && second % MILLION) {
        *ret = (q_time){first * 60 * MILLION + second, Q_SINCE_START, false};
        return true;
    }
    bool short_form = at == t->len;
    if (!short_form && (t->text[at++] != ':' || second % MILLION ||
                        !read_decimal(t, &at, &third)))
        return false;
    *ret = (q_time){(first * 60 + second / MILLION) * 60 * MILLION + third,
                    Q_CLOCK, short_form};
    return at == t->len && third < 60 * (int64_t)MILLION;
}

bool
q_read_time(const q_token *t, q_time *ret)
{
    q_time time = {0, Q_SINCE_START, false};
    if (q_read_share(t, &time.value))
        time.kind = Q_SHARE;
    else if (!read_clock(t, &time) && !q_read_span(t, &time.value))
        return false;
    *ret = time;
    return true;
}
