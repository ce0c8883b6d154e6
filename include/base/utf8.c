/*
 * utf8.c - decoding by table 3-7 of the Unicode standard, version 15.
 */
#include <base/utf8.h>

/* The bounds of the second byte depend on the first one. */
static bool
second_fits(unsigned char first, unsigned char second, bool surrogates)
{
    unsigned char low = 0x80, high = 0xbf;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed && !surrogates)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    return second >= low && second <= high;
}

static uint32_t
length_by_first(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    if (first >= 0xf0 && first <= 0xf4)
        return 4;
    return 0;
}

pr_char
pr_utf8_next(const char *at, size_t len, bool surrogates)
{
    const unsigned char *p = (const unsigned char *)at;
    uint32_t want = length_by_first(p[0]), have = 1;
    uint32_t point = want < 2 ? p[0] : p[0] & (0x7fu >> want);
    while (have < want && have < len &&
           (have == 1 ? second_fits(p[0], p[1], surrogates)
                      : (p[have] & 0xc0) == 0x80))
        point = point << 6 | (p[have++] & 0x3f);
    return (pr_char){have == want ? point : PR_MALFORMED, have};
}
