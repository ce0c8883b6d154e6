/*
 * test_bytes.c - varints, fixed widths and frames both ways, and cursors that
 * stay inside their bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/bytes.h"
#include <cmocka.h>

/* A page that ends where no page follows: a byte too far is a crash. */
static uint8_t *edge;

static int
map_edge(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (two == MAP_FAILED || mprotect(two + page, page, PROT_NONE) != 0)
        return -1;
    edge = two + page;
    return 0;
}

/* A cursor over a copy of the bytes that ends at the edge. */
static pf_cur
at_edge(const void *bytes, size_t n)
{
    if (n > 0)
        memcpy(edge - n, bytes, n);
    return pf_cur_of(edge - n, n, false);
}

static const uint64_t borders[] = {
    0,
    1,
    0x7f,
    0x80,
    0x3fff,
    0x4000,
    UINT32_MAX,
    (uint64_t)UINT32_MAX + 1,
    (uint64_t)1 << 62,
    (uint64_t)1 << 63,
    UINT64_MAX,
};
#define BORDERS (sizeof borders / sizeof *borders)

static void
a_varint_comes_back_and_takes_its_announced_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < BORDERS; i++) {
        uint8_t bytes[PF_VARINT_MAX];
        size_t n = (size_t)(pf_put_varint(bytes, borders[i]) - bytes);
        assert_int_equal(n, pf_varint_size(borders[i]));
        pf_cur c = at_edge(bytes, n);
        uint64_t v = 7;
        assert_true(pf_get_varint(&c, &v));
        assert_true(v == borders[i]);
        assert_int_equal(pf_left(&c), 0);
    }
}

static void
a_cut_varint_is_refused_where_it_begins(void **state)
{
    (void)state;
    uint8_t bytes[PF_VARINT_MAX];
    size_t whole = (size_t)(pf_put_varint(bytes, UINT64_MAX) - bytes);
    for (size_t n = 0; n < whole; n++) {
        pf_cur c = at_edge(bytes, n);
        uint64_t v = 7;
        assert_false(pf_get_varint(&c, &v));
        assert_ptr_equal(c.bad, edge - n);
        assert_int_equal(v, 7);
    }
}

static void
a_varint_of_eleven_bytes_or_65_bits_is_refused(void **state)
{
    (void)state;
    const uint8_t eleven[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                              0x80, 0x80, 0x80, 0x80, 0x00};
    const uint8_t wide[] = {0xff, 0xff, 0xff, 0xff, 0xff,
                            0xff, 0xff, 0xff, 0xff, 0x02};
    uint64_t v = 7;
    pf_cur c = at_edge(eleven, sizeof eleven);
    assert_false(pf_get_varint(&c, &v));
    c = at_edge(wide, sizeof wide);
    assert_false(pf_get_varint(&c, &v));
    assert_int_equal(v, 7);
}

static void
a_longer_varint_than_needed_is_read(void **state)
{
    (void)state;
    const uint8_t five[] = {0x85, 0x80, 0x80, 0x00};
    pf_cur c = at_edge(five, sizeof five);
    uint64_t v;
    assert_true(pf_get_varint(&c, &v));
    assert_int_equal(v, 5);
    assert_int_equal(pf_left(&c), 0);
}

static void
a_value_above_32_bits_is_not_an_id(void **state)
{
    (void)state;
    uint8_t bytes[PF_VARINT_MAX];
    uint32_t v = 7;
    pf_cur c =
        at_edge(bytes, (size_t)(pf_put_varint(bytes, UINT32_MAX) - bytes));
    assert_true(pf_get_varint32(&c, &v));
    assert_true(v == UINT32_MAX);
    c = at_edge(bytes, (size_t)(pf_put_varint(bytes, (uint64_t)UINT32_MAX + 1) -
                                bytes));
    assert_false(pf_get_varint32(&c, &v));
    assert_true(v == UINT32_MAX);
}

static void
zigzag_is_as_specified_and_reversible(void **state)
{
    (void)state;
    assert_int_equal(pf_zigzag(0), 0);
    assert_int_equal(pf_zigzag(-1), 1);
    assert_int_equal(pf_zigzag(1), 2);
    assert_int_equal(pf_zigzag(-2), 3);
    const int32_t v[] = {0, 1, -1, 77, -78, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        assert_int_equal(pf_unzigzag(pf_zigzag(v[i])), v[i]);
}

static void
the_first_failure_sticks(void **state)
{
    (void)state;
    const uint8_t bytes[] = {1, 2, 3, 4, 5};
    pf_cur c = at_edge(bytes, sizeof bytes);
    uint32_t word;
    uint8_t byte = 9;
    assert_true(pf_get_u32(&c, &word));
    assert_false(pf_get_u32(&c, &word));
    assert_false(pf_get_u8(&c, &byte));
    assert_null(pf_get_bytes(&c, 1));
    assert_ptr_equal(c.bad, edge - 1);
    assert_int_equal(byte, 9);
}

static void
fixed_widths_follow_the_byte_order_of_the_writer(void **state)
{
    (void)state;
    uint8_t bytes[12];
    pf_put_u64(pf_put_u32(bytes, 0x01020304), 0x0102030405060708);
    pf_cur c = at_edge(bytes, sizeof bytes);
    c.swapped = true;
    uint32_t word;
    uint64_t wide;
    assert_true(pf_get_u32(&c, &word) && pf_get_u64(&c, &wide));
    assert_int_equal(word, 0x04030201);
    assert_true(wide == 0x0807060504030201);
    pf_put_le32(bytes, 0x184d2a5b);
    assert_memory_equal(bytes, "\x5b\x2a\x4d\x18", 4);
    assert_int_equal(pf_load_le32(bytes), 0x184d2a5b);
}

static void
a_count_beyond_its_bytes_is_refused(void **state)
{
    (void)state;
    const uint8_t fits[] = {2, 0, 0, 0, 0}, too_many[] = {3, 0, 0, 0, 0};
    uint64_t n = 7;
    pf_cur c = at_edge(fits, sizeof fits);
    assert_true(pf_get_count(&c, 2, &n));
    assert_int_equal(n, 2);
    c = at_edge(too_many, sizeof too_many);
    assert_false(pf_get_count(&c, 2, &n));
    assert_int_equal(n, 2);
}

static void
a_string_ends_within_its_bytes(void **state)
{
    (void)state;
    const uint8_t whole[] = {3, 'a', 0, 'b'};
    const char *s = NULL;
    size_t n = 0;
    pf_cur c = at_edge(whole, sizeof whole);
    assert_true(pf_get_string(&c, &s, &n));
    assert_int_equal(n, 3);
    assert_memory_equal(s, "a\0b", 3);
    for (size_t cut = 0; cut < sizeof whole; cut++) {
        c = at_edge(whole, cut);
        assert_false(pf_get_string(&c, &s, &n));
    }
}

static void
assert_same_frame(const pr_frame *a, const pr_frame *b)
{
    assert_int_equal(a->file, b->file);
    assert_int_equal(a->func, b->func);
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->end_line, b->end_line);
    assert_int_equal(a->column, b->column);
    assert_int_equal(a->end_column, b->end_column);
    assert_int_equal(a->opcode, b->opcode);
}

