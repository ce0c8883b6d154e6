/*
 * csv.c - a table of functions or lines (RFC 4180), most of its own time
 * first.
 */
#include "converter/model/ranking.h"
#include "converter/target/table.h"

#include <base/buffer.h>
#include <base/quote.h>

typedef struct table {
    conv_job *job;
    const conv_model *model;
    conv_ranking ranking;
    pr_buffer text;
} table;

static void
put_number(table *t, uint64_t value)
{
    pr_buffer_puts(&t->text, ",");
    pr_buffer_u64(&t->text, value);
}

static void
put_field(table *t, uint32_t string)
{
    pr_bytes field = pr_strings_get(&t->model->strings, string);
    pr_buffer_puts(&t->text, ",");
    pr_quote_csv(&t->text, field.at, field.len);
}

static void
put_row(table *t, uint32_t unit)
{
    bool lines = t->job->level == CONV_LEVEL_LINE;
    const conv_totals *totals = &t->ranking.totals;
    uint32_t function = conv_ranking_function(&t->ranking, t->model, unit);
    const conv_function *f = conv_model_function(t->model, function);
    int32_t line = lines ? conv_model_frame(t->model, unit)->line
                         : conv_model_line_of(t->model, function);
    pr_buffer_reset(&t->text);
    pr_bytes name = pr_strings_get(&t->model->strings, f->name);
    pr_quote_csv(&t->text, name.at, name.len);
    put_field(t, f->file);
    put_number(t, line > 0 ? (uint64_t)line : 0);
    put_number(t, totals->self[unit].n);
    put_number(t, totals->total[unit].n);
    put_number(t, totals->self[unit].weight_us);
    put_number(t, totals->total[unit].weight_us);
    pr_buffer_puts(&t->text, "\r\n");
    conv_out_write(t->job->out, t->text.at, t->text.len);
}

static pr_code
write_csv(conv_job *job, pr_err *err)
{
    table t = {.job = job, .model = job->model};
    conv_unit unit =
        job->level == CONV_LEVEL_LINE ? CONV_UNIT_FRAME : CONV_UNIT_FUNCTION;
    pr_code rc =
        conv_ranking_build(job->model, unit, CONV_BY_SELF, &t.ranking, err);
    if (rc != PR_OK)
        return rc;
    conv_out_puts(job->out, conv_model_counts_calls(job->model)
                                ? "function,file,line,primitive_calls,calls,"
                                  "self_us,total_us\r\n"
                                : "function,file,line,self_samples,"
                                  "total_samples,self_us,total_us\r\n");
    for (size_t i = 0; i < t.ranking.n && conv_out_good(job->out); i++)
        put_row(&t, t.ranking.unit[i]);
    if (t.text.failed)
        rc = pr_no_memory(err);
    job->names_changed += t.text.changed;
    pr_buffer_release(&t.text);
    conv_ranking_release(&t.ranking);
    return rc;
}

const conv_target conv_csv = {
    .info = {"csv", ".csv", "a table of functions, or of lines",
             "spreadsheets, pandas, DuckDB"},
    .level = CONV_LEVEL_FUNCTION,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .takes = CONV_TAKES_LEVEL,
    .of_totals = true,
    .write = write_csv,
};
