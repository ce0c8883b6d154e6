/*
 * sides.c - profiles into runs, functions of several databases into one list.
 */
#include "query/compare/sides.h"

#include "query/plan/run.h"
#include "query/plan/select.h"

#include <base/array.h>
#include <base/buffer.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 1 << 26 }; /* functions times runs */

/* An id of a database and the place here that it stands for. */
typedef struct place {
    int64_t id;
    size_t at;
} place;

typedef struct places {
    place *at;
    size_t n, cap;
} places;

/* Amounts of a function in a profile. */
typedef struct cell {
    size_t function, run;
    conv_measure of[Q_MEASURES];
} cell;

typedef struct gatherer {
    q_sides sides;
    size_t n_runs;
    cell *cell;
    size_t n_cells, cap_cells;
    q_database *database; /* the one that is read now ... */
    const q_query *query; /* ... and its question */
    size_t first_run;     /* of the side that is read now */
    bool reads_base;
    bool
        may_lack_name; /* a name that this side does not know chooses nothing */
    pr_strings *paths; /* that take_path() fills */
    places profile, function;
} gatherer;

/* ---- places ---- */

static pr_code
add_place(places *p, int64_t id, size_t at, pr_err *err)
{
    if (!pr_grow(&p->at, &p->cap, p->n + 1, sizeof *p->at))
        return pr_no_memory(err);
    p->at[p->n++] = (place){id, at};
    return PR_OK;
}

/* Places were added in order of id. */
static bool
find_place(const places *p, int64_t id, size_t *ret)
{
    size_t i;
    PR_FIND_SORTED(i, p->at, p->n, id, id);
    if (i == p->n || p->at[i].id != id)
        return false;
    *ret = p->at[i].at;
    return true;
}

/* ---- statements ---- */

typedef pr_code (*row_fn)(gatherer *g, sqlite3_stmt *row, pr_err *err);

/* Takes over sql. */
static pr_code
each_row(gatherer *g, char *sql, row_fn take, pr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    if (!sql)
        return pr_no_memory(err);
    pr_code rc = q_database_prepare(g->database, sql, &stmt, err);
    sqlite3_free(sql);
    while (rc == PR_OK)
        if ((rc = q_database_step(g->database, stmt, err)) == PR_OK)
            rc = take(g, stmt, err);
    sqlite3_finalize(stmt);
    return rc == PR_END ? PR_OK : rc;
}

static pr_code
take_text(sqlite3_stmt *row, int column, char **ret, pr_err *err)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    if (!text)
        return PR_OK;
    *ret = strdup(text);
    return *ret ? PR_OK : pr_no_memory(err);
}

static int64_t
integer_or(sqlite3_stmt *row, int column, int64_t unknown)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL
               ? unknown
               : sqlite3_column_int64(row, column);
}

static double
real_or(sqlite3_stmt *row, int column, double unknown)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL
               ? unknown
               : sqlite3_column_double(row, column);
}

/* ---- runs ---- */

#define PROFILE_COLUMNS                                                    \
    "id, source, recording, host, python, mode, capture, time,"            \
    " interval_us, wall_us, duration_us, unobserved_us, missed_percent,"   \
    " error_percent, knows_ran, (SELECT total(n) FROM loss JOIN process"   \
    " ON process.id = process_id WHERE profile_id = profile.id), (SELECT " \
    " value FROM label WHERE profile_id = profile.id AND key = %Q),"       \
    " (SELECT value FROM label WHERE profile_id = profile.id AND key = %Q)"

static pr_code
take_facts(sqlite3_stmt *row, q_run_facts *ret, pr_err *err)
{
    char **texts[] = {&ret->source, &ret->recording, &ret->host, &ret->python,
                      &ret->mode,   &ret->capture,   &ret->time};
    *ret = (q_run_facts){.interval_us = integer_or(row, 8, -1),
                         .wall_us = integer_or(row, 9, -1),
                         .duration_us = integer_or(row, 10, -1),
                         .unobserved_us = integer_or(row, 11, -1),
                         .missed_percent = real_or(row, 12, -1),
                         .error_percent = real_or(row, 13, -1),
                         .knows_ran = sqlite3_column_int(row, 14) != 0,
                         .lost = (int64_t)sqlite3_column_double(row, 15),
                         .work = sqlite3_column_double(row, 16)};
    if (!(ret->work > 0 && isfinite(ret->work)))
        ret->work = 0;
    pr_code rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < sizeof texts / sizeof *texts; i++)
        rc = take_text(row, (int)i + 1, texts[i], err);
    return rc == PR_OK ? take_text(row, 17, &ret->label, err) : rc;
}

