/*
 * test_cgroup.c - paths of groups, and counts of throttling, from the texts of
 * the kernel.
 */
#include "recorder/linux/cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char both[] = "12:name=systemd:/system.slice/a.service\n"
                           "5:cpuset:/not/this\n"
                           "4:cpu,cpuacct:/kube pods/pod:1\n"
                           "2:freezer:/\n"
                           "0::/system.slice/a.service\n";

static void
a_path_is_that_of_the_named_hierarchy(void **state)
{
    (void)state;
    char path[64];
    assert_true(rec_cgroup_path(both, "cpu", path, sizeof path));
    assert_string_equal(path, "/kube pods/pod:1");
    assert_true(rec_cgroup_path(both, "cpuacct", path, sizeof path));
    assert_string_equal(path, "/kube pods/pod:1");
    assert_true(rec_cgroup_path(both, "freezer", path, sizeof path));
    assert_string_equal(path, "/");
    assert_true(rec_cgroup_path(both, NULL, path, sizeof path));
    assert_string_equal(path, "/system.slice/a.service");
    assert_false(rec_cgroup_path(both, "memory", path, sizeof path));
    assert_false(rec_cgroup_path("1:cpu:/a\n", NULL, path, sizeof path));
}

static void
a_path_that_cannot_be_used_is_not_known(void **state)
{
    (void)state;
    char path[8];
    assert_false(rec_cgroup_path("0::/1234567\n", NULL, path, sizeof path));
    assert_true(rec_cgroup_path("0::/123456\n", NULL, path, sizeof path));
    assert_false(rec_cgroup_path("0::/../b\n", NULL, path, sizeof path));
    assert_false(rec_cgroup_path("", "cpu", path, sizeof path));
    assert_false(rec_cgroup_path("4:cpu", "cpu", path, sizeof path));
    assert_false(rec_cgroup_path("4:cpu:", "cpu", path, sizeof path));
    assert_false(rec_cgroup_path("\n\n:::\n", "cpu", path, sizeof path));
}

static void
both_versions_count_in_microseconds(void **state)
{
    (void)state;
    rec_bandwidth b;
    assert_true(rec_bandwidth_parse("nr_periods 70\nnr_throttled 6\n"
                                    "throttled_time 123456789\n",
                                    &b));
    assert_int_equal(b.periods, 70);
    assert_int_equal(b.throttled, 6);
    assert_int_equal(b.throttled_us, 123456);
    assert_true(rec_bandwidth_parse("usage_usec 9\nnr_periods 7\n"
                                    "nr_throttled 1\nthrottled_usec 42\n",
                                    &b));
    assert_int_equal(b.throttled_us, 42);
}

static void
a_group_without_a_limit_has_no_counts(void **state)
{
    (void)state;
    rec_bandwidth b;
    assert_false(rec_bandwidth_parse("", &b));
    assert_false(rec_bandwidth_parse("usage_usec 9\nuser_usec 8\n", &b));
    assert_false(rec_bandwidth_parse("nr_periods x\nnr_throttled 1\n"
                                     "throttled_usec 4\n",
                                     &b));
    assert_false(rec_bandwidth_parse("nr_periods 1\nnr_throttled 1\n", &b));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_that_of_the_named_hierarchy),
        cmocka_unit_test(a_path_that_cannot_be_used_is_not_known),
        cmocka_unit_test(both_versions_count_in_microseconds),
        cmocka_unit_test(a_group_without_a_limit_has_no_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
