/*
 * page_data.c - the columns and their compression.
 */
#include "converter/page/page_data.h"

#include "converter/page/page_facts.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { GZIP_LEVEL = 6, GZIP_BITS = 15 + 16, VARINT_MAX = 10 };

typedef enum column {
    NODE_PARENT,
    NODE_FUNCTION,
    NODE_LINE,
    THREAD_BINS,
    BIN_STEP,
    BIN_CELLS,
    CELL_STATUS,
    CELL_NODE,
    CELL_SAMPLES,
    CELL_TIME,
    N_COLUMNS
} column;

typedef struct data {
    const conv_model *model;
    conv_page_tree tree;
    conv_page_bins bins;
    pr_buffer json;
    pr_buffer columns[N_COLUMNS];
    uint64_t *bins_of; /* [thread] bins with cells */
    uint64_t n_runs, n_cells, most_cells;
    uint32_t thread, bin, node; /* of the cell before */
    bool begun;
} data;

/* ---- columns ---- */

static void
put_varint(data *d, column to, uint64_t value)
{
    char bytes[VARINT_MAX];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (char)(value | 0x80);
    bytes[n++] = (char)value;
    pr_buffer_append(&d->columns[to], bytes, n);
}

static void
put_signed(data *d, column to, int64_t value)
{
    put_varint(d, to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void
put_nodes(data *d)
{
    const conv_page_node *before = &d->tree.node[0];
    for (size_t i = 0; i < d->tree.n; i++) {
        const conv_page_node *node = &d->tree.node[i];
        int64_t function = i ? node->function : 0;
        int64_t line =
            i && node->line != PR_NO_LINE
                ? node->line - conv_model_line_of(d->model, node->function)
                : 0;
        put_varint(d, NODE_PARENT, i - node->parent);
        put_signed(d, NODE_FUNCTION,
                   function - (i > 1 ? (int64_t)before->function : 0));
        put_signed(d, NODE_LINE, line);
        before = node;
    }
}

static void
put_cell(data *d, const conv_page_cell *cell)
{
    uint64_t nominal = cell->n * d->model->start.interval_us;
    put_varint(d, CELL_STATUS, cell->status);
    put_signed(d, CELL_NODE, (int64_t)cell->node - (int64_t)d->node);
    put_varint(d, CELL_SAMPLES, cell->n);
    put_signed(d, CELL_TIME, (int64_t)(cell->weight_us - nominal));
    d->node = cell->node;
}

/* More cells than a page may have, if the runs to come are like those so far?
 * The first eighth of them proves nothing. */
static bool
has_too_many(const data *d, uint64_t runs)
{
    return d->n_cells > d->most_cells ||
           (double)d->n_cells * (double)d->n_runs >
               (double)d->most_cells * ((double)runs + (double)d->n_runs / 8);
}

static pr_code
take_bin(void *context, const conv_page_bin *bin, pr_err *err)
{
    data *d = context;
    (void)err;
    if (has_too_many(d, bin->runs_before))
        return PR_LIMIT;
    d->n_cells += bin->n;
    if (!d->begun || d->thread != bin->thread)
        d->bin = 0;
    d->begun = true;
    put_varint(d, BIN_STEP, bin->bin - d->bin);
    put_varint(d, BIN_CELLS, bin->n);
    for (size_t i = 0; i < bin->n; i++)
        put_cell(d, &bin->cell[i]);
    d->bins_of[bin->thread]++;
    d->thread = bin->thread;
    d->bin = bin->bin;
    return PR_OK;
}

static void
forget_cells(data *d)
{
    d->n_cells = 0;
    d->node = 0;
    d->begun = false;
    for (column c = BIN_STEP; c < N_COLUMNS; c++)
        pr_buffer_reset(&d->columns[c]);
    memset(d->bins_of, 0, d->model->n_threads * sizeof *d->bins_of);
}

/* In the shortest bins of which there are few enough cells; one bin has them
 * all in any case. */
static pr_code
put_cells(data *d, pr_err *err)
{
    pr_code rc;
    d->bins_of = calloc(d->model->n_threads + 1, sizeof *d->bins_of);
    if (!d->bins_of)
        return pr_no_memory(err);
    for (size_t i = 0; i < d->model->n_threads; i++)
        d->n_runs += d->model->threads[i].runs;
    d->bins = conv_page_bins_shortest(d->model);
    d->most_cells = conv_page_cells_most(d->model);
    do {
        forget_cells(d);
        if (d->bins.n_bins == 1)
            d->most_cells = UINT64_MAX;
        rc =
            conv_page_bins_walk(d->model, &d->tree, &d->bins, take_bin, d, err);
    } while (rc == PR_LIMIT && conv_page_bins_double(&d->bins));
    for (size_t i = 0; i < d->model->n_threads; i++)
        put_varint(d, THREAD_BINS, d->bins_of[i]);
    return rc;
}

/* ---- the whole ---- */

static bool
has_failed(const data *d)
{
    bool failed = d->json.failed;
    for (int i = 0; i < N_COLUMNS; i++)
        failed = failed || d->columns[i].failed;
    return failed;
}

static bool
deflate_some(z_stream *stream, const void *bytes, size_t len, int flush)
{
    stream->next_in = (z_const Bytef *)(uintptr_t)bytes;
    stream->avail_in = (uInt)len;
    int rc = deflate(stream, flush);
    return rc == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) || len == 0;
}

static bool
deflate_block(z_stream *stream, const pr_buffer *block)
{
    uint8_t size[4];
    for (unsigned i = 0; i < 4; i++)
        size[i] = (uint8_t)(block->len >> 8 * i);
    return deflate_some(stream, size, sizeof size, Z_NO_FLUSH) &&
           deflate_some(stream, block->at, block->len, Z_NO_FLUSH);
}

static size_t
raw_size(const data *d)
{
    size_t size = d->json.len + 4;
    for (int i = 0; i < N_COLUMNS; i++)
        size += d->columns[i].len + 4;
    return size;
}

static pr_code
compress_data(const data *d, uint8_t **ret, size_t *ret_len, pr_err *err)
{
    size_t size = raw_size(d);
    if (size > UINT32_MAX / 2)
        return PR_FAIL(err, PR_LIMIT, "the page would have more than 2 GB");
    z_stream stream = {0};
    if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_BITS, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return pr_no_memory(err);
    size_t cap = deflateBound(&stream, size) + 64;
    uint8_t *out = malloc(cap);
    stream.next_out = out;
    stream.avail_out = (uInt)cap;
    bool done = out && deflate_block(&stream, &d->json);
    /* In columns of differences only runs of one byte repeat: to search for
     * more takes four times as long, and finds less than it costs. */
    done = done && deflateParams(&stream, GZIP_LEVEL, Z_RLE) == Z_OK;
    for (int i = 0; i < N_COLUMNS && done; i++)
        done = deflate_block(&stream, &d->columns[i]);
    done = done && deflate_some(&stream, "", 0, Z_FINISH);
    size_t len = stream.total_out;
    deflateEnd(&stream);
    if (!done) {
        free(out);
        return pr_no_memory(err);
    }
    *ret = out;
    *ret_len = len;
    return PR_OK;
}

static pr_code
fill(data *d, const conv_page *page, pr_err *err)
{
    pr_code rc = conv_page_tree_build(d->model, &d->tree, err);
    if (rc != PR_OK)
        return rc;
    put_nodes(d);
    rc = put_cells(d, err);
    if (rc == PR_OK)
        rc = conv_page_facts_put(page, &d->tree, &d->bins, &d->json, err);
    return rc == PR_OK && has_failed(d) ? pr_no_memory(err) : rc;
}

pr_code
conv_page_data_make(conv_page *page, uint8_t **ret, size_t *ret_len,
                    pr_err *err)
{
    data d = {.model = page->model};
    pr_code rc = fill(&d, page, err);
    if (rc == PR_OK)
        rc = compress_data(&d, ret, ret_len, err);
    page->names_changed += d.json.changed;
    pr_buffer_release(&d.json);
    for (int i = 0; i < N_COLUMNS; i++)
        pr_buffer_release(&d.columns[i]);
    conv_page_tree_release(&d.tree);
    free(d.bins_of);
    return rc;
}
