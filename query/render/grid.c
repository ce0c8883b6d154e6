/*
 * grid.c - all rows first, then the widths, then the lines.
 */
#include "query/render/grid.h"

#include "query/render/columns.h"
#include "query/render/display.h"
#include "query/render/paths.h"
#include "query/render/wrap.h"

#include <base/array.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_COLUMNS = 64,
    MAX_INDENT = 200, /* levels; a deeper one is shown as this */
    LEAST_WIDTH = 12, /* of a column that is cut */
    LEAST_NAME = 16,  /* of a function's or a profile's */
    LEAST_TEXT = 24,  /* of a column that goes on below itself */
    BAR = 16          /* cells */
};

typedef struct value {
    q_type type;
    int64_t integer;
    double real;
    size_t at, len; /* of a text, in `text` */
} value;

typedef struct cell {
    size_t at, len, width; /* in `shown` */
} cell;

typedef struct grid {
    const q_render_opts *opts;
    q_column column[MAX_COLUMNS];
    size_t n_columns;
    size_t n_source; /* columns of the result */
    size_t depth, line;
    value *value; /* row by row, all columns of the result */
    size_t n_values, cap_values;
    char *text;
    size_t n_text, cap_text;
    q_paths paths;
    cell *cell; /* row by row, columns shown; titles first */
    size_t n_cells, cap_cells;
    q_text shown;
    size_t width[MAX_COLUMNS];
    const char *left_out[MAX_COLUMNS]; /* titles of columns without room */
    size_t n_left_out;
    bool wraps; /* the last column goes on below itself */
} grid;

/* ---- values ---- */

static bool
keep_value(grid *g, const q_value *v)
{
    if (!pr_grow(&g->value, &g->cap_values, g->n_values + 1, sizeof *g->value))
        return false;
    value *to = &g->value[g->n_values++];
    *to = (value){v->type, v->integer, v->real, g->n_text, 0};
    if (v->type != Q_TEXT)
        return true;
    if (!pr_grow(&g->text, &g->cap_text, g->n_text + v->len + 1, 1))
        return false;
    memcpy(g->text + g->n_text, v->text, v->len);
    g->text[g->n_text + v->len] = '\0';
    to->len = v->len;
    g->n_text += v->len + 1;
    return true;
}

static pr_code
read_rows(grid *g, q_result *result, pr_err *err)
{
    pr_code rc;
    while ((rc = q_result_next(result, err)) == PR_OK)
        for (size_t i = 0; i < g->n_source; i++) {
            q_value v = q_result_value(result, i);
            if (!keep_value(g, &v))
                return pr_no_memory(err);
        }
    return rc == PR_END ? PR_OK : rc;
}

static size_t
count_rows(const grid *g)
{
    return g->n_source ? g->n_values / g->n_source : 0;
}

static const value *
value_at(const grid *g, size_t row, size_t source)
{
    return &g->value[row * g->n_source + source];
}

/* ---- which columns ---- */

static bool
is_empty(const grid *g, size_t source)
{
    for (size_t row = 0; row < count_rows(g); row++)
        if (value_at(g, row, source)->type != Q_NULL)
            return false;
    return true;
}

static void
choose_columns(grid *g, const q_result *result)
{
    q_column all[MAX_COLUMNS];
    size_t n = q_columns_choose(result, all, MAX_COLUMNS);
    for (size_t i = 0; i < n; i++)
        if (!all[i].may_be_missing || !is_empty(g, all[i].source))
            g->column[g->n_columns++] = all[i];
    g->depth = q_columns_find(result, "depth");
    g->line = q_columns_find(result, "line");
}

static bool
is_path(q_role role)
{
    return role == Q_ROLE_PATH || role == Q_ROLE_PROFILE;
}

