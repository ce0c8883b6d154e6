/*
 * page_bins.c - runs into bins.
 *
 * The runs of a thread come in order of time, so one bin is open at a time.
 * `head` finds the cells of a node in the open bin; it needs no clearing, since
 * an entry counts only if the cell that it names is of that node.
 */
#include "converter/page/page_bins.h"

#include <stdlib.h>

enum {
    BINS_MAX = 4096,      /* twice as many as a wide screen has pixels */
    CELLS_LEAST = 40000,  /* a page of a small profile stays small */
    CELLS_MOST = 2000000, /* and that of a large one is summed in time */
    SAMPLES_A_CELL = 5
};

typedef struct walk {
    const conv_page_tree *tree;
    conv_page_bins bins;
    uint32_t *head; /* [node of the tree] 1 + a cell of the open bin */
    conv_page_cell *cell;
    size_t n, cap;
    uint32_t thread, bin;
    uint64_t bin_end_us;  /* of the open bin */
    uint64_t runs_before; /* the first run of the open bin */
    uint64_t runs;
    conv_page_take take;
    void *context;
} walk;

/* ---- one bin ---- */

static conv_page_cell *
find_cell(walk *w, uint32_t node, uint8_t status)
{
    uint32_t at = w->head[node];
    if (at > w->n || (at && w->cell[at - 1].node != node))
        at = 0;
    uint32_t first = at;
    for (; at; at = w->cell[at - 1].next)
        if (w->cell[at - 1].status == status)
            return &w->cell[at - 1];
    if (w->n == w->cap &&
        !pr_grow(&w->cell, &w->cap, w->n + 1, sizeof *w->cell))
        return NULL;
    w->cell[w->n] =
        (conv_page_cell){.node = node, .next = first, .status = status};
    w->head[node] = (uint32_t)++w->n;
    return &w->cell[w->n - 1];
}

static uint64_t
key_of(const conv_page_cell *cell)
{
    return (uint64_t)cell->status << 32 | cell->node;
}

/* By status and node.  Most bins have few cells: Shell's sort, without the
 * calls of qsort(), takes a third of the time. */
static void
sort_cells(conv_page_cell *cell, size_t n)
{
    static const size_t gaps[] = {88573, 29524, 9841, 3280, 1093, 364,
                                  121,   40,    13,   4,    1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        size_t gap = gaps[g];
        for (size_t i = gap; i < n; i++) {
            conv_page_cell moved = cell[i];
            uint64_t key = key_of(&moved);
            size_t at = i;
            for (; at >= gap && key_of(&cell[at - gap]) > key; at -= gap)
                cell[at] = cell[at - gap];
            cell[at] = moved;
        }
    }
}

static pr_code
close_bin(walk *w, pr_err *err)
{
    if (w->n == 0)
        return PR_OK;
    sort_cells(w->cell, w->n);
    const conv_page_bin bin = {w->thread, w->bin, w->runs_before, w->cell,
                               w->n};
    pr_code rc = w->take(w->context, &bin, err);
    w->runs_before = w->runs;
    w->n = 0;
    return rc;
}

/* ---- runs ---- */

/* A run as the time that it stands for; runs of a thread do not overlap. */
typedef struct page_span {
    uint64_t start_us, end_us, n;
    uint32_t node;
    uint8_t status;
} page_span;

/* amount * part / whole, rounded down; all of it where part is whole.  Beyond
 * 32 bits the proportion loses digits that no bin shows. */
static uint64_t
share(uint64_t amount, uint64_t part, uint64_t whole)
{
    for (; whole >> 32; whole >>= 1)
        part >>= 1;
    return amount / whole * part + amount % whole * part / whole;
}

/* Open the bin of that time, which is not before the open bin. */
static pr_code
open_bin(walk *w, uint64_t time_us, pr_err *err)
{
    uint64_t bin = time_us / w->bins.bin_us;
    if (bin >= w->bins.n_bins)
        bin = w->bins.n_bins - 1;
    pr_code rc = bin == w->bin ? PR_OK : close_bin(w, err);
    w->bin = (uint32_t)bin;
    w->bin_end_us =
        bin + 1 < w->bins.n_bins ? (bin + 1) * w->bins.bin_us : UINT64_MAX;
    return rc;
}

