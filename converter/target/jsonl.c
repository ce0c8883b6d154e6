/*
 * jsonl.c - the JSON lines of CPython 3.15 Lib/profiling/sampling/
 * jsonl_collector.py, byte by byte but for the run id, which CPython draws and
 * we make of the profile: one profile has one id.
 */
#include "converter/encode/json.h"
#include "converter/model/enum_names.h"
#include "converter/model/index.h"
#include "converter/target/table.h"

#include <base/buffer.h>
#include <base/hash.h>
#include <base/quote.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK = 256, RUN_ID = 32 };

/* A frame in the eyes of CPython: without its opcode. */
typedef struct place {
    uint32_t path, name; /* strings of the output */
    int32_t line, end_line, column, end_column;
} place;

typedef struct lines {
    conv_job *job;
    const conv_model *model;
    char run_id[RUN_ID + 1];
    uint32_t *string; /* [model string] number in the output, + 1 */
    pr_list strings;  /* of the model, in the order of the output */
    pr_set places;
    uint32_t *place; /* [frame] */
    conv_totals totals;
    uint64_t samples; /* with a stack */
    pr_buffer text;
} lines;

/* ---- tables ---- */

static pr_code
number_string(lines *l, uint32_t id, uint32_t *ret, pr_err *err)
{
    pr_code rc = PR_OK;
    if (!l->string[id]) {
        rc = pr_list_add(&l->strings, id, err);
        l->string[id] = (uint32_t)l->strings.n;
    }
    *ret = l->string[id] - 1;
    return rc;
}

/* collector.py normalize_location(): a frame without a place has line 0. */
static pr_code
number_frame(lines *l, uint32_t id, pr_err *err)
{
    const conv_frame *frame = conv_model_frame(l->model, id);
    const conv_function *f = conv_model_function(l->model, frame->function);
    place at = {.line = frame->line,
                .end_line = frame->end_line,
                .column = frame->column,
                .end_column = frame->end_column};
    if (frame->line == PR_NO_LINE) {
        at.line = at.end_line = 0;
        at.column = at.end_column = -1;
    }
    pr_code rc = number_string(l, f->name, &at.name, err);
    if (rc == PR_OK)
        rc = number_string(l, f->file, &at.path, err);
    return rc == PR_OK ? pr_set_add(&l->places, &at, &l->place[id], err) : rc;
}

static pr_code
number_all(lines *l, pr_err *err)
{
    const conv_model *m = l->model;
    l->string = calloc(m->strings.n + 1, sizeof *l->string);
    l->place = calloc(m->frames.n + 1, sizeof *l->place);
    if (!l->string || !l->place)
        return pr_no_memory(err);
    pr_code rc = PR_OK;
    for (size_t i = 0; i < m->used.n && rc == PR_OK; i++)
        rc = number_frame(l, m->used.at[i], err);
    return rc;
}

static pr_code
count(lines *l, pr_err *err)
{
    conv_index index;
    const conv_units units = {l->places.n, l->place};
    pr_code rc = conv_index_order(l->model, &index, err);
    if (rc != PR_OK)
        return rc;
    rc = conv_totals_of(l->model, &index, &units, &l->totals, err);
    for (size_t i = 0; i < l->totals.n && rc == PR_OK; i++)
        l->samples += l->totals.self[i].n;
    conv_index_release(&index);
    return rc;
}

/* The form of a random UUID (RFC 9562, version 4). */
static void
make_run_id(lines *l)
{
    const pr_start *start = &l->model->start;
    const uint64_t facts[] = {start->start_us,   start->wall_us,
                              l->samples,        l->places.n,
                              l->model->n_nodes, l->model->n_threads};
    uint64_t high = pr_hash_seeded(facts, sizeof facts, 1);
    uint64_t low = pr_hash_seeded(facts, sizeof facts, 2);
    high = (high & ~UINT64_C(0xf000)) | 0x4000;
    low = (low & ~(UINT64_C(3) << 62)) | UINT64_C(1) << 63;
    snprintf(l->run_id, sizeof l->run_id, "%016" PRIx64 "%016" PRIx64, high,
             low);
}

/* ---- records ---- */

static void
put_member(lines *l, const char *name, uint64_t value)
{
    pr_buffer_puts(&l->text, name);
    pr_buffer_u64(&l->text, value);
}