static void
release_facts(q_run_facts *facts)
{
    char *texts[] = {facts->source, facts->recording, facts->host,
                     facts->python, facts->mode,      facts->capture,
                     facts->time,   facts->label};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    *facts = (q_run_facts){0};
}

/* The run of this side that the profile is part of; n_runs: a new one. */
static size_t
run_of(const gatherer *g, const q_run_facts *facts)
{
    size_t run = g->first_run;
    while (facts->recording && run < g->n_runs &&
           !(g->sides.run[run].recording &&
             strcmp(g->sides.run[run].recording, facts->recording) == 0))
        run++;
    return facts->recording ? run : g->n_runs;
}

static pr_code
take_profile(gatherer *g, sqlite3_stmt *row, pr_err *err)
{
    q_run_facts facts;
    pr_code rc = take_facts(row, &facts, err);
    if (rc == PR_OK && !pr_grow(&g->sides.run, &g->sides.cap_runs,
                                g->n_runs + 1, sizeof *g->sides.run))
        rc = pr_no_memory(err);
    if (rc != PR_OK) {
        release_facts(&facts);
        return rc;
    }
    size_t run = run_of(g, &facts);
    if (run < g->n_runs) {
        g->sides.run[run].lost += facts.lost;
        release_facts(&facts);
    } else {
        g->sides.run[g->n_runs++] = facts;
    }
    return add_place(&g->profile, sqlite3_column_int64(row, 0), run, err);
}

/* ---- functions ---- */

static pr_code
take_function(gatherer *g, sqlite3_stmt *row, pr_err *err)
{
    q_sides *s = &g->sides;
    size_t n_path = (size_t)sqlite3_column_bytes(row, 1);
    size_t n_name = (size_t)sqlite3_column_bytes(row, 2);
    const char *path = (const char *)sqlite3_column_text(row, 1);
    const char *name = (const char *)sqlite3_column_text(row, 2);
    uint32_t f = 0;
    pr_buffer key = {0};
    const q_root *root =
        g->reads_base && path ? q_roots_of(&s->roots, path, n_path) : NULL;
    if (root) {
        pr_buffer_puts(&key, root->to);
        path += strlen(root->from);
        n_path -= strlen(root->from);
    }
    pr_buffer_append(&key, path ? path : "", path ? n_path : 0);
    pr_buffer_char(&key, '\0');
    pr_buffer_append(&key, name ? name : "", name ? n_name : 0);
    pr_code rc = key.failed ? pr_no_memory(err)
                            : pr_strings_add(&s->key, key.at, key.len, &f, err);
    pr_buffer_release(&key);
    if (rc == PR_OK &&
        !pr_grow(&s->is_gc, &s->cap_gc, s->key.n, sizeof *s->is_gc))
        rc = pr_no_memory(err);
    if (rc != PR_OK)
        return rc;
    s->is_gc[f] = sqlite3_column_int(row, 3) != 0;
    return add_place(&g->function, sqlite3_column_int64(row, 0), f, err);
}

/* ---- roots ---- */

static pr_code
take_path(gatherer *g, sqlite3_stmt *row, pr_err *err)
{
    uint32_t unused;
    size_t n = (size_t)sqlite3_column_bytes(row, 0);
    const char *path = (const char *)sqlite3_column_text(row, 0);
    return path ? pr_strings_add(g->paths, path, n, &unused, err) : PR_OK;
}

static pr_code
read_paths(gatherer *g, q_database *database, pr_strings *ret, pr_err *err)
{
    g->database = database;
    g->paths = ret;
    q_database_begin(database);
    return each_row(g, sqlite3_mprintf("SELECT path FROM file"), take_path,
                    err);
}

/* One database has each file once: its profiles share the roots. */
static pr_code
find_roots(gatherer *g, q_database *base, q_database *now, pr_err *err)
{
    pr_strings old = {0}, new = {0};
    if (base == now)
        return PR_OK;
    pr_code rc = read_paths(g, base, &old, err);
    if (rc == PR_OK)
        rc = read_paths(g, now, &new, err);
    if (rc == PR_OK)
        rc = q_roots_find(&old, &new, &g->sides.roots, err);
    pr_strings_release(&old);
    pr_strings_release(&new);
    return rc;
}

/* ---- amounts ---- */

/* Amounts of a file: nothing is negative, and sums fit. */
static bool
is_possible(const conv_measure *m)
{
    return m->n >= 0 && m->us >= 0 && m->n < INT64_MAX / MOST_CELLS &&
           m->us < INT64_MAX / 4;
}

