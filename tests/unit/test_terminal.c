/*
 * test_terminal.c - no name reaches a terminal as a command.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <base/terminal.h>
#include <base/utf8.h>

static void
assert_shown(const char *name, size_t len, const char *want, size_t width)
{
    pr_buffer text = {0};
    pr_quote_terminal(&text, name, len);
    assert_int_equal(text.len, strlen(want));
    assert_memory_equal(text.at, want, text.len);
    assert_int_equal(pr_terminal_width(text.at, text.len), width);
    pr_buffer_release(&text);

    char *printed;
    size_t size;
    FILE *to = open_memstream(&printed, &size);
    pr_print_terminal(to, name, len);
    fclose(to);
    assert_string_equal(printed, want);
    free(printed);
}

static void
nothing_in_a_name_reaches_the_terminal_as_a_command(void **state)
{
    (void)state;
    assert_shown("a\nb\r\t", 5, "a\\nb\\r\\t", 8);
    assert_shown("\x1b[31m", 5, "\\x1b[31m", 8);
    assert_shown("a\0b", 3, "a\\x00b", 6);
    assert_shown("\x7f", 1, "\\x7f", 4);
    assert_shown("\xc2\x9b", 2, "\\x9b", 4);       /* C1: CSI */
    assert_shown("\xe2\x80\xae", 3, "\\u202e", 6); /* right to left */
    assert_shown("\xed\xa0\x80", 3, "\\ud800", 6); /* lone surrogate */
    assert_shown("\xff", 1, "\\xff", 4);           /* no UTF-8 */
    assert_shown("\xc0\x80", 2, "\\xc0\\x80", 8);  /* too long a form */
    assert_shown("\xe5\x87", 2, "\\xe5\\x87", 8);  /* cut short */
    assert_shown("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80", 16);
    assert_shown("\xf3\xa0\x80\x81", 4, "\\U000e0001", 10); /* a tag */
    assert_shown("\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80", 2);
}

/* All code points and malformed bytes: the output is whole UTF-8 of shown
 * characters. */
static void
assert_safe(const char *name, size_t len)
{
    pr_buffer text = {0};
    pr_quote_terminal(&text, name, len);
    for (size_t i = 0; i < text.len;) {
        pr_char c = pr_utf8_next(text.at + i, text.len - i, false);
        assert_int_not_equal(c.point, PR_MALFORMED);
        assert_true(pr_is_shown(c.point));
        i += c.len;
    }
    pr_buffer_release(&text);
}

static void
every_three_bytes_are_shown_as_printable_utf8(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 1u << 20; i += 7) {
        char name[3] = {(char)(0x80 | i >> 13), (char)(0x80 | (i >> 6 & 0x7f)),
                        (char)(0x80 | (i & 0x7f))};
        assert_safe(name, 3);
    }
}

/* The properties of a few characters as the Unicode standard has them. */
static void
control_format_and_ignorable_characters_are_hidden(void **state)
{
    (void)state;
    static const uint32_t hidden[] = {
        0,      0x1b,   0x7f,   0x80,    0x9b,    0x9f,    0xad,   0x34f,
        0x61c,  0x180e, 0x200b, 0x200d,  0x200e,  0x202a,  0x202e, 0x2028,
        0x2029, 0x2060, 0x2066, 0x2069,  0x3164,  0xd800,  0xdfff, 0xfe0f,
        0xfeff, 0xfff9, 0xfffb, 0x1d173, 0xe0001, 0xe0100, 0xe0fff};
    static const uint32_t shown[] = {
        ' ',    '~',    0xa0,   0xac,   0xae,   0xe9,    0x300,   0x2010,
        0x2027, 0x202f, 0x65e5, 0xe000, 0xfffd, 0x1f600, 0xe1000, 0x10ffff};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        assert_false(pr_is_shown(hidden[i]));
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        assert_true(pr_is_shown(shown[i]));
}

static void
a_buffer_is_cut_at_a_whole_character(void **state)
{
    (void)state;
    static const char name[] = "ab\x1b\xc3\xa9z\xc3\xa9";
    static const char want[] = "ab\\x1b\xc3\xa9z\xc3\xa9";
    for (size_t size = 1; size < 16; size++) {
        char to[16], pad[16];
        memset(to, 'X', sizeof to);
        memset(pad, 'X', sizeof pad);
        pr_snprint_terminal(to, size, name, sizeof name - 1);
        size_t n = strlen(to);
        assert_true(n < size);
        assert_memory_equal(to, want, n);
        assert_memory_equal(to + size, pad, sizeof to - size);
        /* not in the middle of the escape (2..5) nor of a character */
        assert_false((n > 2 && n < 6) || n == 7 || n == 10);
        assert_true(n + 4 >= size || n == sizeof want - 1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_a_name_reaches_the_terminal_as_a_command),
        cmocka_unit_test(every_three_bytes_are_shown_as_printable_utf8),
        cmocka_unit_test(control_format_and_ignorable_characters_are_hidden),
        cmocka_unit_test(a_buffer_is_cut_at_a_whole_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
