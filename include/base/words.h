/*
 * words.h - the word that a mistyped one means.
 */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stddef.h>

/* How many letters must be put in, left out, changed or swapped with the next
 * one to make one word of the other, whatever their case; words longer than
 * 64 bytes are as far apart as they are long. */
size_t pr_words_distance(const char *a, size_t a_len, const char *b,
                         size_t b_len);

/* Is b near enough to be a mistyped a? */
int pr_words_are_near(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
