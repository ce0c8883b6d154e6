/*
 * page_data.c - the columns, and the facts about them as JSON.
 */
#include "converter/page/page_data.h"

#include "converter/model/enum_names.h"
#include "converter/model/label.h"
#include "converter/model/source_path.h"

#include <base/buffer.h>
#include <base/quote.h>
#include <inttypes.h>
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
    const char *source;
    conv_page_tree tree;
    conv_page_bins bins;
    pr_buffer json;
    pr_buffer columns[N_COLUMNS];
    uint64_t *bins_of;          /* [thread] bins with cells */
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

static pr_code
take_bin(void *context, uint32_t thread, uint32_t bin,
         const conv_page_cell *cell, size_t n, pr_err *err)
{
    data *d = context;
    (void)err;
    if (!d->begun || d->thread != thread)
        d->bin = 0;
    d->begun = true;
    put_varint(d, BIN_STEP, bin - d->bin);
    put_varint(d, BIN_CELLS, n);
    for (size_t i = 0; i < n; i++)
        put_cell(d, &cell[i]);
    d->bins_of[thread]++;
    d->thread = thread;
    d->bin = bin;
    return PR_OK;
}

static pr_code
put_cells(data *d, pr_err *err)
{
    d->bins_of = calloc(d->model->n_threads + 1, sizeof *d->bins_of);
    if (!d->bins_of)
        return pr_no_memory(err);
    pr_code rc =
        conv_page_bins_walk(d->model, &d->tree, &d->bins, take_bin, d, err);
    for (size_t i = 0; i < d->model->n_threads; i++)
        put_varint(d, THREAD_BINS, d->bins_of[i]);
    return rc;
}

/* ---- facts ---- */

#define put(d, ...) pr_buffer_printf(&(d)->json, __VA_ARGS__)

static void
json_bytes(data *d, pr_bytes bytes)
{
    pr_quote_json(&d->json, PR_JSON_SURROGATES, bytes.at, bytes.len);
}

static void
json_string(data *d, uint32_t id)
{
    json_bytes(d, pr_strings_get(&d->model->strings, id));
}

static const char *
comma(size_t i)
{
    return i ? "," : "";
}

static void
put_facts(data *d)
{
    const conv_model *m = d->model;
    const uint8_t *python = m->start.python;
    put(d, "{\"source\":");
    json_bytes(d, conv_path_base((pr_bytes){d->source, strlen(d->source)}));
    put(d,
        ",\"python\":\"%d.%d.%d\",\"mode\":\"%s\",\"wall_us\":%" PRIu64
        ",\"interval_us\":%" PRIu64 ",\"duration_us\":%" PRIu64,
        python[0], python[1], python[2], conv_mode_name(m->start.mode),
        m->start.wall_us, m->start.interval_us, conv_model_end_us(m));
    put(d,
        ",\"samples\":%" PRIu64 ",\"weight_us\":%" PRIu64
        ",\"unobserved_us\":%" PRIu64 ",\"bin_us\":%" PRIu64
        ",\"bins\":%" PRIu32,
        m->samples, m->weight_us, m->unobserved_us, d->bins.bin_us,
        d->bins.n_bins);
    put(d,
        ",\"nodes\":%zu,\"kept\":%zu,\"left_out\":%zu,\"left_out_us\":%" PRIu64,
        d->tree.n, d->tree.n_kept, d->tree.n_left_out, d->tree.left_out_us);
}

static void
put_meta(data *d)
{
    const conv_model *m = d->model;
    const uint32_t *key = m->meta_keys.item;
    put(d, ",\"meta\":{");
    for (size_t i = 0; i < m->meta_keys.n; i++) {
        put(d, "%s", comma(i));
        json_string(d, key[i]);
        put(d, ":");
        json_string(d, m->meta_values.at[i]);
    }
    put(d, "}");
}

/* The sum over the process and its threads; counters that none has are
 * left out. */
static void
put_counts(data *d)
{
    const conv_model *m = d->model;
    size_t n = 0;
    put(d, ",\"counts\":{");
    for (uint32_t kind = 0; kind < PR_COUNT_KINDS; kind++) {
        uint64_t sum = m->counts.value[kind];
        bool known = sum != CONV_NO_COUNT;
        sum = known ? sum : 0;
        for (size_t i = 0; i < m->n_threads; i++) {
            uint64_t value = m->threads[i].counts.value[kind];
            known = known || value != CONV_NO_COUNT;
            sum += value != CONV_NO_COUNT ? value : 0;
        }
        if (known && conv_count_name(kind))
            put(d, "%s\"%s\":%" PRIu64, comma(n++), conv_count_name(kind), sum);
    }
    put(d, "}");
}

