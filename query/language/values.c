/*
 * values.c - digits, and what follows them.
 */
#include "query/language/values.h"

#include <base/duration.h>
#include <string.h>
#include <time.h>

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

/* ---- days ---- */

/* Midnight of a day, as mktime() takes and corrects it. */
static struct tm
midnight(int year, int month, int day)
{
    return (struct tm){.tm_year = year - 1900,
                       .tm_mon = month - 1,
                       .tm_mday = day,
                       .tm_isdst = -1};
}

static q_day
day_before_today(int days)
{
    time_t now = time(NULL);
    struct tm local = {0};
    localtime_r(&now, &local);
    struct tm day =
        midnight(local.tm_year + 1900, local.tm_mon + 1, local.tm_mday - days);
    mktime(&day);
    return (q_day){day.tm_year + 1900, day.tm_mon + 1, day.tm_mday};
}

/* "2026-01-31"; not a day that the calendar does not have. */
static bool
read_date(const q_token *t, q_day *ret)
{
    int64_t part[3];
    size_t at = 0;
    for (size_t i = 0; i < 3; i++)
        if ((i && (at == t->len || t->text[at++] != '-')) ||
            !read_digits(t, &at, 9999, &part[i]))
            return false;
    if (at != t->len || part[0] < 1970 || part[1] < 1 || part[1] > 12 ||
        part[2] < 1 || part[2] > 31)
        return false;
    *ret = (q_day){(int)part[0], (int)part[1], (int)part[2]};
    struct tm day = midnight(ret->year, ret->month, ret->day);
    return mktime(&day) != -1 && day.tm_mday == ret->day;
}

bool
q_read_day(const q_token *t, q_day *ret)
{
    if (q_token_is(t, "today"))
        *ret = day_before_today(0);
    else if (q_token_is(t, "yesterday"))
        *ret = day_before_today(1);
    else
        return t->kind == Q_TOKEN_WORD && read_date(t, ret);
    return true;
}

q_time
q_time_on(const q_day *day, int64_t clock_us)
{
    struct tm moment = midnight(day->year, day->month, day->day);
    moment.tm_hour = (int)(clock_us / MILLION / 3600);
    moment.tm_min = (int)(clock_us / MILLION / 60 % 60);
    moment.tm_sec = (int)(clock_us / MILLION % 60);
    int64_t seconds = mktime(&moment);
    return (q_time){seconds * MILLION + clock_us % MILLION, Q_WALL, false};
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
