/*
 * chart.c - dots and levels, on a scale of per cent of the first level.
 */
#include "query/render/chart.h"

#include "query/render/columns.h"

#include <base/array.h>
#include <base/buffer.h>
#include <base/quote.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1000, HEIGHT = 320, LEFT = 60, RIGHT = 20, TOP = 40, FOOT = 40 };
static const double LEAST_RANGE = 5; /* per cent, so that noise stays small */

typedef struct dot {
    size_t build; /* where its name begins in the texts, ended by a NUL */
    double seconds, change, level;
    bool begins; /* a level */
} dot;

typedef struct chart {
    dot *dot;
    size_t n, cap;
    pr_buffer names;
    double low, high; /* per cent */
} chart;

static double
real_of(const q_result *result, const char *name)
{
    q_value v = q_result_value(result, q_columns_find(result, name));
    return v.type == Q_REAL ? v.real : (double)v.integer;
}

static pr_code
add_dot(chart *c, const q_result *result, pr_err *err)
{
    q_value build = q_result_value(result, q_columns_find(result, "build"));
    q_value point = q_result_value(result, q_columns_find(result, "point"));
    if (!pr_grow(&c->dot, &c->cap, c->n + 1, sizeof *c->dot))
        return pr_no_memory(err);
    dot d = {c->names.len, real_of(result, "build_s"),
             real_of(result, "change_pct"), real_of(result, "level_pct"),
             point.type == Q_TEXT || c->n == 0};
    if (build.type == Q_TEXT)
        pr_buffer_append(&c->names, build.text, build.len);
    pr_buffer_char(&c->names, '\0');
    c->low = fmin(c->low, fmin(d.change, d.level));
    c->high = fmax(c->high, fmax(d.change, d.level));
    c->dot[c->n++] = d;
    return c->names.failed ? pr_no_memory(err) : PR_OK;
}

/* ---- places ---- */

static double
x_of(const chart *c, double i)
{
    double last = c->n > 1 ? (double)(c->n - 1) : 1;
    return LEFT + i / last * (WIDTH - LEFT - RIGHT);
}

static double
y_of(const chart *c, double percent)
{
    return TOP +
           (c->high - percent) / (c->high - c->low) * (HEIGHT - TOP - FOOT);
}

/* ---- svg ---- */

/* A number with a point in every locale. */
static void
write_number(const char *before, double value, FILE *out)
{
    char number[32];
    sqlite3_snprintf((int)sizeof number, number, "%.1f", value);
    fprintf(out, "%s%s", before, number);
}

static void
write_line(double x1, double y1, double x2, double y2, const char *style,
           FILE *out)
{
    write_number("<line x1=\"", x1, out);
    write_number("\" y1=\"", y1, out);
    write_number("\" x2=\"", x2, out);
    write_number("\" y2=\"", y2, out);
    fprintf(out, "\" %s/>\n", style);
}

static void
write_text(double x, double y, const char *anchor, const char *text, FILE *out)
{
    write_number("<text x=\"", x, out);
    write_number("\" y=\"", y, out);
    fprintf(out, "\" text-anchor=\"%s\">", anchor);
    pr_print_xml(out, text, strlen(text));
    fputs("</text>\n", out);
}

static void
write_axis(const chart *c, FILE *out)
{
    for (int i = 0; i <= 4; i++) {
        char text[32];
        double percent = c->low + (c->high - c->low) * i / 4;
        sqlite3_snprintf((int)sizeof text, text, "%+.1f%%", percent);
        write_line(LEFT, y_of(c, percent), WIDTH - RIGHT, y_of(c, percent),
                   "stroke=\"#ddd\"", out);
        write_text(LEFT - 6, y_of(c, percent) + 4, "end", text, out);
    }
    write_text(LEFT, HEIGHT - FOOT / 3, "start", c->names.at + c->dot[0].build,
               out);
    if (c->n > 1)
        write_text(WIDTH - RIGHT, HEIGHT - FOOT / 3, "end",
                   c->names.at + c->dot[c->n - 1].build, out);
}

static void
write_dots(const chart *c, FILE *out)
{
    for (size_t i = 0; i < c->n; i++) {
        const dot *d = &c->dot[i];
        char text[64];
        write_number("<circle cx=\"", x_of(c, (double)i), out);
        write_number("\" cy=\"", y_of(c, d->change), out);
        fprintf(out, "\" r=\"3\" fill=\"%s\"><title>",
                d->begins && i ? "#c33" : "#46c");
        pr_print_xml(out, c->names.at + d->build,
                     strlen(c->names.at + d->build));
        sqlite3_snprintf((int)sizeof text, text, ": %.3f s, %+.1f%%",
                         d->seconds, d->change);
        fprintf(out, "%s</title></circle>\n", text);
    }
}

static void
write_levels(const chart *c, FILE *out)
{
    for (size_t i = 0, first = 0; i < c->n; i++) {
        if (i + 1 < c->n && !c->dot[i + 1].begins)
            continue;
        double y = y_of(c, c->dot[i].level);
        write_line(x_of(c, (double)first), y, x_of(c, (double)i), y,
                   "stroke=\"#c33\" stroke-width=\"2\"", out);
        first = i + 1;
    }
}

static void
write_chart(const chart *c, const char *title, FILE *out)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\""
            " height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEIGHT);
    write_text(LEFT, TOP / 2, "start", title, out);
    write_axis(c, out);
    write_levels(c, out);
    write_dots(c, out);
    fputs("</svg>\n", out);
}

pr_code
q_render_chart(q_result *result, FILE *out, pr_err *err)
{
    chart c = {.low = 0, .high = 0};
    pr_code rc;
    while ((rc = q_result_next(result, err)) == PR_OK &&
           (rc = add_dot(&c, result, err)) == PR_OK)
        continue;
    if (rc == PR_END && c.n) {
        double room = fmax(0, LEAST_RANGE - (c.high - c.low)) / 2;
        c.low -= room;
        c.high += room;
        write_chart(&c, q_result_title(result), out);
    }
    free(c.dot);
    pr_buffer_release(&c.names);
    return rc == PR_END ? PR_OK : rc;
}
