/*
 * sqlite.c - the tables that pyquery asks (spec/schema.md).
 *
 * Node ids are pre-order numbers; the empty stack is 0 and has no row.  Runs
 * come thread by thread, each in time order.  Names are valid UTF-8 without
 * NUL.
 */
#include "converter/target/sqlite.h"

#include "converter/encode/sqlite_rows.h"
#include "converter/model/enum_names.h"
#include "converter/model/index.h"
#include "converter/model/source_path.h"
#include <pyrec/schema.h>

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct filler {
    conv_job *job;
    const conv_model *model;
    conv_index index;
    sqlite3 *database;
    conv_text text;    /* scratch */
    uint32_t *file_id; /* [string] id of the row of file, 0 none */
    bool failed;       /* a value could not be bound */
} filler;

static pr_code
no_memory(pr_err *err)
{
    return PR_FAIL(err, PR_NOMEM, 0, PR_NO_OFFSET, "database");
}

/* ---- single rows ---- */

static pr_code
prepare(filler *f, const char *sql, sqlite3_stmt **ret, pr_err *err)
{
    int rc = sqlite3_prepare_v2(f->database, sql, -1, ret, NULL);
    return rc == SQLITE_OK ? PR_OK : conv_sqlite_fail(f->database, err);
}

static pr_code
step(filler *f, sqlite3_stmt *stmt, pr_err *err)
{
    if (f->failed || f->text.failed)
        return no_memory(err);
    if (sqlite3_step(stmt) != SQLITE_DONE)
        return conv_sqlite_fail(f->database, err);
    sqlite3_reset(stmt);
    return PR_OK;
}

static int64_t
as_integer(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void
bind_integer(filler *f, sqlite3_stmt *stmt, int place, int64_t value)
{
    int rc = value == CONV_NULL ? sqlite3_bind_null(stmt, place)
                                : sqlite3_bind_int64(stmt, place, value);
    f->failed = f->failed || rc != SQLITE_OK;
}

static void
bind_scratch(filler *f, sqlite3_stmt *stmt, int place)
{
    int rc = sqlite3_bind_text64(stmt, place, f->text.at ? f->text.at : "",
                                 f->text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
    f->failed = f->failed || rc != SQLITE_OK;
}

static void
bind_name(filler *f, sqlite3_stmt *stmt, int place, pr_bytes name)
{
    conv_text_reset(&f->text);
    conv_text_name(&f->text, CONV_TEXT_SQL, name.at, name.len);
    bind_scratch(f, stmt, place);
}

static void
bind_string(filler *f, sqlite3_stmt *stmt, int place, const char *string)
{
    int rc = sqlite3_bind_text(stmt, place, string, -1, SQLITE_TRANSIENT);
    f->failed = f->failed || rc != SQLITE_OK;
}

static pr_bytes
string_of(const filler *f, uint32_t id)
{
    return pr_strings_get(&f->model->strings, id);
}

/* ---- meta ---- */

static pr_code
put_text(filler *f, sqlite3_stmt *stmt, const char *key, const char *value,
         pr_err *err)
{
    bind_string(f, stmt, 1, key);
    bind_name(f, stmt, 2, (pr_bytes){value, strlen(value)});
    return step(f, stmt, err);
}

static pr_code
put_number(filler *f, sqlite3_stmt *stmt, const char *key, uint64_t value,
           pr_err *err)
{
    bind_string(f, stmt, 1, key);
    bind_integer(f, stmt, 2, as_integer(value));
    return step(f, stmt, err);
}

static pr_code
put_real(filler *f, sqlite3_stmt *stmt, const char *key, double value,
         pr_err *err)
{
    bind_string(f, stmt, 1, key);
    if (sqlite3_bind_double(stmt, 2, value) != SQLITE_OK)
        return no_memory(err);
    return step(f, stmt, err);
}

/* What the recording says of itself; the converter's own keys come later and
 * win. */
static pr_code
put_recorded(filler *f, sqlite3_stmt *stmt, pr_err *err)
{
    const conv_model *model = f->model;
    const uint32_t *keys = model->meta_keys.item;
    pr_code rc = PR_OK;
    for (size_t i = 0; i < model->meta_keys.n && rc == PR_OK; i++) {
        bind_name(f, stmt, 1, string_of(f, keys[i]));
        bind_name(f, stmt, 2, string_of(f, model->meta_values.at[i]));
        rc = step(f, stmt, err);
    }
    return rc;
}

static uint64_t
duration_us(const conv_model *model)
{
    uint64_t end = 0;
    for (size_t i = 0; i < model->n_threads; i++)
        if (model->threads[i].end_us > end)
            end = model->threads[i].end_us;
    double told = model->stats.duration_s * 1e6;
    if ((model->stats.known & PR_STATS_PRESENT) && told > 0 && told < 9e18)
        return (uint64_t)told;
    return end;
}

static pr_code
put_texts(filler *f, sqlite3_stmt *stmt, pr_err *err)
{
    const pr_start *start = &f->model->start;
    char python[32], capture[CONV_CAPTURE_MAX];
    snprintf(python, sizeof python, "%d.%d.%d", start->python[0],
             start->python[1], start->python[2]);
    conv_capture_names(capture, start->capture);
    pr_code rc = put_text(f, stmt, "source", f->job->source, err);
    if (rc == PR_OK)
        rc = put_text(f, stmt, "python", python, err);
    if (rc == PR_OK)
        rc = put_text(f, stmt, "mode", conv_mode_name(start->mode), err);
    if (rc == PR_OK)
        rc = put_text(f, stmt, "capture", capture, err);
    if (rc == PR_OK)
        rc = put_text(
            f, stmt, "time",
            f->model->opts.time == CONV_TIME_NOMINAL ? "nominal" : "real", err);
    return rc;
}

static pr_code
put_numbers(filler *f, sqlite3_stmt *stmt, pr_err *err)
{
    const conv_model *model = f->model;
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"start_us", model->start.start_us},
        {"interval_us", model->start.interval_us},
        {"samples", model->samples},
        {"duration_us", duration_us(model)},
        {"weight_us", model->weight_us},
        {"unobserved_us", model->unobserved_us},
    };
    pr_code rc = PR_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && rc == PR_OK; i++)
        rc = put_number(f, stmt, numbers[i].key, numbers[i].value, err);
    return rc;
}

