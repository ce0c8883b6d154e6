/*
 * render.c - table, csv, json, markdown.
 */
#include "query/render.h"

#include <base/array.h>
#include <base/buffer.h>
#include <base/quote.h>
#include <base/terminal.h>
#include <string.h>

#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>

enum { MAX_INDENT = 200 /* levels; a deeper one is shown as this */ };

static bool
ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* A number for a program: whole, with a point in every locale. */
static void
format_real(double value, char *buf, size_t size)
{
    sqlite3_snprintf((int)size, buf, "%!.15g", value);
}

/* A number for people: milliseconds and hundredths of a percent are enough. */
static void
format_rounded(const char *column, double value, char *buf, size_t size)
{
    if (ends_with(column, "_s") || strcmp(column, "seconds") == 0)
        sqlite3_snprintf((int)size, buf, "%.3f", value);
    else if (ends_with(column, "pct"))
        sqlite3_snprintf((int)size, buf, "%.2f", value);
    else
        format_real(value, buf, size);
}

/* --- table and markdown: all cells are needed to know the widths --- */

typedef struct cell {
    size_t at, len, width;
} cell;

typedef struct grid {
    pr_buffer text;
    cell *cells; /* row by row; the names of the columns first */
    size_t n_cells, cap_cells;
    size_t n_columns;
    size_t depth, function; /* columns; n_columns: there is none */
} grid;

static void
append_indent(const q_result *result, pr_buffer *text, size_t depth_column)
{
    q_value depth = q_result_value(result, depth_column);
    int64_t levels = depth.type == Q_INTEGER ? depth.integer : 0;
    if (levels > MAX_INDENT)
        levels = MAX_INDENT;
    for (int64_t i = 0; i < levels; i++)
        pr_buffer_puts(text, "  ");
}

static void
append_text(pr_buffer *text, const char *at, size_t len, q_format format)
{
    if (format == Q_MARKDOWN)
        pr_quote_markdown(text, at, len);
    else
        pr_quote_terminal(text, at, len);
}

static void
append_value(pr_buffer *text, const char *column, const q_value *v,
             q_format format)
{
    char number[64];
    switch (v->type) {
    case Q_TEXT:
        append_text(text, v->text, v->len, format);
        break;
    case Q_INTEGER:
        pr_buffer_i64(text, v->integer);
        break;
    case Q_REAL:
        format_rounded(column, v->real, number, sizeof number);
        pr_buffer_puts(text, number);
        break;
    case Q_NULL:
        pr_buffer_puts(text, format == Q_TABLE ? "-" : "");
        break;
    }
}

/* The cell is what was appended since `at`. */
static bool
close_cell(grid *g, size_t at)
{
    if (g->text.failed ||
        !pr_grow(&g->cells, &g->cap_cells, g->n_cells + 1, sizeof *g->cells))
        return false;
    size_t len = g->text.len - at;
    size_t width = len ? pr_terminal_width(g->text.at + at, len) : 0;
    g->cells[g->n_cells++] = (cell){at, len, width};
    return true;
}

static bool
add_names(grid *g, const q_result *result, q_format format)
{
    for (size_t i = 0; i < g->n_columns; i++) {
        const char *name = q_result_name(result, i);
        size_t at = g->text.len;
        append_text(&g->text, name, strlen(name), format);
        if (!close_cell(g, at))
            return false;
        if (strcmp(name, "depth") == 0)
            g->depth = i;
        if (strcmp(name, "function") == 0)
            g->function = i;
    }
    return true;
}

static bool
add_row(grid *g, const q_result *result, q_format format, bool *is_text)
{
    for (size_t i = 0; i < g->n_columns; i++) {
        q_value v = q_result_value(result, i);
        size_t at = g->text.len;
        is_text[i] |= v.type == Q_TEXT;
        if (i == g->function && g->depth < g->n_columns && format == Q_TABLE)
            append_indent(result, &g->text, g->depth);
        append_value(&g->text, q_result_name(result, i), &v, format);
        if (!close_cell(g, at))
            return false;
    }
    return true;
}

static void
write_spaces(FILE *out, size_t n)
{
    for (; n > 0; n--)
        putc(' ', out);
}

