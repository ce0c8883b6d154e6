/*
 * rules.c - a rule is a subject, a comparison and a limit.
 */
#include "query/compare/rules.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

typedef struct cursor {
    const char *p;
    pr_err *err;
} cursor;

static pr_code
fail(const cursor *c, const char *wanted)
{
    if (!c->p[0])
        return PR_FAIL(c->err, PR_USAGE, "the rule ends where %s is expected",
                       wanted);
    return PR_FAIL(c->err, PR_USAGE, "'%.40s' is not %s", c->p, wanted);
}

static void
skip_space(cursor *c)
{
    while (isspace((unsigned char)*c->p))
        c->p++;
}

static bool
take(cursor *c, const char *word)
{
    size_t n = strlen(word);
    skip_space(c);
    if (strncmp(c->p, word, n) != 0 ||
        (isalpha((unsigned char)word[0]) && isalpha((unsigned char)c->p[n])))
        return false;
    c->p += n;
    return true;
}

/* ---- the subject ---- */

static const struct subject {
    const char *word;
    q_rule_subject subject;
    unsigned measure;
    bool of_change, of_new;
} subjects[] = {
    {"self", Q_RULE_FUNCTION, Q_SELF, true, true},
    {"total", Q_RULE_FUNCTION, Q_TOTAL, true, true},
    {"ran", Q_RULE_FUNCTION, Q_RAN, true, true},
    {"seconds", Q_RULE_SECONDS, Q_SELF, true, true},
    {"factor", Q_RULE_FACTOR, Q_SELF, true, false},
    {"gc", Q_RULE_GC, Q_SELF, false, true},
    {"missed", Q_RULE_MISSED, Q_SELF, false, true},
    {"lost", Q_RULE_LOST, Q_SELF, false, true},
    {"unobserved", Q_RULE_UNOBSERVED, Q_SELF, false, true},
};

/* "(json.dumps)": up to the parenthesis that closes the first. */
static pr_code
take_name(cursor *c, q_rule *rule)
{
    size_t depth = 1, n = 0;
    if (!take(c, "("))
        return fail(c, "'(' and the name of a function");
    const char *begin = c->p;
    for (; begin[n]; n++) {
        depth += begin[n] == '(';
        depth -= begin[n] == ')';
        if (!depth)
            break;
    }
    if (!begin[n] || n == 0 || n >= sizeof rule->name)
        return fail(c, "the name of a function and ')'");
    memcpy(rule->name, begin, n);
    rule->name[n] = '\0';
    c->p += n + 1;
    return PR_OK;
}

static pr_code
take_subject(cursor *c, q_rule *rule)
{
    const char *wanted = rule->is_max
                             ? "self(), total(), ran(), seconds, gc, missed,"
                               " lost or unobserved"
                             : "self(), total(), ran(), seconds or factor";
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        const struct subject *s = &subjects[i];
        const char *before = c->p;
        if (!take(c, s->word))
            continue;
        if (!(rule->is_max ? s->of_new : s->of_change)) {
            c->p = before;
            break;
        }
        rule->subject = s->subject;
        rule->measure = s->measure;
        return s->subject == Q_RULE_FUNCTION ? take_name(c, rule) : PR_OK;
    }
    return fail(c, wanted);
}

/* ---- the limit ---- */

static const struct unit {
    const char *word;
    q_rule_unit unit;
    double factor;
} units[] = {{"%", Q_IN_PERCENT, 1},
             {"pt", Q_IN_POINTS, 1},
             {"ms", Q_IN_SECONDS, 1e-3},
             {"us", Q_IN_SECONDS, 1e-6},
             {"s", Q_IN_SECONDS, 1}};

/* Digits with at most one point: no sign, exponent, hexadecimal or locale. */
static pr_code
take_number(cursor *c, double *ret)
{
    double value = 0, scale = 1;
    bool point = false, any = false;
    skip_space(c);
    const char *p = c->p;
    for (; isdigit((unsigned char)*p) || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        any = true;
        value = value * 10 + (*p - '0');
        scale *= point ? 10 : 1;
    }
    if (!any || p - c->p > 15)
        return fail(c, "a number");
    c->p = p;
    *ret = value / scale;
    return PR_OK;
}

static bool
fits(const q_rule *rule, q_rule_unit unit)
{
    bool of_time =
        rule->subject == Q_RULE_FUNCTION || rule->subject == Q_RULE_SECONDS;
    if (unit == Q_IN_SECONDS)
        return of_time;
    if (unit == Q_IN_POINTS)
        return !rule->is_max && rule->subject == Q_RULE_FUNCTION;
    return !rule->is_max || rule->subject != Q_RULE_SECONDS;
}

