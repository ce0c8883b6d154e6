/*
 * svg.c - a flame graph as a picture, the outermost frames on top.
 *
 * No scripts and no style sheet, so that a mail or an artifact of a CI system
 * shows it; a <title> on each frame is the tooltip.  The widest children come
 * first.  A frame narrower than NARROWEST is left blank, inside of one
 * that has its full width: so all that is drawn is to scale.
 */
#include "converter/model/index.h"
#include "converter/model/label.h"
#include "converter/model/source_path.h"
#include "converter/target/table.h"

#include <base/array.h>
#include <base/buffer.h>
#include <base/quote.h>
#include <base/svg_box.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 1200,
    MARGIN = 10,
    HEAD = 50,       /* above the first row */
    ROWS_MAX = 300,  /* deeper frames are left out, and a line says so */
    THREADS_MAX = 24 /* the others are drawn together */
};
static const double NARROWEST = 0.5; /* pixels */

/* A frame to draw. */
typedef struct box {
    uint64_t weight;
    double x; /* pixels */
    uint32_t position, row;
} box;

typedef struct picture {
    conv_job *job;
    const conv_model *model;
    conv_index index;
    uint64_t *below; /* [position] weight there or below, of one group */
    uint64_t whole;  /* weight of all */
    box *stack;      /* to be drawn */
    size_t n_stack, cap_stack;
    pr_buffer body, name;
    uint32_t rows, too_deep;
    uint64_t too_narrow; /* weight that is not drawn */
} picture;

/* ---- one box ---- */

/* The colours of the page (converter/page/page.css). */
static const char *
fill_of(pr_bytes file)
{
    switch (conv_path_of(file)) {
    case CONV_PATH_STDLIB:
        return "#a5c8e8";
    case CONV_PATH_SITE:
        return "#a9d3ab";
    case CONV_PATH_FROZEN:
        return "#c3c3da";
    case CONV_PATH_SPECIAL:
        return "#e8da8f";
    case CONV_PATH_PROJECT:
        break;
    }
    return "#f0b16d";
}

static double
pixels(const picture *p, uint64_t weight)
{
    return (double)weight / (double)p->whole * (WIDTH - 2 * MARGIN);
}

static void
put_box(picture *p, const box *b, pr_bytes name, pr_bytes title,
        const char *fill)
{
    char amount[64];
    snprintf(amount, sizeof amount, "%.3f s, %.2f %%", (double)b->weight / 1e6,
             100.0 * (double)b->weight / (double)p->whole);
    const pr_svg_box drawn = {.x = b->x,
                              .y = HEAD + (double)b->row * PR_SVG_ROW,
                              .width = pixels(p, b->weight),
                              .fill = fill,
                              .name = name.at,
                              .name_len = name.len,
                              .title = title.at,
                              .title_len = title.len,
                              .amount = amount};
    pr_svg_put_box(&p->body, &drawn);
    if (b->row + 1 > p->rows)
        p->rows = b->row + 1;
}

static void
draw_box(picture *p, const box *b)
{
    const conv_model *m = p->model;
    uint32_t frame = m->nodes[p->index.node[b->position]].frame;
    const conv_function *f =
        conv_model_function(m, conv_model_frame(m, frame)->function);
    pr_buffer_reset(&p->name);
    conv_label_frame(&p->name, PR_QUOTE_LINE, m, frame);
    put_box(p, b, pr_strings_get(&m->strings, f->name),
            (pr_bytes){p->name.at, p->name.len},
            fill_of(pr_strings_get(&m->strings, f->file)));
}

/* ---- a tree ---- */

/* The widest last: it is taken from the stack first. */
static int
compare_boxes(const void *a_box, const void *b_box)
{
    const box *a = a_box, *b = b_box;
    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    return (a->position < b->position) - (a->position > b->position);
}

static pr_code
push_children(picture *p, const box *parent, pr_err *err)
{
    const conv_index *index = &p->index;
    size_t from = p->n_stack;
    for (uint32_t c = parent->position + 1; c <= index->last[parent->position];
         c = index->last[c] + 1) {
        if (p->below[c] == 0)
            continue;
        if (pixels(p, p->below[c]) < NARROWEST) {
            p->too_narrow += p->below[c];
            continue;
        }
        if (parent->row + 1 >= ROWS_MAX) {
            p->too_deep = 1;
            continue;
        }
        if (!pr_grow(&p->stack, &p->cap_stack, p->n_stack + 1,
                     sizeof *p->stack))
            return pr_no_memory(err);
        p->stack[p->n_stack++] =
            (box){.weight = p->below[c], .position = c, .row = parent->row + 1};
    }
    if (p->n_stack == from)
        return PR_OK;
    qsort(p->stack + from, p->n_stack - from, sizeof *p->stack, compare_boxes);
    double x = parent->x;
    for (size_t i = p->n_stack; i-- > from;) {
        p->stack[i].x = x;
        x += pixels(p, p->stack[i].weight);
    }
    return PR_OK;
}

static pr_code
draw_tree(picture *p, const box *root, pr_err *err)
{
    pr_code rc = push_children(p, root, err);
    while (rc == PR_OK && p->n_stack) {
        box b = p->stack[--p->n_stack];
        draw_box(p, &b);
        rc = push_children(p, &b, err);
    }
    return rc;
}

/* ---- groups of threads ---- */

static void
add_thread(picture *p, uint32_t thread)
{
    conv_cursor cursor;
    conv_model_run run;
    conv_cursor_init(&cursor, &p->model->threads[thread]);
    while (conv_cursor_next(&cursor, &run))
        p->below[p->index.position[run.node]] += run.weight_us;
}

