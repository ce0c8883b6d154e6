/*
 * check.c - spec/compare.md, 5: each rule is judged by itself.
 */
#include "query/compare/check.h"

#include "query/compare/computed_rows.h"
#include "query/compare/diff.h"
#include "query/compare/rules.h"

#include <base/opts.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char default_rule[] = "self(*) > +5% and significant";

enum {
    MIN_RUNS = 5,       /* of a side, of a rule that asks for significance */
    MIN_SAMPLES = 1000, /* of a side */
    TOP = 20,           /* functions of a summary */
    SHOWN = 3           /* functions that a failed rule names */
};
static const double ALPHA = 0.05, LEAST_SHARE = CONV_LEAST_SHARE;

typedef struct check {
    const q_query *query;
    const q_check_opts *opts;
    q_contrast contrast;
    q_rule *rule;
    size_t n_rules;
    q_rows rows;
    size_t n_failed;
    bool needs_runs;
} check;

/* The findings of a rule: functions that break it, the worst first. */
typedef struct finding {
    size_t *function; /* those that the rule means */
    size_t n;
    size_t *broken;
    size_t n_broken;
    pr_buffer why;
    bool failed;
} finding;

/* ---- the functions of a rule ---- */

static const conv_change *
change_of(const check *c, const q_rule *rule, size_t f)
{
    return &c->contrast.change[rule->measure][f];
}

/* A rule for all functions is about those that are large enough to test. */
static bool
is_large(const conv_change *change)
{
    return fmax(change->base_share, change->new_share) >= LEAST_SHARE;
}

static pr_code
find_functions(const check *c, const q_rule *rule, finding *ret, pr_err *err)
{
    size_t n = c->contrast.sides.key.n;
    bool all = strcmp(rule->name, "*") == 0;
    ret->function = calloc(n + 1, sizeof *ret->function);
    ret->broken = calloc(n + 1, sizeof *ret->broken);
    if (!ret->function || !ret->broken)
        return pr_no_memory(err);
    for (unsigned reading = 0; reading < Q_RULE_READINGS && !ret->n; reading++)
        for (size_t f = 0; f < n; f++)
            if (all ? is_large(change_of(c, rule, f))
                    : q_rule_matches(rule, &c->contrast.sides, f, reading))
                ret->function[ret->n++] = f;
    if (ret->n || all)
        return PR_OK;
    PR_FAIL(err, PR_NAME, "rule '%s': no function is called '%s'", rule->text,
            rule->name);
    pr_err_hint(err, "'diff' lists the functions of both sides");
    return PR_NAME;
}

/* ---- significance ---- */

/* Corrected over the functions that the rule means and that both sides have;
 * marks[f] becomes true for those that pass. */
static pr_code
find_significant(const check *c, const q_rule *rule, const finding *found,
                 bool *marks, pr_err *err)
{
    size_t n = 0;
    double *p = calloc(found->n + 1, sizeof *p);
    size_t *function = calloc(found->n + 1, sizeof *function);
    for (size_t i = 0; p && function && i < found->n; i++) {
        size_t f = found->function[i];
        const conv_change *change = change_of(c, rule, f);
        if (change->verdict == CONV_NEW || change->verdict == CONV_GONE) {
            marks[f] = true;
        } else if (!isnan(change->p)) {
            p[n] = change->p;
            function[n++] = f;
        }
    }
    pr_code rc = p && function ? conv_adjust(p, n, err) : pr_no_memory(err);
    for (size_t i = 0; rc == PR_OK && i < n; i++)
        marks[function[i]] =
            p[i] <= ALPHA && !change_of(c, rule, function[i])->in_range;
    free(p);
    free(function);
    return rc;
}

/* ---- rules about the change ---- */

static bool
exceeds(const q_rule *rule, const conv_change *c)
{
    switch (rule->unit) {
    case Q_IN_PERCENT: /* a new function has no ratio */
        return c->base.n > 0 && 100 * (c->ratio - 1) > rule->limit;
    case Q_IN_POINTS:
        return 100 * (c->new_share - c->base_share) > rule->limit;
    case Q_IN_SECONDS:
        break;
    }
    return (c->new_us - c->base_us) / 1e6 > rule->limit;
}

static bool
is_beyond(const q_rule *rule, const conv_change *c)
{
    double value =
        rule->unit == Q_IN_SECONDS ? c->new_us / 1e6 : 100 * c->new_share;
    return !(value < rule->limit);
}

