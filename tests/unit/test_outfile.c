/*
 * test_outfile.c - outputs appear whole or not at all; JSON and marshal onto
 * them byte by byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "converter/encode/json.h"
#include "converter/encode/marshal.h"
#include "converter/encode/outfile.h"

static char folder[] = "/tmp/outfile-XXXXXX";
static char path[64];

static int
enter_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/out", folder);
    return 0;
}

static int
leave_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static size_t
count_files(void)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static size_t
read_file(char *buffer, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(buffer, 1, size, file);
    fclose(file);
    return n;
}

static conv_outfile *
open_out(bool force)
{
    conv_outfile *out;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(conv_out_open(path, force, false, 0666, NULL, &out, &err),
                     PR_OK);
    return out;
}

static void
the_name_is_taken_by_commit(void **state)
{
    (void)state;
    conv_outfile *out = open_out(false);
    conv_out_puts(out, "hello");
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(conv_out_commit(out, NULL), PR_OK);
    char got[16];
    assert_int_equal(read_file(got, sizeof got), 5);
    assert_memory_equal(got, "hello", 5);
    assert_int_equal(count_files(), 1);
    unlink(path);
}

static void
an_aborted_output_leaves_nothing(void **state)
{
    (void)state;
    conv_outfile *out = open_out(false);
    conv_out_puts(out, "half");
    conv_out_abort(out);
    assert_int_equal(count_files(), 0);
}

static void
nothing_is_left_of_an_output_whose_process_is_killed(void **state)
{
    (void)state;
    int fd = open(folder, O_TMPFILE | O_WRONLY, 0600);
    if (fd < 0)
        skip(); /* this file system has no files without a name */
    close(fd);
    pid_t child = fork();
    if (child == 0) {
        conv_outfile *out;
        if (conv_out_open(path, false, false, 0666, NULL, &out, NULL) ==
            PR_OK) {
            for (unsigned i = 0; i < 100000; i++)
                conv_out_puts(out, "half of it");
            kill(getpid(), SIGKILL);
        }
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(count_files(), 0);
}

static void
an_output_written_by_path_has_a_name_from_the_start(void **state)
{
    (void)state;
    conv_outfile *out;
    assert_int_equal(conv_out_open(path, false, true, 0666, NULL, &out, NULL),
                     PR_OK);
    FILE *file = fopen(conv_out_path(out), "w");
    assert_non_null(file);
    fputs("whole", file);
    fclose(file);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(conv_out_commit(out, NULL), PR_OK);
    char got[16];
    assert_int_equal(read_file(got, sizeof got), 5);
    assert_int_equal(count_files(), 1);
    unlink(path);
}

static void
an_existing_file_is_replaced_only_by_force_and_only_at_the_end(void **state)
{
    (void)state;
    conv_outfile *out = open_out(false), *refused = NULL;
    pr_err err = PR_ERR_INIT;
    conv_out_puts(out, "old");
    assert_int_equal(conv_out_commit(out, NULL), PR_OK);
    assert_int_equal(
        conv_out_open(path, false, false, 0666, NULL, &refused, &err),
        PR_EXISTS);
    assert_null(refused);
    assert_true(err.hint[0] != '\0');
    char got[16];
    out = open_out(true);
    conv_out_puts(out, "new!");
    assert_int_equal(read_file(got, sizeof got), 3);
    assert_int_equal(conv_out_commit(out, NULL), PR_OK);
    assert_int_equal(read_file(got, sizeof got), 4);
    unlink(path);
}

static void
the_first_writer_keeps_the_name(void **state)
{
    (void)state;
    conv_outfile *one = open_out(false), *two = open_out(false);
    pr_err err = PR_ERR_INIT;
    conv_out_puts(one, "1");
    conv_out_puts(two, "22");
    assert_int_equal(conv_out_commit(one, NULL), PR_OK);
    assert_int_equal(conv_out_commit(two, &err), PR_EXISTS);
    char got[4];
    assert_int_equal(read_file(got, sizeof got), 1);
    assert_int_equal(count_files(), 1);
    unlink(path);
}