/* The part of a span up to `end_us`; the part before it is in *put. */
static pr_code
put_part(walk *w, const page_span *span, uint64_t end_us, page_span *put,
         pr_err *err)
{
    conv_page_cell *cell = find_cell(w, w->tree->of[span->node], span->status);
    if (!cell)
        return pr_no_memory(err);
    uint64_t n = span->n;
    if (end_us < span->end_us)
        n = share(n, end_us - span->start_us, span->end_us - span->start_us);
    cell->weight_us += end_us - put->end_us;
    cell->n += n - put->n;
    put->end_us = end_us;
    put->n = n;
    return PR_OK;
}

static pr_code
put_span(walk *w, const page_span *span, pr_err *err)
{
    page_span put = {.end_us = span->start_us};
    pr_code rc = PR_OK;
    do {
        if (put.end_us >= w->bin_end_us)
            rc = open_bin(w, put.end_us, err);
        if (rc == PR_OK)
            rc = put_part(w, span,
                          span->end_us < w->bin_end_us ? span->end_us
                                                       : w->bin_end_us,
                          &put, err);
    } while (rc == PR_OK && put.end_us < span->end_us);
    return rc;
}

static pr_code
walk_thread(walk *w, const conv_thread *thread, pr_err *err)
{
    conv_cursor cursor;
    conv_model_run run;
    uint64_t now_us = 0;
    pr_code rc = PR_OK;
    w->bin = 0;
    w->bin_end_us = 0;
    conv_cursor_init(&cursor, thread);
    while (rc == PR_OK && conv_cursor_next(&cursor, &run)) {
        now_us = run.first_us > now_us ? run.first_us : now_us;
        page_span span = {now_us, now_us + run.weight_us, run.n, run.node,
                          run.status};
        rc = put_span(w, &span, err);
        w->runs++;
        now_us = span.end_us;
    }
    return rc == PR_OK ? close_bin(w, err) : rc;
}

pr_code
conv_page_bins_walk(const conv_model *model, const conv_page_tree *tree,
                    const conv_page_bins *bins, conv_page_take take,
                    void *context, pr_err *err)
{
    walk w = {.tree = tree, .bins = *bins, .take = take, .context = context};
    w.head = calloc(tree->n, sizeof *w.head);
    pr_code rc = w.head ? PR_OK : pr_no_memory(err);
    for (size_t i = 0; rc == PR_OK && i < model->n_threads; i++) {
        w.thread = (uint32_t)i;
        rc = walk_thread(&w, &model->threads[i], err);
    }
    free(w.head);
    free(w.cell);
    return rc;
}

/* ---- the length of a bin ---- */

static uint64_t
end_of(const conv_model *model)
{
    uint64_t end_us = conv_model_end_us(model);
    for (size_t i = 0; i < model->n_threads; i++)
        if (model->threads[i].end_us > end_us)
            end_us = model->threads[i].end_us;
    return end_us ? end_us : 1;
}

uint64_t
conv_page_cells_most(const conv_model *model)
{
    uint64_t most = CELLS_LEAST + model->samples / SAMPLES_A_CELL;
    return most < CELLS_MOST ? most : CELLS_MOST;
}

conv_page_bins
conv_page_bins_shortest(const conv_model *model)
{
    uint64_t end_us = end_of(model), interval_us = model->start.interval_us;
    conv_page_bins bins = {.bin_us = end_us / BINS_MAX + 1};
    if (bins.bin_us < interval_us)
        bins.bin_us = interval_us;
    bins.n_bins = (uint32_t)((end_us - 1) / bins.bin_us + 1);
    return bins;
}

bool
conv_page_bins_double(conv_page_bins *bins)
{
    bool several = bins->n_bins > 1;
    bins->bin_us *= 2;
    bins->n_bins = bins->n_bins / 2 + bins->n_bins % 2;
    return several;
}
