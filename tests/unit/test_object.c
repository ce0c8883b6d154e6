/*
 * test_object.c - str, bytes, int and set in a made-up memory.
 */
#include "debug_offsets.h"
#include "fake_memory.h"
#include "recorder/cpython/object.h"

typedef struct world {
    fake_memory fake;
    rec_layout layout;
} world;

static int
begin(void **state)
{
    world *w = calloc(1, sizeof *w);
    uint8_t table[REC_TABLE_BYTES] = {0};
    memcpy(table, table_3_15, sizeof table_3_15);
    fake_begin(&w->fake, 1 << 20);
    assert_int_equal(rec_layout_load(table, 0, &w->layout, NULL), PR_OK);
    *state = w;
    return 0;
}

static int
end(void **state)
{
    world *w = *state;
    fake_end(&w->fake);
    free(w);
    return 0;
}

static void
expect_str(world *w, uint64_t address, size_t max, const char *want, size_t len)
{
    char *text;
    size_t n;
    assert_int_equal(rec_object_str(&w->layout, &w->fake.memory, address, max,
                                    &text, &n, NULL),
                     PR_OK);
    assert_int_equal(n, len);
    assert_memory_equal(text, want, len);
    assert_int_equal(text[n], '\0');
    free(text);
}

static void
expect_no_str(world *w, uint64_t address)
{
    char *text = NULL;
    size_t n;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_object_str(&w->layout, &w->fake.memory, address, 100,
                                    &text, &n, &err),
                     PR_TORN);
    assert_null(text);
}

static void
a_str_of_each_kind_becomes_utf8(void **state)
{
    world *w = *state;
    const uint8_t latin[] = {'m', 0xe9, 0x00, 0xff};
    const uint16_t two[] = {0x65e5, 0x672c, 0x7f, 0x80, 0x7ff, 0x800};
    const uint32_t four[] = {0x1f600, 0x10ffff, 'x'};
    expect_str(w, fake_ascii(&w->fake, &w->layout, "main"), 99, "main", 4);
    expect_str(w, fake_ascii(&w->fake, &w->layout, ""), 99, "", 0);
    expect_str(w, fake_str(&w->fake, &w->layout, latin, 4, 1, false), 99,
               "m\xc3\xa9\0\xc3\xbf", 6);
    expect_str(w, fake_str(&w->fake, &w->layout, two, 6, 2, false), 99,
               "\xe6\x97\xa5\xe6\x9c\xac\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80", 14);
    expect_str(w, fake_str(&w->fake, &w->layout, four, 3, 4, false), 99,
               "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbfx", 9);
}

static void
lone_surrogates_are_kept(void **state)
{
    world *w = *state;
    const uint16_t lone[] = {0xdce9, 'a', 0xd800};
    expect_str(w, fake_str(&w->fake, &w->layout, lone, 3, 2, false), 99,
               "\xed\xb3\xa9"
               "a\xed\xa0\x80",
               7);
}

static void
a_long_str_is_cut_and_ends_in_an_ellipsis(void **state)
{
    world *w = *state;
    const uint16_t two[] = {0x65e5, 0x672c, 0x65e5};
    expect_str(w, fake_ascii(&w->fake, &w->layout, "abcdef"), 6, "abcdef", 6);
    expect_str(w, fake_ascii(&w->fake, &w->layout, "abcdef"), 4,
               "abcd\xe2\x80\xa6", 7);
    expect_str(w, fake_str(&w->fake, &w->layout, two, 3, 2, false), 1,
               "\xe6\x97\xa5\xe2\x80\xa6", 6);
}

static void
an_object_that_is_not_a_str_is_refused(void **state)
{
    world *w = *state;
    const rec_layout *l = &w->layout;
    const uint32_t beyond = 0x110000;
    uint64_t s = fake_ascii(&w->fake, l, "text");
    expect_no_str(w, 0);
    expect_no_str(w, s + 1);
    expect_no_str(w, UINT64_C(1) << 63);
    expect_no_str(w, FAKE_BASE + w->fake.size);
    fake_put64(&w->fake, s + l->object.unicode_length, UINT64_MAX);
    expect_no_str(w, s);
    fake_put32(&w->fake, s + l->object.unicode_state, 3u << 2 | 1 << 5);
    fake_put64(&w->fake, s + l->object.unicode_length, 4);
    expect_no_str(w, s); /* kind 3 */
    fake_put32(&w->fake, s + l->object.unicode_state, 1 << 2);
    expect_no_str(w, s); /* not compact */
    expect_no_str(w, fake_str(&w->fake, l, &beyond, 1, 4, false));
    expect_no_str(w, fake_str(&w->fake, l, "\xff", 1, 1, true));
}

static void
bytes_are_read_up_to_the_limit(void **state)
{
    world *w = *state;
    uint8_t *bytes = NULL;
    size_t n;
    uint64_t at = fake_bytes(&w->fake, &w->layout, "a\0b", 3);
    assert_int_equal(
        rec_object_bytes(&w->layout, &w->fake.memory, at, 3, &bytes, &n, NULL),
        PR_OK);
    assert_int_equal(n, 3);
    assert_memory_equal(bytes, "a\0b", 3);
    free(bytes);
    assert_int_equal(
        rec_object_bytes(&w->layout, &w->fake.memory, at, 2, &bytes, &n, NULL),
        PR_LIMIT);
    fake_put64(&w->fake, at + w->layout.object.bytes_size, UINT64_MAX);
    assert_int_equal(
        rec_object_bytes(&w->layout, &w->fake.memory, at, 3, &bytes, &n, NULL),
        PR_TORN);
}