static void
commit_reports_a_full_disk(void **state)
{
    (void)state;
    conv_outfile *out;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(
        conv_out_open("/dev/full", false, false, 0666, NULL, &out, &err),
        PR_OK);
    conv_out_puts(out, "x");
    assert_int_equal(conv_out_commit(out, &err), PR_IO);
    assert_true(err.sys != 0);
}

static void
an_output_is_not_a_device_and_has_a_folder(void **state)
{
    (void)state;
    conv_outfile *out = NULL;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(
        conv_out_open("/dev/null", true, true, 0666, NULL, &out, &err),
        PR_USAGE);
    pr_err_clear(&err);
    assert_int_equal(conv_out_open("-", true, true, 0666, NULL, &out, &err),
                     PR_USAGE);
    pr_err_clear(&err);
    assert_int_equal(
        conv_out_open("/nowhere/x", false, false, 0666, NULL, &out, &err),
        PR_IO);
    assert_null(out);
}

/* Writes of all lengths; some are larger than all blocks together. */
static void
write_in_pieces(conv_outfile *out, const char *all, size_t size)
{
    for (size_t i = 0, n = 1; i < size; i += n, n = n * 3 % 2000003 + 1) {
        if (n > size - i)
            n = size - i;
        if (n <= CONV_OUT_RESERVE) {
            char *room = conv_out_reserve(out, n);
            memcpy(room, all + i, n);
            conv_out_advance(out, room + n);
        } else {
            conv_out_write(out, all + i, n);
        }
    }
}

static size_t
read_gzip(char *buffer, size_t size)
{
    gzFile file = gzopen(path, "rb");
    assert_non_null(file);
    int n = gzread(file, buffer, (unsigned)size);
    assert_int_equal(gzclose(file), Z_OK);
    return n < 0 ? 0 : (size_t)n;
}

static void
long_writes_come_out_in_order(void **state)
{
    (void)state;
    enum { SIZE = 9000000 };
    const size_t sizes[] = {0, 1, 262144, 262145, 700000, SIZE};
    char *all = malloc(SIZE), *got = malloc(SIZE + 1);
    assert_true(all && got);
    for (size_t i = 0; i < SIZE; i++)
        all[i] = (char)(i * 31 % 251 + i / 65536);
    for (size_t i = 0; i < 6 * sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i / 6];
        int jobs = (int)(i % 3);
        bool gzip = i % 6 >= 3;
        conv_outfile *out = open_out(false);
        conv_out_use_threads(out, jobs);
        if (gzip)
            conv_out_compress(out);
        write_in_pieces(out, all, size);
        assert_int_equal(conv_out_commit(out, NULL), PR_OK);
        size_t n = gzip ? read_gzip(got, SIZE + 1) : read_file(got, SIZE + 1);
        assert_int_equal(n, size);
        assert_memory_equal(got, all, size);
        unlink(path);
    }
    free(all);
    free(got);
}

/* The thread that writes meets the full disk; the caller learns of it. */
static void
a_full_disk_is_reported_whoever_writes(void **state)
{
    (void)state;
    for (int jobs = 0; jobs < 3; jobs++) {
        conv_outfile *out;
        pr_err err = PR_ERR_INIT;
        assert_int_equal(
            conv_out_open("/dev/full", false, false, 0666, NULL, &out, &err),
            PR_OK);
        conv_out_use_threads(out, jobs);
        for (unsigned i = 0; i < 1000000 && conv_out_good(out); i++)
            conv_out_puts(out, "a text of some length");
        assert_int_equal(conv_out_commit(out, &err), PR_IO);
        assert_int_equal(err.sys, ENOSPC);
    }
}

static void
an_output_is_given_up_while_threads_write(void **state)
{
    (void)state;
    for (int jobs = 0; jobs < 3; jobs++) {
        conv_outfile *out = open_out(false);
        conv_out_use_threads(out, jobs);
        if (jobs == 2)
            conv_out_compress(out);
        for (unsigned i = 0; i < 100000; i++)
            conv_out_puts(out, "a text of some length");
        conv_out_abort(out);
        assert_int_equal(count_files(), 0);
    }
}