/* A process is named by its number and the program that it runs. */
static void
put_processes(data *d)
{
    const conv_model *m = d->model;
    put(d, ",\"processes\":[");
    for (size_t i = 0; i < m->n_processes; i++) {
        pr_buffer name = {0};
        conv_label_process(&name, PR_QUOTE_LINE, m, (uint32_t)i);
        put(d, "%s", comma(i));
        json_bytes(d, (pr_bytes){name.at, name.len});
        d->json.failed = d->json.failed || name.failed;
        pr_buffer_release(&name);
    }
    put(d, "]");
}

static void
put_threads(data *d)
{
    const conv_model *m = d->model;
    put(d, ",\"threads\":[");
    for (size_t i = 0; i < m->n_threads; i++) {
        const conv_thread *t = &m->threads[i];
        pr_buffer name = {0};
        conv_label_thread(&name, PR_QUOTE_LINE, m, (uint32_t)i);
        put(d, "%s{\"name\":", comma(i));
        json_bytes(d, (pr_bytes){name.at, name.len});
        put(d,
            ",\"process\":%" PRIu32 ",\"tid\":%" PRIu64 ",\"interp\":%" PRIu32
            ",\"main\":%d,\"samples\":%" PRIu64 ",\"weight_us\":%" PRIu64 "}",
            t->process, t->tid, t->interp, t->is_main, t->samples,
            t->weight_us);
        d->json.failed = d->json.failed || name.failed;
        pr_buffer_release(&name);
    }
    put(d, "]");
}

static void
put_events(data *d)
{
    const conv_model *m = d->model;
    put(d, ",\"events\":[");
    for (size_t i = 0; i < m->n_events; i++) {
        const conv_event *e = &m->events[i];
        put(d, "%s[\"%s\",%" PRIu64 ",%" PRIu64 ",", comma(i),
            e->is_gc ? "gc" : conv_mark_name(e->kind), e->first_us, e->end_us);
        json_string(d, e->text);
        put(d, "]");
    }
    put(d, "]");
}

/* Functions name their file by its number; files stand with the class of
 * their path. */
static pr_code
put_functions(data *d, pr_err *err)
{
    const conv_model *m = d->model;
    pr_set files = {.size = sizeof(uint32_t)};
    pr_code rc = PR_OK;
    put(d, ",\"functions\":[");
    for (uint32_t i = 0; i < m->functions.n && rc == PR_OK; i++) {
        const conv_function *f = conv_model_function(m, i);
        uint32_t file;
        rc = pr_set_add(&files, &f->file, &file, err);
        put(d, "%s", comma(i));
        json_string(d, f->name);
        put(d, ",%" PRIu32 ",%" PRId32, file, conv_model_line_of(m, i));
    }
    put(d, "],\"files\":[");
    for (size_t i = 0; i < files.n; i++) {
        pr_bytes path =
            pr_strings_get(&m->strings, ((const uint32_t *)files.item)[i]);
        put(d, "%s", comma(i));
        json_bytes(d, path);
        put(d, ",\"%s\"", conv_path_name(conv_path_of(path)));
    }
    put(d, "]");
    pr_set_release(&files);
    return rc;
}

static void
put_totals(data *d)
{
    if (!d->tree.total_us)
        return;
    put(d, ",\"total_us\":[");
    for (size_t i = 0; i < d->model->functions.n; i++)
        put(d, "%s%" PRIu64, comma(i), d->tree.total_us[i]);
    put(d, "]");
}

static pr_code
put_json(data *d, pr_err *err)
{
    put_facts(d);
    put_meta(d);
    put_counts(d);
    put_processes(d);
    put_threads(d);
    put_events(d);
    pr_code rc = put_functions(d, err);
    put_totals(d);
    put(d, "}");
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
fill(data *d, pr_err *err)
{
    pr_code rc = conv_page_tree_build(d->model, &d->tree, err);
    if (rc == PR_OK)
        rc = conv_page_bins_choose(d->model, &d->tree, &d->bins, err);
    if (rc != PR_OK)
        return rc;
    put_nodes(d);
    rc = put_cells(d, err);
    if (rc == PR_OK)
        rc = put_json(d, err);
    return rc == PR_OK && has_failed(d) ? pr_no_memory(err) : rc;
}

pr_code
conv_page_data_make(const conv_model *model, const char *source, uint8_t **ret,
                    size_t *ret_len, uint64_t *changed, pr_err *err)
{
    data d = {.model = model, .source = source};
    pr_code rc = fill(&d, err);
    if (rc == PR_OK)
        rc = compress_data(&d, ret, ret_len, err);
    *changed += d.json.changed;
    pr_buffer_release(&d.json);
    for (int i = 0; i < N_COLUMNS; i++)
        pr_buffer_release(&d.columns[i]);
    conv_page_tree_release(&d.tree);
    free(d.bins_of);
    return rc;
}
