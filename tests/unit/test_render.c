/*
 * test_render.c - hostile names and odd values in each format.
 */
#include "query_fixture.h"

#include "query/render/render.h"

/* The text of a SELECT over an empty database; the caller frees. */
static char *
render(q_format format, const char *sql)
{
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS);
    q_database *d = fixture_open(&f);
    q_result *result = NULL;
    pr_err err = PR_ERR_INIT;
    if ((strncmp(sql, "SELECT", 6) ? q_run : q_run_sql)(d, sql, &result,
                                                        &err) != PR_OK)
        fail_msg("%s: %s", sql, err.what);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(
        q_render(result, &(q_render_opts){.format = format}, out, &err), PR_OK);
    fclose(out);
    q_result_free(result);
    q_close(d);
    fixture_end(&f);
    return text;
}

static void
assert_rendered(q_format format, const char *sql, const char *expected)
{
    char *text = render(format, sql);
    assert_string_equal(text, expected);
    free(text);
}

static void
a_table_is_aligned_numbers_to_the_right(void **state)
{
    (void)state;
    assert_rendered(Q_TABLE,
                    "SELECT 5 AS n, 'ab' AS name, 0.5 AS share_pct, 2 AS x"
                    " UNION ALL SELECT 12345, 'c', 33.333, NULL",
                    "    n  name  share_pct  x\n"
                    "    5  ab          0.5  2\n"
                    "12345  c        33.333  -\n");
    /* the last column has nothing to be aligned with */
    assert_rendered(Q_TABLE, "SELECT 'a' AS long_name", "long_name\na\n");
    assert_rendered(Q_TABLE, "SELECT 1 AS a WHERE 0", "a\n");
}

static void
names_take_the_cells_a_terminal_gives_them(void **state)
{
    (void)state;
    assert_rendered(Q_TABLE,
                    "SELECT '\xe5\x87\xbd\xe6\x95\xb0' AS name, 'x' AS z"
                    " UNION ALL SELECT 'e\xcc\x81', 'y'"
                    " UNION ALL SELECT '\xc3\xa9', 'w'",
                    "name  z\n"
                    "\xe5\x87\xbd\xe6\x95\xb0  x\n"
                    "e\xcc\x81     y\n"
                    "\xc3\xa9     w\n");
}

static void
csv_quotes_only_special_values_and_cuts_nothing(void **state)
{
    (void)state;
    assert_rendered(Q_CSV,
                    "SELECT 'a,b' AS \"x,y\", 'say \"hi\"' AS b, 'l1' ||"
                    " char(10) || 'l2' AS c, NULL AS d, 0.1 AS e, -7 AS f,"
                    " 1e300 AS g, '' AS h",
                    "\"x,y\",b,c,d,e,f,g,h\n"
                    "\"a,b\",\"say \"\"hi\"\"\",l1\\nl2,,0.1,-7,1.0e+300,\n");
    char *text = render(Q_CSV, "SELECT hex(zeroblob(50000)) AS x");
    assert_int_equal(strlen(text), 2 + 100000 + 1);
    free(text);
}

static void
json_is_json_whatever_the_names_are(void **state)
{
    (void)state;
    assert_rendered(
        Q_JSON,
        "SELECT 'q\"\\' || char(1, 10, 127) AS a, CAST(x'61ff62' AS TEXT) AS b,"
        " CAST(x'eda080' AS TEXT) AS c, 'é' AS a, NULL AS n, 2.0 AS r,"
        " 9e999 AS inf, 9223372036854775807 AS i, CAST(x'6100' AS TEXT) AS z",
        "{\"title\": \"\",\n"
        "\"columns\": [\"a\", \"b\", \"c\", \"a\", \"n\", \"r\", \"inf\","
        " \"i\", \"z\"],\n"
        "\"rows\": [\n"
        "[\"q\\\"\\\\\\u0001\\n\\u007f\", \"a\xef\xbf\xbd"
        "b\", \"\\ud800\","
        " \"é\", null, 2.0, null, 9223372036854775807, \"a\\u0000\"]\n"
        "]}\n");
    assert_rendered(Q_JSON, "SELECT 1 AS a WHERE 0",
                    "{\"title\": \"\",\n\"columns\": [\"a\"],\n\"rows\": [\n]}"
                    "\n");
}