/* Keep `broken` in order of what the functions cost more now. */
static void
insert_broken(const check *c, const q_rule *rule, finding *found, size_t f)
{
    size_t i = found->n_broken++;
    double cost =
        change_of(c, rule, f)->new_us - change_of(c, rule, f)->base_us;
    for (; i > 0; i--) {
        const conv_change *before = change_of(c, rule, found->broken[i - 1]);
        if (before->new_us - before->base_us >= cost)
            break;
        found->broken[i] = found->broken[i - 1];
    }
    found->broken[i] = f;
}

static pr_code
judge_functions(check *c, const q_rule *rule, finding *found, pr_err *err)
{
    pr_code rc = find_functions(c, rule, found, err);
    if (rc != PR_OK)
        return rc;
    bool *marks = calloc(c->contrast.sides.key.n + 1, sizeof *marks);
    if (!marks)
        return pr_no_memory(err);
    if (rule->significant)
        rc = find_significant(c, rule, found, marks, err);
    for (size_t i = 0; rc == PR_OK && i < found->n; i++) {
        size_t f = found->function[i];
        const conv_change *change = change_of(c, rule, f);
        bool broken =
            rule->is_max ? is_beyond(rule, change) : exceeds(rule, change);
        if (broken && (!rule->significant || marks[f]))
            insert_broken(c, rule, found, f);
        c->needs_runs =
            c->needs_runs ||
            (rule->significant && change->p < ALPHA && exceeds(rule, change));
    }
    found->failed = found->n_broken > 0;
    free(marks);
    return rc;
}

/* ---- why ---- */

static void
say_change(const check *c, const q_rule *rule, size_t f, pr_buffer *to)
{
    const conv_change *change = change_of(c, rule, f);
    pr_bytes name = q_sides_name(&c->contrast.sides, f);
    pr_buffer_append(to, name.at, name.len);
    if (rule->is_max) {
        pr_buffer_printf(to, ": %.3f s, %.1f%%", change->new_us / 1e6,
                         100 * change->new_share);
        return;
    }
    pr_buffer_printf(to, ": %.3f s -> %.3f s", change->base_us / 1e6,
                     change->new_us / 1e6);
    if (change->base.n == 0)
        pr_buffer_puts(to, ", new");
    else if (rule->unit == Q_IN_POINTS)
        pr_buffer_printf(to, ", %.1f%% -> %.1f%%", 100 * change->base_share,
                         100 * change->new_share);
    else
        pr_buffer_printf(to, ", %+.1f%% [%+.1f, %+.1f]",
                         100 * (change->ratio - 1), 100 * (change->low - 1),
                         100 * (change->high - 1));
    if (rule->significant && change->base.n > 0)
        pr_buffer_printf(to, ", p %.2g", change->p);
}

static void
say_broken(const check *c, const q_rule *rule, finding *found)
{
    size_t n = found->n_broken < SHOWN ? found->n_broken : SHOWN;
    for (size_t i = 0; i < n; i++) {
        if (i)
            pr_buffer_puts(&found->why, "; ");
        say_change(c, rule, found->broken[i], &found->why);
    }
    if (found->n_broken > SHOWN)
        pr_buffer_printf(&found->why, "; and %zu more",
                         found->n_broken - SHOWN);
}

