/*
 * test_layout.c - tables of offsets: real ones are understood, odd ones refused.
 */
#include "debug_offsets.h"
#include "fake_memory.h"

enum { FINAL = 0xf0, VERSION_WORD = 1 };

typedef struct table {
    uint8_t bytes[REC_TABLE_BYTES];
} table;

static table
table_of(const uint64_t *words, size_t size)
{
    table t = {{0}};
    memcpy(t.bytes, words, size);
    return t;
}

#define TABLE(words) table_of((words), sizeof(words))

static void
put_word(table *t, size_t word, uint64_t value)
{
    memcpy(t->bytes + 8 * word, &value, sizeof value);
}

static pr_code
load(const table *t, uint32_t hint, rec_layout *ret, pr_err *err)
{
    return rec_layout_load(t->bytes, hint, ret, err);
}

static rec_layout
loaded(const table *t, uint32_t hint)
{
    rec_layout l;
    pr_err err = PR_ERR_INIT;
    if (load(t, hint, &l, &err) != PR_OK)
        fail_msg("%s", err.what);
    return l;
}

static void
the_table_of_3_13_is_read(void **state)
{
    (void)state;
    table t = TABLE(table_3_13);
    rec_layout l = loaded(&t, 0);
    assert_int_equal(l.minor, 13);
    assert_false(l.free_threaded);
    assert_int_equal(l.runtime.interpreters_head, 632);
    assert_int_equal(l.interp.threads_main, REC_ABSENT);
    assert_int_equal(l.interp.code_generation, REC_ABSENT);
    assert_int_equal(l.tstate.current_frame, 72);
    assert_int_equal(l.tstate.cframe, REC_ABSENT);
    assert_int_equal(l.tstate.exc_info, 120);
    assert_int_equal(l.code.framesize, 76);
    assert_int_equal(l.object.compact_data, 56);
    assert_int_equal(l.gil.holder, 8);
    assert_int_equal(l.gil.locked, 16);
    assert_int_equal(l.gil.switch_number, 24);
    assert_int_equal(l.gen.cleared, 4);
    assert_int_equal(l.frame.tag_mask, 1);
}

static void
the_table_of_free_threaded_3_13_moves_all_objects(void **state)
{
    (void)state;
    table t = TABLE(table_3_13t);
    rec_layout l = loaded(&t, 0);
    assert_true(l.free_threaded);
    assert_int_equal(l.object.ob_type, 24);
    assert_int_equal(l.code.size, 224);
    assert_int_equal(l.code.framesize, 92);
    assert_int_equal(l.code.n_units, 32);
    assert_int_equal(l.object.bytes_data, 48);
    assert_int_equal(l.object.ascii_data, 56);
    assert_int_equal(l.object.unicode_kind_shift, 2);
    assert_int_equal(l.code.tlbc, REC_ABSENT);
}

static void
the_table_of_3_14_is_read(void **state)
{
    (void)state;
    table t = TABLE(table_3_14);
    rec_layout l = loaded(&t, 0);
    assert_int_equal(l.minor, 14);
    assert_int_equal(l.interp.threads_main, 7360);
    assert_int_equal(l.interp.code_generation, 7992);
    assert_int_equal(l.tstate.base_frame, REC_ABSENT);
    assert_int_equal(l.tstate.datastack_top, 240);
    assert_int_equal(l.code.tlbc, REC_ABSENT);
    assert_int_equal(l.gen.yield_from, -1);
    assert_int_equal(l.frame.tag_mask, 3);
    assert_int_equal(l.gc.stats, REC_ABSENT);
}

static void
the_table_of_3_15_is_read(void **state)
{
    (void)state;
    table t = TABLE(table_3_15);
    rec_layout l = loaded(&t, 0);
    assert_int_equal(l.minor, 15);
    assert_int_equal(l.tstate.base_frame, 80);
    assert_int_equal(l.tstate.last_profiled_frame_seq, 96);
    assert_int_equal(l.tstate.current_exception, 136);
    assert_int_equal(l.tstate.exc_info, 144);
    assert_int_equal(l.tstate.exc_state, 288);
    assert_int_equal(l.gc.stats, 104);
    assert_int_equal(l.gc.stats_size, 1120);
    assert_int_equal(l.gen.yield_from_locked, 3);
    assert_int_equal(l.gen.cleared, 5);
}

