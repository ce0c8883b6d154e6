/*
 * size.h - numbers of bytes as a person types them.
 */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* The forms, for a message. */
#define PR_SIZE_FORMS "500M, 2G or a number of bytes"

/* A whole number above 0 of bytes, or with K, M, G or T (upper or lower case)
 * of 1024, 1024^2, ... bytes.  False: text is not a size as a whole, or is
 * more than 2^64-1; *ret is as before. */
bool pr_size_parse(const char *text, uint64_t *ret);

#endif
