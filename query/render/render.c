/*
 * render.c - csv and json; the other formats stand in grid.c and flame.c.
 */
#include "query/render/render.h"

#include "query/render/chart.h"
#include "query/render/display.h"
#include "query/render/grid.h"

#include <base/printed.h>
#include <base/quote.h>
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* A number for a program: whole, with a point in every locale. */
static void
format_real(double value, char *buf, size_t size)
{
    sqlite3_snprintf((int)size, buf, "%!.15g", value);
}

/* --- csv --- */

static void
write_csv_text(const char *at, size_t len, pr_buffer *scratch, FILE *out)
{
    pr_buffer_reset(scratch);
    pr_quote_csv(scratch, at, len);
    if (scratch->len)
        fwrite(scratch->at, 1, scratch->len, out);
}

static void
write_csv_value(const q_value *v, pr_buffer *scratch, FILE *out)
{
    char number[64];
    switch (v->type) {
    case Q_NULL:
        break;
    case Q_INTEGER:
        fprintf(out, "%" PRId64, v->integer);
        break;
    case Q_REAL:
        format_real(v->real, number, sizeof number);
        fputs(number, out);
        break;
    case Q_TEXT:
        write_csv_text(v->text, v->len, scratch, out);
        break;
    }
}

static pr_code
render_csv(q_result *result, FILE *out, pr_err *err)
{
    size_t n = q_result_columns(result);
    pr_buffer scratch = {0};
    for (size_t i = 0; i < n; i++) {
        const char *name = q_result_name(result, i);
        write_csv_text(name, strlen(name), &scratch, out);
        putc(i + 1 < n ? ',' : '\n', out);
    }
    pr_code rc;
    while ((rc = q_result_next(result, err)) == PR_OK)
        for (size_t i = 0; i < n; i++) {
            q_value v = q_result_value(result, i);
            write_csv_value(&v, &scratch, out);
            putc(i + 1 < n ? ',' : '\n', out);
        }
    rc = rc != PR_END ? rc : scratch.failed ? pr_no_memory(err) : PR_OK;
    pr_buffer_release(&scratch);
    return rc;
}

/* --- json --- */

static void
write_json_value(const q_value *v, FILE *out)
{
    char number[64];
    switch (v->type) {
    case Q_NULL:
        fputs("null", out);
        break;
    case Q_INTEGER:
        fprintf(out, "%" PRId64, v->integer);
        break;
    case Q_REAL:
        format_real(v->real, number, sizeof number);
        fputs(isfinite(v->real) ? number : "null", out);
        break;
    case Q_TEXT:
        pr_print_json(out, PR_JSON_SURROGATES, v->text, v->len);
        break;
    }
}

static void
write_json_count(const char *key, int64_t value, FILE *out)
{
    if (value < 0)
        fprintf(out, "\"%s\": null", key);
    else
        fprintf(out, "\"%s\": %" PRId64, key, value);
}

/* What the answer rests on; of SQL nothing is known. */
static void
write_json_basis(const q_basis *b, FILE *out)
{
    char number[64];
    if (b->all_samples < 0)
        return;
    fputs(",\n", out);
    write_json_count("samples", b->samples, out);
    fputs(", ", out);
    write_json_count("all_samples", b->all_samples, out);
    fputs(", ", out);
    write_json_count("ran_samples", b->ran, out);
    fputs(", \"seconds\": ", out);
    format_real(b->seconds, number, sizeof number);
    fputs(b->seconds < 0 ? "null" : number, out);
    fputs(",\n\"quality\": {", out);
    write_json_count("proven", b->proven, out);
    fputs(", ", out);
    write_json_count("unproven", b->unproven, out);
    fputs(", ", out);
    write_json_count("lost", b->lost, out);
    format_real(b->unobserved_s, number, sizeof number);
    fprintf(out, ", \"unobserved_s\": %s}", number);
}

static void
write_json_real(const char *key, double value, FILE *out)
{
    char number[64];
    format_real(value, number, sizeof number);
    fprintf(out, ", \"%s\": %s", key, isfinite(value) ? number : "null");
}

/* The comparison that an answer makes. */
static void
write_json_comparison(const q_result *result, FILE *out)
{
    static const char *const scales[] = {"centred", "seconds", "share"};
    const conv_comparison *c = q_result_comparison(result);
    const char *note;
    if (!c)
        return;
    fprintf(out,
            ",\n\"comparison\": {\"scale\": \"%s\", \"tested\": %zu,"
            " \"marked\": %zu, \"new\": %zu, \"gone\": %zu, \"suspects\": %zu,"
            " \"confirmed\": %s",
            scales[c->scale], c->n_tested, c->n_marked, c->n_new, c->n_gone,
            c->n_suspects, c->confirmed ? "true" : "false");
    write_json_real("factor", c->factor, out);
    write_json_real("factor_low", c->factor_low, out);
    write_json_real("factor_high", c->factor_high, out);
    write_json_real("factor_p", c->factor_p, out);
    write_json_real("factors", (double)c->n_factors, out);
    write_json_real("base_s", c->base_us / 1e6, out);
    write_json_real("new_s", c->new_us / 1e6, out);
    fputs("},\n\"notes\": [", out);
    for (size_t i = 0; (note = q_result_note(result, i)) != NULL; i++) {
        fputs(i ? ", " : "", out);
        pr_print_json(out, PR_JSON_SURROGATES, note, strlen(note));
    }
    putc(']', out);
}

/* Rows are arrays, not objects: two columns of one name are legal. */
static pr_code
render_json(q_result *result, FILE *out, pr_err *err)
{
    size_t n = q_result_columns(result);
    const char *title = q_result_title(result);
    fputs("{\"title\": ", out);
    pr_print_json(out, PR_JSON_SURROGATES, title, strlen(title));
    write_json_basis(q_result_basis(result), out);
    write_json_comparison(result, out);
    fputs(",\n\"columns\": [", out);
    for (size_t i = 0; i < n; i++) {
        const char *name = q_result_name(result, i);
        fputs(i ? ", " : "", out);
        pr_print_json(out, PR_JSON_SURROGATES, name, strlen(name));
    }
    fputs("],\n\"rows\": [", out);
    pr_code rc;
    const char *before = "\n";
    while ((rc = q_result_next(result, err)) == PR_OK) {
        fprintf(out, "%s[", before);
        before = ",\n";
        for (size_t i = 0; i < n; i++) {
            q_value v = q_result_value(result, i);
            fputs(i ? ", " : "", out);
            write_json_value(&v, out);
        }
        putc(']', out);
    }
    fputs("\n]}\n", out);
    return rc == PR_END ? PR_OK : rc;
}

pr_code
q_render(q_result *result, const q_render_opts *opts, FILE *out, pr_err *err)
{
    pr_code rc = opts->format == Q_CSV   ? render_csv(result, out, err)
                 : opts->format == Q_SVG ? q_render_chart(result, out, err)
                 : opts->format == Q_JSON
                     ? render_json(result, out, err)
                     : q_render_table(result, opts, out, err);
    return rc == PR_OK ? pr_flush(out, "the answer", err) : rc;
}

void
q_render_fault(const char *query, uint64_t at, FILE *out)
{
    q_text text = {0};
    size_t len = strlen(query);
    size_t before = at < len ? (size_t)at : len;
    bool done = q_text_append_name(&text, query, before);
    size_t width = text.width;
    done = done && q_text_append_name(&text, query + before, len - before);
    if (done) {
        fprintf(out, "  %s\n", text.len ? text.bytes : "");
        fprintf(out, "%*s^\n", (int)width + 2, "");
    }
    q_text_release(&text);
}