static void
an_output_beyond_its_limit_fails(void **state)
{
    (void)state;
    for (int jobs = 0; jobs < 2; jobs++) {
        conv_outfile *out = open_out(false);
        pr_err err = PR_ERR_INIT;
        conv_out_use_threads(out, jobs);
        conv_out_limit(out, 1000000);
        for (unsigned i = 0; i < 1000001; i++)
            conv_out_write(out, "x", 1);
        assert_int_equal(conv_out_commit(out, &err), PR_LIMIT);
        assert_int_equal(count_files(), 0);
    }
}

/* ---- JSON ---- */

static void
json_has_its_commas_and_escapes(void **state)
{
    (void)state;
    conv_outfile *out = open_out(false);
    conv_json json = {.out = out};
    conv_json_open(&json, '{');
    conv_json_key(&json, "a");
    conv_json_open(&json, '[');
    conv_json_u64(&json, 0);
    conv_json_open(&json, '[');
    conv_json_close(&json, ']');
    conv_json_u64(&json, UINT64_MAX);
    conv_json_close(&json, ']');
    conv_json_key(&json, "b");
    conv_json_string(&json, "\"\\\n\t\0\x7f\xff\xc3\xa9", 9);
    conv_json_close(&json, '}');
    assert_int_equal(json.text.changed, 1);
    conv_json_release(&json);
    assert_int_equal(conv_out_commit(out, NULL), PR_OK);
    const char want[] = "{\"a\":[0,[],18446744073709551615],\"b\":\"\\\"\\\\\\n"
                        "\\t\\u0000\\u007f\xef\xbf\xbd\xc3\xa9\"}";
    char got[128];
    assert_int_equal(read_file(got, sizeof got), sizeof want - 1);
    assert_memory_equal(got, want, sizeof want - 1);
    unlink(path);
}

/* ---- marshal ---- */

static void
python_reads_the_marshalled_bytes(void **state)
{
    (void)state;
    conv_outfile *out = open_out(false);
    conv_marshal m = {.out = out};
    conv_marshal_dict(&m);
    uint32_t ref = conv_marshal_tuple(&m, 2, true);
    conv_marshal_string(&m, "a\xed\xb3\xa9", 4, true);
    conv_marshal_u64(&m, 1);
    conv_marshal_double(&m, 0.5);
    conv_marshal_ref(&m, ref);
    conv_marshal_u64(&m, 1ull << 40);
    conv_marshal_true(&m);
    conv_marshal_u64(&m, 0x7fffffff);
    conv_marshal_dict_end(&m);
    assert_false(m.failed);
    conv_marshal_release(&m);
    assert_int_equal(conv_out_commit(out, NULL), PR_OK);
    /* {('a\udce9', 1): 0.5, <the key again>: 2**40, True: 2**31 - 1} */
    const char want[] = "{\xa9\2u\4\0\0\0a\xed\xb3\xa9i\1\0\0\0"
                        "g\0\0\0\0\0\0\xe0\x3f"
                        "r\0\0\0\0l\3\0\0\0\0\0\0\0\0\4"
                        "Ti\xff\xff\xff\x7f"
                        "0";
    char got[128];
    assert_int_equal(read_file(got, sizeof got), sizeof want - 1);
    assert_memory_equal(got, want, sizeof want - 1);
    unlink(path);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_is_taken_by_commit),
        cmocka_unit_test(an_aborted_output_leaves_nothing),
        cmocka_unit_test(nothing_is_left_of_an_output_whose_process_is_killed),
        cmocka_unit_test(an_output_written_by_path_has_a_name_from_the_start),
        cmocka_unit_test(
            an_existing_file_is_replaced_only_by_force_and_only_at_the_end),
        cmocka_unit_test(the_first_writer_keeps_the_name),
        cmocka_unit_test(commit_reports_a_full_disk),
        cmocka_unit_test(an_output_is_not_a_device_and_has_a_folder),
        cmocka_unit_test(long_writes_come_out_in_order),
        cmocka_unit_test(a_full_disk_is_reported_whoever_writes),
        cmocka_unit_test(an_output_is_given_up_while_threads_write),
        cmocka_unit_test(an_output_beyond_its_limit_fails),
        cmocka_unit_test(json_has_its_commas_and_escapes),
        cmocka_unit_test(python_reads_the_marshalled_bytes),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