static void
markdown_shows_names_and_obeys_none(void **state)
{
    (void)state;
    assert_rendered(Q_MARKDOWN,
                    "SELECT 1 AS n, '<GC>' AS a, 'a|b`c`*d*_e_' AS b,"
                    " '&amp;' || char(10) AS c",
                    "| n | a | b | c |\n"
                    "| ---: | --- | --- | --- |\n"
                    "| 1 | &lt;GC\\> | a\\|b\\`c\\`\\*d\\*\\_e\\_ |"
                    " &amp;amp;\\\\n |\n");
}

static void
answers_have_a_title_and_trees_an_indent(void **state)
{
    (void)state;
    assert_rendered(
        Q_TABLE, "tree",
        "tree: 10 of 10 samples, 0.010 s; 90.0 % ran, 10.0 % waited\n"
        "recorded: 10 proven, 0 unproven, 1 lost, 0.125 s unobserved\n"
        "\n"
        "function      self   total  where\n"
        "main          0.0%  100.0%  main.py\n"
        "  Shop.work  20.0%   60.0%  main.py\n"
        "    load     40.0%   40.0%  data.py\n"
        "  load       40.0%   40.0%  data.py\n");
    char *text = render(Q_CSV, "tree");
    assert_non_null(strstr(text, ",2,load,")); /* for programs: as it is */
    free(text);
    /* an impossible depth takes no memory */
    text = render(Q_TABLE, "SELECT 9223372036854775807 AS depth,"
                           " 'f' AS function");
    assert_true(strlen(text) < 1000);
    free(text);
}

static void
a_fault_is_marked_below_its_character(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    q_render_fault("top\n\xe5\x87\xbd x", 8, out);
    q_render_fault("", 0, out);
    q_render_fault("ab", 99, out);
    fclose(out);
    assert_string_equal(text, "  top\\n\xe5\x87\xbd x\n"
                              "          ^\n"
                              "  \n"
                              "  ^\n"
                              "  ab\n"
                              "    ^\n");
    free(text);
}

static void
output_that_cannot_be_written_is_a_failure(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS);
    q_database *d = fixture_open(&f);
    for (q_format format = Q_TABLE; format <= Q_MARKDOWN; format++) {
        pr_err err = PR_ERR_INIT;
        q_result *result = NULL;
        assert_int_equal(q_run(d, "top", &result, &err), PR_OK);
        assert_int_equal(
            q_render(result, &(q_render_opts){.format = format}, full, &err),
            PR_IO);
        q_result_free(result);
    }
    fclose(full);
    q_close(d);
    fixture_end(&f);
}

static void
only_a_file_has_a_line_after_it(void **state)
{
    (void)state;
    char *text = render(Q_TABLE, "top 1 per profile by self");
    if (!strstr(text, "\nrun.bin  load") || !strstr(text, "data.py:29\n") ||
        strstr(text, "run.bin:"))
        fail_msg("%s", text);
    free(text);
}

static void
threads_name_the_wait_for_the_gil(void **state)
{
    (void)state;
    char *text = render(Q_MARKDOWN, "threads where waiting");
    if (!strstr(text, "| GIL | CPU | GIL wait | idle |") ||
        !strstr(text, "| 0.0% | 0.0% | 100.0% | 0.0% |"))
        fail_msg("%s", text);
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_aligned_numbers_to_the_right),
        cmocka_unit_test(names_take_the_cells_a_terminal_gives_them),
        cmocka_unit_test(csv_quotes_only_special_values_and_cuts_nothing),
        cmocka_unit_test(json_is_json_whatever_the_names_are),
        cmocka_unit_test(markdown_shows_names_and_obeys_none),
        cmocka_unit_test(answers_have_a_title_and_trees_an_indent),
        cmocka_unit_test(a_fault_is_marked_below_its_character),
        cmocka_unit_test(only_a_file_has_a_line_after_it),
        cmocka_unit_test(threads_name_the_wait_for_the_gil),
        cmocka_unit_test(output_that_cannot_be_written_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