static pr_code
add_cell(gatherer *g, int64_t profile, int64_t function, const q_amount *self,
         const q_amount *total, pr_err *err)
{
    cell c = {.of = {{self->n, self->us},
                     {total->n, total->us},
                     {self->ran_n, self->ran_us}}};
    if (!find_place(&g->profile, profile, &c.run) ||
        !find_place(&g->function, function, &c.function))
        return PR_OK; /* a frame that is not a function */
    for (size_t i = 0; i < Q_MEASURES; i++)
        if (!is_possible(&c.of[i]))
            return PR_FAIL(err, PR_DAMAGED, "impossible sums of a function");
    if (!pr_grow(&g->cell, &g->cap_cells, g->n_cells + 1, sizeof *g->cell))
        return pr_no_memory(err);
    g->cell[g->n_cells++] = c;
    return PR_OK;
}

static pr_code
take_total(gatherer *g, sqlite3_stmt *row, pr_err *err)
{
    q_amount self = q_amount_read(row, 2), total = q_amount_read(row, 6);
    return add_cell(g, sqlite3_column_int64(row, 0),
                    sqlite3_column_int64(row, 1), &self, &total, err);
}

static pr_code
add_whole(gatherer *g, int64_t profile, const q_amount *all, pr_err *err)
{
    size_t run;
    conv_measure m[Q_MEASURES] = {
        {all->n, all->us}, {all->n, all->us}, {all->ran_n, all->ran_us}};
    if (!find_place(&g->profile, profile, &run))
        return PR_OK;
    for (size_t i = 0; i < Q_MEASURES; i++) {
        if (!is_possible(&m[i]))
            return PR_FAIL(err, PR_DAMAGED, "impossible sums of a profile");
        g->sides.whole[i][run].n += m[i].n;
        g->sides.whole[i][run].us += m[i].us;
        if (!is_possible(&g->sides.whole[i][run]))
            return PR_FAIL(err, PR_DAMAGED, "impossible sums of a run");
    }
    return PR_OK;
}

static pr_code
take_whole(gatherer *g, sqlite3_stmt *row, pr_err *err)
{
    q_amount all = q_amount_read(row, 1);
    return add_whole(g, sqlite3_column_int64(row, 0), &all, err);
}

/* The stored sums of whole profiles. */
static pr_code
read_stored(gatherer *g, pr_err *err)
{
    pr_code rc =
        each_row(g,
                 sqlite3_mprintf("SELECT profile_id, function_id, self_n,"
                                 " self_us, self_ran_n, self_ran_us, total_n,"
                                 " total_us, total_ran_n, total_ran_us"
                                 " FROM function_total"),
                 take_total, err);
    return rc == PR_OK
               ? each_row(g,
                          sqlite3_mprintf("SELECT id, samples, weight_us,"
                                          " ran_n, ran_us FROM profile"),
                          take_whole, err)
               : rc;
}

static pr_code
read_folded(gatherer *g, const q_plan *plan, pr_err *err)
{
    q_samples samples = {0};
    q_groups groups = {0};
    pr_code rc = q_run_groups(g->database, plan, &samples, &groups, err);
    for (size_t i = 0; rc == PR_OK && i < samples.len; i++)
        rc =
            add_whole(g, samples.entry[i].split, &samples.entry[i].amount, err);
    for (size_t i = 0; rc == PR_OK && i < groups.len; i++) {
        const q_group *one = &groups.group[i];
        rc = add_cell(g, one->split, one->a, &one->self, &one->total, err);
    }
    q_samples_release(&samples);
    q_groups_release(&groups);
    return rc;
}

static pr_code
read_amounts(gatherer *g, pr_err *err)
{
    q_plan plan;
    pr_err why = PR_ERR_INIT;
    pr_code rc = q_plan_make(g->database, g->query, &plan, &why);
    if (rc == PR_NAME && g->may_lack_name) {
        g->may_lack_name = false; /* the other side must know it */
        return PR_OK;
    }
    if (rc != PR_OK) {
        if (err)
            *err = why;
        return rc;
    }
    rc = plan.shape == Q_SHAPE_READY ? read_stored(g, err)
                                     : read_folded(g, &plan, err);
    q_plan_release(&plan);
    return rc;
}

/* ---- a side ---- */