static bool
collect_paths(grid *g)
{
    for (size_t i = 0; i < g->n_columns; i++) {
        if (!is_path(g->column[i].role))
            continue;
        for (size_t row = 0; row < count_rows(g); row++) {
            const value *v = value_at(g, row, g->column[i].source);
            if (v->type == Q_TEXT &&
                !q_paths_add(&g->paths, g->text + v->at, v->len))
                return false;
        }
    }
    q_paths_shorten(&g->paths);
    return true;
}

/* ---- cells ---- */

static bool
is_number(q_role role)
{
    return role == Q_ROLE_COUNT || role == Q_ROLE_SECONDS ||
           role == Q_ROLE_PERCENT || role == Q_ROLE_CHANGE ||
           role == Q_ROLE_CHANCE;
}

/* Milliseconds and tenths of a percent are enough for people. */
static void
format_number(q_role role, const value *v, char *buf, size_t size)
{
    double real = v->type == Q_INTEGER ? (double)v->integer : v->real;
    if (role == Q_ROLE_PERCENT)
        sqlite3_snprintf((int)size, buf, "%.1f%%", real);
    else if (role == Q_ROLE_CHANGE)
        sqlite3_snprintf((int)size, buf, "%+.1f%%", real);
    else if (role == Q_ROLE_CHANCE)
        sqlite3_snprintf((int)size, buf, real < 0.001 ? "%.0e" : "%.3f", real);
    else if (role == Q_ROLE_SECONDS)
        sqlite3_snprintf((int)size, buf, "%.3f", real);
    else if (v->type == Q_INTEGER)
        snprintf(buf, size, "%" PRId64, v->integer);
    else
        sqlite3_snprintf((int)size, buf, "%!.15g", real);
}

static bool
append_text(const grid *g, q_text *to, const char *text, size_t len)
{
    return g->opts->format == Q_MARKDOWN ? q_text_append_markdown(to, text, len)
                                         : q_text_append_name(to, text, len);
}

static bool
append_indent(grid *g, size_t row)
{
    const value *depth =
        g->depth < g->n_source ? value_at(g, row, g->depth) : NULL;
    int64_t levels = depth && depth->type == Q_INTEGER ? depth->integer : 0;
    if (levels > MAX_INDENT)
        levels = MAX_INDENT;
    for (int64_t i = 0; i < levels; i++)
        if (!q_text_append(&g->shown, "  ", 2))
            return false;
    return true;
}

static bool
append_path(grid *g, const value *v)
{
    const char *path = q_paths_short(&g->paths, g->text + v->at);
    return append_text(g, &g->shown, path, strlen(path));
}

/* ":LINE" of a row that has one. */
static bool
append_line(grid *g, size_t row)
{
    const value *line =
        g->line < g->n_source ? value_at(g, row, g->line) : NULL;
    if (!line || line->type != Q_INTEGER)
        return true;
    char number[32];
    int n = snprintf(number, sizeof number, ":%" PRId64, line->integer);
    return q_text_append(&g->shown, number, (size_t)n);
}

static bool
append_value(grid *g, size_t row, const q_column *column)
{
    const value *v = value_at(g, row, column->source);
    char number[64];
    if (v->type == Q_NULL)
        return q_text_append(&g->shown, "-", 1);
    if (v->type != Q_TEXT) {
        format_number(column->role, v, number, sizeof number);
        return q_text_append(&g->shown, number, strlen(number));
    }
    if (is_path(column->role))
        return append_path(g, v) &&
               (column->role == Q_ROLE_PROFILE || append_line(g, row));
    if (column->role == Q_ROLE_FUNCTION && g->opts->format == Q_TABLE &&
        !append_indent(g, row))
        return false;
    return append_text(g, &g->shown, g->text + v->at, v->len);
}

static bool
close_cell(grid *g, size_t at)
{
    if (!pr_grow(&g->cell, &g->cap_cells, g->n_cells + 1, sizeof *g->cell))
        return false;
    g->cell[g->n_cells++] = (cell){at, g->shown.len - at, g->shown.width};
    return true;
}

