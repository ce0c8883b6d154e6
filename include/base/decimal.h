/*
 * decimal.h - the decimal digits of numbers, put where the caller says.
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdint.h>
#include <string.h>

enum { PR_DIGITS = 20 }; /* of the largest number */

static inline unsigned
pr_count_digits(uint64_t value)
{
    unsigned n = 1;
    for (; value >= 10000; value /= 10000)
        n += 4;
    return n + (value >= 10) + (value >= 100) + (value >= 1000);
}

/* The digits at p, without an end; returns where they end. */
static inline char *
pr_put_digits(char *p, uint64_t value)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324"
        "25262728293031323334353637383940414243444546474849"
        "50515253545556575859606162636465666768697071727374"
        "75767778798081828384858687888990919293949596979899";
    char *end = p + pr_count_digits(value), *at = end;
    for (; value >= 10; value /= 100) {
        at -= 2;
        memcpy(at, pairs + 2 * (value % 100), 2);
        if (value < 100)
            return end;
    }
    *--at = (char)('0' + value);
    return end;
}

#endif
