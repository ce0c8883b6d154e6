/*
 * history.c - spec/compare.md, 8: runs into builds, builds into series.
 */
#include "query/compare/history.h"

#include "query/compare/computed_rows.h"
#include "query/compare/rules.h"

#include <base/array.h>
#include <base/buffer.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_SAMPLES = 20 }; /* mean of a build, of a function that is judged */
static const double LEAST_SHARE = 0.005;

/* Runs whose label has the same value; without `per label` each run. */
typedef struct build {
    const char *name; /* of a run's facts */
    int64_t wall_us;  /* of its first run; < 0: unknown */
    size_t first;     /* run; for a stable order */
    size_t n_runs;
} build;

typedef struct history {
    const q_query *query;
    q_sides sides;
    unsigned measure;
    q_rule wanted; /* its name and measure; name "": all functions */
    build *build;
    size_t n_builds, cap_builds;
    size_t *build_of; /* [run]; SIZE_MAX: it has no label */
    conv_measure *function, *whole;
    double *work;
    double *series; /* [function][build]: scaled logarithms */
    conv_scale scale;
    pr_buffer notes;
} history;

/* A function's series and what the answer says about it. */
typedef struct story {
    size_t function;
    const double *y;
    conv_point *point;
    size_t n_points;
    conv_newest newest;
    double weight; /* for the order: how much time it changed by */
} story;

/* ---- builds ---- */

static bool
is_same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static size_t
find_build(const history *h, const q_run_facts *run)
{
    size_t i = 0;
    if (!h->query->label.text)
        return h->n_builds;
    while (i < h->n_builds && !is_same(h->build[i].name, run->label))
        i++;
    return i;
}

static pr_code
add_run(history *h, size_t r, pr_err *err)
{
    const q_run_facts *run = &h->sides.run[r];
    const char *name = h->query->label.text ? run->label : run->source;
    h->build_of[r] = SIZE_MAX;
    if (h->query->label.text && !run->label)
        return PR_OK;
    size_t i = find_build(h, run);
    if (!pr_grow(&h->build, &h->cap_builds, i + 1, sizeof *h->build))
        return pr_no_memory(err);
    if (i == h->n_builds)
        h->build[h->n_builds++] = (build){name, run->wall_us, r, 0};
    if (run->wall_us < h->build[i].wall_us)
        h->build[i].wall_us = run->wall_us;
    h->build[i].n_runs++;
    return PR_OK;
}

