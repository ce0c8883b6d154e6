/*
 * test_text.c - names as outputs show them, and lines in order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "converter/encode/text.h"
#include "converter/model/source_path.h"
#include "converter/model/stack_order.h"

#define BAD "\xef\xbf\xbd"

static unsigned seed;

static void
expect(conv_text_rule rule, const char *name, size_t len, const char *want,
       size_t want_len, uint64_t changed)
{
    conv_text text = {0};
    conv_text_name(&text, rule, name, len);
    assert_false(text.failed);
    assert_int_equal(text.len, want_len);
    if (want_len)
        assert_memory_equal(text.at, want, want_len);
    assert_int_equal(text.changed, changed);
    conv_text_release(&text);
}

#define EXPECT(rule, name, want, changed) \
    expect(rule, name, sizeof(name) - 1, want, sizeof(want) - 1, changed)

static void
what_is_utf8_stays(void **state)
{
    (void)state;
    EXPECT(CONV_TEXT_UTF8, "", "", 0);
    EXPECT(CONV_TEXT_UTF8, "a;b\n\0c", "a;b\n\0c", 0);
    EXPECT(CONV_TEXT_UTF8, "h\xc3\xa9 \xe8\x9b\x87 \xf0\x9f\x90\x8d",
           "h\xc3\xa9 \xe8\x9b\x87 \xf0\x9f\x90\x8d", 0);
    EXPECT(CONV_TEXT_UTF8, "\xee\x80\x80\xf4\x8f\xbf\xbf",
           "\xee\x80\x80\xf4\x8f\xbf\xbf", 0);
}

/* The counts of marks are those of Python's bytes.decode("utf-8", "replace"). */
static void
what_is_not_becomes_the_mark(void **state)
{
    (void)state;
    EXPECT(CONV_TEXT_UTF8, "\xff", BAD, 1);
    EXPECT(CONV_TEXT_UTF8, "a\x80z", "a" BAD "z", 1);
    EXPECT(CONV_TEXT_UTF8, "\xc0\xaf", BAD BAD, 1);
    EXPECT(CONV_TEXT_UTF8, "\xe2\x82", BAD, 1);
    EXPECT(CONV_TEXT_UTF8, "\xe2\x82z", BAD "z", 1);
    EXPECT(CONV_TEXT_UTF8, "\xf0\x9f\x90", BAD, 1);
    EXPECT(CONV_TEXT_UTF8, "\xf4\x90\x80\x80", BAD BAD BAD BAD, 1);
    EXPECT(CONV_TEXT_UTF8, "\xed\xb3\xa9", BAD BAD BAD, 1);
    EXPECT(CONV_TEXT_UTF8, "\xe0\x80\x80", BAD BAD BAD, 1);
}

static void
lone_surrogates_stay_where_python_reads_the_name(void **state)
{
    (void)state;
    EXPECT(CONV_TEXT_SURROGATES, "no\xed\xb3\xa9.py", "no\xed\xb3\xa9.py", 0);
    EXPECT(CONV_TEXT_SURROGATES, "\xed\xa0\x80\xff", "\xed\xa0\x80" BAD, 1);
}

static void
a_frame_of_a_collapsed_stack_stays_one_frame(void **state)
{
    (void)state;
    EXPECT(CONV_TEXT_FRAME, "a;b", "a:b", 1);
    EXPECT(CONV_TEXT_FRAME, "a\r\nb\tc\0d\x7f", "a  b c d ", 1);
    EXPECT(CONV_TEXT_FRAME, "a\xc2\x85z\xe2\x80\xa8", "a z ", 1);
    EXPECT(CONV_TEXT_LINE, "a;b\n", "a;b ", 1);
    EXPECT(CONV_TEXT_SQL, "a\0b\n", "a" BAD "b\n", 1);
}

static void
guard(const char *name, const char *want)
{
    conv_text text = {0};
    conv_text_puts(&text, name);
    conv_text_guard_count(&text, 0);
    assert_int_equal(text.len, strlen(want));
    assert_memory_equal(text.at, want, text.len);
    conv_text_release(&text);
}

static void
a_number_at_the_end_is_no_second_count(void **state)
{
    (void)state;
    guard("w 12", "w_12");
    guard("w 1.5", "w_1.5");
    guard("w 1.", "w_1.");
    guard("w12", "w12");
    guard("w 12 x", "w 12 x");
    guard("w .5", "w .5");
    guard(" 7", "_7");
    guard("7", "7");
}

static void
numbers_print_whole(void **state)
{
    (void)state;
    conv_text text = {0};
    conv_text_u64(&text, UINT64_MAX);
    conv_text_puts(&text, " ");
    conv_text_i64(&text, INT64_MIN);
    conv_text_puts(&text, " ");
    conv_text_u64(&text, 0);
    const char want[] = "18446744073709551615 -9223372036854775808 0";
    assert_int_equal(text.len, sizeof want - 1);
    assert_memory_equal(text.at, want, text.len);
    conv_text_release(&text);
}