static void
write_table(const grid *g, const bool *is_text, const size_t *width, FILE *out)
{
    for (size_t i = 0; i < g->n_cells; i++) {
        const cell *c = &g->cells[i];
        size_t column = i % g->n_columns;
        bool is_last = column + 1 == g->n_columns;
        size_t pad = width[column] - c->width;
        if (!is_text[column])
            write_spaces(out, pad);
        fwrite(g->text.at + c->at, 1, c->len, out);
        if (is_text[column] && !is_last)
            write_spaces(out, pad);
        fputs(is_last ? "\n" : "  ", out);
    }
}

static void
write_markdown(const grid *g, const bool *is_text, FILE *out)
{
    for (size_t i = 0; i < g->n_cells; i++) {
        const cell *c = &g->cells[i];
        fputs(i % g->n_columns ? " | " : "| ", out);
        fwrite(g->text.at + c->at, 1, c->len, out);
        if ((i + 1) % g->n_columns)
            continue;
        fputs(" |\n", out);
        if (i + 1 != g->n_columns)
            continue;
        for (size_t k = 0; k < g->n_columns; k++)
            fputs(is_text[k] ? "| --- " : "| ---: ", out);
        fputs("|\n", out);
    }
}

static void
write_title(const q_result *result, q_format format, FILE *out)
{
    const char *title = q_result_title(result);
    pr_buffer text = {0};
    append_text(&text, title, strlen(title), format);
    if (text.len) {
        fwrite(text.at, 1, text.len, out);
        fputs("\n\n", out);
    }
    pr_buffer_release(&text);
}

static pr_code
write_grid(q_result *result, const grid *g, const bool *is_text,
           q_format format, FILE *out, pr_err *err)
{
    size_t *width = calloc(g->n_columns + 1, sizeof *width);
    if (!width)
        return pr_no_memory(err);
    for (size_t i = 0; i < g->n_cells; i++)
        if (g->cells[i].width > width[i % g->n_columns])
            width[i % g->n_columns] = g->cells[i].width;
    write_title(result, format, out);
    if (format == Q_MARKDOWN)
        write_markdown(g, is_text, out);
    else
        write_table(g, is_text, width, out);
    free(width);
    return PR_OK;
}

static pr_code
render_grid(q_result *result, q_format format, FILE *out, pr_err *err)
{
    size_t n = q_result_columns(result);
    grid g = {.n_columns = n, .depth = n, .function = n};
    bool *is_text = calloc(n + 1, sizeof *is_text);
    pr_code rc =
        is_text && add_names(&g, result, format) ? PR_OK : pr_no_memory(err);
    while (rc == PR_OK && (rc = q_result_next(result, err)) == PR_OK)
        if (!add_row(&g, result, format, is_text))
            rc = pr_no_memory(err);
    if (rc == PR_END)
        rc = write_grid(result, &g, is_text, format, out, err);
    free(is_text);
    free(g.cells);
    pr_buffer_release(&g.text);
    return rc;
}

/* --- csv --- */

static void
write_csv_text(const char *at, size_t len, pr_buffer *scratch, FILE *out)
{
    pr_buffer_reset(scratch);
    pr_quote_csv(scratch, at, len);
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

/* Rows are arrays, not objects: two columns of one name are legal. */
static pr_code
render_json(q_result *result, FILE *out, pr_err *err)
{
    size_t n = q_result_columns(result);
    const char *title = q_result_title(result);
    fputs("{\"title\": ", out);
    pr_print_json(out, PR_JSON_SURROGATES, title, strlen(title));
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
q_render(q_result *result, q_format format, FILE *out, pr_err *err)
{
    pr_code rc = format == Q_CSV    ? render_csv(result, out, err)
                 : format == Q_JSON ? render_json(result, out, err)
                                    : render_grid(result, format, out, err);
    if (rc == PR_OK && ferror(out))
        rc = PR_FAIL(err, PR_IO, "cannot write the answer");
    return rc;
}

void
q_render_fault(const char *query, uint64_t at, FILE *out)
{
    pr_buffer text = {0};
    size_t len = strlen(query);
    size_t before = at < len ? (size_t)at : len;
    pr_quote_terminal(&text, query, before);
    size_t width = text.len ? pr_terminal_width(text.at, text.len) : 0;
    fputs("  ", out);
    pr_print_terminal(out, query, len);
    fputc('\n', out);
    write_spaces(out, width + 2);
    fputs("^\n", out);
    pr_buffer_release(&text);
}