static int
ascending(const void *x, const void *y)
{
    const double *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

/* The change that these runs can detect in the functions of the rule; < 0:
 * none of them is there to be tested. */
static double
median_detectable(const check *c, const q_rule *rule, const finding *found)
{
    size_t n = 0;
    double *change = calloc(found->n + 1, sizeof *change), median = -1;
    for (size_t i = 0; change && i < found->n; i++)
        if (isfinite(change_of(c, rule, found->function[i])->detectable))
            change[n++] = change_of(c, rule, found->function[i])->detectable;
    if (n) {
        qsort(change, n, sizeof *change, ascending);
        median = change[n / 2];
    }
    free(change);
    return median;
}

/* A rule that holds reports the least change that it could have found. */
static void
say_held(const check *c, const q_rule *rule, finding *found)
{
    double least = rule->significant ? median_detectable(c, rule, found) : -1;
    if (rule->unit == Q_IN_PERCENT && 100 * least > rule->limit)
        pr_buffer_printf(&found->why,
                         "these runs detect changes of %+.0f%% or more",
                         ceil(100 * least));
    else if (found->n == 1)
        say_change(c, rule, found->function[0], &found->why);
}

/* ---- rules about whole runs ---- */

static pr_code
fail_unknown(const check *c, const q_rule *rule, size_t run, pr_err *err)
{
    const char *source = c->contrast.sides.run[run].source;
    return PR_FAIL(err, PR_INCOMPARABLE, "rule '%s': %s does not say it",
                   rule->text, source ? source : "a run");
}

/* The share in all new runs together, in per cent; < 0: run *ret_run does not
 * know it. */
static double
share_of_runs(const check *c, q_rule_subject subject, size_t *ret_run)
{
    const q_sides *s = &c->contrast.sides;
    double part = 0, whole = 0, worst = 0;
    for (size_t r = s->n_base; r < s->n_base + s->n_new; r++) {
        const q_run_facts *facts = &s->run[r];
        *ret_run = r;
        if (subject == Q_RULE_MISSED) {
            if (facts->missed_percent < 0)
                return -1;
            worst = fmax(worst, facts->missed_percent);
            continue;
        }
        bool lost = subject == Q_RULE_LOST;
        double without = (double)(lost ? facts->lost : facts->unobserved_us);
        if (without < 0)
            return -1;
        part += without;
        whole += without + (double)(lost ? s->whole[Q_SELF][r].n
                                         : s->whole[Q_SELF][r].us);
    }
    return subject == Q_RULE_MISSED ? worst
           : whole > 0              ? 100 * part / whole
                                    : 0;
}

static double
gc_share(const check *c)
{
    double share = 0;
    for (size_t f = 0; f < c->contrast.sides.key.n; f++)
        if (c->contrast.sides.is_gc[f])
            share += c->contrast.change[Q_SELF][f].new_share;
    return 100 * share;
}

static pr_code
judge_share(const check *c, const q_rule *rule, finding *found, pr_err *err)
{
    size_t run = 0;
    double value = rule->subject == Q_RULE_GC
                       ? gc_share(c)
                       : share_of_runs(c, rule->subject, &run);
    if (value < 0)
        return fail_unknown(c, rule, run, err);
    found->failed = !(value < rule->limit);
    pr_buffer_printf(&found->why, "%.2f%%", value);
    return PR_OK;
}

/* All seconds of a run, as if they were one function. */
static pr_code
compare_whole(const check *c, conv_change *ret, pr_err *err)
{
    conv_sides sides = q_sides_measure(&c->contrast.sides, Q_SELF);
    conv_compare_opts opts = CONV_COMPARE_OPTS_INIT;
    conv_comparison head;
    sides.n_functions = 1;
    sides.function = sides.whole;
    opts.scale = CONV_SCALE_SECONDS;
    return conv_compare(&sides, &opts, ret, &head, err);
}

static void
judge_change(check *c, const q_rule *rule, const conv_change *change,
             finding *found)
{
    found->failed =
        exceeds(rule, change) && (!rule->significant || change->p <= ALPHA);
    c->needs_runs = c->needs_runs || (rule->significant && change->p < ALPHA &&
                                      exceeds(rule, change));
    pr_buffer_printf(&found->why, "%+.1f%% [%+.1f, %+.1f]",
                     100 * (change->ratio - 1), 100 * (change->low - 1),
                     100 * (change->high - 1));
}

static pr_code
judge_seconds(check *c, const q_rule *rule, finding *found, pr_err *err)
{
    conv_change whole;
    pr_code rc = compare_whole(c, &whole, err);
    if (rc != PR_OK)
        return rc;
    pr_buffer_printf(&found->why, rule->is_max ? "%.3f s" : "%.3f s -> ",
                     (rule->is_max ? whole.new_us : whole.base_us) / 1e6);
    if (rule->is_max) {
        found->failed = is_beyond(rule, &whole);
        return PR_OK;
    }
    pr_buffer_printf(&found->why, "%.3f s, ", whole.new_us / 1e6);
    judge_change(c, rule, &whole, found);
    return PR_OK;
}

static void
judge_factor(check *c, const q_rule *rule, finding *found)
{
    const conv_comparison *h = &c->contrast.head[Q_SELF];
    conv_change change = {.base = {1, 1},
                          .ratio = h->factor,
                          .low = h->factor_low,
                          .high = h->factor_high,
                          .p = h->factor_p};
    judge_change(c, rule, &change, found);
}

/* ---- all rules ---- */

static pr_code
judge(check *c, const q_rule *rule, finding *found, pr_err *err)
{
    pr_code rc = PR_OK;
    switch (rule->subject) {
    case Q_RULE_FUNCTION:
        rc = judge_functions(c, rule, found, err);
        if (rc == PR_OK && found->failed)
            say_broken(c, rule, found);
        else if (rc == PR_OK)
            say_held(c, rule, found);
        return rc;
    case Q_RULE_SECONDS:
        return judge_seconds(c, rule, found, err);
    case Q_RULE_FACTOR:
        judge_factor(c, rule, found);
        return PR_OK;
    case Q_RULE_GC:
    case Q_RULE_MISSED:
    case Q_RULE_LOST:
    case Q_RULE_UNOBSERVED:
        break;
    }
    return judge_share(c, rule, found, err);
}

static pr_code
add_outcome(check *c, const q_rule *rule, const finding *found, pr_err *err)
{
    const char *outcome = found->failed ? "failed" : "held";
    if (found->why.failed)
        return pr_no_memory(err);
    c->n_failed += found->failed;
    q_rows_text(&c->rows, NULL, 0); /* place: in order */
    q_rows_text(&c->rows, outcome, strlen(outcome));
    q_rows_text(&c->rows, rule->text, strlen(rule->text));
    q_rows_text(&c->rows, found->why.len ? found->why.at : NULL,
                found->why.len);
    q_rows_integer(&c->rows, (int64_t)found->n_broken);
    return q_rows_end_row(&c->rows, err);
}

static pr_code
judge_all(check *c, pr_err *err)
{
    pr_code rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < c->n_rules; i++) {
        finding found = {0};
        rc = judge(c, &c->rule[i], &found, err);
        if (rc == PR_OK)
            rc = add_outcome(c, &c->rule[i], &found, err);
        free(found.function);
        free(found.broken);
        pr_buffer_release(&found.why);
    }
    return rc;
}