static void
begin_record(lines *l, const char *type)
{
    pr_buffer_reset(&l->text);
    pr_buffer_puts(&l->text, "{\"type\":\"");
    pr_buffer_puts(&l->text, type);
    pr_buffer_puts(&l->text, "\",\"v\":0,\"run_id\":\"");
    pr_buffer_puts(&l->text, l->run_id);
    pr_buffer_puts(&l->text, "\"");
}

static void
end_record(lines *l)
{
    pr_buffer_puts(&l->text, "}\n");
    conv_out_write(l->job->out, l->text.at, l->text.len);
}

static void
put_string(lines *l, size_t i)
{
    pr_bytes value = pr_strings_get(&l->model->strings, l->strings.at[i]);
    put_member(l, "{\"str_id\":", i);
    pr_buffer_puts(&l->text, ",\"value\":");
    pr_quote_json(&l->text, PR_JSON_ASCII, value.at, value.len);
    pr_buffer_puts(&l->text, "}");
}

static void
put_frame(lines *l, size_t i)
{
    const place *at = (const place *)l->places.item + i;
    put_member(l, "{\"frame_id\":", i);
    put_member(l, ",\"path_str_id\":", at->path);
    put_member(l, ",\"func_str_id\":", at->name);
    pr_buffer_puts(&l->text, ",\"line\":");
    pr_buffer_i64(&l->text, at->line);
    if (at->end_line > 0)
        put_member(l, ",\"end_line\":", (uint64_t)at->end_line);
    if (at->column >= 0)
        put_member(l, ",\"col\":", (uint64_t)at->column);
    if (at->end_column >= 0)
        put_member(l, ",\"end_col\":", (uint64_t)at->end_column);
    pr_buffer_puts(&l->text, "}");
}

static void
put_entry(lines *l, size_t i)
{
    put_member(l, "{\"frame_id\":", i);
    put_member(l, ",\"self\":", l->totals.self[i].n);
    put_member(l, ",\"cumulative\":", l->totals.total[i].n);
    pr_buffer_puts(&l->text, "}");
}

static void
put_chunks(lines *l, const char *type, const char *field, size_t n,
           void (*put)(lines *, size_t))
{
    for (size_t from = 0; from < n; from += CHUNK) {
        size_t to = n - from < CHUNK ? n : from + CHUNK;
        begin_record(l, type);
        if (put == put_entry)
            put_member(l,
                       ",\"kind\":\"frame\",\"scope\":\"final\","
                       "\"samples_total\":",
                       l->samples);
        pr_buffer_puts(&l->text, field);
        for (size_t i = from; i < to; i++) {
            if (i > from)
                pr_buffer_puts(&l->text, ",");
            put(l, i);
        }
        pr_buffer_puts(&l->text, "]");
        end_record(l);
    }
}

static void
put_all(lines *l)
{
    begin_record(l, "meta");
    put_member(l, ",\"sample_interval_usec\":", l->model->start.interval_us);
    if (l->model->start.mode != PR_MODE_UNKNOWN) {
        pr_buffer_puts(&l->text, ",\"mode\":\"");
        pr_buffer_puts(&l->text, conv_mode_name(l->model->start.mode));
        pr_buffer_puts(&l->text, "\"");
    }
    end_record(l);
    put_chunks(l, "string_table", ",\"strings\":[", l->strings.n, put_string);
    put_chunks(l, "frame_table", ",\"frames\":[", l->places.n, put_frame);
    put_chunks(l, "agg", ",\"entries\":[", l->places.n, put_entry);
    begin_record(l, "end");
    put_member(l, ",\"samples_total\":", l->samples);
    end_record(l);
}

static pr_code
write_jsonl(conv_job *job, pr_err *err)
{
    lines l = {
        .job = job, .model = job->model, .places = {.size = sizeof(place)}};
    pr_code rc = number_all(&l, err);
    if (rc == PR_OK)
        rc = count(&l, err);
    if (rc == PR_OK) {
        make_run_id(&l);
        put_all(&l);
        if (l.text.failed)
            rc = pr_no_memory(err);
    }
    job->names_changed += l.text.changed;
    conv_totals_release(&l.totals);
    pr_buffer_release(&l.text);
    pr_list_release(&l.strings);
    pr_set_release(&l.places);
    free(l.string);
    free(l.place);
    return rc;
}

const conv_target conv_jsonl = {
    .info = {"jsonl", ".jsonl",
             "frames and their samples, as CPython 3.15 writes them",
             "scripts, jq"},
    .level = CONV_LEVEL_DEFAULT,
    .time = CONV_TIME_SAMPLES,
    .used_order = true,
    .stock_names = true,
    .write = write_jsonl,
};