static pr_code
take_unit(cursor *c, q_rule *rule)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const char *before = c->p;
        if (!take(c, units[i].word))
            continue;
        if (!fits(rule, units[i].unit)) {
            c->p = before;
            break;
        }
        rule->unit = units[i].unit;
        rule->limit *= units[i].factor;
        return PR_OK;
    }
    return fail(c, "a unit that fits: %, pt, s, ms or us");
}

static pr_code
take_limit(cursor *c, q_rule *rule)
{
    if (!take(c, rule->is_max ? "<" : ">"))
        return fail(c, rule->is_max ? "'<'" : "'>'");
    if (!rule->is_max && !take(c, "+"))
        return fail(c, "'+' and a number");
    pr_code rc = take_number(c, &rule->limit);
    return rc == PR_OK ? take_unit(c, rule) : rc;
}

pr_code
q_rule_parse(const char *text, bool is_max, q_rule *ret, pr_err *err)
{
    cursor c = {text, err};
    q_rule rule = {.text = text, .is_max = is_max};
    pr_code rc = take_subject(&c, &rule);
    if (rc == PR_OK)
        rc = take_limit(&c, &rule);
    if (rc == PR_OK && !is_max && take(&c, "and")) {
        rule.significant = take(&c, "significant");
        rc = rule.significant ? PR_OK : fail(&c, "'significant'");
    }
    skip_space(&c);
    if (rc == PR_OK && *c.p)
        rc = fail(&c, "the end of the rule");
    if (rc == PR_OK)
        *ret = rule;
    else
        pr_err_wrap(err, "rule '%s'", text);
    return rc;
}

/* ---- names ---- */

static bool
equals(pr_bytes a, const char *b)
{
    return a.len == strlen(b) && memcmp(a.at, b, a.len) == 0;
}

static pr_bytes
after_last(pr_bytes whole, char sign)
{
    size_t n = whole.len;
    while (n > 0 && whole.at[n - 1] != sign)
        n--;
    return (pr_bytes){whole.at + n, whole.len - n};
}

/* "shop.py:Cart.total": does the file, or its last part, and the name? */
static bool
matches_place(const char *name, pr_bytes file, pr_bytes function)
{
    size_t n = strlen(name);
    return n == file.len + 1 + function.len && name[file.len] == ':' &&
           memcmp(name, file.at, file.len) == 0 &&
           memcmp(name + file.len + 1, function.at, function.len) == 0;
}

static bool
ends_with(pr_bytes whole, const char *end)
{
    size_t n = strlen(end);
    return whole.len > n && whole.at[whole.len - n - 1] == '.' &&
           memcmp(whole.at + whole.len - n, end, n) == 0;
}

/* The path without the ending of a Python file. */
static pr_bytes
module_path(pr_bytes path)
{
    static const char *const endings[] = {"/__init__.py", ".py"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i]);
        if (path.len > n && memcmp(path.at + path.len - n, endings[i], n) == 0)
            return (pr_bytes){path.at, path.len - n};
    }
    return path;
}

/* "json.dumps": dumps of json/__init__.py, or of json.py. */
static bool
matches_module(const char *name, pr_bytes path, pr_bytes function)
{
    size_t n = strlen(name);
    if (n < function.len + 2 || name[n - function.len - 1] != '.' ||
        memcmp(name + n - function.len, function.at, function.len) != 0)
        return false;
    pr_bytes module = module_path(path);
    size_t len = n - function.len - 1;
    if (len > module.len ||
        (len < module.len && module.at[module.len - len - 1] != '/'))
        return false;
    for (size_t i = 0; i < len; i++) {
        char there = module.at[module.len - len + i];
        if (name[i] != (there == '/' ? '.' : there))
            return false;
    }
    return true;
}

/* A name with a NUL cannot match a pattern whole. */
static bool
matches_pattern(const char *pattern, pr_bytes function)
{
    char name[1024];
    if (function.len >= sizeof name)
        return false;
    memcpy(name, function.at, function.len);
    name[function.len] = '\0';
    return fnmatch(pattern, name, 0) == 0;
}

bool
q_rule_matches(const q_rule *rule, const q_sides *sides, size_t function,
               unsigned reading)
{
    pr_bytes path = q_sides_path(sides, function);
    pr_bytes name = q_sides_name(sides, function);
    switch (reading) {
    case 0:
        return equals(name, rule->name);
    case 1:
        return equals(after_last(name, '.'), rule->name);
    case 2:
        return matches_place(rule->name, after_last(path, '/'), name);
    case 3:
        return matches_place(rule->name, path, name);
    case 4:
        return ends_with(name, rule->name);
    case 5:
        return matches_module(rule->name, path, name);
    default:
        return matches_pattern(rule->name, name);
    }
}
