/*
 * test_quote.c - names as each kind of output holds them.
 */
#include <base/buffer.h>
#include <base/quote.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BAD "\xef\xbf\xbd"

static void
expect(pr_quote rule, const char *name, size_t len, const char *want,
       size_t want_len, uint64_t changed)
{
    pr_buffer text = {0};
    pr_quote_name(&text, rule, name, len);
    assert_false(text.failed);
    assert_int_equal(text.len, want_len);
    if (want_len)
        assert_memory_equal(text.at, want, want_len);
    assert_int_equal(text.changed, changed);
    pr_buffer_release(&text);
}

#define EXPECT(rule, name, want, changed) \
    expect(rule, name, sizeof(name) - 1, want, sizeof(want) - 1, changed)

static void
utf8_stays(void **state)
{
    (void)state;
    EXPECT(PR_QUOTE_UTF8, "", "", 0);
    EXPECT(PR_QUOTE_UTF8, "a;b\n\0c", "a;b\n\0c", 0);
    EXPECT(PR_QUOTE_UTF8, "h\xc3\xa9 \xe8\x9b\x87 \xf0\x9f\x90\x8d",
           "h\xc3\xa9 \xe8\x9b\x87 \xf0\x9f\x90\x8d", 0);
    EXPECT(PR_QUOTE_UTF8, "\xee\x80\x80\xf4\x8f\xbf\xbf",
           "\xee\x80\x80\xf4\x8f\xbf\xbf", 0);
}

/* The counts of marks are those of Python's bytes.decode("utf-8", "replace"). */
static void
other_bytes_become_the_mark(void **state)
{
    (void)state;
    EXPECT(PR_QUOTE_UTF8, "\xff", BAD, 1);
    EXPECT(PR_QUOTE_UTF8, "a\x80z", "a" BAD "z", 1);
    EXPECT(PR_QUOTE_UTF8, "\xc0\xaf", BAD BAD, 1);
    EXPECT(PR_QUOTE_UTF8, "\xe2\x82", BAD, 1);
    EXPECT(PR_QUOTE_UTF8, "\xe2\x82z", BAD "z", 1);
    EXPECT(PR_QUOTE_UTF8, "\xf0\x9f\x90", BAD, 1);
    EXPECT(PR_QUOTE_UTF8, "\xf4\x90\x80\x80", BAD BAD BAD BAD, 1);
    EXPECT(PR_QUOTE_UTF8, "\xed\xb3\xa9", BAD BAD BAD, 1);
    EXPECT(PR_QUOTE_UTF8, "\xe0\x80\x80", BAD BAD BAD, 1);
}

static void
lone_surrogates_stay_where_python_reads_the_name(void **state)
{
    (void)state;
    EXPECT(PR_QUOTE_SURROGATES, "no\xed\xb3\xa9.py", "no\xed\xb3\xa9.py", 0);
    EXPECT(PR_QUOTE_SURROGATES, "\xed\xa0\x80\xff", "\xed\xa0\x80" BAD, 1);
}

static void
a_frame_of_a_collapsed_stack_stays_one_frame(void **state)
{
    (void)state;
    EXPECT(PR_QUOTE_FRAME, "a;b", "a:b", 1);
    EXPECT(PR_QUOTE_FRAME, "a\r\nb\tc\0d\x7f", "a  b c d ", 1);
    EXPECT(PR_QUOTE_FRAME, "a\xc2\x85z\xe2\x80\xa8", "a z ", 1);
    EXPECT(PR_QUOTE_LINE, "a;b\n", "a;b ", 1);
    EXPECT(PR_QUOTE_SQL, "a\0b\n", "a" BAD "b\n", 1);
}

static void
guard(const char *name, const char *want)
{
    pr_buffer text = {0};
    pr_buffer_puts(&text, name);
    pr_quote_count(&text, 0);
    assert_int_equal(text.len, strlen(want));
    assert_memory_equal(text.at, want, text.len);
    pr_buffer_release(&text);
}

static void
a_number_at_the_end_is_not_a_second_count(void **state)
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

typedef struct quoted {
    const char *from;
    size_t len;
    const char *json, *csv, *markdown;
} quoted;

static void
assert_text(pr_buffer *text, const char *want)
{
    assert_false(text->failed);
    assert_int_equal(text->len, strlen(want));
    assert_memory_equal(text->at, want, text->len);
    pr_buffer_reset(text);
}

static void
json_csv_and_markdown_hold_any_name(void **state)
{
    (void)state;
    static const quoted cases[] = {
        {"plain", 5, "\"plain\"", "plain", "plain"},
        {"\xe6\x97\xa5\xf0\x9f\x98\x80", 7, "\"\xe6\x97\xa5\xf0\x9f\x98\x80\"",
         "\xe6\x97\xa5\xf0\x9f\x98\x80", "\xe6\x97\xa5\xf0\x9f\x98\x80"},
        {"a\0\t\x7f\n", 5, "\"a\\u0000\\t\\u007f\\n\"", "a\\x00\\t\\x7f\\n",
         "a\\\\x00\\\\t\\\\x7f\\\\n"},
        {"\"\\", 2, "\"\\\"\\\\\"", "\"\"\"\\\"", "\"\\\\"},
        {"a,b", 3, "\"a,b\"", "\"a,b\"", "a,b"},
        {"<GC>|`*_[]~#&", 13, "\"<GC>|`*_[]~#&\"", "<GC>|`*_[]~#&",
         "&lt;GC\\>\\|\\`\\*\\_\\[\\]\\~\\#&amp;"},
        {"=1+1", 4, "\"=1+1\"", "\"'=1+1\"", "=1+1"},
        {" x", 2, "\" x\"", "\" x\"", " x"},
        {"\xed\xb3\xa9", 3, "\"\\udce9\"", "\\udce9", "\\\\udce9"},
        {"\xc2\x9b\xe2\x80\xae", 5, "\"\\u009b\\u202e\"", "\\x9b\\u202e",
         "\\\\x9b\\\\u202e"},
        {"\xf3\xa0\x80\x81", 4, "\"\\udb40\\udc01\"", "\\U000e0001",
         "\\\\U000e0001"},
        {"\xff\xc0\x80\xe6\x97", 5, "\"" BAD BAD BAD BAD "\"",
         "\\xff\\xc0\\x80\\xe6\\x97", "\\\\xff\\\\xc0\\\\x80\\\\xe6\\\\x97"},
    };
    pr_buffer text = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pr_quote_json(&text, PR_JSON_SURROGATES, cases[i].from, cases[i].len);
        assert_text(&text, cases[i].json);
        pr_quote_csv(&text, cases[i].from, cases[i].len);
        assert_text(&text, cases[i].csv);
        pr_quote_markdown(&text, cases[i].from, cases[i].len);
        assert_text(&text, cases[i].markdown);
    }
    pr_buffer_release(&text);
}

