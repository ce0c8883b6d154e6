/*
 * words.c - the optimal string alignment distance, in three rows.
 */
#include <base/words.h>

#include <string.h>

enum { LONGEST = 64 };

static unsigned char
lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static size_t
least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t
pr_words_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t row[3][LONGEST + 1];
    if (a_len > LONGEST || b_len > LONGEST)
        return a_len > b_len ? a_len : b_len;
    for (size_t j = 0; j <= b_len; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *now = row[i % 3], *up = row[(i + 2) % 3],
               *two_up = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t change = lower(a[i - 1]) != lower(b[j - 1]);
            now[j] = least(least(up[j], now[j - 1]) + 1, up[j - 1] + change);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                now[j] = least(now[j], two_up[j - 2] + 1);
        }
    }
    return row[a_len % 3][b_len];
}

int
pr_words_are_near(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t shorter = least(a_len, b_len);
    return pr_words_distance(a, a_len, b, b_len) <= (shorter < 4   ? 1u
                                                     : shorter < 8 ? 2u
                                                                   : 3u);
}