static bool
make_cells(grid *g)
{
    for (size_t i = 0; i < g->n_columns; i++) {
        size_t at = g->shown.len;
        g->shown.width = 0;
        if (!append_text(g, &g->shown, g->column[i].title,
                         strlen(g->column[i].title)) ||
            !close_cell(g, at))
            return false;
    }
    for (size_t row = 0; row < count_rows(g); row++)
        for (size_t i = 0; i < g->n_columns; i++) {
            size_t at = g->shown.len;
            g->shown.width = 0;
            if (!append_value(g, row, &g->column[i]) || !close_cell(g, at))
                return false;
        }
    return true;
}

/* ---- widths ---- */

/* A column whose every value is a number stands to the right. */
static bool
is_right(const grid *g, size_t column)
{
    if (is_number(g->column[column].role))
        return true;
    if (g->column[column].role != Q_ROLE_TEXT || !count_rows(g))
        return false;
    for (size_t row = 0; row < count_rows(g); row++)
        if (value_at(g, row, g->column[column].source)->type == Q_TEXT)
            return false;
    return true;
}

static void
measure(grid *g)
{
    for (size_t i = 0; i < g->n_cells; i++) {
        size_t *width = &g->width[i % g->n_columns];
        if (g->cell[i].width > *width)
            *width = g->cell[i].width;
    }
}

static size_t
sum_widths(const grid *g)
{
    size_t sum = g->n_columns ? 2 * (g->n_columns - 1) : 0;
    for (size_t i = 0; i < g->n_columns; i++)
        sum += g->width[i];
    return sum;
}

/* The cells that a column cannot do without. */
static size_t
least_width(const grid *g, size_t column)
{
    q_role role = g->column[column].role;
    size_t width = g->width[column];
    bool is_last = column + 1 == g->n_columns;
    size_t least = is_number(role) || (g->wraps && !is_last) ? width
                   : g->wraps                                ? LEAST_TEXT
                   : role == Q_ROLE_FUNCTION || role == Q_ROLE_PROFILE
                       ? LEAST_NAME
                       : LEAST_WIDTH;
    return width < least ? width : least;
}

static size_t
sum_least_widths(const grid *g)
{
    size_t sum = g->n_columns ? 2 * (g->n_columns - 1) : 0;
    for (size_t i = 0; i < g->n_columns; i++)
        sum += least_width(g, i);
    return sum;
}

static void
leave_out(grid *g, size_t column)
{
    size_t n = g->n_columns, kept = 0;
    g->left_out[g->n_left_out++] = g->column[column].title;
    for (size_t i = 0; i < g->n_cells; i++)
        if (i % n != column)
            g->cell[kept++] = g->cell[i];
    g->n_cells = kept;
    for (size_t i = column; i + 1 < n; i++) {
        g->column[i] = g->column[i + 1];
        g->width[i] = g->width[i + 1];
    }
    g->n_columns--;
}

/* Columns that a person misses least give way first. */
static void
choose_by_width(grid *g)
{
    while (g->opts->width && sum_least_widths(g) > g->opts->width) {
        size_t worst = 0;
        for (size_t i = 1; i < g->n_columns; i++)
            if (g->column[i].rank >= g->column[worst].rank)
                worst = i;
        if (g->n_columns < 2 || g->column[worst].rank == 0)
            return;
        leave_out(g, worst);
    }
}

/* The widest names give way until the table fits. */
static void
fit(grid *g)
{
    size_t sum = sum_widths(g);
    while (g->opts->width && sum > g->opts->width) {
        size_t widest = g->n_columns;
        for (size_t i = 0; i < g->n_columns; i++)
            if (g->width[i] > least_width(g, i) &&
                (widest == g->n_columns || g->width[i] > g->width[widest]))
                widest = i;
        if (widest == g->n_columns)
            return;
        g->width[widest]--;
        sum--;
    }
}

