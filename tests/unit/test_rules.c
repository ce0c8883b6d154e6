/*
 * test_rules.c - rules of a check: what they mean, hostile ones, random ones.
 *
 * usage: test_rules [RANDOM_RULES [SEED]]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/compare/rules.h"
#include <cmocka.h>

#include <math.h>

static unsigned long n_random = 20000, seed = 1;

/* ---- one rule ---- */

static void
rules_mean_what_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_max;
        q_rule_subject subject;
        unsigned measure;
        const char *name;
        double limit;
        q_rule_unit unit;
        bool significant;
    } table[] = {
        {"self(*) > +5% and significant", false, Q_RULE_FUNCTION, Q_SELF, "*",
         5, Q_IN_PERCENT, true},
        {"\ttotal ( a.b(c)(d) )>+ 2.5pt ", false, Q_RULE_FUNCTION, Q_TOTAL,
         " a.b(c)(d) ", 2.5, Q_IN_POINTS, false},
        {"ran(f) > +250us", false, Q_RULE_FUNCTION, Q_RAN, "f", 250e-6,
         Q_IN_SECONDS, false},
        {"seconds>+1s", false, Q_RULE_SECONDS, Q_SELF, "", 1, Q_IN_SECONDS,
         false},
        {"factor > +.5%", false, Q_RULE_FACTOR, Q_SELF, "", .5, Q_IN_PERCENT,
         false},
        {"total(f) < 20ms", true, Q_RULE_FUNCTION, Q_TOTAL, "f", .02,
         Q_IN_SECONDS, false},
        {"gc < 10%", true, Q_RULE_GC, Q_SELF, "", 10, Q_IN_PERCENT, false},
        {"missed<0%", true, Q_RULE_MISSED, Q_SELF, "", 0, Q_IN_PERCENT, false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        q_rule rule;
        assert_int_equal(
            q_rule_parse(table[i].text, table[i].is_max, &rule, NULL), PR_OK);
        assert_int_equal(rule.subject, table[i].subject);
        assert_int_equal(rule.measure, table[i].measure);
        assert_string_equal(rule.name, table[i].name);
        assert_true(fabs(rule.limit - table[i].limit) < 1e-12);
        assert_int_equal(rule.unit, table[i].unit);
        assert_int_equal(rule.significant, table[i].significant);
    }
}

static void
hostile_rules_are_refused_with_the_place_of_the_fault(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_max;
        const char *fault;
    } table[] = {
        {"", false, "ends where self()"},
        {" \n\t", true, "ends where self()"},
        {"self", false, "ends where '('"},
        {"self(", false, "ends where the name"},
        {"self() > +5%", false, "') > +5%' is not the name"},
        {"self(((((((((", false, "'((((((((' is not the name"},
        {"self(f)) > +5%", false, "') > +5%' is not '>'"},
        {"self(f) > 5%", false, "'5%' is not '+'"},
        {"self(f) > +-5%", false, "'-5%' is not a number"},
        {"self(f) > +nan%", false, "'nan%' is not a number"},
        {"self(f) > +inf%", false, "'inf%' is not a number"},
        {"self(f) > +0x5%", false, "'x5%' is not a unit"},
        {"self(f) > +1e9%", false, "'e9%' is not a unit"},
        {"self(f) > +.%", false, "'.%' is not a number"},
        {"self(f) > +1.2.3%", false, "'.3%' is not a unit"},
        {"self(f) > +9999999999999999%", false, "is not a number"},
        {"self(f) > +5%%", false, "'%' is not the end"},
        {"self(f) > +5 and significant", false, "is not a unit"},
        {"self(f) > +5% and", false, "ends where 'significant'"},
        {"self(f) > +5% significant", false, "'significant' is not the end"},
        {"self(f) > +5% andsignificant", false, "is not the end"},
        {"selfish(f) > +5%", false, "'selfish(f) > +5%' is not self()"},
        {"SELF(f) > +5%", false, "is not self()"},
        {"gc > +5%", false, "'gc > +5%' is not self()"},
        {"factor < 5%", true, "'factor < 5%' is not self()"},
        {"seconds < 5%", true, "'%' is not a unit"},
        {"gc < 5s", true, "'s' is not a unit"},
        {"gc < 5pt", true, "'pt' is not a unit"},
        {"gc < 5% and significant", true, "'and significant' is not the end"},
        {"\xff\xfe(f) > +5%", false, "is not self()"},
        {"self(f) \xe2\x89\xa5 +5%", false, "is not '>'"},
        {"%s%n%s%n", false, "'%s%n%s%n' is not self()"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        q_rule rule = {.text = "untouched"};
        pr_err err = PR_ERR_INIT;
        assert_int_equal(
            q_rule_parse(table[i].text, table[i].is_max, &rule, &err),
            PR_USAGE);
        assert_string_equal(rule.text, "untouched");
        if (!strstr(err.what, table[i].fault))
            fail_msg("'%s': %s", table[i].text, err.what);
    }
}

