/*
 * contrast.c - from the files that a query names to the comparison.
 */
#include "query/compare/contrast.h"

#include "query/database/inputs.h"

#include <base/array.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MANY_MARKED = 0.3; /* share: the centre is in doubt */

/* ---- the base ---- */

/* The part of a damaged base that could be read is compared, with a note. */
static pr_code
open_base(const q_query *query, uint64_t memory, q_database **ret,
          pr_buffer *notes, pr_err *err)
{
    q_inputs p = {0};
    pr_code rc = PR_OK;
    pr_err why = PR_ERR_INIT;
    for (size_t i = 0; rc == PR_OK && i < query->n_sides; i++)
        rc = q_inputs_match(query->side[i].text, query->side[i].at, &p, err);
    if (rc == PR_OK) {
        rc = q_open_all((const char *const *)p.path, p.n, memory, ret, &why);
        if (rc != PR_OK && *ret) {
            pr_buffer_printf(notes, "of the base a part is missing: %s\n",
                             why.what);
            rc = PR_OK;
        } else if (rc != PR_OK && err) {
            *err = why;
        }
    }
    q_inputs_release(&p);
    return rc;
}

static bool
chooses_profiles(const q_query *query)
{
    for (size_t i = 0; i < query->n_conditions; i++)
        if (query->condition[i].field == Q_FIELD_LABEL ||
            query->condition[i].field == Q_FIELD_HOST)
            return true;
    return false;
}

pr_code
q_contrast_make(q_database *database, const q_query *query, q_contrast *ret,
                pr_err *err)
{
    q_contrast c = {0};
    q_database *base = NULL;
    if (!query->n_sides && !chooses_profiles(query)) {
        PR_FAIL(err, PR_USAGE, "the base of the comparison is missing");
        pr_err_hint(err, "'diff old.bin', or 'diff where label KEY = VALUE'");
        return PR_USAGE;
    }
    pr_code rc = query->n_sides
                     ? open_base(query, database->memory, &base, &c.notes, err)
                     : PR_OK;
    if (rc == PR_OK)
        rc = q_sides_read(base ? base : database, database, query, &c.sides,
                          err);
    q_close(base);
    if (rc == PR_OK)
        *ret = c;
    else
        q_contrast_release(&c);
    return rc;
}

pr_code
q_contrast_measure(q_contrast *contrast, unsigned measure, conv_scale scale,
                   pr_err *err)
{
    conv_sides sides = q_sides_measure(&contrast->sides, measure);
    conv_compare_opts opts = CONV_COMPARE_OPTS_INIT;
    if (contrast->change[measure])
        return PR_OK;
    opts.scale = contrast->asked = scale;
    conv_change *change = calloc(sides.n_functions + 1, sizeof *change);
    if (!change)
        return pr_no_memory(err);
    pr_code rc =
        conv_compare(&sides, &opts, change, &contrast->head[measure], err);
    if (rc == PR_OK)
        contrast->change[measure] = change;
    else
        free(change);
    return rc;
}

void
q_contrast_release(q_contrast *contrast)
{
    q_sides_release(&contrast->sides);
    for (size_t i = 0; i < Q_MEASURES; i++)
        free(contrast->change[i]);
    pr_buffer_release(&contrast->notes);
    *contrast = (q_contrast){0};
}

unsigned
q_contrast_of_order(const q_query *query)
{
    return query->order == Q_BY_TOTAL ? Q_TOTAL
           : query->order == Q_BY_RAN ? Q_RAN
                                      : Q_SELF;
}

/* ---- in words ---- */

/* Does one side begin after the other ended?  Then the machine had time to
 * change.  false as well if a start is unknown. */