/* Texts of the program's own are whole if their column alone has no room. */
static void
take_room(grid *g, bool is_text)
{
    g->wraps = is_text && g->opts->width && g->n_columns > 0;
    choose_by_width(g);
    g->wraps = g->wraps && sum_least_widths(g) <= g->opts->width;
    if (!g->wraps)
        fit(g);
}

/* ---- lines ---- */

static void
write_spaces(FILE *out, size_t n)
{
    for (; n > 0; n--)
        putc(' ', out);
}

static const char *
colour_of(const grid *g, size_t row, size_t column)
{
    const q_column *c = &g->column[column];
    if (row == 0)
        return "\033[2m";
    const value *v = value_at(g, row - 1, c->source);
    if (c->role == Q_ROLE_FUNCTION)
        return "\033[1m";
    if (c->role == Q_ROLE_PATH)
        return "\033[2m";
    if (c->role != Q_ROLE_PERCENT || v->type != Q_REAL || v->real < 5)
        return NULL;
    return v->real < 20 ? "\033[33m" : "\033[31m";
}

static void
write_cell(const grid *g, size_t at, FILE *out)
{
    const cell *c = &g->cell[at];
    size_t column = at % g->n_columns;
    size_t width = g->width[column];
    bool is_last = column + 1 == g->n_columns, right = is_right(g, column);
    const char *bytes = g->shown.bytes ? g->shown.bytes + c->at : "";
    q_text cut = {0};
    size_t len = c->len, shown = c->width;
    if (is_last && g->wraps) {
        size_t before = sum_widths(g) - width;
        const q_wrap how = {g->opts->width, before, before, 0};
        q_write_wrapped(bytes, len, &how, out);
        return;
    }
    if (shown > width && q_text_append_end(&cut, bytes, len, width)) {
        bytes = cut.bytes;
        len = cut.len;
        shown = cut.width;
    }
    size_t pad = width > shown ? width - shown : 0;
    const char *colour =
        g->opts->colour ? colour_of(g, at / g->n_columns, column) : NULL;
    if (right)
        write_spaces(out, pad);
    if (colour)
        fputs(colour, out);
    fwrite(bytes, 1, len, out);
    if (colour)
        fputs("\033[0m", out);
    if (!right && !is_last)
        write_spaces(out, pad);
    q_text_release(&cut);
}

/* Eighths of a cell. */
static void
write_bar(double share, size_t cells, FILE *out)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    size_t eighths = (size_t)(share * (double)cells * 8 + 0.5);
    for (size_t i = 0; i < eighths / 8; i++)
        fputs("█", out);
    fputs(parts[eighths % 8], out);
}

/* The first column of percents. */
static size_t
bar_column(const grid *g)
{
    size_t i = 0;
    while (i < g->n_columns && g->column[i].role != Q_ROLE_PERCENT)
        i++;
    return i;
}

static double
share_at(const grid *g, size_t row, size_t column)
{
    const value *v = value_at(g, row, g->column[column].source);
    double percent = v->type == Q_REAL      ? v->real
                     : v->type == Q_INTEGER ? (double)v->integer
                                            : 0;
    return percent > 100 ? 1 : percent > 0 ? percent / 100 : 0;
}

static void
end_row(const grid *g, size_t row, size_t bar, bool always, FILE *out)
{
    size_t room = g->opts->width > sum_widths(g) + 2
                      ? g->opts->width - sum_widths(g) - 2
                      : 0;
    if (!g->opts->width)
        room = always ? 40 : 0;
    if (bar < g->n_columns && row > 0 && (g->opts->colour || always) &&
        room >= BAR) {
        size_t last = row * g->n_columns + g->n_columns - 1;
        size_t width = g->width[g->n_columns - 1];
        size_t used = g->cell[last].width;
        bool right = is_right(g, g->n_columns - 1);
        if (share_at(g, row - 1, bar) > 0) {
            write_spaces(out, 2 + (right || used > width ? 0 : width - used));
            write_bar(share_at(g, row - 1, bar), room > 40 ? 40 : room, out);
        }
    }
    putc('\n', out);
}