/* A name has at most 255 bytes; texts of any length end in one message. */
static void
long_rules_are_bounded(void **state)
{
    (void)state;
    static char text[100000];
    q_rule rule;
    pr_err err = PR_ERR_INIT;
    for (size_t n = 254; n < 258; n++) {
        snprintf(text, sizeof text, "self(%0*d) > +5%%", (int)n, 0);
        assert_int_equal(q_rule_parse(text, false, &rule, NULL),
                         n <= 255 ? PR_OK : PR_USAGE);
        if (n <= 255)
            assert_int_equal(strlen(rule.name), n);
    }
    memset(text, '(', sizeof text - 1);
    memcpy(text, "self", 4);
    assert_int_equal(q_rule_parse(text, false, &rule, &err), PR_USAGE);
    assert_true(strlen(err.what) < sizeof err.what);
}

/* ---- random rules ---- */

static size_t
below(size_t n)
{
    static unsigned long long x;
    x = (x ? x : seed) * 6364136223846793005u + 1442695040888963407u;
    return (size_t)((x >> 33) % n);
}

static void
add(char *to, size_t cap, const char *word)
{
    strncat(to, word, cap - strlen(to) - 1);
}

/* Pieces of rules, mostly in their order, and at times a byte of any value. */
static void
make_rule(char *ret, size_t cap)
{
    static const char *const piece[6][6] = {
        {"self(f)", "total(*)", "ran(a.b:c)", "seconds", "factor", "gc"},
        {">", "<", ">", "<", "> ", ""},
        {"+", "", "+", "", " + ", "-"},
        {"5", "0.25", "00", "1000000000", ".5", "999999999999999999"},
        {"%", "pt", "s", "ms", "us", " % "},
        {"", "", "and significant", " and  significant ", "and", "("}};
    ret[0] = '\0';
    for (size_t i = 0; i < 6; i++) {
        size_t row = below(20) ? i : below(6);
        add(ret, cap, piece[row][below(6)]);
        if (below(4) == 0)
            add(ret, cap, " ");
    }
    for (size_t n = strlen(ret); n && below(3) == 0;)
        ret[below(n)] = (char)(1 + below(255));
}

static void
check_parsed(const q_rule *rule, bool is_max, size_t len)
{
    assert_true(isfinite(rule->limit) && rule->limit >= 0);
    assert_true(rule->is_max == is_max && rule->measure < Q_MEASURES);
    assert_true(strlen(rule->name) < len);
    assert_true(!rule->significant || !is_max);
    assert_true((rule->name[0] != '\0') == (rule->subject == Q_RULE_FUNCTION));
}

/* The text lies alone in memory, so that a sanitizer sees a read beyond it. */
static bool
try_rule(const char *text, bool is_max, q_rule *ret)
{
    size_t len = strlen(text);
    char *alone = malloc(len + 1);
    pr_err err = PR_ERR_INIT;
    assert_non_null(alone);
    memcpy(alone, text, len + 1);
    pr_code rc = q_rule_parse(alone, is_max, ret, &err);
    if (rc == PR_OK)
        check_parsed(ret, is_max, len);
    else
        assert_true(rc == PR_USAGE && err.what[0]);
    ret->text = NULL;
    free(alone);
    return rc == PR_OK;
}

static void
match_all(const q_rule *rule, const q_sides *sides)
{
    for (size_t f = 0; f < sides->key.n; f++)
        for (unsigned reading = 0; reading < Q_RULE_READINGS; reading++)
            (void)q_rule_matches(rule, sides, f, reading);
}

/* A rule that is one stays one with space at its end, and is none with more
 * text. */
static void
random_rules_are_rules_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        size_t len;
    } keys[] = {{"\0", 1},
                {"\0f", 2},
                {"a\0", 2},
                {"a.py\0b", 6},
                {"/x/a.py\0b:c", 11},
                {"\xff\0\xff.f", 5},
                {"a/__init__.py\0f", 15}};
    q_sides sides = {0};
    size_t parsed = 0;
    uint32_t id;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_int_equal(
            pr_strings_add(&sides.key, keys[i].key, keys[i].len, &id, NULL),
            PR_OK);
    for (unsigned long i = 0; i < n_random; i++) {
        char text[128], longer[160];
        q_rule rule, again;
        bool is_max = below(2);
        make_rule(text, sizeof text);
        if (!try_rule(text, is_max, &rule))
            continue;
        parsed++;
        snprintf(longer, sizeof longer, "%s \t", text);
        assert_true(try_rule(longer, is_max, &again));
        assert_true(again.limit == rule.limit && again.unit == rule.unit);
        assert_string_equal(again.name, rule.name);
        snprintf(longer, sizeof longer, "%s x", text);
        assert_false(try_rule(longer, is_max, &again));
        match_all(&rule, &sides);
    }
    printf("seed %lu: %zu of %lu are rules\n", seed, parsed, n_random);
    assert_true(parsed > n_random / 100);
    pr_strings_release(&sides.key);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_mean_what_they_say),
        cmocka_unit_test(hostile_rules_are_refused_with_the_place_of_the_fault),
        cmocka_unit_test(long_rules_are_bounded),
        cmocka_unit_test(random_rules_are_rules_or_refused),
    };
    if (argc > 1)
        n_random = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoul(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
