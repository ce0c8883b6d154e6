/*
 * overview.c - a few questions of the program's own, in words.
 */
#include "query/overview.h"

#include "query/database/database.h"
#include "query/render/display.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FACTS = 64 };

/* The rows of summary. */
typedef struct facts {
    struct fact {
        char *what, *value; /* value NULL: not known */
    } fact[MAX_FACTS];
    size_t n;
    bool has_times; /* else each sample counts as an interval */
    struct totals { /* of the profiles that have no stacks */
        int64_t profiles, functions;
        double seconds;
    } totals;
} facts;

static char *
shown_text(const q_value *v)
{
    char number[64];
    q_text text = {0};
    switch (v->type) {
    case Q_TEXT:
        q_text_append_name(&text, v->text, v->len);
        return text.bytes;
    case Q_INTEGER:
        snprintf(number, sizeof number, "%" PRId64, v->integer);
        return strdup(number);
    case Q_REAL:
        snprintf(number, sizeof number, "%.3f", v->real);
        return strdup(number);
    case Q_NULL:
        break;
    }
    return NULL;
}

/* Does the interval of an imported file stand for its times? */
static pr_code
read_times(q_database *database, bool *ret, pr_err *err)
{
    static const char sql[] = "SELECT 1 FROM meta WHERE key ="
                              " 'import.interval' AND value = 'assumed'";
    q_result *result;
    pr_code rc = q_run_sql(database, sql, &result, err);
    if (rc != PR_OK)
        return rc;
    rc = q_result_next(result, err);
    *ret = rc == PR_END;
    q_result_free(result);
    return rc == PR_END ? PR_OK : rc;
}

#define HAS_TOTALS Q_HAS_TOTALS("profile.id")

static pr_code
read_totals(q_database *database, struct totals *ret, pr_err *err)
{
    static const char sql[] =
        "WITH chosen AS (SELECT id, weight_us FROM profile WHERE " HAS_TOTALS
        ") SELECT count(*), (SELECT count(DISTINCT function_id) FROM"
        " function_total WHERE profile_id IN (SELECT id FROM chosen)),"
        " total(weight_us) / 1e6 FROM chosen";
    q_result *result;
    if (!database->has_totals)
        return PR_OK;
    pr_code rc = q_run_sql(database, sql, &result, err);
    if (rc != PR_OK)
        return rc;
    rc = q_result_next(result, err);
    if (rc == PR_OK)
        *ret = (struct totals){q_result_value(result, 0).integer,
                               q_result_value(result, 1).integer,
                               q_result_value(result, 2).real};
    q_result_free(result);
    return rc;
}

static pr_code
read_facts(q_database *database, facts *f, pr_err *err)
{
    q_result *result;
    pr_code rc = read_times(database, &f->has_times, err);
    if (rc == PR_OK)
        rc = read_totals(database, &f->totals, err);
    if (rc == PR_OK)
        rc = q_run(database, "summary", &result, err);
    if (rc != PR_OK)
        return rc;
    while ((rc = q_result_next(result, err)) == PR_OK && f->n < MAX_FACTS) {
        q_value what = q_result_value(result, 0);
        q_value value = q_result_value(result, 1);
        f->fact[f->n++] = (struct fact){shown_text(&what), shown_text(&value)};
    }
    q_result_free(result);
    return rc == PR_END ? PR_OK : rc;
}

static void
release_facts(facts *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->fact[i].what);
        free(f->fact[i].value);
    }
}

/* NULL: not known. */
static const char *
fact_of(const facts *f, const char *what)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->fact[i].what && strcmp(f->fact[i].what, what) == 0)
            return f->fact[i].value;
    return NULL;
}

/* The same; "0": not known. */
static const char *
count_of(const facts *f, const char *what)
{
    const char *value = fact_of(f, what);
    return value ? value : "0";
}

static double
number_of(const facts *f, const char *what)
{
    const char *value = fact_of(f, what);
    return value ? strtod(value, NULL) : 0;
}

/* ---- what was recorded ---- */

/* "1 thread", "2 threads" */
static void
write_count(const facts *f, const char *what, const char *one, FILE *out)
{
    const char *value = count_of(f, what);
    fprintf(out, "%s %s", value, strcmp(value, "1") ? what : one);
}

/* "; 3 profiles of 1 process": only what there are several of. */
static void
write_parts(const facts *f, FILE *out)
{
    bool profiles = number_of(f, "profiles") > 1;
    if (profiles)
        fprintf(out, "; %s profiles of ", count_of(f, "profiles"));
    else if (number_of(f, "processes") > 1)
        fputs("; ", out);
    else
        return;
    write_count(f, "processes", "process", out);
}