static void
write_table(const grid *g, bool timeline, FILE *out)
{
    size_t bar = bar_column(g);
    for (size_t i = 0; i < g->n_cells; i++) {
        write_cell(g, i, out);
        if ((i + 1) % g->n_columns)
            fputs("  ", out);
        else if (!g->wraps)
            end_row(g, i / g->n_columns, bar, timeline, out);
    }
}

static void
write_markdown(const grid *g, FILE *out)
{
    for (size_t i = 0; i < g->n_cells; i++) {
        const cell *c = &g->cell[i];
        fputs(i % g->n_columns ? " | " : "| ", out);
        if (c->len)
            fwrite(g->shown.bytes + c->at, 1, c->len, out);
        if ((i + 1) % g->n_columns)
            continue;
        fputs(" |\n", out);
        if (i + 1 != g->n_columns)
            continue;
        for (size_t k = 0; k < g->n_columns; k++)
            fputs(is_right(g, k) ? "| ---: " : "| --- ", out);
        fputs("|\n", out);
    }
}

/* ---- head ---- */

/* Shares over time in one line, one sign a bucket. */
static void
write_sparkline(const grid *g, FILE *out)
{
    static const char *const levels[] = {"▁", "▂", "▃", "▄",
                                         "▅", "▆", "▇", "█"};
    size_t bar = bar_column(g), rows = count_rows(g);
    size_t width = g->opts->width ? g->opts->width : 80;
    size_t cells = rows < width ? rows : width;
    if (bar == g->n_columns || rows < 2)
        return;
    for (size_t i = 0; i < cells; i++) {
        double most = 0;
        for (size_t row = i * rows / cells; row < (i + 1) * rows / cells; row++)
            if (share_at(g, row, bar) > most)
                most = share_at(g, row, bar);
        fputs(most > 0 ? levels[(size_t)(most * 7 + 0.5)] : " ", out);
    }
    fputs("\n\n", out);
}

pr_code
q_write_markdown(const char *name, FILE *out, pr_err *err)
{
    q_text text = {0};
    bool done = q_text_append_markdown(&text, name, strlen(name));
    if (done && text.len)
        fwrite(text.bytes, 1, text.len, out);
    q_text_release(&text);
    return done ? PR_OK : pr_no_memory(err);
}

static bool
append_format(q_text *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *made = sqlite3_vmprintf(format, args);
    va_end(args);
    bool done = made && q_text_append(to, made, strlen(made));
    sqlite3_free(made);
    return done;
}

/* How many samples the answer is about, and how many of them ran. */
static bool
append_basis(q_text *to, const q_basis *b)
{
    bool done = b->seconds >= 0
                    ? append_format(to, ": %lld of %lld samples, %.3f s",
                                    b->samples, b->all_samples, b->seconds)
                    : append_format(to, ": %lld samples", b->all_samples);
    if (b->ran >= 0 && b->samples > 0)
        done =
            done && append_format(to, "; %.1f %% ran, %.1f %% waited",
                                  100.0 * (double)b->ran / (double)b->samples,
                                  100.0 * (double)(b->samples - b->ran) /
                                      (double)b->samples);
    return done;
}

/* How true the recording is; nothing where nothing is known. */
static bool
append_trust(q_text *to, const q_basis *b)
{
    const struct {
        int64_t n;
        const char *name;
    } counts[] = {
        {b->proven, "proven"}, {b->unproven, "unproven"}, {b->lost, "lost"}};
    const char *word = "recorded: ";
    bool done = true;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].n < 0)
            continue;
        done = done && append_format(to, "%s%lld %s", word, counts[i].n,
                                     counts[i].name);
        word = ", ";
    }
    if (b->unobserved_s > 0)
        done = done &&
               append_format(to, "%s%.3f s unobserved", word, b->unobserved_s);
    return done;
}