/* ---- before the rules ---- */

static pr_code
parse_rules(check *c, pr_err *err)
{
    const q_check_opts *o = c->opts;
    size_t n = o->n_fail + o->n_max;
    pr_code rc = PR_OK;
    c->rule = calloc(n + 1, sizeof *c->rule);
    if (!c->rule)
        return pr_no_memory(err);
    for (size_t i = 0; rc == PR_OK && i < n; i++) {
        bool is_max = i >= o->n_fail;
        rc = q_rule_parse(is_max ? o->max[i - o->n_fail] : o->fail[i], is_max,
                          &c->rule[c->n_rules], err);
        c->n_rules += rc == PR_OK;
    }
    if (rc == PR_OK && n == 0)
        rc = q_rule_parse(default_rule, false, &c->rule[c->n_rules++], err);
    return rc;
}

static bool
any_significant(const check *c)
{
    for (size_t i = 0; i < c->n_rules; i++)
        if (c->rule[i].significant)
            return true;
    return false;
}

static int64_t
least_runs(const check *c)
{
    if (c->opts->min_runs >= 0)
        return c->opts->min_runs;
    return any_significant(c) ? MIN_RUNS : 1;
}

static pr_code
check_runs(const check *c, pr_err *err)
{
    const q_sides *s = &c->contrast.sides;
    int64_t least = least_runs(c);
    for (int side = 0; side < 2; side++) {
        size_t n = side ? s->n_new : s->n_base;
        if ((int64_t)n >= least || (side && c->opts->first_stage))
            continue;
        PR_FAIL(err, PR_INCOMPARABLE,
                "the %s side has %zu run%s, and the rules need %" PRId64,
                side ? "new" : "base", n, n == 1 ? "" : "s", least);
        pr_err_hint(err,
                    "'pyrec --repeat %" PRId64 "' records them;"
                    " '--min-runs 1' asks for fewer",
                    least);
        return PR_INCOMPARABLE;
    }
    return PR_OK;
}

static pr_code
check_samples(const check *c, pr_err *err)
{
    const q_sides *s = &c->contrast.sides;
    int64_t least =
        c->opts->min_samples >= 0 ? c->opts->min_samples : MIN_SAMPLES;
    for (int side = 0; side < 2; side++) {
        int64_t n = 0;
        for (size_t r = side ? s->n_base : 0;
             r < (side ? s->n_base + s->n_new : s->n_base); r++)
            n += s->whole[Q_SELF][r].n;
        if (n >= least)
            continue;
        PR_FAIL(err, PR_INCOMPARABLE,
                "the %s side has %" PRId64 " samples, and the rules need"
                " %" PRId64,
                side ? "new" : "base", n, least);
        pr_err_hint(err, "record longer, or say '--min-samples'");
        return PR_INCOMPARABLE;
    }
    return PR_OK;
}