static void
write_recorded(const facts *f, FILE *out)
{
    static const struct {
        const char *what, *title;
    } shown[] = {{"command", "command"},
                 {"python", "Python"},
                 {"host", "host"},
                 {"started", "started"},
                 {"mode", "mode"}};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const char *value = fact_of(f, shown[i].what);
        if (value && value[0] && strcmp(value, "unknown"))
            fprintf(out, "%-9s %s\n", shown[i].title, value);
    }
    fprintf(out, "%-9s ", "recorded");
    write_count(f, "samples", "sample", out);
    fputs(" of ", out);
    write_count(f, "threads", "thread", out);
    if (f->has_times)
        fprintf(out, " in %s s", count_of(f, "duration_s"));
    write_parts(f, out);
    putc('\n', out);
}

/* Truth in one line: how many samples are proven, what is missing. */
static void
write_trust(const facts *f, FILE *out)
{
    double proven = number_of(f, "proven") + number_of(f, "sleeping") +
                    number_of(f, "stopped");
    double unproven = number_of(f, "unproven"), lost = number_of(f, "lost");
    double all = proven + unproven;
    bool known =
        fact_of(f, "proven") || fact_of(f, "unproven") || fact_of(f, "stopped");
    fprintf(out, "%-9s ", "trust");
    if (known && all > 0)
        fprintf(out, "%.1f %% of the samples are proven, ", 100 * proven / all);
    if (fact_of(f, "lost"))
        fprintf(out, "%.1f %% were lost, ",
                all + lost > 0 ? 100 * lost / (all + lost) : 0);
    if (!known && !fact_of(f, "lost"))
        fputs("the file does not say how its samples were taken", out);
    if (!f->has_times) {
        fputs(", nor when\n", out);
        return;
    }
    double seconds = number_of(f, "seconds") - f->totals.seconds;
    double unobserved = number_of(f, "unobserved_s");
    if (!known && !fact_of(f, "lost"))
        fputs("; ", out);
    fprintf(out, "%.1f %% of the time was not observed\n",
            seconds + unobserved > 0 ? 100 * unobserved / (seconds + unobserved)
                                     : 0);
}

/* Has a profile more than totals? */
static bool
has_recorded(const facts *f)
{
    return !f->totals.profiles ||
           number_of(f, "profiles") > (double)f->totals.profiles;
}

/* A profile that came without stacks says no more of itself. */
static void
write_totals(const facts *f, FILE *out)
{
    const struct totals *t = &f->totals;
    fprintf(out, "%-9s of %" PRId64 " function%s", "totals", t->functions,
            t->functions == 1 ? "" : "s");
    if (has_recorded(f))
        fprintf(out, " in %" PRId64 " of the profiles", t->profiles);
    fprintf(out, ", %.3f s in all; no stacks, threads or times\n", t->seconds);
}

static void
write_profiles(const facts *f, FILE *out)
{
    if (has_recorded(f))
        write_recorded(f, out);
    if (f->totals.profiles)
        write_totals(f, out);
    if (has_recorded(f))
        write_trust(f, out);
    putc('\n', out);
}

/* ---- what to ask next ---- */

/* The function that the table shows first, as a name in a query; NULL: none.
 * The caller frees. */
static char *
first_function(q_database *database)
{
    q_result *result;
    char *name = NULL;
    if (q_run(database, "top 1", &result, NULL) != PR_OK)
        return NULL;
    if (q_result_next(result, NULL) == PR_OK)
        for (size_t i = 0; i < q_result_columns(result); i++)
            if (strcmp(q_result_name(result, i), "function") == 0) {
                q_value v = q_result_value(result, i);
                name = shown_text(&v);
            }
    q_result_free(result);
    return name;
}

static void
write_questions(q_database *database, const facts *f, FILE *out)
{
    char *name = first_function(database);
    fputs("\nAsk next:\n", out);
    const char *quote = name && strchr(name, ' ') ? "\"" : "";
    if (name)
        fprintf(out, "  callers of %s%s%s\n", quote, name, quote);
    if (name && database->has_totals)
        fprintf(out, "  callees of %s%s%s\n", quote, name, quote);
    free(name);
    if (database->has_totals)
        return;
    fputs(number_of(f, "threads") > 1 ? "  threads\n" : "  tree above 5%\n",
          out);
    fputs(number_of(f, "profiles") > 1 ? "  profiles\n"
          : f->has_times               ? "  timeline\n"
                                       : "  stacks 5\n",
          out);
}

/* ---- all ---- */

pr_code
q_overview(q_database *database, const q_render_opts *opts, FILE *out,
           pr_err *err)
{
    facts f = {.n = 0};
    q_result *result;
    pr_code rc = read_facts(database, &f, err);
    if (rc == PR_OK) {
        write_profiles(&f, out);
        rc = q_run(database, "top 5", &result, err);
    }
    if (rc == PR_OK) {
        rc = q_render(result, opts, out, err);
        q_result_free(result);
    }
    if (rc == PR_OK)
        write_questions(database, &f, out);
    release_facts(&f);
    return rc;
}