static bool
one_after_the_other(const q_sides *s)
{
    int64_t first[2] = {INT64_MAX, INT64_MAX}, last[2] = {INT64_MIN, INT64_MIN};
    for (size_t r = 0; r < s->n_base + s->n_new; r++) {
        int side = r >= s->n_base;
        int64_t start = s->run[r].wall_us;
        if (start < 0)
            return false;
        first[side] = start < first[side] ? start : first[side];
        last[side] = start > last[side] ? start : last[side];
    }
    return s->n_base + s->n_new > 2 &&
           (last[0] < first[1] || last[1] < first[0]);
}

static const char *
plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* The steps before the comparison, and the factor that runs share. */
static void
describe_scale(const conv_comparison *h, conv_scale asked, pr_buffer *to)
{
    if (h->n_factors)
        pr_buffer_printf(to,
                         "pyquery first takes out the factor that all functions"
                         " of a run share, and %zu\nthat groups of them share;"
                         " 'raw' is the change without that\n",
                         h->n_factors);
    else if (h->scale == CONV_SCALE_CENTRED)
        pr_buffer_puts(to, "pyquery first divides each run by the factor that"
                           " all its functions share;\n'raw' is the change"
                           " without that division\n");
    else if (h->scale == CONV_SCALE_SHARE)
        pr_buffer_puts(to, "pyquery compares the shares of a run\n");
    else if (asked == CONV_SCALE_CENTRED)
        pr_buffer_puts(to, "pyquery compares seconds as they are: too few"
                           " functions have enough\nsamples to show a factor"
                           " that all share\n");
    else
        pr_buffer_puts(to, "pyquery compares seconds as they are\n");
    if (!(h->base_us > 0 && h->new_us > 0))
        return; /* a side without samples has no factor */
    pr_buffer_printf(to, "%s: x%.3f",
                     h->scale != asked ? "all seconds" : "all functions",
                     h->factor);
    if (isfinite(h->factor_low))
        pr_buffer_printf(to, " (%.3f to %.3f, p %.2g)", h->factor_low,
                         h->factor_high, h->factor_p);
    pr_buffer_char(to, '\n');
}

static void
describe_counts(const conv_comparison *h, pr_buffer *to)
{
    pr_buffer_printf(to, "%zu function%s tested: %zu worse or better",
                     h->n_tested, plural(h->n_tested), h->n_marked);
    if (h->n_new || h->n_gone)
        pr_buffer_printf(to, "; not among them: %zu new, %zu gone", h->n_new,
                         h->n_gone);
    pr_buffer_char(to, '\n');
}

static void
warn(const q_contrast *c, const conv_comparison *h, pr_buffer *to)
{
    if (!h->confirmed)
        pr_buffer_puts(to, "worse and better are hints, unconfirmed: a side"
                           " has fewer than three runs\n");
    if ((double)h->n_marked > MANY_MARKED * (double)h->n_tested)
        pr_buffer_printf(to,
                         "%zu of %zu functions are marked: the factor that all"
                         " share is in doubt, compare with 'scale seconds'\n",
                         h->n_marked, h->n_tested);
    if (one_after_the_other(&c->sides))
        pr_buffer_puts(to, "one side was recorded after the other: what changed"
                           " on the machine meanwhile counts as well\n");
}

void
q_contrast_describe(const q_contrast *contrast, unsigned measure, pr_buffer *to)
{
    const q_sides *s = &contrast->sides;
    const conv_comparison *h = &contrast->head[measure];
    pr_buffer_printf(to, "%zu run%s against %zu: %.3f s -> %.3f s %s\n",
                     s->n_new, plural(s->n_new), s->n_base, h->base_us / 1e6,
                     h->new_us / 1e6, s->work ? "a unit of work" : "a run");
    describe_scale(h, contrast->asked, to);
    describe_counts(h, to);
    for (size_t i = 0; i < s->roots.n; i++)
        pr_buffer_printf(to, "files of %s are compared with those of %s\n",
                         s->roots.root[i].to, s->roots.root[i].from);
    warn(contrast, h, to);
    pr_buffer_append(to, contrast->notes.at, contrast->notes.len);
}
