/*
 * pstats.c - the file of cProfile and pstats.
 *
 * Own style: one entry a function (or line), in the shape of cProfile, which
 * pstats of 3.8 to 3.15, snakeviz, tuna and gprof2dot load.  A profile has
 * samples where cProfile has calls: cc and nc are the samples that hold the
 * function, tt its own seconds, ct all; a caller's tuple is (nc, cc, tt, ct)
 * of the samples that hold the call.
 * Stock style: what CPython 3.15 Lib/profiling/sampling/pstats_collector.py
 * writes: lines as keys, cc = samples of its own, callers as plain counts of
 * every occurrence, and the marker that makes it a SampledStats.
 */
#include "converter/encode/marshal.h"
#include "converter/model/index.h"
#include "converter/target/table.h"

#include <base/buffer.h>
#include <stdlib.h>

typedef struct stats {
    conv_job *job;
    const conv_model *model;
    bool stock;
    conv_index index;
    conv_totals totals;
    conv_marshal marshal;
    uint32_t *first_edge; /* [unit + 1] in `edge` */
    uint32_t *edge;       /* edges grouped by callee */
    uint32_t *ref;        /* [unit] of its key in the file, + 1; 0 none yet */
} stats;

static pr_code
group_edges(stats *s, pr_err *err)
{
    size_t n = s->totals.n, n_edges = s->totals.edges.n;
    s->first_edge = calloc(n + 2, sizeof *s->first_edge);
    s->edge = calloc(n_edges + 1, sizeof *s->edge);
    s->ref = calloc(n + 1, sizeof *s->ref);
    if (!s->first_edge || !s->edge || !s->ref)
        return pr_no_memory(err);
    for (size_t i = 0; i < n_edges; i++)
        s->first_edge[conv_totals_edge(&s->totals, i).callee + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        s->first_edge[i] += s->first_edge[i - 1];
    for (size_t i = 0; i < n_edges; i++)
        s->edge[s->first_edge[conv_totals_edge(&s->totals, i).callee + 1]++] =
            (uint32_t)i;
    return PR_OK;
}

/* (file, line, name); the second time a reference to the first. */
static void
put_key(stats *s, uint32_t unit)
{
    if (s->ref[unit]) {
        conv_marshal_ref(&s->marshal, s->ref[unit] - 1);
        return;
    }
    bool lines = s->job->level == CONV_LEVEL_LINE;
    uint32_t function =
        lines ? conv_model_frame(s->model, unit)->function : unit;
    int32_t line = lines ? conv_model_frame(s->model, unit)->line
                         : conv_model_line_of(s->model, function);
    const conv_function *f = conv_model_function(s->model, function);
    pr_bytes file = pr_strings_get(&s->model->strings, f->file);
    pr_bytes name = pr_strings_get(&s->model->strings, f->name);
    s->ref[unit] = conv_marshal_tuple(&s->marshal, 3, true) + 1;
    conv_marshal_string(&s->marshal, file.at, file.len, !s->stock);
    conv_marshal_u64(&s->marshal, line > 0 ? (uint64_t)line : 0);
    conv_marshal_string(&s->marshal, name.at, name.len, !s->stock);
}

static double
seconds(const stats *s, uint64_t weight)
{
    return (double)weight / (s->job->time == CONV_TIME_SAMPLES ? 1 : 1e6);
}

static void
put_numbers(stats *s, uint64_t calls, uint64_t all, double own, double sum)
{
    conv_marshal_u64(&s->marshal, calls);
    conv_marshal_u64(&s->marshal, all);
    conv_marshal_double(&s->marshal, own);
    conv_marshal_double(&s->marshal, sum);
}

static void
put_callers(stats *s, uint32_t unit)
{
    conv_marshal_dict(&s->marshal);
    for (uint32_t i = s->first_edge[unit]; i < s->first_edge[unit + 1]; i++) {
        const conv_edge_totals *e = &s->totals.edge[s->edge[i]];
        put_key(s, conv_totals_edge(&s->totals, s->edge[i]).caller);
        if (s->stock) {
            conv_marshal_u64(&s->marshal, e->every.n);
            continue;
        }
        conv_marshal_tuple(&s->marshal, 4, false);
        put_numbers(s, e->total.n, e->total.n, seconds(s, e->self.weight_us),
                    seconds(s, e->total.weight_us));
    }
    conv_marshal_dict_end(&s->marshal);
}

static void
put_entry(stats *s, uint32_t unit)
{
    conv_total self = s->totals.self[unit], total = s->totals.total[unit];
    put_key(s, unit);
    conv_marshal_tuple(&s->marshal, 5, false);
    if (s->stock) {
        /* the same floating-point operation, for the same last bit */
        double interval = (double)s->model->start.interval_us / 1e6;
        put_numbers(s, self.n, total.n, (double)self.n * interval,
                    (double)total.n * interval);
    } else {
        put_numbers(s, total.n, total.n, seconds(s, self.weight_us),
                    seconds(s, total.weight_us));
    }
    put_callers(s, unit);
}

/* pstats refuses a file without an entry. */
static void
put_nothing(conv_marshal *marshal)
{
    static const char name[] = "<no samples>";
    conv_marshal_tuple(marshal, 3, false);
    conv_marshal_string(marshal, PR_SYNTHETIC_FILE, 1, false);
    conv_marshal_u64(marshal, 0);
    conv_marshal_string(marshal, name, sizeof name - 1, false);
    conv_marshal_tuple(marshal, 5, false);
    conv_marshal_u64(marshal, 0);
    conv_marshal_u64(marshal, 0);
    conv_marshal_double(marshal, 0);
    conv_marshal_double(marshal, 0);
    conv_marshal_dict(marshal);
    conv_marshal_dict_end(marshal);
}

/* CPython 3.15 Lib/pstats.py: this key makes it a SampledStats. */
static void
put_marker(conv_marshal *marshal)
{
    static const char name[] = "__sampled__";
    conv_marshal_tuple(marshal, 1, false);
    conv_marshal_string(marshal, name, sizeof name - 1, false);
    conv_marshal_true(marshal);
}

/* ---- totals that came without stacks ---- */

static void
put_stated(stats *s, const conv_stated_sum *sum, bool of_caller)
{
    uint64_t primitive = sum->primitive_calls, calls = sum->calls;
    put_numbers(s, of_caller ? calls : primitive, of_caller ? primitive : calls,
                sum->self_s, sum->total_s);
}

/* Without times a caller's count stands alone, as `profile` writes it. */
static void
put_stated_callers(stats *s, uint32_t function)
{
    conv_marshal_dict(&s->marshal);
    for (uint32_t i = s->first_edge[function]; i < s->first_edge[function + 1];
         i++) {
        const conv_edge_key edge = conv_totals_edge(&s->totals, s->edge[i]);
        const conv_stated_key key = {edge.callee, edge.caller};
        const conv_stated_sum *sum =
            &s->model->stated.sum[pr_set_find(&s->model->stated.keys, &key)];
        put_key(s, edge.caller);
        if (sum->has_times) {
            conv_marshal_tuple(&s->marshal, 4, false);
            put_stated(s, sum, true);
        } else {
            conv_marshal_u64(&s->marshal, sum->calls);
        }
    }
    conv_marshal_dict_end(&s->marshal);
}

/* The numbers as the file states them, which microseconds would round. */
static size_t
put_all_stated(stats *s)
{
    const conv_stated *stated = &s->model->stated;
    size_t written = 0;
    for (size_t i = 0; i < stated->keys.n && conv_out_good(s->job->out); i++) {
        const conv_stated_key key = conv_stated_key_of(stated, i);
        if (key.caller != CONV_ANY_CALLER)
            continue;
        put_key(s, key.function);
        conv_marshal_tuple(&s->marshal, 5, false);
        put_stated(s, &stated->sum[i], false);
        put_stated_callers(s, key.function);
        written++;
    }
    return written;
}

/* ---- the file ---- */

static size_t
put_all_units(stats *s)
{
    size_t written = 0;
    for (uint32_t i = 0; i < s->totals.n && conv_out_good(s->job->out); i++) {
        if (s->totals.total[i].n == 0)
            continue;
        put_entry(s, i);
        written++;
    }
    return written;
}

static pr_code
write_dict(stats *s, pr_err *err)
{
    conv_marshal_dict(&s->marshal);
    size_t written = s->model->is_totals ? put_all_stated(s) : put_all_units(s);
    if (s->stock)
        put_marker(&s->marshal);
    else if (written == 0)
        put_nothing(&s->marshal);
    conv_marshal_dict_end(&s->marshal);
    s->job->names_changed += s->marshal.text.changed;
    if (s->marshal.failed)
        return PR_FAIL(err, PR_LIMIT, "a name is too long for a pstats file");
    return PR_OK;
}

static pr_code
write_pstats(conv_job *job, pr_err *err)
{
    stats s = {.job = job,
               .model = job->model,
               .stock = job->style == CONV_STYLE_STOCK,
               .marshal = {.out = job->out}};
    conv_unit unit =
        job->level == CONV_LEVEL_LINE ? CONV_UNIT_FRAME : CONV_UNIT_FUNCTION;
    pr_code rc = conv_index_order(job->model, &s.index, err);
    if (rc == PR_OK)
        rc = conv_totals_build(job->model, &s.index, unit, &s.totals, err);
    if (rc == PR_OK)
        rc = group_edges(&s, err);
    if (rc == PR_OK)
        rc = write_dict(&s, err);
    conv_index_release(&s.index);
    conv_totals_release(&s.totals);
    conv_marshal_release(&s.marshal);
    free(s.first_edge);
    free(s.edge);
    free(s.ref);
    return rc;
}

const conv_target conv_pstats = {
    .info = {"pstats", ".pstats .prof",
             "the file of cProfile: functions and their callers",
             "Python's pstats, snakeviz, tuna, gprof2dot"},
    .level = CONV_LEVEL_FUNCTION,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_ALL,
    .styles = 1u << CONV_STYLE_STOCK,
    .takes = CONV_TAKES_LEVEL,
    .of_totals = true,
    .write = write_pstats,
};