static uint64_t
fake_int(world *w, uint64_t tag, uint32_t low, uint32_t high)
{
    uint64_t at = fake_alloc(&w->fake, w->layout.object.long_digit + 8);
    fake_put64(&w->fake, at + w->layout.object.long_tag, tag);
    fake_put32(&w->fake, at + w->layout.object.long_digit, low);
    fake_put32(&w->fake, at + w->layout.object.long_digit + 4, high);
    return at;
}

static void
ints_of_one_and_two_digits_are_read(void **state)
{
    world *w = *state;
    rec_memory *m = &w->fake.memory;
    int64_t v;
    assert_int_equal(
        rec_object_int(&w->layout, m, fake_int(w, 1, 77, 0), &v, NULL), PR_OK);
    assert_int_equal(v, 0); /* the sign of zero, no digit */
    rec_object_int(&w->layout, m, fake_int(w, 1 << 3, 42, 9), &v, NULL);
    assert_int_equal(v, 42);
    rec_object_int(&w->layout, m, fake_int(w, 1 << 3 | 2, 42, 9), &v, NULL);
    assert_int_equal(v, -42);
    rec_object_int(&w->layout, m, fake_int(w, 2 << 3, 1, 3), &v, NULL);
    assert_int_equal(v, 3 * (INT64_C(1) << 30) + 1);
    assert_int_equal(
        rec_object_int(&w->layout, m, fake_int(w, 3 << 3, 1, 3), &v, NULL),
        PR_LIMIT);
}

enum { SET_SLOTS = 1024 };

static uint64_t
fake_set(world *w, uint64_t used, uint64_t mask, uint64_t table)
{
    const rec_layout *l = &w->layout;
    uint64_t at = fake_alloc(&w->fake, l->object.set_table + 8);
    fake_put64(&w->fake, at + l->object.set_used, used);
    fake_put64(&w->fake, at + l->object.set_mask, mask);
    fake_put64(&w->fake, at + l->object.set_table, table);
    return at;
}

static pr_code
read_set(world *w, uint64_t at, size_t max, uint64_t **keys, size_t *n)
{
    return rec_object_set(&w->layout, &w->fake.memory, at, max, keys, n, NULL);
}

static void
live_keys_of_a_set_are_found(void **state)
{
    world *w = *state;
    uint64_t table = fake_alloc(&w->fake, SET_SLOTS * 16), *keys = NULL;
    size_t n = 0;
    fake_put64(&w->fake, table + 16 * 3, 0x1111);
    fake_put64(&w->fake, table + 16 * 700, 0x2222);
    fake_put64(&w->fake, table + 16 * 5, 0x3333); /* given up: hash -1 */
    fake_put64(&w->fake, table + 16 * 5 + 8, UINT64_MAX);
    uint64_t set = fake_set(w, 2, SET_SLOTS - 1, table);
    assert_int_equal(read_set(w, set, 10, &keys, &n), PR_OK);
    assert_int_equal(n, 2);
    assert_int_equal(keys[0], 0x1111);
    assert_int_equal(keys[1], 0x2222);
    free(keys);
    assert_int_equal(read_set(w, set, 1, &keys, &n), PR_LIMIT);
}

static void
sets_that_make_no_sense_are_refused(void **state)
{
    world *w = *state;
    uint64_t *keys = NULL;
    size_t n;
    uint64_t table = fake_alloc(&w->fake, 64);
    assert_int_equal(read_set(w, fake_set(w, 9, 7, table), 10, &keys, &n),
                     PR_TORN);
    assert_int_equal(
        read_set(w, fake_set(w, 1, UINT64_MAX, table), 10, &keys, &n), PR_TORN);
    assert_int_equal(read_set(w, fake_set(w, 1, 7, 3), 10, &keys, &n), PR_TORN);
    assert_int_equal(
        read_set(w, fake_set(w, 1 << 20, (1 << 20) - 1, table), 10, &keys, &n),
        PR_TORN);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_str_of_each_kind_becomes_utf8, begin,
                                        end),
        cmocka_unit_test_setup_teardown(lone_surrogates_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(
            a_long_str_is_cut_and_ends_in_an_ellipsis, begin, end),
        cmocka_unit_test_setup_teardown(an_object_that_is_not_a_str_is_refused,
                                        begin, end),
        cmocka_unit_test_setup_teardown(bytes_are_read_up_to_the_limit, begin,
                                        end),
        cmocka_unit_test_setup_teardown(ints_of_one_and_two_digits_are_read,
                                        begin, end),
        cmocka_unit_test_setup_teardown(live_keys_of_a_set_are_found, begin,
                                        end),
        cmocka_unit_test_setup_teardown(sets_that_make_no_sense_are_refused,
                                        begin, end),
    };
    return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
