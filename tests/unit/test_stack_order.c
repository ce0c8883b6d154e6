/* test_stack_order.c - paths of source files, and stacks in the order of their
 * text. */
#include <base/buffer.h>
#include <base/quote.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "converter/model/source_path.h"
#include "converter/model/stack_order.h"

static unsigned seed;

/* ---- places ---- */

static void
place(const char *path, const char *class, const char *part, const char *module)
{
    pr_bytes bytes = {path, strlen(path)};
    assert_string_equal(conv_path_name(conv_path_of(bytes)), class);
    pr_bytes shorter = conv_path_short(bytes);
    assert_int_equal(shorter.len, strlen(part));
    assert_memory_equal(shorter.at, part, shorter.len);
    pr_buffer text = {0};
    conv_path_module(&text, bytes);
    assert_int_equal(text.len, strlen(module));
    if (text.len)
        assert_memory_equal(text.at, module, text.len);
    pr_buffer_release(&text);
}

static void
a_path_names_the_owner_of_a_file(void **state)
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

/* A line of parts that begin alike, with bytes on either side of ';'. */
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
        cmocka_unit_test(a_path_names_the_owner_of_a_file),
        cmocka_unit_test(ranks_are_the_order_of_the_lines_as_text),
    };
    seed =
        argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : (unsigned)time(NULL);
    printf("# seed %u\n", seed);
    srand(seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
