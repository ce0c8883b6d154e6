/*
 * rate.h - rates of sampling as a person types them.
 */
#ifndef BASE_RATE_H
#define BASE_RATE_H

#include <stdbool.h>

/* The forms, for a message. */
#define PR_RATE_FORMS "100, 250hz, 1khz or 10k"

/* A number of times a second, with or without hz, or thousands of them with k
 * or khz (upper or lower case).  False: `text` is not a rate; *ret_hz is as
 * before. */
bool pr_rate_parse(const char *text, double *ret_hz);

#endif