static void
free_threaded_3_14_keeps_the_kind_of_a_str_in_the_second_byte(void **state)
{
    (void)state;
    table t = TABLE(table_3_14t);
    rec_layout l = loaded(&t, 0);
    assert_true(l.free_threaded);
    assert_int_equal(l.object.unicode_kind_shift, 8);
    assert_int_equal(l.object.unicode_compact_bit, 11);
    assert_int_equal(l.object.unicode_ascii_bit, 12);
}

/* offsetof() with the headers of 3.13.5, 3.14.10 and 3.15.2 and
 * Py_GIL_DISABLED. */
static void
an_unpublished_offset_follows_from_its_neighbours(void **state)
{
    (void)state;
    const struct {
        table t;
        uint32_t cached_keys, dictoffset, exception, exc_state, top;
        uint32_t module_dict, modules, values;
    } build[] = {
        {TABLE(table_3_13), 880, 288, 112, 256, 240, 16, 7656, 24},
        {TABLE(table_3_14), 880, 288, 112, 256, 240, 16, 7688, 24},
        {TABLE(table_3_15), 888, 288, 136, 288, 264, 16, 7592, 24},
        {TABLE(table_3_13t), 896, 304, 112, 256, 240, 32, 7664, 8},
        {TABLE(table_3_14t), 896, 304, 112, 256, 240, 32, 7712, 8},
        {TABLE(table_3_15t), 904, 304, 136, 288, 264, 32, 7592, 8},
    };
    for (size_t i = 0; i < sizeof build / sizeof *build; i++) {
        rec_layout l = loaded(&build[i].t, 0);
        assert_int_equal(l.object.type_cached_keys, build[i].cached_keys);
        assert_int_equal(l.object.type_dictoffset, build[i].dictoffset);
        assert_int_equal(l.tstate.current_exception, build[i].exception);
        assert_int_equal(l.tstate.exc_state, build[i].exc_state);
        assert_int_equal(l.tstate.datastack_top, build[i].top);
        assert_int_equal(l.object.module_dict, build[i].module_dict);
        assert_int_equal(l.interp.modules, build[i].modules);
        assert_int_equal(l.attributes.dict_before, build[i].values);
    }
}