static void
a_frame_comes_back_from_its_entry_and_from_no_prefix_of_it(void **state)
{
    (void)state;
    const pr_frame frames[] = {
        {3, 4, 10, 12, 4, 40, 0, 255},
        {0, 0, -1, -1, -1, -1, 0, 255},
        {UINT32_MAX, UINT32_MAX, INT32_MAX, 0, INT32_MIN, -2, 0, 0},
        {1, 2, 5, 5, -1, -1, 0, 100},
        {1, 2, 5, -1, 7, -1, 0, 100},
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        uint8_t bytes[PF_FRAME_MAX];
        size_t n = (size_t)(pf_put_frame(bytes, &frames[i]) - bytes);
        assert_in_range(n, PF_FRAME_MIN, PF_FRAME_MAX);
        pr_frame back;
        pf_cur c = at_edge(bytes, n);
        assert_true(pf_get_frame(&c, &back));
        assert_same_frame(&back, &frames[i]);
        while (n-- > 0) {
            c = at_edge(bytes, n);
            assert_false(pf_get_frame(&c, &back));
        }
    }
}

static void
an_end_beyond_int32_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[PF_FRAME_MAX], *p = bytes;
    p = pf_put_varint(pf_put_varint(p, 0), 0);
    p = pf_put_varint(p, pf_zigzag(INT32_MAX));
    p = pf_put_varint(p, pf_zigzag(1));
    memcpy(p, "\0\0\xff", 3);
    pr_frame frame;
    pf_cur c = at_edge(bytes, (size_t)(p + 3 - bytes));
    assert_false(pf_get_frame(&c, &frame));
    assert_false(pf_place_fits(INT32_MAX, INT32_MIN));
    assert_true(pf_place_fits(-1, INT32_MIN));
    assert_true(pf_place_fits(INT32_MAX, -1));
}

static void
a_buffer_keeps_its_bytes_while_it_grows(void **state)
{
    (void)state;
    pf_buf b = {0};
    for (uint64_t i = 0; i < 10000; i++)
        pf_buf_varint(&b, i * i * i);
    pf_buf_string(&b, "end", 3);
    assert_false(b.failed);
    pf_cur c = pf_cur_of(b.p, b.n, false);
    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t v;
        assert_true(pf_get_varint(&c, &v));
        assert_true(v == i * i * i);
    }
    const char *s;
    size_t n;
    assert_true(pf_get_string(&c, &s, &n));
    assert_int_equal(pf_left(&c), 0);
    free(b.p);
}

static void
a_buffer_remembers_that_it_could_not_grow(void **state)
{
    (void)state;
    pf_buf b = {0};
    assert_true(pf_buf_reserve(&b, 1));
    pf_buf_u8(&b, 1);
    assert_false(pf_buf_reserve(&b, SIZE_MAX));
    assert_true(b.failed);
    assert_int_equal(b.n, 1);
    free(b.p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_varint_comes_back_and_takes_its_announced_size),
        cmocka_unit_test(a_cut_varint_is_refused_where_it_begins),
        cmocka_unit_test(a_varint_of_eleven_bytes_or_65_bits_is_refused),
        cmocka_unit_test(a_longer_varint_than_needed_is_read),
        cmocka_unit_test(a_value_above_32_bits_is_not_an_id),
        cmocka_unit_test(zigzag_is_as_specified_and_reversible),
        cmocka_unit_test(the_first_failure_sticks),
        cmocka_unit_test(fixed_widths_follow_the_byte_order_of_the_writer),
        cmocka_unit_test(a_count_beyond_its_bytes_is_refused),
        cmocka_unit_test(a_string_ends_within_its_bytes),
        cmocka_unit_test(
            a_frame_comes_back_from_its_entry_and_from_no_prefix_of_it),
        cmocka_unit_test(an_end_beyond_int32_is_refused),
        cmocka_unit_test(a_buffer_keeps_its_bytes_while_it_grows),
        cmocka_unit_test(a_buffer_remembers_that_it_could_not_grow),
    };
    return cmocka_run_group_tests(tests, map_edge, NULL);
}
