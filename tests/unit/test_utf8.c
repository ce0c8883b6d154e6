/*
 * test_utf8.c - the decoder against a table made by encoding every code point.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <base/utf8.h>

/* For the first three bytes and less: nothing begins so, a whole character, or
 * the beginning of one. */
enum { NONE, WHOLE, BEGINNING };

typedef struct table {
    unsigned char one[1 << 8], two[1 << 16], three[1 << 24];
    unsigned char four[5 << 24]; /* from f0 on: WHOLE or NONE */
} table;

static size_t
encode(uint32_t c, unsigned char to[4])
{
    if (c < 0x80)
        return to[0] = (unsigned char)c, 1;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; --i > 0; c >>= 6)
        to[i] = (unsigned char)(0x80 | (c & 0x3f));
    static const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    to[0] = (unsigned char)(lead[n] | c);
    return n;
}

static unsigned
first(const unsigned char *p, size_t n)
{
    unsigned value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | p[i];
    return value;
}

static table *
make_table(bool surrogates)
{
    table *t = calloc(1, sizeof *t);
    assert_non_null(t);
    for (uint32_t c = 0; c < 0x110000; c++) {
        if (!surrogates && c >= 0xd800 && c < 0xe000)
            continue;
        unsigned char p[4];
        size_t n = encode(c, p);
        t->one[p[0]] = n == 1 ? WHOLE : BEGINNING;
        if (n >= 2)
            t->two[first(p, 2)] = n == 2 ? WHOLE : BEGINNING;
        if (n >= 3)
            t->three[first(p, 3)] = n == 3 ? WHOLE : BEGINNING;
        if (n == 4)
            t->four[first(p, 4) - 0xf0000000u] = WHOLE;
    }
    return t;
}

static int
kind_of(const table *t, const unsigned char *p, size_t n)
{
    switch (n) {
    case 1:
        return t->one[p[0]];
    case 2:
        return t->two[first(p, 2)];
    case 3:
        return t->three[first(p, 3)];
    default:
        return p[0] < 0xf0 || p[0] > 0xf4 ? NONE
                                          : t->four[first(p, 4) - 0xf0000000u];
    }
}

/* The length of the character or of the longest beginning of one. */
static void
check(const table *t, const unsigned char *p, size_t len, bool surrogates)
{
    size_t n = 1;
    while (n < len && kind_of(t, p, n) == BEGINNING &&
           kind_of(t, p, n + 1) != NONE)
        n++;
    pr_char c = pr_utf8_next((const char *)p, len, surrogates);
    if (c.len != n || (c.point != PR_MALFORMED) != (kind_of(t, p, n) == WHOLE))
        fail_msg("%02x %02x %02x %02x of %zu: %u bytes, want %zu", p[0], p[1],
                 p[2], p[3], len, c.len, n);
}

static void
check_all(bool surrogates)
{
    static const unsigned char edges[] = {0,    0x7f, 0x80, 0x8f, 0x90,
                                          0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    table *t = make_table(surrogates);
    for (unsigned v = 0; v < 1u << 24; v++) {
        unsigned char p[4] = {(unsigned char)(v >> 16), (unsigned char)(v >> 8),
                              (unsigned char)v, 0};
        if (p[1] == 0 && p[2] == 0)
            check(t, p, 1, surrogates);
        if (p[2] == 0)
            check(t, p, 2, surrogates);
        check(t, p, 3, surrogates);
        /* the fourth byte matters only after the beginning of a character */
        bool matters = t->three[v] == BEGINNING;
        for (unsigned i = 0; i < (matters ? 256 : sizeof edges); i++) {
            p[3] = matters ? (unsigned char)i : edges[i];
            if (matters || v % 16 == 0)
                check(t, p, 4, surrogates);
        }
    }
    free(t);
}

static void
every_prefix_of_four_bytes_is_decoded_by_the_table(void **state)
{
    (void)state;
    check_all(false);
    check_all(true);
}

static void
every_code_point_comes_back(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x110000; c++) {
        unsigned char p[5] = {0};
        size_t n = encode(c, p);
        pr_char got = pr_utf8_next((const char *)p, sizeof p, true);
        assert_true(got.point == c && got.len == n);
    }
}

/* Every code point in more bytes than it needs. */
static void
no_overlong_form_is_a_character(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x10000; c++)
        for (size_t n = c < 0x80 ? 2 : c < 0x800 ? 3 : 4; n <= 4; n++) {
            static const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
            char p[4];
            uint32_t rest = c;
            for (size_t i = n; --i > 0; rest >>= 6)
                p[i] = (char)(0x80 | (rest & 0x3f));
            p[0] = (char)(lead[n] | rest);
            pr_char got = pr_utf8_next(p, n, true);
            assert_true(got.point == PR_MALFORMED && got.len == 1);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_of_four_bytes_is_decoded_by_the_table),
        cmocka_unit_test(every_code_point_comes_back),
        cmocka_unit_test(no_overlong_form_is_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