static void
free_threaded_3_15_keeps_one_collection_a_generation(void **state)
{
    (void)state;
    table t = TABLE(table_3_15t), gil = TABLE(table_3_15);
    rec_layout l = loaded(&t, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(l.gc_ring.entries[i], 1);
    assert_int_equal(l.gc.stats_size, 3 * (l.gc_ring.entry_size + 8) + 8);
    l = loaded(&gil, 0);
    assert_int_equal(l.gc_ring.entries[0], 11);
    assert_int_equal(l.gc_ring.entries[2], 3);
}

static void
versions_without_a_table_can_be_listed(void **state)
{
    (void)state;
    assert_int_equal(rec_layout_without_table(0), 0x030b00f0);
    assert_int_equal(rec_layout_without_table(1), 0x030c00f0);
    assert_int_equal(rec_layout_without_table(2), 0);
}

static void
versions_without_a_table_are_known(void **state)
{
    (void)state;
    table t = {{0}};
    rec_layout l = loaded(&t, 0x030b0200 | FINAL);
    assert_int_equal(l.minor, 11);
    assert_int_equal(l.tstate.status, REC_ABSENT);
    assert_int_equal(l.code.framesize, REC_ABSENT);
    assert_int_equal(l.object.compact_data, 72);
    l = loaded(&t, 0x030c0100 | FINAL);
    assert_int_equal(l.minor, 12);
    assert_int_equal(l.tstate.native_thread_id, 144);
    assert_int_equal(l.frame.owner_shim, 3);
    assert_int_equal(l.interp.ceval_gil, 384);
}

static void
expect_refused(const table *t, uint32_t hint, const char *word)
{
    rec_layout l = {.minor = 99};
    pr_err err = PR_ERR_INIT;
    assert_int_equal(load(t, hint, &l, &err), PR_NOT_PYTHON);
    if (!strstr(err.what, word))
        fail_msg("'%s' does not say '%s'", err.what, word);
    assert_int_equal(l.minor, 99);
}

static void
other_versions_are_refused_by_name(void **state)
{
    (void)state;
    table none = {{0}}, t = TABLE(table_3_15);
    expect_refused(&none, 0, "not known");
    expect_refused(&none, 0x030a0000 | FINAL, "3.10.0 is too old");
    expect_refused(&none, 0x030d0000 | FINAL, "without its table");
    expect_refused(&none, 0x02070000 | FINAL, "2.7.0 is too old");
    expect_refused(&none, 0x04000000 | FINAL, "4.0.0 is newer");
    put_word(&t, VERSION_WORD, 0x03100000 | FINAL);
    expect_refused(&t, 0, "3.16.0 is newer");
    put_word(&t, VERSION_WORD, 0x030f00b4);
    expect_refused(&t, 0, "3.15.0b4 is a pre-release");
    put_word(&t, VERSION_WORD, 0x030f00c1);
    expect_refused(&t, 0, "3.15.0rc1 is a pre-release");
}

/* Every word of a table set to values that lie outside of any struct: refused,
 * or a word that is not used.  An accepted table keeps its
 * promises. */
static void
check_promises(const rec_layout *l)
{
    assert_true(l->tstate.size <= REC_CAP_TSTATE);
    assert_true(l->frame.size <= REC_CAP_FRAME);
    assert_true(l->code.size <= REC_CAP_CODE);
    const uint32_t tstate[] = {
        l->tstate.prev,          l->tstate.next,
        l->tstate.interp,        l->tstate.current_frame,
        l->tstate.thread_id,     l->tstate.native_thread_id,
        l->tstate.datastack_top, l->tstate.datastack_chunk,
        l->tstate.exc_info,      l->tstate.current_exception};
    for (size_t i = 0; i < sizeof tstate / sizeof *tstate; i++)
        assert_true(tstate[i] + 8 <= l->tstate.size);
    const uint32_t code[] = {l->code.filename, l->code.qualname,
                             l->code.linetable, l->code.n_units};
    for (size_t i = 0; i < sizeof code / sizeof *code; i++)
        assert_true(code[i] + 8 <= l->code.size);
    assert_true(l->code.framesize + 4 <= l->code.size);
    assert_true(l->frame.localsplus + 8 <= l->frame.size);
    assert_true(l->frame.owner < l->frame.size);
    assert_true(l->object.ascii_data <= REC_CAP_OBJECT);
    assert_true(l->object.unicode_state + 4 <= REC_CAP_OBJECT);
    assert_true(l->gil.switch_number + 8 <= 64);
}

static void
try_wild_words(const table *t, size_t words)
{
    static const uint64_t wild[] = {
        1,          7, 4096, UINT32_MAX, 1u << 31, UINT64_MAX, UINT64_MAX - 7,
        1ull << 47, 0};
    size_t refused = 0;
    for (size_t w = VERSION_WORD; w < words; w++)
        for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
            table bent = *t;
            rec_layout l;
            put_word(&bent, w, wild[i]);
            if (load(&bent, 0, &l, NULL) == PR_OK)
                check_promises(&l);
            else
                refused++;
        }
    assert_true(refused > words);
}

static void
no_wild_word_gets_out_of_its_struct(void **state)
{
    (void)state;
    table a = TABLE(table_3_13), b = TABLE(table_3_14), c = TABLE(table_3_15);
    table d = TABLE(table_3_15t);
    try_wild_words(&a, sizeof table_3_13 / 8);
    try_wild_words(&b, sizeof table_3_14 / 8);
    try_wild_words(&c, sizeof table_3_15 / 8);
    try_wild_words(&d, sizeof table_3_15t / 8);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_3_13_is_read),
        cmocka_unit_test(the_table_of_free_threaded_3_13_moves_all_objects),
        cmocka_unit_test(the_table_of_3_14_is_read),
        cmocka_unit_test(the_table_of_3_15_is_read),
        cmocka_unit_test(
            free_threaded_3_14_keeps_the_kind_of_a_str_in_the_second_byte),
        cmocka_unit_test(an_unpublished_offset_follows_from_its_neighbours),
        cmocka_unit_test(free_threaded_3_15_keeps_one_collection_a_generation),
        cmocka_unit_test(versions_without_a_table_are_known),
        cmocka_unit_test(versions_without_a_table_can_be_listed),
        cmocka_unit_test(other_versions_are_refused_by_name),
        cmocka_unit_test(no_wild_word_gets_out_of_its_struct),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