/* Threads of one picture: one, or all that have no place of their own. */
static pr_code
draw_group(picture *p, pr_bytes title, double *x, pr_err *err)
{
    const conv_index *index = &p->index;
    for (size_t i = index->n; i-- > 1;)
        p->below[index->parent[i]] += p->below[i];
    box root = {.weight = p->below[0], .x = *x};
    double width = pixels(p, root.weight);
    *x += width;
    if (width < NARROWEST) {
        p->too_narrow += root.weight;
        return PR_OK;
    }
    put_box(p, &root, title, title, "#d5d8dc");
    return draw_tree(p, &root, err);
}

typedef struct rank {
    uint64_t weight;
    uint32_t thread;
} rank;

static int
compare_ranks(const void *a_rank, const void *b_rank)
{
    const rank *a = a_rank, *b = b_rank;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static pr_code
draw_threads(picture *p, const rank *ranks, size_t n, pr_err *err)
{
    pr_buffer title = {0};
    double x = MARGIN;
    pr_code rc = PR_OK;
    size_t own = n > THREADS_MAX ? THREADS_MAX - 1 : n;
    for (size_t i = 0; i < n && rc == PR_OK; i++) {
        add_thread(p, ranks[i].thread);
        if (i >= own && i + 1 < n)
            continue; /* more to come into the last group */
        pr_buffer_reset(&title);
        if (i < own) {
            conv_label_owner(&title, PR_QUOTE_LINE, p->model, ranks[i].thread,
                             ", ");
        } else {
            pr_buffer_u64(&title, n - own);
            pr_buffer_puts(&title, " other threads");
        }
        rc = title.failed
                 ? pr_no_memory(err)
                 : draw_group(p, (pr_bytes){title.at, title.len}, &x, err);
        memset(p->below, 0, p->index.n * sizeof *p->below);
    }
    p->job->names_changed += title.changed;
    pr_buffer_release(&title);
    return rc;
}

static pr_code
draw(picture *p, pr_err *err)
{
    const conv_model *m = p->model;
    rank *ranks = calloc(m->n_threads + 1, sizeof *ranks);
    p->below = calloc(p->index.n, sizeof *p->below);
    size_t n = 0;
    if (!ranks || !p->below) {
        free(ranks);
        return pr_no_memory(err);
    }
    for (uint32_t i = 0; i < m->n_threads; i++)
        if (m->threads[i].weight_us)
            ranks[n++] = (rank){m->threads[i].weight_us, i};
    qsort(ranks, n, sizeof *ranks, compare_ranks);
    pr_code rc = draw_threads(p, ranks, n, err);
    free(ranks);
    return rc;
}

/* ---- the document ---- */

static void
put_heading(picture *p, pr_buffer *head)
{
    pr_bytes source = {p->job->source, strlen(p->job->source)};
    source = conv_path_base(source);
    pr_buffer_printf(head, "<text x=\"%d\" y=\"20\" font-size=\"15\">", MARGIN);
    pr_quote_xml(head, source.at, source.len);
    pr_buffer_printf(head,
                     "</text>\n<text x=\"%d\" y=\"38\">%" PRIu64
                     " samples, %.3f s of all threads",
                     MARGIN, p->model->samples,
                     (double)p->model->weight_us / 1e6);
    if (p->model->unobserved_us)
        pr_buffer_printf(head, "; %.3f s were not observed",
                         (double)p->model->unobserved_us / 1e6);
    if (p->too_narrow)
        pr_buffer_printf(head,
                         "; frames narrower than %.1f pixels are not drawn",
                         NARROWEST);
    if (p->too_deep)
        pr_buffer_printf(head, "; nor are those deeper than %d", ROWS_MAX);
    pr_buffer_puts(head, "</text>\n");
}

static void
put_document(picture *p)
{
    pr_buffer head = {0};
    int height = HEAD + (int)p->rows * PR_SVG_ROW + MARGIN;
    pr_buffer_printf(
        &head,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
        "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "font-family=\"monospace\" font-size=\"11\" fill=\"#111\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        WIDTH, height, WIDTH, height);
    put_heading(p, &head);
    p->body.failed = p->body.failed || head.failed;
    conv_out_write(p->job->out, head.at, head.len);
    conv_out_write(p->job->out, p->body.at, p->body.len);
    conv_out_puts(p->job->out, "</svg>\n");
    pr_buffer_release(&head);
}

static pr_code
write_svg(conv_job *job, pr_err *err)
{
    picture p = {.job = job,
                 .model = job->model,
                 .whole = job->model->weight_us ? job->model->weight_us : 1};
    pr_code rc = conv_index_order(job->model, &p.index, err);
    if (rc == PR_OK)
        rc = draw(&p, err);
    if (rc == PR_OK) {
        put_document(&p);
        if (p.body.failed || p.name.failed)
            rc = pr_no_memory(err);
    }
    job->names_changed += p.body.changed + p.name.changed;
    conv_index_release(&p.index);
    pr_buffer_release(&p.body);
    pr_buffer_release(&p.name);
    free(p.below);
    free(p.stack);
    return rc;
}

const conv_target conv_svg = {
    .info = {"svg", ".svg", "a flame graph as a picture, without scripts",
             "any browser, mail program or image viewer"},
    .level = CONV_LEVEL_FUNCTION,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .takes = CONV_TAKES_LEVEL,
    .write = write_svg,
};
