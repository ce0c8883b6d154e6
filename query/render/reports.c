/*
 * reports.c - one outcome, three forms.
 */
#include "query/render/reports.h"

#include "query/render/columns.h"
#include "query/render/grid.h"
#include "query/render/render.h"

#include <base/quote.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>

static pr_code
render(q_result *result, q_format format, FILE *out, pr_err *err)
{
    const q_render_opts opts = {.format = format};
    q_result_rewind(result);
    return q_render(result, &opts, out, err);
}

/* ---- how reports begin ---- */

#define BEGIN_MARKDOWN  "### "
#define BEGIN_JSON      "{\"status\": %d, \"reason\": "
#define BEGIN_BENCHMARK "[{\"name\": \"all functions\""
#define NO_BENCHMARK    "[]\n"

static const char *
heading_of(pr_code code)
{
    return code == PR_OK           ? "all rules hold"
           : code == PR_REGRESSION ? "regression found"
                                   : "no answer";
}

static bool
is_markdown(const char *start)
{
    static const pr_code codes[] = {PR_OK, PR_REGRESSION, PR_INCOMPARABLE};
    char begin[64];
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        int n = snprintf(begin, sizeof begin, BEGIN_MARKDOWN "%s\n\n",
                         heading_of(codes[i]));
        if (strncmp(start, begin, (size_t)n) == 0)
            return true;
    }
    return false;
}

static bool
is_json(const char *start)
{
    int status, n = 0;
    return sscanf(start, BEGIN_JSON "%n", &status, &n) == 1 && n > 0;
}

bool
q_report_is_one(const char *start)
{
    return is_markdown(start) || is_json(start) ||
           strcmp(start, NO_BENCHMARK) == 0 ||
           strncmp(start, BEGIN_BENCHMARK, strlen(BEGIN_BENCHMARK)) == 0;
}

/* ---- markdown ---- */

pr_code
q_report_markdown(const q_outcome *outcome, FILE *out, pr_err *err)
{
    fprintf(out, BEGIN_MARKDOWN "%s\n\n", heading_of(outcome->code));
    if (!outcome->answer.rules) {
        pr_code rc = q_write_markdown(outcome->why, out, err);
        fputs("\n", out);
        return rc;
    }
    pr_code rc = render(outcome->answer.rules, Q_MARKDOWN, out, err);
    fputs("\n", out);
    return rc == PR_OK ? render(outcome->answer.top, Q_MARKDOWN, out, err) : rc;
}

/* ---- json ---- */

pr_code
q_report_json(const q_outcome *outcome, FILE *out, pr_err *err)
{
    pr_code rc = PR_OK;
    fprintf(out, BEGIN_JSON, pr_exit_status(outcome->code));
    pr_print_json(out, PR_JSON_SURROGATES, outcome->why, strlen(outcome->why));
    if (outcome->answer.rules) {
        fputs(",\n\"check\": ", out);
        rc = render(outcome->answer.rules, Q_JSON, out, err);
        fputs(",\n\"diff\": ", out);
        if (rc == PR_OK)
            rc = render(outcome->answer.diff, Q_JSON, out, err);
    }
    fputs("}\n", out);
    return rc;
}

/* ---- trackers of benchmarks ---- */

static double
real_of(const q_result *result, const char *name)
{
    q_value v = q_result_value(result, q_columns_find(result, name));
    return v.type == Q_REAL ? v.real : (double)v.integer;
}

static void
write_text(const q_result *result, const char *name, FILE *out)
{
    q_value v = q_result_value(result, q_columns_find(result, name));
    if (v.type == Q_TEXT)
        pr_print_json(out, PR_JSON_SURROGATES, v.text, v.len);
    else
        fputs("\"\"", out);
}

static void
write_point(double seconds, double sd, FILE *out)
{
    char number[2][64];
    sqlite3_snprintf((int)sizeof number[0], number[0], "%.6f", seconds);
    sqlite3_snprintf((int)sizeof number[1], number[1], "%.6f", sd);
    fprintf(out, ", \"unit\": \"s\", \"value\": %s", number[0]);
    if (isfinite(sd))
        fprintf(out, ", \"range\": \"± %s\"", number[1]);
}

/* One function: its name and file, the seconds of a run, and their sd. */
static void
write_function(const q_result *result, FILE *out)
{
    double seconds = real_of(result, "new_s");
    fputs(",\n{\"name\": ", out);
    write_text(result, "function", out);
    write_point(seconds, seconds * real_of(result, "sd_pct") / 100, out);
    fputs(", \"extra\": ", out);
    write_text(result, "file", out);
    putc('}', out);
}

pr_code
q_report_benchmark(const q_outcome *outcome, FILE *out, pr_err *err)
{
    q_result *top = outcome->answer.top;
    pr_code rc = PR_END;
    fputs(top ? BEGIN_BENCHMARK : NO_BENCHMARK, out);
    if (top) {
        write_point(q_result_comparison(top)->new_us / 1e6, INFINITY, out);
        putc('}', out);
        q_result_rewind(top);
        while ((rc = q_result_next(top, err)) == PR_OK)
            if (real_of(top, "new_s") > 0)
                write_function(top, out);
        fputs("]\n", out);
    }
    return rc == PR_END ? PR_OK : rc;
}