/* ---- places ---- */

static void
place(const char *path, const char *class, const char *part, const char *module)
{
    pr_bytes bytes = {path, strlen(path)};
    assert_string_equal(conv_path_name(conv_path_of(bytes)), class);
    pr_bytes shorter = conv_path_short(bytes);
    assert_int_equal(shorter.len, strlen(part));
    assert_memory_equal(shorter.at, part, shorter.len);
    conv_text text = {0};
    conv_path_module(&text, bytes);
    assert_int_equal(text.len, strlen(module));
    if (text.len)
        assert_memory_equal(text.at, module, text.len);
    conv_text_release(&text);
}

static void
a_path_says_what_a_file_belongs_to(void **state)
{
    (void)state;
    place("/srv/app/main.py", "project", "/srv/app/main.py", "main");
    place("main.py", "project", "main.py", "main");
    place("/usr/lib/python3.11/json/decoder.py", "stdlib", "json/decoder.py",
          "json.decoder");
    place("/opt/lib64/python3.13t/os.py", "stdlib", "os.py", "os");
    place("/v/lib/python3.12/site-packages/a/__init__.py", "site",
          "a/__init__.py", "a");
    place("/usr/lib/python3/dist-packages/x.py", "site", "x.py", "x");
    place("/srv/lib/python/x.py", "project", "/srv/lib/python/x.py", "x");
    place("<frozen importlib._bootstrap>", "frozen",
          "<frozen importlib._bootstrap>", "importlib._bootstrap");
    place("<string>", "special", "<string>", "");
    place("~", "special", "~", "");
    place("", "special", "", "");
}

/* ---- lines ---- */

enum { LINES = 400 };

/* Of parts that begin alike, and bytes on either side of ';'. */
static void
random_line(char *line, conv_stack_order *lines, uint32_t *node)
{
    static const char *const parts[] = {"f:1", "f:12", "f:1:", "f",  "f ",
                                        "f;g", "g",    "",     "f<", "f:1;"};
    pr_list ids = {0};
    int n = rand() % 5 + 1;
    *node = 0;
    line[0] = '\0';
    for (int i = 0; i < n; i++) {
        const char *part = parts[rand() % 10];
        if (i)
            strcat(line, ";");
        strcat(line, part);
        ids.n = 0;
        assert_int_equal(
            conv_stack_order_split(lines, part, strlen(part), &ids, NULL),
            PR_OK);
        for (size_t k = 0; k < ids.n; k++)
            assert_int_equal(
                conv_stack_order_child(lines, *node, ids.at[k], node, NULL),
                PR_OK);
    }
    pr_list_release(&ids);
}

static void
ranks_are_the_order_of_the_lines_as_text(void **state)
{
    (void)state;
    static char text[LINES][64];
    uint32_t node[LINES], *rank;
    conv_stack_order lines;
    assert_int_equal(conv_stack_order_init(&lines, NULL), PR_OK);
    for (int i = 0; i < LINES; i++)
        random_line(text[i], &lines, &node[i]);
    assert_int_equal(conv_stack_order_rank(&lines, &rank, NULL), PR_OK);
    conv_stack_text trail = conv_stack_order_trail(&lines);
    for (int i = 0; i < LINES; i++) {
        for (int k = 0; k < LINES; k++) {
            int by_text = strcmp(text[i], text[k]);
            int by_rank = (rank[node[i]] > rank[node[k]]) -
                          (rank[node[i]] < rank[node[k]]);
            assert_int_equal((by_text > 0) - (by_text < 0), by_rank);
        }
        assert_int_equal(conv_stack_text_set(&trail, node[i], NULL), PR_OK);
        assert_int_equal(trail.text.len, strlen(text[i]));
        if (trail.text.len)
            assert_memory_equal(trail.text.at, text[i], trail.text.len);
    }
    conv_stack_text_release(&trail);
    conv_stack_order_release(&lines);
    free(rank);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_utf8_stays),
        cmocka_unit_test(what_is_not_becomes_the_mark),
        cmocka_unit_test(lone_surrogates_stay_where_python_reads_the_name),
        cmocka_unit_test(a_frame_of_a_collapsed_stack_stays_one_frame),
        cmocka_unit_test(a_number_at_the_end_is_no_second_count),
        cmocka_unit_test(numbers_print_whole),
        cmocka_unit_test(a_path_says_what_a_file_belongs_to),
        cmocka_unit_test(ranks_are_the_order_of_the_lines_as_text),
    };
    seed =
        argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : (unsigned)time(NULL);
    printf("# seed %u\n", seed);
    srand(seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