/* What `shell` makes of the word, in a file with the name. */
static void
assert_read_back(const char *shell, const pr_buffer *word, const char *name)
{
    char script[512], got[128] = "";
    snprintf(script, sizeof script, "exec %s <<'end'\nprintf %%s %.*s\nend\n",
             shell, (int)word->len, word->at);
    FILE *from = popen(script, "r");
    assert_non_null(from);
    size_t n = fread(got, 1, sizeof got - 1, from);
    assert_int_equal(pclose(from), 0);
    assert_int_equal(n, strlen(name));
    assert_string_equal(got, name);
}

static void
a_shell_gets_any_name_as_one_word(void **state)
{
    (void)state;
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"run.bin", "run.bin"},
        {"/a-b/c_d@1:2,3+4=5%.bin", "/a-b/c_d@1:2,3+4=5%.bin"},
        {"\xc3\xa9.bin", "\xc3\xa9.bin"},
        {"-y.bin", "./-y.bin"},
        {"-my run.bin", "./'-my run.bin'"},
        {"", "''"},
        {"my run.bin", "'my run.bin'"},
        {"it's", "'it'\\''s'"},
        {"a\\nb", "'a\\nb'"},
        {"$(reboot)`x`\"*?[~!", "'$(reboot)`x`\"*?[~!'"},
        {"new\nline.bin", "$'new\\012line.bin'"},
        {"-\x1b[31m", "./$'-\\033[31m'"},
        {"it's\\t\t1\n", "$'it\\'s\\\\t\\0111\\012'"},
        {"\xc3\xa9\xe2\x80\xae\xc2\x9b\xff\xe6\x97",
         "$'\xc3\xa9\\342\\200\\256\\302\\233\\377\\346\\227'"},
    };
    pr_buffer text = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = cases[i].name;
        pr_quote_path(&text, name, strlen(name));
        char path[64] = "";
        if (name[0] == '-')
            strcpy(path, "./");
        strcat(path, name);
        assert_read_back("bash", &text, path);
        if (!memmem(text.at, text.len, "$'", 2))
            assert_read_back("sh", &text, path);
        assert_text(&text, cases[i].want);
    }
    pr_buffer_release(&text);
}

static void
xml_holds_any_name(void **state)
{
    (void)state;
    static const char name[] = "a<b>&\"'\x1b\n\xef\xbf\xbe\xef\xbf\xbf\xff";
    pr_buffer text = {0};
    pr_quote_xml(&text, name, sizeof name - 1);
    assert_int_equal(text.changed, 1);
    assert_text(&text, "a&lt;b&gt;&amp;&quot;&#39;\\x1b\\n\\ufffe\\uffff\\xff");
    pr_buffer_release(&text);
}

static void
json_in_ascii_is_that_of_python(void **state)
{
    (void)state;
    static const char name[] =
        "\b\t\n\f\r\x01\"\\/\x7f\xc3\xa9\xf0\x9f\x98\x80";
    pr_buffer text = {0};
    pr_quote_json(&text, PR_JSON_ASCII, name, sizeof name - 1);
    assert_text(&text, "\"\\b\\t\\n\\f\\r\\u0001\\\"\\\\/\\u007f\\u00e9"
                       "\\ud83d\\ude00\"");
    pr_buffer_release(&text);
}

static void
a_strict_reader_of_json_gets_no_lone_surrogate(void **state)
{
    (void)state;
    pr_buffer text = {0};
    pr_quote_json(&text, PR_JSON_UTF8, "a\xed\xb3\xa9z", 5);
    assert_int_equal(text.changed, 1);
    assert_text(&text, "\"a" BAD BAD BAD "z\"");
    pr_quote_json(&text, PR_JSON_SURROGATES, "a\xed\xb3\xa9z", 5);
    assert_int_equal(text.changed, 1);
    pr_buffer_release(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_stays),
        cmocka_unit_test(other_bytes_become_the_mark),
        cmocka_unit_test(lone_surrogates_stay_where_python_reads_the_name),
        cmocka_unit_test(a_frame_of_a_collapsed_stack_stays_one_frame),
        cmocka_unit_test(a_number_at_the_end_is_not_a_second_count),
        cmocka_unit_test(json_csv_and_markdown_hold_any_name),
        cmocka_unit_test(a_shell_gets_any_name_as_one_word),
        cmocka_unit_test(xml_holds_any_name),
        cmocka_unit_test(json_in_ascii_is_that_of_python),
        cmocka_unit_test(a_strict_reader_of_json_gets_no_lone_surrogate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