/* One line, or as many as it needs. */
static void
write_line(q_text *line, size_t bold, const q_render_opts *opts, FILE *out)
{
    const q_wrap how = {opts->format == Q_TABLE ? opts->width : 0, 2, 0,
                        opts->colour ? bold : 0};
    if (line->len)
        q_write_wrapped(line->bytes, line->len, &how, out);
    q_text_release(line);
}

/* A line each; markdown needs a break between them. */
static pr_code
write_notes(const q_result *result, const q_render_opts *opts, FILE *out,
            pr_err *err)
{
    const char *note;
    for (size_t i = 0; (note = q_result_note(result, i)) != NULL; i++) {
        q_text text = {0};
        if (opts->format == Q_MARKDOWN) {
            fputs("\n* ", out);
            pr_code rc = q_write_markdown(note, out, err);
            if (rc != PR_OK)
                return rc;
            continue;
        }
        if (!q_text_append_name(&text, note, strlen(note)))
            return pr_no_memory(err);
        write_line(&text, 0, opts, out);
    }
    if (opts->format == Q_MARKDOWN && q_result_note(result, 0))
        putc('\n', out);
    return PR_OK;
}

static pr_code
write_head(const q_result *result, const q_render_opts *opts, FILE *out,
           pr_err *err)
{
    const char *title = q_result_title(result);
    const q_basis *basis = q_result_basis(result);
    q_text first = {0}, second = {0};
    size_t len = strlen(title);
    if (len == 0)
        return PR_OK;
    bool done = opts->format == Q_MARKDOWN
                    ? q_text_append_markdown(&first, title, len)
                    : q_text_append_name(&first, title, len);
    size_t bold = first.len;
    if (basis->all_samples >= 0)
        done =
            done && append_basis(&first, basis) && append_trust(&second, basis);
    write_line(&first, bold, opts, out);
    write_line(&second, 0, opts, out);
    pr_code rc = write_notes(result, opts, out, err);
    putc('\n', out);
    return done ? rc : pr_no_memory(err);
}

/* The columns for which the terminal is too narrow. */
static void
write_left_out(const grid *g, FILE *out)
{
    q_text line = {0};
    bool done = g->n_left_out > 0;
    for (size_t i = 0; done && i < g->n_left_out; i++)
        done = append_format(&line, "%s%s",
                             i ? ", " : "no room for: ", g->left_out[i]);
    if (done)
        putc('\n', out);
    write_line(&line, 0, g->opts, out);
}

/* ---- all ---- */

/* Are the rows texts of the program's own, and not names of a profile? */
static bool
is_text(const q_result *result)
{
    return q_result_basis(result)->all_samples < 0 ||
           q_columns_find(result, "what") < q_result_columns(result);
}

static void
release(grid *g)
{
    free(g->value);
    free(g->text);
    free(g->cell);
    q_paths_release(&g->paths);
    q_text_release(&g->shown);
}

pr_code
q_render_table(q_result *result, const q_render_opts *opts, FILE *out,
               pr_err *err)
{
    grid g = {.opts = opts, .n_source = q_result_columns(result)};
    pr_code rc = read_rows(&g, result, err);
    if (rc == PR_OK) {
        choose_columns(&g, result);
        if (!collect_paths(&g) || !make_cells(&g))
            rc = pr_no_memory(err);
    }
    if (rc == PR_OK)
        rc = write_head(result, opts, out, err);
    if (rc == PR_OK && opts->format == Q_MARKDOWN) {
        write_markdown(&g, out);
    } else if (rc == PR_OK) {
        bool timeline = q_columns_find(result, "ran_s") < g.n_source &&
                        q_columns_find(result, "time_s") < g.n_source;
        measure(&g);
        if (q_result_title(result)[0]) /* SQL is shown as it is */
            take_room(&g, is_text(result));
        if (timeline)
            write_sparkline(&g, out);
        write_table(&g, timeline, out);
        if (q_result_title(result)[0] && !count_rows(&g))
            fputs("(none)\n", out);
        write_left_out(&g, out);
    }
    release(&g);
    return rc;
}
