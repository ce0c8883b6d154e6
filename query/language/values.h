/*
 * values.h - numbers, shares and times of a query text.
 */
#ifndef QUERY_LANGUAGE_VALUES_H
#define QUERY_LANGUAGE_VALUES_H

#include "query/language/lexer.h"
#include "query/language/parser.h"

/* A whole number from 0 to `limit`. */
bool q_read_whole(const q_token *token, int64_t limit, int64_t *ret);

/* "0.5%" in millionths. */
bool q_read_share(const q_token *token, int64_t *ret);

/* A duration (base/duration.h) without a colon, in microseconds; more decimals
 * are dropped. */
bool q_read_span(const q_token *token, int64_t *ret);

/* A day of this machine's calendar. */
typedef struct q_day {
    int year, month, day; /* month and day from 1 */
} q_day;

/* "today", "yesterday" or "2026-01-31". */
bool q_read_day(const q_token *token, q_day *ret);

/* The moment of a day at a time of day in microseconds, in this machine's time
 * zone. */
q_time q_time_on(const q_day *day, int64_t clock_us);

/* A span, a share, or "12:03", "12:03:04.5". */
bool q_read_time(const q_token *token, q_time *ret);

#endif