static int
by_time(const void *x, const void *y)
{
    const build *a = x, *b = y;
    if (a->wall_us != b->wall_us)
        return a->wall_us < b->wall_us ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

static pr_code
find_builds(history *h, pr_err *err)
{
    size_t runs = h->sides.n_base, without = 0;
    pr_code rc = PR_OK;
    h->build_of = calloc(runs + 1, sizeof *h->build_of);
    if (!h->build_of)
        return pr_no_memory(err);
    for (size_t r = 0; rc == PR_OK && r < runs; r++)
        rc = add_run(h, r, err);
    if (rc != PR_OK)
        return rc;
    qsort(h->build, h->n_builds, sizeof *h->build, by_time);
    for (size_t r = 0; r < runs; r++) {
        const q_run_facts *run = &h->sides.run[r];
        size_t i = 0;
        while (i < h->n_builds &&
               (h->query->label.text ? !is_same(h->build[i].name, run->label)
                                     : h->build[i].first != r))
            i++;
        h->build_of[r] = i < h->n_builds ? i : SIZE_MAX;
        without += i == h->n_builds;
    }
    if (without)
        pr_buffer_printf(&h->notes, "%zu runs have no label '%s'\n", without,
                         h->query->label.text);
    return PR_OK;
}

/* ---- series ---- */

static void
add_measures(const history *h, const conv_measure *from, conv_measure *to)
{
    for (size_t r = 0; r < h->sides.n_base; r++)
        if (h->build_of[r] != SIZE_MAX) {
            to[h->build_of[r]].n += from[r].n;
            to[h->build_of[r]].us += from[r].us;
        }
}

/* A build's runs are one column; its work is that of its runs. */
static pr_code
make_series(history *h, pr_err *err)
{
    size_t n = h->n_builds, functions = h->sides.key.n;
    h->function = calloc(functions * n + 1, sizeof *h->function);
    h->whole = calloc(n + 1, sizeof *h->whole);
    h->work = calloc(n + 1, sizeof *h->work);
    h->series = calloc(functions * n + 1, sizeof *h->series);
    if (!h->function || !h->whole || !h->work || !h->series)
        return pr_no_memory(err);
    const conv_measure *from = h->sides.of[h->measure];
    for (size_t f = 0; f < functions; f++)
        add_measures(h, from + f * h->sides.n_base, h->function + f * n);
    add_measures(h, h->sides.whole[h->measure], h->whole);
    for (size_t r = 0; r < h->sides.n_base; r++)
        if (h->build_of[r] != SIZE_MAX)
            h->work[h->build_of[r]] += h->sides.work ? h->sides.work[r] : 1;
    conv_sides builds = {.n_base = n,
                         .n_functions = functions,
                         .function = h->function,
                         .whole = h->whole,
                         .work = h->work};
    return conv_series(&builds, h->query->scale, h->series, &h->scale, err);
}

/* "self(f)", "total(f)", "ran(f)" or "f", by the query's order. */
static pr_code
find_wanted(history *h, pr_err *err)
{
    const char *name = h->query->of.text;
    size_t n = name ? strlen(name) : 0;
    h->measure = h->query->order == Q_BY_TOTAL ? Q_TOTAL
                 : h->query->order == Q_BY_RAN ? Q_RAN
                                               : Q_SELF;
    if (!name)
        return PR_OK;
    static const char *const words[Q_MEASURES] = {"self(", "total(", "ran("};
    for (unsigned i = 0; i < Q_MEASURES; i++) {
        size_t begin = strlen(words[i]);
        if (strncmp(name, words[i], begin) == 0 && name[n - 1] == ')') {
            h->measure = i;
            name += begin;
            n -= begin + 1;
            break;
        }
    }
    if (!n || n >= sizeof h->wanted.name)
        return PR_FAIL_AT(err, PR_USAGE, h->query->of.at,
                          "the name of a function is expected");
    memcpy(h->wanted.name, name, n);
    return PR_OK;
}

static bool
is_judged(const history *h, size_t f)
{
    double n = 0, us = 0, all = 0;
    for (size_t i = 0; i < h->n_builds; i++) {
        n += (double)h->function[f * h->n_builds + i].n;
        us += (double)h->function[f * h->n_builds + i].us;
        all += (double)h->whole[i].us;
    }
    return n >= LEAST_SAMPLES * (double)h->n_builds && us >= LEAST_SHARE * all;
}

static double
seconds(const history *h, size_t f, size_t at)
{
    return (double)h->function[f * h->n_builds + at].us / 1e6 / h->work[at];
}

/* Points borrow `room`. */
static pr_code
make_story(const history *h, size_t f, conv_point *room, story *ret,
           pr_err *err)
{
    story s = {.function = f, .y = h->series + f * h->n_builds, .point = room};
    pr_code rc = conv_change_points(s.y, h->n_builds, CONV_HISTORY_ALPHA, room,
                                    &s.n_points, err);
    size_t level = s.n_points ? room[s.n_points - 1].at : 0;
    s.newest = conv_judge_newest(s.y + level, h->n_builds - level);
    for (size_t i = 0; i < s.n_points; i++)
        s.weight += fabs(expm1(room[i].after - room[i].before)) *
                    seconds(h, f, room[i].at);
    *ret = s;
    return rc;
}

/* ---- in words ---- */

/* A sign a build, the last forty. */
static void
say_spark(const history *h, const story *s, pr_buffer *to)
{
    static const char *const levels[] = {"▁", "▂", "▃", "▄",
                                         "▅", "▆", "▇", "█"};
    enum { MOST = 40, LEVELS = 8 };
    size_t first = h->n_builds > MOST ? h->n_builds - MOST : 0;
    double low = s->y[first], high = low;
    for (size_t i = first; i < h->n_builds; i++) {
        low = fmin(low, s->y[i]);
        high = fmax(high, s->y[i]);
    }
    for (size_t i = first; i < h->n_builds; i++)
        pr_buffer_puts(
            to,
            levels[high > low ? (size_t)((s->y[i] - low) / (high - low) * 7.99)
                              : 0]);
}

static void
say_newest(const story *s, pr_buffer *to)
{
    if (s->newest.n)
        pr_buffer_printf(to,
                         "the newest %zu: %+.1f%%, p %.1g; record more runs",
                         s->newest.n, 100 * (s->newest.ratio - 1), s->newest.p);
}

static const char *
name_of_build(const history *h, size_t i)
{
    return h->build[i].name ? h->build[i].name : "";
}

/* "+10.2% at abc123; -4.0% at def456" */
static void
say_points(const history *h, const story *s, pr_buffer *to)
{
    for (size_t i = 0; i < s->n_points; i++)
        pr_buffer_printf(to, "%s%+.1f%% at %s", i ? "; " : "",
                         100 * expm1(s->point[i].after - s->point[i].before),
                         name_of_build(h, s->point[i].at));
}

/* ---- all functions ---- */

static void
add_text(q_rows *rows, pr_buffer *text)
{
    q_rows_text(rows, text->len ? text->at : NULL, text->len);
    pr_buffer_reset(text);
}

static pr_code
add_function(const history *h, const story *s, q_rows *rows, pr_buffer *text,
             pr_err *err)
{
    size_t last = h->n_builds - 1;
    pr_bytes path = q_sides_path(&h->sides, s->function);
    pr_bytes name = q_sides_name(&h->sides, s->function);
    q_rows_text(rows, NULL, 0); /* place: in order */
    q_rows_text(rows, name.at, name.len);
    q_rows_real(rows, seconds(h, s->function, 0));
    q_rows_real(rows, seconds(h, s->function, last));
    q_rows_integer(rows, (int64_t)s->n_points);
    say_points(h, s, text);
    add_text(rows, text);
    q_rows_integer(rows, (int64_t)s->newest.n);
    say_newest(s, text);
    add_text(rows, text);
    say_spark(h, s, text);
    add_text(rows, text);
    q_rows_text(rows, path.at, path.len);
    return text->failed ? pr_no_memory(err) : q_rows_end_row(rows, err);
}

typedef struct ranked {
    double weight, seconds;
    size_t function;
} ranked;

static int
by_weight(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    if (a->weight < b->weight || a->weight > b->weight)
        return a->weight < b->weight ? 1 : -1;
    if (a->seconds < b->seconds || a->seconds > b->seconds)
        return a->seconds < b->seconds ? 1 : -1;
    return (a->function > b->function) - (a->function < b->function);
}

static pr_code
rank_functions(const history *h, conv_point *room, ranked *ret, size_t *ret_n,
               pr_err *err)
{
    pr_code rc = PR_OK;
    for (size_t f = 0; rc == PR_OK && f < h->sides.key.n; f++) {
        story s;
        if (!is_judged(h, f))
            continue;
        rc = make_story(h, f, room, &s, err);
        ret[(*ret_n)++] = (ranked){s.weight, seconds(h, f, h->n_builds - 1), f};
    }
    qsort(ret, *ret_n, sizeof *ret, by_weight);
    return rc;
}

static pr_code
add_functions(const history *h, q_rows *rows, conv_point *room, pr_err *err)
{
    size_t n = 0;
    pr_buffer text = {0};
    ranked *order = calloc(h->sides.key.n + 1, sizeof *order);
    if (!order)
        return pr_no_memory(err);
    pr_code rc = rank_functions(h, room, order, &n, err);
    for (size_t i = 0; rc == PR_OK && i < n; i++) {
        story s;
        rc = make_story(h, order[i].function, room, &s, err);
        if (rc == PR_OK)
            rc = add_function(h, &s, rows, &text, err);
    }
    pr_buffer_release(&text);
    free(order);
    return rc;
}

/* ---- one function ---- */

static pr_code
find_function(const history *h, size_t *ret, pr_err *err)
{
    for (unsigned reading = 0; reading < Q_RULE_READINGS; reading++) {
        size_t n = 0;
        for (size_t f = 0; f < h->sides.key.n; f++)
            if (q_rule_matches(&h->wanted, &h->sides, f, reading)) {
                *ret = f;
                n++;
            }
        if (n == 1)
            return PR_OK;
        if (n > 1) {
            PR_FAIL_AT(err, PR_NAME, h->query->of.at,
                       "'%s' means %zu functions", h->wanted.name, n);
            pr_err_hint(err, "say which: FILE:NAME");
            return PR_NAME;
        }
    }
    return PR_FAIL_AT(err, PR_NAME, h->query->of.at,
                      "no function is called '%s'", h->wanted.name);
}

static const conv_point *
point_at(const story *s, size_t at)
{
    for (size_t i = 0; i < s->n_points; i++)
        if (s->point[i].at == at)
            return &s->point[i];
    return NULL;
}

/* The mean of the level that a build is on. */
static double
level_at(const history *h, const story *s, size_t at)
{
    double sum = 0;
    size_t first = 0, last = h->n_builds;
    for (size_t i = 0; i < s->n_points; i++) {
        if (s->point[i].at <= at)
            first = s->point[i].at;
        else if (s->point[i].at < last)
            last = s->point[i].at;
    }
    for (size_t i = first; i < last; i++)
        sum += s->y[i];
    return sum / (double)(last - first);
}

static pr_code
add_build(const history *h, const story *s, size_t i, q_rows *rows,
          pr_buffer *text, pr_err *err)
{
    const build *b = &h->build[i];
    const conv_point *point = point_at(s, i);
    double first = level_at(h, s, 0);
    q_rows_text(rows, NULL, 0); /* place: in order */
    q_rows_text(rows, b->name, b->name ? strlen(b->name) : 0);
    if (b->wall_us >= 0)
        q_rows_integer(rows, b->wall_us);
    else
        q_rows_text(rows, NULL, 0);
    q_rows_integer(rows, (int64_t)b->n_runs);
    q_rows_integer(rows, h->function[s->function * h->n_builds + i].n);
    q_rows_real(rows, seconds(h, s->function, i));
    q_rows_real(rows, 100 * expm1(s->y[i] - first));
    q_rows_real(rows, 100 * expm1(level_at(h, s, i) - first));
    if (point)
        pr_buffer_printf(text, "%+.1f%%, p %.1g",
                         100 * expm1(point->after - point->before), point->p);
    add_text(rows, text);
    return text->failed ? pr_no_memory(err) : q_rows_end_row(rows, err);
}

static pr_code
add_builds(history *h, q_rows *rows, conv_point *room, pr_err *err)
{
    size_t f = 0;
    story s;
    pr_buffer text = {0};
    pr_code rc = find_function(h, &f, err);
    if (rc == PR_OK)
        rc = make_story(h, f, room, &s, err);
    for (size_t i = 0; rc == PR_OK && i < h->n_builds; i++)
        rc = add_build(h, &s, i, rows, &text, err);
    if (rc == PR_OK) {
        say_newest(&s, &h->notes);
        pr_buffer_puts(&h->notes, s.newest.n ? "\n" : "");
        say_spark(h, &s, &h->notes);
        pr_buffer_char(&h->notes, '\n');
    }
    pr_buffer_release(&text);
    return rc;
}

/* ---- the answer ---- */

static const char function_columns[] =
    "place INTEGER PRIMARY KEY, function, first_build_s, last_build_s, points,"
    " changes, newest, newest_text, trend, path";
static const char build_columns[] =
    "place INTEGER PRIMARY KEY, build, wall_us, runs, samples, build_s,"
    " change_pct, level_pct, point";

/* The answer as a format for the name of the table. */
static char *
make_answer(const history *h)
{
    if (h->wanted.name[0])
        return sqlite3_mprintf(
            "SELECT build, datetime(wall_us / 1000000, 'unixepoch') AS started,"
            " runs AS n_runs, samples, build_s, change_pct, level_pct, point"
            " FROM %%s ORDER BY place");
    return sqlite3_mprintf("SELECT function, first_build_s, last_build_s,"
                           " points, changes, newest, newest_text, trend,"
                           " path AS file FROM %%s ORDER BY place LIMIT %lld",
                           h->query->limit);
}

static pr_code
finish(history *h, q_rows *rows, const char *text, q_result **ret, pr_err *err)
{
    char *select = make_answer(h);
    pr_code rc = select ? PR_OK : pr_no_memory(err);
    if (rc == PR_OK)
        rc = q_rows_finish(rows, select, sqlite3_mprintf("%s", text), ret, err);
    else
        q_rows_release(rows);
    sqlite3_free(select);
    if (rc != PR_OK)
        return rc;
    pr_buffer_char(&h->notes, '\0');
    rc = h->notes.failed ? pr_no_memory(err)
                         : q_result_set_notes(*ret, h->notes.at, err);
    if (rc != PR_OK)
        q_result_free(*ret);
    return rc;
}

static pr_code
answer(history *h, q_database *database, const char *text, q_result **ret,
       pr_err *err)
{
    bool one = h->wanted.name[0] != '\0';
    q_rows rows;
    conv_point *room = calloc(h->n_builds + 1, sizeof *room);
    if (!room)
        return pr_no_memory(err);
    pr_buffer_printf(&h->notes, "%zu builds of %zu runs; pyquery %s\n",
                     h->n_builds, h->sides.n_base,
                     h->scale == CONV_SCALE_CENTRED
                         ? "first divides each build by the factor that"
                           " all its functions share"
                     : h->scale == CONV_SCALE_SHARE ? "compares shares"
                                                    : "compares seconds");
    pr_code rc = q_rows_begin(database, one ? build_columns : function_columns,
                              &rows, err);
    if (rc == PR_OK) {
        rc = one ? add_builds(h, &rows, room, err)
                 : add_functions(h, &rows, room, err);
        if (rc == PR_OK)
            rc = finish(h, &rows, text, ret, err);
        else
            q_rows_release(&rows);
    }
    free(room);
    return rc;
}

static pr_code
check_split(const q_query *query, pr_err *err)
{
    if (query->split == Q_WHOLE || query->split == Q_PER_PROFILE ||
        query->split == Q_PER_LABEL)
        return PR_OK;
    return PR_FAIL_AT(err, PR_USAGE, query->split_at,
                      "'history' takes only 'per label KEY' and"
                      " 'per profile'");
}

static void
release(history *h)
{
    q_sides_release(&h->sides);
    free(h->build);
    free(h->build_of);
    free(h->function);
    free(h->whole);
    free(h->work);
    free(h->series);
    pr_buffer_release(&h->notes);
}

pr_code
q_history_run(q_database *database, const char *text, const q_query *query,
              q_result **ret, pr_err *err)
{
    history h = {.query = query};
    pr_code rc = check_split(query, err);
    if (rc == PR_OK)
        rc = find_wanted(&h, err);
    if (rc == PR_OK)
        rc = q_sides_read_all(database, query, &h.sides, err);
    if (rc == PR_OK)
        rc = find_builds(&h, err);
    if (rc == PR_OK && h.n_builds == 0) {
        rc = PR_FAIL(err, PR_NAME, "no run has the label '%s'",
                     query->label.text);
        pr_err_hint(err, "'profiles' lists the labels");
    }
    if (rc == PR_OK)
        rc = make_series(&h, err);
    if (rc == PR_OK)
        rc = answer(&h, database, text, ret, err);
    release(&h);
    return rc;
}