/* `not_in`: a condition of the other side's, or NULL. */
static pr_code
read_runs(gatherer *g, const char *not_in, pr_err *err)
{
    char *in = NULL;
    pr_code rc = q_select_profiles(g->database, g->query, &in, err);
    if (rc != PR_OK)
        return rc;
    const char *unit = g->query->work.text ? g->query->work.text : "";
    const char *label = g->query->label.text ? g->query->label.text : "";
    char *sql = sqlite3_mprintf("SELECT " PROFILE_COLUMNS
                                " FROM profile WHERE (%s) AND NOT (%s)"
                                " ORDER BY id",
                                unit, label, in, not_in ? not_in : "0");
    sqlite3_free(in);
    g->first_run = g->n_runs;
    g->profile.n = g->function.n = 0;
    return each_row(g, sql, take_profile, err);
}

static pr_code
grow_whole(gatherer *g, size_t runs, pr_err *err)
{
    for (size_t i = 0; i < Q_MEASURES; i++) {
        conv_measure *grown =
            realloc(g->sides.whole[i], (runs + 1) * sizeof *grown);
        if (!grown)
            return pr_no_memory(err);
        memset(grown + g->first_run, 0,
               (runs + 1 - g->first_run) * sizeof *grown);
        g->sides.whole[i] = grown;
    }
    return PR_OK;
}

static pr_code
read_side(gatherer *g, const char *not_in, pr_err *err)
{
    q_database_begin(g->database);
    pr_code rc = q_totals_refuse(g->database, "a comparison", err);
    if (rc == PR_OK)
        rc = read_runs(g, not_in, err);
    if (rc == PR_OK)
        rc = grow_whole(g, g->n_runs, err);
    if (rc == PR_OK)
        rc = each_row(g,
                      sqlite3_mprintf("SELECT function.id, path, qualname,"
                                      " kind = 'gc' FROM function JOIN file"
                                      " ON file.id = file_id WHERE kind NOT IN"
                                      " ('native', 'task')"
                                      " ORDER BY function.id"),
                      take_function, err);
    return rc == PR_OK ? read_amounts(g, err) : rc;
}

/* ---- the questions of the sides ---- */

static bool
is_of_profile(const q_condition *c)
{
    return c->field == Q_FIELD_LABEL || c->field == Q_FIELD_HOST;
}

/* The question that reads a side: functions by profile.  Names stay those of
 * `query`. */
static q_query
side_query(const q_query *query)
{
    q_query side = *query;
    side.verb = Q_TOP;
    side.unit = Q_FUNCTION;
    side.split = Q_PER_PROFILE;
    side.of = (q_name){NULL, 0};
    side.in = (q_name){NULL, 0};
    return side;
}

/* The conditions of the new side: those of samples, and those after `to`. */
static q_query
new_query(const q_query *query)
{
    q_query side = side_query(query);
    side.n_conditions = 0;
    for (size_t i = 0; i < query->n_conditions; i++)
        if (!is_of_profile(&query->condition[i]))
            side.condition[side.n_conditions++] = query->condition[i];
    for (size_t i = 0; i < query->n_now; i++)
        if (side.n_conditions < Q_MAX_CONDITIONS)
            side.condition[side.n_conditions++] = query->now[i];
    return side;
}

static pr_code
fail_empty(const char *side, pr_err *err)
{
    PR_FAIL(err, PR_NAME, "the %s side has no profile", side);
    pr_err_hint(err, "'profiles' lists those of a database, with their labels");
    return PR_NAME;
}

static pr_code
read_base(gatherer *g, const q_query *side, pr_err *err)
{
    g->query = side;
    pr_code rc = read_side(g, NULL, err);
    g->sides.n_base = g->n_runs;
    return rc == PR_OK && g->n_runs == 0 ? fail_empty("base", err) : rc;
}

/* One database for both sides: a profile of the base is not one of the new
 * side. */
static pr_code
read_new(gatherer *g, const q_query *base, const q_query *side, bool shared,
         pr_err *err)
{
    char *taken = NULL;
    pr_code rc = PR_OK;
    if (shared)
        rc = q_select_profiles(g->database, base, &taken, err);
    g->query = side;
    if (rc == PR_OK)
        rc = read_side(g, taken, err);
    sqlite3_free(taken);
    g->sides.n_new = g->n_runs - g->sides.n_base;
    return rc == PR_OK && g->sides.n_new == 0 ? fail_empty("new", err) : rc;
}

/* ---- the matrix ---- */

