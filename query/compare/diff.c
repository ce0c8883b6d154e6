/*
 * diff.c - the verb: one row a function, marked ones first.
 */
#include "query/compare/diff.h"

#include "query/compare/computed_rows.h"
#include "query/compare/renames.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char columns[] =
    "place INTEGER PRIMARY KEY, verdict, finding, confirmed, function, path,"
    " base_s, new_s, delta_s, change_pct, low_pct, high_pct, interval,"
    " raw_pct, base_pct, new_pct, base_samples, new_samples, sd_pct, p,"
    " adjusted_p, detectable_pct, within_pct, note, runs";

static const char answer[] =
    "SELECT verdict, finding, confirmed, function, base_s, new_s, delta_s,"
    " change_pct, low_pct, high_pct, interval, raw_pct, base_pct, new_pct,"
    " base_samples, new_samples, sd_pct, p, adjusted_p, detectable_pct,"
    " within_pct, note, runs, path AS file FROM %%s WHERE 1%s ORDER BY place"
    " LIMIT %lld";

/* ---- order ---- */

typedef struct ranked {
    int rank;
    double weight; /* the larger the earlier */
    size_t function;
} ranked;

static int
compare_ranks(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    if (a->rank != b->rank)
        return a->rank - b->rank;
    if (a->weight > b->weight || a->weight < b->weight)
        return a->weight < b->weight ? 1 : -1;
    return (a->function > b->function) - (a->function < b->function);
}

enum { UNMARKED = 4 };

/* A function that came or went counts for as little as one that is not tested,
 * if its share is as small. */
static int
rank_of(const conv_change *c)
{
    static const int ranks[] = {[CONV_WORSE] = 0,
                                [CONV_NEW] = 1,
                                [CONV_BETTER] = 2,
                                [CONV_GONE] = 3,
                                [CONV_INCONCLUSIVE] = UNMARKED,
                                [CONV_SAME] = UNMARKED};
    return fmax(c->base_share, c->new_share) < CONV_LEAST_SHARE
               ? UNMARKED
               : ranks[c->verdict];
}

/* Marked functions by how much time they changed, the others by their time. */
static ranked *
rank(const conv_change *change, size_t n)
{
    ranked *order = calloc(n + 1, sizeof *order);
    for (size_t f = 0; order && f < n; f++) {
        const conv_change *c = &change[f];
        int place = rank_of(c);
        order[f] = (ranked){place,
                            place < UNMARKED ? fabs(c->new_us - c->base_us)
                                             : fmax(c->new_us, c->base_us),
                            f};
    }
    if (order)
        qsort(order, n, sizeof *order, compare_ranks);
    return order;
}

/* ---- texts of a row ---- */

static double
percent(double ratio)
{
    return 100 * (ratio - 1);
}

static void
add_if(q_rows *rows, bool has, double value)
{
    if (has)
        q_rows_real(rows, value);
    else
        q_rows_text(rows, NULL, 0);
}

static void
add_text(q_rows *rows, pr_buffer *text)
{
    q_rows_text(rows, text->len ? text->at : NULL, text->len);
    pr_buffer_reset(text);
}

static void
add_finding(q_rows *rows, const conv_change *c, bool confirmed, pr_buffer *text)
{
    pr_buffer_puts(text, conv_verdict_name(c->verdict));
    if (c->verdict == CONV_SAME)
        pr_buffer_printf(text, " within %.0f%%", ceil(100 * c->within));
    if ((c->verdict == CONV_WORSE || c->verdict == CONV_BETTER) && !confirmed)
        pr_buffer_puts(text, ", unconfirmed");
    add_text(rows, text);
}

/* A change of ten times cannot be called detectable. */
static const double MOST_DETECTABLE = 10;

/* An interval up to a hundred times is not worth its place. */
static void
add_interval(q_rows *rows, const conv_change *c, pr_buffer *text)
{
    if (c->high < 100)
        pr_buffer_printf(text, "[%+.1f, %+.1f]", percent(c->low),
                         percent(c->high));
    add_text(rows, text);
}

/* The function that this one may be on the other side, by what differs. */
static void
say_other(const q_sides *s, size_t f, size_t other, pr_buffer *text)
{
    pr_bytes name = q_sides_name(s, other), path = q_sides_path(s, other);
    bool moved = name.len == q_sides_name(s, f).len &&
                 memcmp(name.at, q_sides_name(s, f).at, name.len) == 0;
    pr_buffer_puts(text, moved ? "moved? " : "renamed? ");
    pr_buffer_append(text, moved ? path.at : name.at,
                     moved ? path.len : name.len);
}

static void
add_note(q_rows *rows, const q_contrast *contrast, unsigned measure, size_t f,
         size_t other, pr_buffer *text)
{
    static const char *const causes[] = {NULL, "as all functions",
                                         "only its share"};
    const conv_change *c = &contrast->change[measure][f];
    if (causes[c->cause])
        pr_buffer_puts(text, causes[c->cause]);
    if (c->two_modes)
        pr_buffer_puts(text, text->len ? ", two modes" : "two modes");
    if (other != SIZE_MAX)
        say_other(&contrast->sides, f, other, text);
    add_text(rows, text);
}

/* The seconds of each run, of functions with two modes. */
static void
add_runs(q_rows *rows, const q_contrast *c, unsigned measure, size_t f,
         pr_buffer *text)
{
    size_t n = c->sides.n_base + c->sides.n_new;
    const conv_measure *run = c->sides.of[measure] + f * n;
    for (size_t r = 0; c->change[measure][f].two_modes && r < n; r++) {
        if (r)
            pr_buffer_puts(text, r == c->sides.n_base ? " -> " : " ");
        pr_buffer_printf(text, "%.3f", (double)run[r].us / 1e6);
    }
    add_text(rows, text);
}

