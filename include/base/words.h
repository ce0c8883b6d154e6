/*
 * words.h - which word was meant by one that is mistyped.
 */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stddef.h>

/* How many letters must be put in, left out, changed or swapped with the next
 * one to make one word of the other, whatever their case; words longer than
 * 64 bytes are as far apart as they are long. */
size_t pr_words_distance(const char *a, size_t a_len, const char *b,
                         size_t b_len);

/* Is b so near that a may have been meant by it? */
int pr_words_are_near(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