static pr_code
put_stats(filler *f, sqlite3_stmt *stmt, pr_err *err)
{
    const pr_stats *stats = &f->model->stats;
    pr_code rc = PR_OK;
    if (!(stats->known & PR_STATS_PRESENT))
        return PR_OK;
    rc = put_real(f, stmt, "rate_hz", stats->rate_hz, err);
    if (rc == PR_OK && (stats->known & 1))
        rc = put_real(f, stmt, "error_percent", stats->error_percent, err);
    if (rc == PR_OK && (stats->known & 2))
        rc = put_real(f, stmt, "missed_percent", stats->missed_percent, err);
    return rc;
}

/* Counters of the process. */
static pr_code
put_counts(filler *f, sqlite3_stmt *stmt, pr_err *err)
{
    pr_code rc = PR_OK;
    for (uint32_t kind = 0; kind < PR_COUNT_KINDS && rc == PR_OK; kind++) {
        uint64_t value = f->model->counts.value[kind];
        char key[32];
        if (value == CONV_NO_COUNT || !conv_count_name(kind))
            continue;
        snprintf(key, sizeof key, "count.%s", conv_count_name(kind));
        rc = put_number(f, stmt, key, value, err);
    }
    return rc;
}

static pr_code
fill_meta(filler *f, pr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    pr_code rc =
        prepare(f, "INSERT OR REPLACE INTO meta VALUES(?,?)", &stmt, err);
    if (rc == PR_OK)
        rc = put_recorded(f, stmt, err);
    if (rc == PR_OK)
        rc = put_texts(f, stmt, err);
    if (rc == PR_OK)
        rc = put_numbers(f, stmt, err);
    if (rc == PR_OK)
        rc = put_stats(f, stmt, err);
    if (rc == PR_OK)
        rc = put_counts(f, stmt, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- names ---- */

static pr_code
put_file(filler *f, sqlite3_stmt *stmt, uint32_t id, pr_bytes path, pr_err *err)
{
    bind_integer(f, stmt, 1, id);
    bind_name(f, stmt, 2, path);
    bind_name(f, stmt, 3, conv_path_base(path));
    conv_text_reset(&f->text);
    conv_path_module(&f->text, path);
    if (f->text.len)
        bind_scratch(f, stmt, 4);
    else
        bind_integer(f, stmt, 4, CONV_NULL);
    bind_string(f, stmt, 5, conv_path_name(conv_path_of(path)));
    return step(f, stmt, err);
}

static pr_code
fill_files(filler *f, pr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    pr_code rc = prepare(f, "INSERT INTO file VALUES(?,?,?,?,?)", &stmt, err);
    uint32_t n = 0;
    f->file_id = calloc(f->model->strings.n + 1, sizeof *f->file_id);
    if (rc == PR_OK && !f->file_id)
        rc = no_memory(err);
    for (uint32_t i = 0; i < f->model->functions.n && rc == PR_OK; i++) {
        uint32_t file = conv_model_function(f->model, i)->file;
        if (f->file_id[file])
            continue;
        f->file_id[file] = ++n;
        rc = put_file(f, stmt, n, string_of(f, file), err);
    }
    sqlite3_finalize(stmt);
    return rc;
}

static bool
is(pr_bytes bytes, const char *string)
{
    return bytes.len == strlen(string) &&
           memcmp(bytes.at, string, bytes.len) == 0;
}

static const char *
kind_of(const filler *f, uint32_t function, pr_bytes qualname)
{
    if (conv_model_is_task(f->model, function))
        return "task";
    if (!conv_model_is_synthetic(f->model, function))
        return "py";
    if (is(qualname, PR_NATIVE_FUNC))
        return "native";
    return is(qualname, PR_GC_FUNC) ? "gc" : "special";
}

/* The part behind the last dot. */
static pr_bytes
last_part(pr_bytes qualname)
{
    size_t i = qualname.len;
    while (i > 0 && qualname.at[i - 1] != '.')
        i--;
    return (pr_bytes){qualname.at + i, qualname.len - i};
}

static pr_code
put_function(filler *f, sqlite3_stmt *stmt, uint32_t i, pr_err *err)
{
    const conv_function *function = conv_model_function(f->model, i);
    pr_bytes qualname = string_of(f, function->name);
    uint64_t hash = conv_model_function_hash(f->model, i);
    uint8_t blob[8];
    for (unsigned b = 0; b < sizeof blob; b++)
        blob[b] = (uint8_t)(hash >> (56 - 8 * b));
    bind_integer(f, stmt, 1, (int64_t)i + 1);
    bind_integer(f, stmt, 2, f->file_id[function->file]);
    bind_name(f, stmt, 3, qualname);
    bind_name(f, stmt, 4, last_part(qualname));
    bind_integer(f, stmt, 5,
                 function->first_line > 0 ? function->first_line : CONV_NULL);
    bind_string(f, stmt, 6, kind_of(f, i, qualname));
    if (sqlite3_bind_blob(stmt, 7, blob, sizeof blob, SQLITE_TRANSIENT) !=
        SQLITE_OK)
        return no_memory(err);
    return step(f, stmt, err);
}

static pr_code
fill_functions(filler *f, pr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    pr_code rc =
        prepare(f, "INSERT INTO function VALUES(?,?,?,?,?,?,?)", &stmt, err);
    for (uint32_t i = 0; i < f->model->functions.n && rc == PR_OK; i++)
        rc = put_function(f, stmt, i, err);
    sqlite3_finalize(stmt);
    return rc;
}

static int64_t
line_or_null(int32_t line)
{
    return line < 0 ? CONV_NULL : line;
}

/* Where a walk over the model stands that makes rows. */
typedef struct walk {
    const filler *f;
    size_t i;
    conv_cursor cursor; /* runs of thread i */
    int64_t id;
} walk;

static bool
next_frame(void *context, int64_t *row)
{
    walk *w = context;
    if (w->i == w->f->model->frames.n)
        return false;
    const conv_frame *frame = conv_model_frame(w->f->model, (uint32_t)w->i++);
    row[0] = (int64_t)w->i;
    row[1] = (int64_t)frame->function + 1;
    row[2] = line_or_null(frame->line);
    row[3] = line_or_null(frame->end_line);
    row[4] = line_or_null(frame->column);
    row[5] = line_or_null(frame->end_column);
    row[6] = frame->opcode == PR_NO_OPCODE ? CONV_NULL : frame->opcode;
    return true;
}

static pr_code
fill_frames(filler *f, pr_err *err)
{
    walk w = {.f = f};
    return conv_sqlite_rows_insert(f->database, "frame", 7, next_frame, &w,
                                   err);
}

/* ---- threads ---- */

static int64_t
count_or_null(const conv_counts *counts, pr_count_kind kind)
{
    uint64_t value = counts->value[kind];
    return value == CONV_NO_COUNT ? CONV_NULL : as_integer(value);
}

static int64_t
lost_or_null(const conv_counts *counts)
{
    uint64_t sum = 0;
    bool known = false;
    for (int kind = PR_COUNT_LOST_TORN; kind <= PR_COUNT_LOST_OTHER; kind++) {
        if (counts->value[kind] == CONV_NO_COUNT)
            continue;
        sum += counts->value[kind];
        known = true;
    }
    return known ? as_integer(sum) : CONV_NULL;
}

/* The process, as the recorder noted it. */
static int64_t
pid_of(const filler *f)
{
    const uint32_t *keys = f->model->meta_keys.item;
    for (size_t i = 0; i < f->model->meta_keys.n; i++) {
        pr_bytes value = string_of(f, f->model->meta_values.at[i]);
        char digits[24];
        if (!is(string_of(f, keys[i]), "pid") || value.len >= sizeof digits)
            continue;
        memcpy(digits, value.at, value.len);
        digits[value.len] = '\0';
        long long pid = strtoll(digits, NULL, 10);
        return pid > 0 ? pid : CONV_NULL;
    }
    return CONV_NULL;
}

static pr_code
put_thread(filler *f, sqlite3_stmt *stmt, size_t i, int64_t pid, pr_err *err)
{
    const conv_thread *thread = &f->model->threads[i];
    bool seen = thread->samples > 0;
    bind_integer(f, stmt, 1, (int64_t)i + 1);
    bind_integer(f, stmt, 2, pid);
    bind_integer(f, stmt, 3, as_integer(thread->tid));
    bind_integer(f, stmt, 4, thread->interp);
    if (thread->named)
        bind_name(f, stmt, 5, string_of(f, thread->name));
    else
        bind_integer(f, stmt, 5, CONV_NULL);
    bind_integer(f, stmt, 6, thread->is_main);
    bind_integer(f, stmt, 7, seen ? as_integer(thread->first_us) : CONV_NULL);
    bind_integer(f, stmt, 8, seen ? as_integer(thread->end_us) : CONV_NULL);
    bind_integer(f, stmt, 9, as_integer(thread->samples));
    const conv_counts *counts = &thread->counts;
    bind_integer(f, stmt, 10, count_or_null(counts, PR_COUNT_PROVEN));
    bind_integer(f, stmt, 11, count_or_null(counts, PR_COUNT_SLEEPING));
    bind_integer(f, stmt, 12, count_or_null(counts, PR_COUNT_UNPROVEN));
    bind_integer(f, stmt, 13, count_or_null(counts, PR_COUNT_STOPPED));
    bind_integer(f, stmt, 14, lost_or_null(counts));
    return step(f, stmt, err);
}

static pr_code
fill_threads(filler *f, pr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    int64_t pid = pid_of(f);
    pr_code rc =
        prepare(f, "INSERT INTO thread VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                &stmt, err);
    for (size_t i = 0; i < f->model->n_threads && rc == PR_OK; i++)
        rc = put_thread(f, stmt, i, pid, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- stacks and runs ---- */

static bool
next_node(void *context, int64_t *row)
{
    walk *w = context;
    const conv_index *index = &w->f->index;
    const conv_model *model = w->f->model;
    size_t p = ++w->i; /* the empty stack has no row */
    if (p >= index->n)
        return false;
    uint32_t id = model->nodes[index->node[p]].frame;
    const conv_frame *frame = conv_model_frame(model, id);
    row[0] = (int64_t)p;
    row[1] = index->parent[p] ? index->parent[p] : CONV_NULL;
    row[2] = index->last[p];
    row[3] = index->depth[p];
    row[4] = (int64_t)id + 1;
    row[5] = (int64_t)frame->function + 1;
    row[6] = line_or_null(frame->line);
    row[7] = (index->first[p] & CONV_FIRST_FUNCTION) != 0;
    row[8] = (index->first[p] & CONV_FIRST_LINE) != 0;
    row[9] = (index->first[p] & CONV_FIRST_EDGE) != 0;
    return true;
}

static pr_code
fill_nodes(filler *f, pr_err *err)
{
    walk w = {.f = f};
    return conv_sqlite_rows_insert(f->database, "node", 10, next_node, &w, err);
}

/* The next run, of this thread or a later one. */
static bool
take_run(walk *w, conv_model_run *run)
{
    const conv_model *model = w->f->model;
    while (!conv_cursor_next(&w->cursor, run)) {
        if (++w->i >= model->n_threads)
            return false;
        conv_cursor_init(&w->cursor, &model->threads[w->i]);
    }
    return true;
}

static bool
next_run(void *context, int64_t *row)
{
    walk *w = context;
    conv_model_run run;
    if (!take_run(w, &run))
        return false;
    row[0] = ++w->id;
    row[1] = (int64_t)w->i + 1;
    row[2] = w->f->index.position[run.node];
    row[3] = run.status;
    row[4] = as_integer(run.first_us);
    row[5] = as_integer(run.last_us);
    row[6] = as_integer(run.n);
    row[7] = as_integer(run.weight_us);
    return true;
}

static pr_code
fill_runs(filler *f, pr_err *err)
{
    walk w = {.f = f};
    if (f->model->n_threads == 0)
        return PR_OK;
    conv_cursor_init(&w.cursor, &f->model->threads[0]);
    return conv_sqlite_rows_insert(f->database, "run", 8, next_run, &w, err);
}

/* ---- totals per stack, thread and status ---- */

typedef struct self_key {
    uint32_t position, thread, status;
} self_key;

typedef struct self_total {
    self_key key;
    uint64_t n, weight_us;
} self_total;

typedef struct self_table {
    self_total *item;
    size_t n, cap;
    pr_table table; /* of the present thread */
    size_t next;    /* to be written */
} self_table;

static bool
same_self(const void *context, uint32_t value)
{
    const self_total *const *pair = context;
    const self_key *a = &pair[0]->key, *b = &pair[1][value].key;
    return a->position == b->position && a->status == b->status;
}

static pr_code
add_self(self_table *t, const self_total *what, pr_err *err)
{
    uint64_t hash =
        pr_mix64((uint64_t)what->key.position << 8 | what->key.status);
    const self_total *const pair[] = {what, t->item};
    uint32_t i = pr_table_find(&t->table, hash, same_self, pair);
    if (i != PR_TABLE_NONE) {
        t->item[i].n += what->n;
        t->item[i].weight_us += what->weight_us;
        return PR_OK;
    }
    if (t->n >= PR_TABLE_NONE - 1 ||
        !pr_grow(&t->item, &t->cap, t->n + 1, sizeof *t->item) ||
        !pr_table_insert(&t->table, hash, (uint32_t)t->n))
        return no_memory(err);
    t->item[t->n++] = *what;
    return PR_OK;
}

static int
compare_self(const void *a_total, const void *b_total)
{
    const self_key *a = &((const self_total *)a_total)->key;
    const self_key *b = &((const self_total *)b_total)->key;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->status > b->status) - (a->status < b->status);
}

static pr_code
collect_self(const filler *f, self_table *t, pr_err *err)
{
    pr_code rc = PR_OK;
    for (uint32_t i = 0; i < f->model->n_threads && rc == PR_OK; i++) {
        conv_cursor cursor;
        conv_model_run run;
        pr_table_reset(&t->table);
        conv_cursor_init(&cursor, &f->model->threads[i]);
        while (rc == PR_OK && conv_cursor_next(&cursor, &run)) {
            const self_total what = {
                {f->index.position[run.node], i, run.status},
                run.n,
                run.weight_us};
            rc = add_self(t, &what, err);
        }
    }
    return rc;
}

static bool
next_self(void *context, int64_t *row)
{
    self_table *t = context;
    if (t->next == t->n)
        return false;
    const self_total *s = &t->item[t->next++];
    row[0] = s->key.position;
    row[1] = (int64_t)s->key.thread + 1;
    row[2] = s->key.status;
    row[3] = as_integer(s->n);
    row[4] = as_integer(s->weight_us);
    return true;
}

/* In order of the primary key: the table then grows at its end. */
static pr_code
put_self(filler *f, self_table *t, pr_err *err)
{
    if (t->n)
        qsort(t->item, t->n, sizeof *t->item, compare_self);
    return conv_sqlite_rows_insert(f->database, "node_self", 5, next_self, t,
                                   err);
}

static pr_code
fill_self(filler *f, pr_err *err)
{
    self_table t = {0};
    pr_code rc = collect_self(f, &t, err);
    pr_table_release(&t.table);
    if (rc == PR_OK)
        rc = put_self(f, &t, err);
    free(t.item);
    return rc;
}

/* ---- totals per function ---- */

typedef struct total_walk {
    const conv_totals *totals;
    size_t at;
} total_walk;

static bool
next_total(void *context, int64_t *row)
{
    total_walk *w = context;
    if (w->at == w->totals->n)
        return false;
    const conv_total *self = &w->totals->self[w->at];
    const conv_total *total = &w->totals->total[w->at];
    row[0] = (int64_t)++w->at;
    row[1] = as_integer(self->n);
    row[2] = as_integer(self->weight_us);
    row[3] = as_integer(total->n);
    row[4] = as_integer(total->weight_us);
    return true;
}

static pr_code
fill_totals(filler *f, pr_err *err)
{
    conv_totals totals;
    pr_code rc = conv_totals_build(f->model, &f->index, CONV_UNIT_FUNCTION,
                                   &totals, err);
    if (rc != PR_OK)
        return rc;
    total_walk w = {&totals, 0};
    rc = conv_sqlite_rows_insert(f->database, "function_total", 5, next_total,
                                 &w, err);
    conv_totals_release(&totals);
    return rc;
}

/* ---- events and tasks ---- */

static void
bind_event_kind(filler *f, sqlite3_stmt *stmt, int place,
                const conv_event *event)
{
    static const char *const names[] = {[PR_MARK_GAP] = "gap",
                                        [PR_MARK_EXEC] = "exec",
                                        [PR_MARK_SUSPENDED] = "suspended",
                                        [PR_MARK_USER] = "mark"};
    char other[32];
    const char *name = other;
    if (event->is_gc)
        name = "gc";
    else if (event->kind < sizeof names / sizeof *names)
        name = names[event->kind];
    else
        snprintf(other, sizeof other, "mark %" PRIu32, event->kind);
    bind_string(f, stmt, place, name);
}

static pr_code
fill_events(filler *f, pr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    pr_code rc =
        prepare(f, "INSERT INTO event VALUES(?,?,NULL,?,?,?)", &stmt, err);
    for (size_t i = 0; i < f->model->n_events && rc == PR_OK; i++) {
        const conv_event *event = &f->model->events[i];
        bind_integer(f, stmt, 1, (int64_t)i + 1);
        bind_event_kind(f, stmt, 2, event);
        bind_integer(f, stmt, 3, as_integer(event->first_us));
        bind_integer(f, stmt, 4, as_integer(event->end_us));
        bind_name(f, stmt, 5, string_of(f, event->text));
        rc = step(f, stmt, err);
    }
    sqlite3_finalize(stmt);
    return rc;
}

static pr_code
put_tasks(filler *f, pr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    pr_code rc = prepare(f, "INSERT INTO task VALUES(?,?,?,?,?)", &stmt, err);
    for (size_t i = 0; i < f->model->n_tasks && rc == PR_OK; i++) {
        const conv_task *task = &f->model->tasks[i];
        bind_integer(f, stmt, 1, (int64_t)i + 1);
        bind_integer(f, stmt, 2, as_integer(task->key));
        bind_integer(f, stmt, 3,
                     task->thread == PR_NO_THREAD ? CONV_NULL
                                                  : (int64_t)task->thread + 1);
        bind_name(f, stmt, 4, string_of(f, task->name));
        bind_integer(f, stmt, 5, as_integer(task->first_us));
        rc = step(f, stmt, err);
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* A key is an address, which a later task may have again: the last one told
 * counts.  Parents that were never told are left out. */
static pr_code
put_parents(filler *f, const pr_set *keys, const pr_list *last, pr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    pr_code rc =
        prepare(f, "INSERT OR IGNORE INTO task_parent VALUES(?,?)", &stmt, err);
    for (size_t i = 0; i < f->model->n_tasks; i++) {
        const conv_task *task = &f->model->tasks[i];
        for (size_t p = 0; p < task->n_parents && rc == PR_OK; p++) {
            uint32_t at = pr_set_find(
                keys, &f->model->task_parents[task->first_parent + p]);
            if (at == PR_TABLE_NONE)
                continue;
            bind_integer(f, stmt, 1, (int64_t)i + 1);
            bind_integer(f, stmt, 2, (int64_t)last->at[at] + 1);
            rc = step(f, stmt, err);
        }
    }
    sqlite3_finalize(stmt);
    return rc;
}

static pr_code
fill_tasks(filler *f, pr_err *err)
{
    pr_set keys = {.size = sizeof(uint64_t)};
    pr_list last = {0};
    pr_code rc = put_tasks(f, err);
    for (uint32_t i = 0; i < f->model->n_tasks && rc == PR_OK; i++) {
        uint32_t at;
        rc = pr_set_add(&keys, &f->model->tasks[i].key, &at, err);
        if (rc == PR_OK && at == last.n)
            rc = pr_list_add(&last, i, err);
        else if (rc == PR_OK)
            last.at[at] = i;
    }
    if (rc == PR_OK)
        rc = put_parents(f, &keys, &last, err);
    pr_set_release(&keys);
    pr_list_release(&last);
    return rc;
}

/* ---- all ---- */

static pr_code
execute(filler *f, const char *sql, pr_err *err)
{
    int rc = sqlite3_exec(f->database, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? PR_OK : conv_sqlite_fail(f->database, err);
}

/* Nobody else sees the file before it is whole: no journal, no waiting for the
 * disk. */
static pr_code
create_tables(filler *f, pr_err *err)
{
    char numbers[96];
    snprintf(numbers, sizeof numbers,
             "PRAGMA application_id=%d;PRAGMA user_version=%d;",
             PR_SCHEMA_APPLICATION_ID, PR_SCHEMA_VERSION);
    pr_code rc = execute(f,
                         "PRAGMA page_size=8192;PRAGMA journal_mode=OFF;"
                         "PRAGMA synchronous=OFF;PRAGMA locking_mode=EXCLUSIVE;"
                         "PRAGMA encoding='UTF-8';",
                         err);
    if (rc == PR_OK)
        rc = execute(f, numbers, err);
    if (rc == PR_OK)
        rc = execute(f, "BEGIN;" PR_SCHEMA_TABLES, err);
    return rc;
}

static pr_code
fill_all(filler *f, pr_err *err)
{
    static pr_code (*const fill[])(filler *, pr_err *) = {
        create_tables, fill_meta,    fill_files,  fill_functions,
        fill_frames,   fill_threads, fill_nodes,  fill_runs,
        fill_self,     fill_totals,  fill_events, fill_tasks};
    pr_code rc = PR_OK;
    for (size_t i = 0; i < sizeof fill / sizeof *fill && rc == PR_OK; i++)
        rc = fill[i](f, err);
    return rc == PR_OK ? execute(f, "COMMIT", err) : rc;
}

pr_code
conv_sqlite_fill(sqlite3 *database, conv_job *job, pr_err *err)
{
    filler f = {.job = job, .model = job->model, .database = database};
    pr_code rc = conv_index_build(job->model, &f.index, err);
    if (rc == PR_OK)
        rc = fill_all(&f, err);
    job->names_changed += f.text.changed;
    conv_index_release(&f.index);
    conv_text_release(&f.text);
    free(f.file_id);
    return rc;
}

static pr_code
write_sqlite(conv_job *job, pr_err *err)
{
    sqlite3 *database = NULL;
    int rc = sqlite3_open_v2(conv_out_path(job->out), &database,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    pr_code code = rc == SQLITE_OK ? conv_sqlite_fill(database, job, err)
                                   : conv_sqlite_fail(database, err);
    if (sqlite3_close(database) != SQLITE_OK && code == PR_OK)
        code = PR_FAIL(err, PR_IO, 0, PR_NO_OFFSET, "cannot close database");
    return code;
}

const conv_target conv_sqlite = {
    .info = {"sqlite", ".db .sqlite .sqlite3",
             "the tables that pyquery asks (spec/schema.md)",
             "pyquery, sqlite3, DuckDB, Datasette"},
    .level = CONV_LEVEL_DEFAULT,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .by_path = true,
    .write = write_sqlite,
};