/* ---- rows ---- */

static void
add_numbers(q_rows *rows, const conv_change *c)
{
    add_if(rows, c->raw > 0, percent(c->raw));
    q_rows_real(rows, 100 * c->base_share);
    q_rows_real(rows, 100 * c->new_share);
    q_rows_integer(rows, c->base.n);
    q_rows_integer(rows, c->now.n);
    q_rows_real(rows, 100 * c->sd);
    q_rows_real(rows, c->p);
    q_rows_real(rows, c->adjusted);
    add_if(rows, c->detectable < MOST_DETECTABLE, 100 * c->detectable);
    add_if(rows, c->verdict == CONV_SAME, 100 * c->within);
}

static pr_code
add_row(q_rows *rows, const q_contrast *contrast, unsigned measure, size_t f,
        size_t other, pr_buffer *text, pr_err *err)
{
    const conv_change *c = &contrast->change[measure][f];
    bool confirmed = contrast->head[measure].confirmed;
    bool has_ratio = c->base.n > 0 && c->now.n > 0;
    const char *verdict = conv_verdict_name(c->verdict);
    pr_bytes path = q_sides_path(&contrast->sides, f);
    pr_bytes name = q_sides_name(&contrast->sides, f);
    q_rows_text(rows, NULL, 0); /* place: in order */
    q_rows_text(rows, verdict, strlen(verdict));
    add_finding(rows, c, confirmed, text);
    q_rows_integer(rows, confirmed);
    q_rows_text(rows, name.at, name.len);
    q_rows_text(rows, path.at, path.len);
    q_rows_real(rows, c->base_us / 1e6);
    q_rows_real(rows, c->new_us / 1e6);
    q_rows_real(rows, (c->new_us - c->base_us) / 1e6);
    add_if(rows, has_ratio, percent(c->ratio));
    add_if(rows, has_ratio, percent(c->low));
    add_if(rows, has_ratio, percent(c->high));
    if (has_ratio)
        add_interval(rows, c, text);
    else
        q_rows_text(rows, NULL, 0);
    add_numbers(rows, c);
    add_note(rows, contrast, measure, f, other, text);
    add_runs(rows, contrast, measure, f, text);
    return text->failed ? pr_no_memory(err) : q_rows_end_row(rows, err);
}

static pr_code
add_rows(q_rows *rows, const q_contrast *c, unsigned measure, pr_err *err)
{
    size_t n = c->sides.key.n;
    ranked *order = rank(c->change[measure], n);
    pr_buffer text = {0};
    size_t *other = calloc(n + 1, sizeof *other);
    pr_code rc = order && other ? q_renames_find(c, measure, other, err)
                                : pr_no_memory(err);
    for (size_t i = 0; rc == PR_OK && i < n; i++) {
        size_t f = order[i].function;
        const conv_change *change = &c->change[measure][f];
        if (change->base.n > 0 || change->now.n > 0)
            rc = add_row(rows, c, measure, f, other[f], &text, err);
    }
    free(other);
    pr_buffer_release(&text);
    free(order);
    return rc;
}

static char *
make_answer(const q_query *query, int64_t limit)
{
    char *in = query->in.text
                   ? sqlite3_mprintf(" AND (path GLOB %Q OR path GLOB"
                                     " '*/' || %Q)",
                                     query->in.text, query->in.text)
                   : sqlite3_mprintf("");
    /* the text is a format once more: what the user wrote must not be one */
    sqlite3_str *safe = sqlite3_str_new(NULL);
    for (const char *p = in; p && *p; p++)
        sqlite3_str_append(safe, *p == '%' ? "%%" : p, *p == '%' ? 2 : 1);
    char *condition = sqlite3_str_finish(safe);
    char *made =
        in ? sqlite3_mprintf(answer, condition ? condition : "", limit) : NULL;
    sqlite3_free(in);
    sqlite3_free(condition);
    return made;
}

/* ---- the answer ---- */

static pr_code
finish(q_rows *rows, const q_contrast *c, const char *text,
       const q_query *query, int64_t limit, q_result **ret, pr_err *err)
{
    unsigned measure = q_contrast_of_order(query);
    pr_buffer notes = {0};
    char *select = make_answer(query, limit);
    if (!select) {
        q_rows_release(rows);
        return pr_no_memory(err);
    }
    pr_code rc =
        q_rows_finish(rows, select, sqlite3_mprintf("%s", text), ret, err);
    sqlite3_free(select);
    if (rc != PR_OK)
        return rc;
    q_contrast_describe(c, measure, &notes);
    q_contrast_obstacles(c, measure, false, &notes);
    pr_buffer_char(&notes, '\0');
    rc = notes.failed ? pr_no_memory(err)
                      : q_result_set_notes(*ret, notes.at, err);
    pr_buffer_release(&notes);
    q_result_set_comparison(*ret, &c->head[measure]);
    if (rc != PR_OK)
        q_result_free(*ret);
    return rc;
}

pr_code
q_diff_answer(q_database *database, const char *title, const q_query *query,
              int64_t limit, const q_contrast *contrast, q_result **ret,
              pr_err *err)
{
    q_rows rows;
    pr_code rc = q_rows_begin(database, columns, &rows, err);
    if (rc != PR_OK)
        return rc;
    rc = add_rows(&rows, contrast, q_contrast_of_order(query), err);
    if (rc == PR_OK)
        return finish(&rows, contrast, title, query, limit, ret, err);
    q_rows_release(&rows);
    return rc;
}