static pr_code
check_obstacles(const check *c, pr_err *err)
{
    pr_buffer lines = {0};
    unsigned measure = Q_SELF;
    for (size_t i = 0; i < c->n_rules; i++)
        if (c->rule[i].measure == Q_RAN)
            measure = Q_RAN;
    q_contrast_obstacles(&c->contrast, measure, c->opts->any_machine, &lines);
    pr_code rc = lines.failed ? pr_no_memory(err) : PR_OK;
    if (rc == PR_OK && lines.len) {
        size_t n = 0;
        while (n < lines.len && lines.at[n] != '\n')
            n++;
        rc = PR_FAIL(err, PR_INCOMPARABLE, "the sides cannot be compared: %.*s",
                     (int)n, lines.at);
        pr_err_hint(err, "%s",
                    n > 8 && memcmp(lines.at, "machines", 8) == 0
                        ? "record both on one machine, or say '--any-machine'"
                        : "'diff' lists all reasons");
    }
    pr_buffer_release(&lines);
    return rc;
}

static pr_code
compare_measures(check *c, pr_err *err)
{
    pr_code rc = q_contrast_measure(&c->contrast, Q_SELF, c->query->scale, err);
    for (size_t i = 0; rc == PR_OK && i < c->n_rules; i++)
        rc = q_contrast_measure(&c->contrast, c->rule[i].measure,
                                c->query->scale, err);
    return rc;
}

/* ---- the answer ---- */

static pr_code
finish(check *c, q_database *database, const char *text, q_check_answer *ret,
       pr_err *err)
{
    q_check_answer answer = {
        .needs_runs = c->needs_runs && c->opts->first_stage &&
                      (int64_t)c->contrast.sides.n_new < least_runs(c)};
    pr_buffer notes = {0};
    pr_code rc = q_rows_finish(&c->rows,
                               "SELECT outcome, rule, why, broken FROM %s"
                               " ORDER BY place",
                               sqlite3_mprintf("%s", text), &answer.rules, err);
    if (rc != PR_OK)
        return rc;
    q_contrast_describe(&c->contrast, Q_SELF, &notes);
    pr_buffer_char(&notes, '\0');
    rc = notes.failed ? pr_no_memory(err)
                      : q_result_set_notes(answer.rules, notes.at, err);
    pr_buffer_release(&notes);
    q_result_set_comparison(answer.rules, &c->contrast.head[Q_SELF]);
    if (rc == PR_OK)
        rc = q_diff_answer(database, "diff", c->query, -1, &c->contrast,
                           &answer.diff, err);
    if (rc == PR_OK)
        rc = q_diff_answer(database, "diff", c->query, TOP, &c->contrast,
                           &answer.top, err);
    if (rc != PR_OK) {
        q_result_free(answer.rules);
        q_result_free(answer.diff);
        return rc;
    }
    *ret = answer;
    return PR_OK;
}

static pr_code
run(check *c, q_database *database, const char *text, q_check_answer *ret,
    pr_err *err)
{
    pr_code rc = check_obstacles(c, err);
    if (rc == PR_OK)
        rc = check_samples(c, err);
    if (rc == PR_OK)
        rc = check_runs(c, err);
    if (rc == PR_OK)
        rc = compare_measures(c, err);
    if (rc == PR_OK)
        rc = q_rows_begin(database,
                          "place INTEGER PRIMARY KEY, outcome, rule, why,"
                          " broken",
                          &c->rows, err);
    if (rc != PR_OK)
        return rc;
    rc = judge_all(c, err);
    if (rc != PR_OK) {
        q_rows_release(&c->rows);
        return rc;
    }
    rc = finish(c, database, text, ret, err);
    if (rc != PR_OK)
        return rc;
    return c->n_failed ? PR_FAIL(err, PR_REGRESSION, "%zu of %zu rules failed",
                                 c->n_failed, c->n_rules)
                       : PR_OK;
}

pr_code
q_check_run(q_database *database, const char *text, const q_query *query,
            const q_check_opts *given, q_check_answer *ret, pr_err *err)
{
    q_check_opts opts = Q_CHECK_OPTS_INIT;
    check c = {.query = query, .opts = &opts};
    pr_code rc = pr_opts_take(&opts, sizeof opts, given, err);
    if (rc == PR_OK)
        rc = parse_rules(&c, err);
    if (rc == PR_OK)
        rc = q_contrast_make(database, query, &c.contrast, err);
    if (rc == PR_OK)
        rc = run(&c, database, text, ret, err);
    q_contrast_release(&c.contrast);
    free(c.rule);
    return rc;
}