static pr_code
fill(gatherer *g, pr_err *err)
{
    size_t functions = g->sides.key.n, runs = g->n_runs;
    if (functions && runs > MOST_CELLS / functions)
        return PR_FAIL(err, PR_LIMIT, "%zu functions in %zu runs are too many",
                       functions, runs);
    for (size_t i = 0; i < Q_MEASURES; i++) {
        conv_measure *m = calloc(functions * runs + 1, sizeof *m);
        if (!m)
            return pr_no_memory(err);
        g->sides.of[i] = m;
        for (size_t c = 0; c < g->n_cells; c++) {
            const cell *one = &g->cell[c];
            size_t at = one->function * runs + one->run;
            m[at].n += one->of[i].n;
            m[at].us += one->of[i].us;
            if (!is_possible(&m[at]))
                return PR_FAIL(err, PR_DAMAGED,
                               "impossible sums of a function");
        }
    }
    return PR_OK;
}

/* Units of work, if the query asks for them: every run must say how many. */
static pr_code
take_work(gatherer *g, const q_query *query, pr_err *err)
{
    if (!query->work.text)
        return PR_OK;
    g->sides.work = calloc(g->n_runs + 1, sizeof *g->sides.work);
    if (!g->sides.work)
        return pr_no_memory(err);
    for (size_t r = 0; r < g->n_runs; r++) {
        g->sides.work[r] = g->sides.run[r].work;
        if (g->sides.work[r] > 0)
            continue;
        PR_FAIL_AT(err, PR_INCOMPARABLE, query->work.at,
                   "'%s' has no label '%s' that is a number above 0",
                   g->sides.run[r].source ? g->sides.run[r].source : "a run",
                   query->work.text);
        pr_err_hint(err, "record with '--label %s=N', N the work done",
                    query->work.text);
        return PR_INCOMPARABLE;
    }
    return PR_OK;
}

/* ---- interface ---- */

static pr_code
finish(gatherer *g, pr_code rc, q_sides *ret)
{
    free(g->cell);
    free(g->profile.at);
    free(g->function.at);
    if (rc == PR_OK) {
        *ret = g->sides;
        return rc;
    }
    g->sides.n_base = g->n_runs; /* what there is to release */
    g->sides.n_new = 0;
    q_sides_release(&g->sides);
    return rc;
}

pr_code
q_sides_read(q_database *base, q_database *now, const q_query *query,
             q_sides *ret, pr_err *err)
{
    gatherer g = {.database = base, .reads_base = true, .may_lack_name = true};
    q_query base_side = side_query(query), new_side = new_query(query);
    pr_code rc = find_roots(&g, base, now, err);
    g.database = base;
    if (rc == PR_OK)
        rc = read_base(&g, &base_side, err);
    g.database = now;
    g.reads_base = false;
    if (rc == PR_OK)
        rc = read_new(&g, &base_side, &new_side, base == now, err);
    if (rc == PR_OK)
        rc = fill(&g, err);
    if (rc == PR_OK)
        rc = take_work(&g, query, err);
    return finish(&g, rc, ret);
}

pr_code
q_sides_read_all(q_database *database, const q_query *query, q_sides *ret,
                 pr_err *err)
{
    gatherer g = {.database = database};
    q_query side = side_query(query);
    pr_code rc = read_base(&g, &side, err);
    if (rc == PR_OK)
        rc = fill(&g, err);
    if (rc == PR_OK)
        rc = take_work(&g, query, err);
    return finish(&g, rc, ret);
}

void
q_sides_release(q_sides *sides)
{
    for (size_t r = 0; r < sides->n_base + sides->n_new; r++)
        release_facts(&sides->run[r]);
    free(sides->run);
    pr_strings_release(&sides->key);
    free(sides->is_gc);
    for (size_t i = 0; i < Q_MEASURES; i++) {
        free(sides->of[i]);
        free(sides->whole[i]);
    }
    free(sides->work);
    q_roots_release(&sides->roots);
    *sides = (q_sides){0};
}

conv_sides
q_sides_measure(const q_sides *sides, unsigned measure)
{
    return (conv_sides){.n_base = sides->n_base,
                        .n_new = sides->n_new,
                        .n_functions = sides->key.n,
                        .function = sides->of[measure],
                        .on_stack = sides->of[Q_TOTAL],
                        .whole = sides->whole[measure],
                        .work = sides->work};
}

pr_bytes
q_sides_path(const q_sides *sides, size_t function)
{
    pr_bytes key = pr_strings_get(&sides->key, (uint32_t)function);
    return (pr_bytes){key.at, strlen(key.at)};
}

pr_bytes
q_sides_name(const q_sides *sides, size_t function)
{
    pr_bytes key = pr_strings_get(&sides->key, (uint32_t)function);
    size_t n = strlen(key.at) + 1;
    return (pr_bytes){key.at + n, key.len - n};
}
