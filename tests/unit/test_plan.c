/*
 * test_plan.c - answers against counting every sample by hand.
 *
 * Random stacks with much recursion are put into a database as schema.h wants
 * it; each question is then answered a second time from the list of samples,
 * in the plainest way there is.
 */
#include "query_fixture.h"

#include "query/database/database.h"

enum {
    SAMPLES = 300,
    DEPTH = 9,
    FUNCTIONS = 6, /* two in each file, two lines each */
    THREADS = 3,
    KEYS = 64 /* more than any kind of key there is */
};

typedef struct sample {
    int depth;
    int frame[DEPTH]; /* outermost first; function * 2 + line */
    int thread;
    int status;
    int64_t time_us, weight_us;
} sample;

typedef struct count {
    int64_t self, total, self_us, total_us;
} count;

static sample samples[SAMPLES];

static int
function_of(int frame)
{
    return frame / 2;
}

static int
frame_of(int frame)
{
    return frame;
}

static int
file_of(int frame)
{
    return frame / 4;
}

static void
make_samples(unsigned seed)
{
    static const int statuses[] = {0, 1, 3, 8, 19, 35, 4};
    printf("seed %u\n", seed);
    srand(seed);
    int64_t now = 0;
    for (int i = 0; i < SAMPLES; i++) {
        sample *s = &samples[i];
        s->depth = rand() % (DEPTH + 1); /* empty stacks are legal */
        /* few frames: the same stacks come again, and recursion is common */
        for (int d = 0; d < s->depth; d++)
            s->frame[d] = rand() % 3 ? rand() % 4 : rand() % (FUNCTIONS * 2);
        s->thread = rand() % THREADS;
        s->status = statuses[rand() % 7];
        s->weight_us = rand() % 2000;
        s->time_us = now += 1 + rand() % 1000;
    }
}

/* --- counting by hand --- */

typedef int (*chooser)(const sample *);

static int
all(const sample *s)
{
    (void)s;
    return 1;
}

static int
with_gil(const sample *s)
{
    return s->status & 1;
}

static int
idle_of_t2(const sample *s)
{
    return (s->status & 7) == 0 && s->thread == 2;
}

static int
main_with_gil(const sample *s)
{
    return (s->status & 32 || s->thread == 0) && s->status & 1;
}

static int
in_range(const sample *s)
{
    return s->time_us >= 30000 && s->time_us < 90000;
}

static int64_t
count_by_hand(chooser choose, int (*key)(int frame), count counts[KEYS])
{
    int64_t n = 0;
    memset(counts, 0, KEYS * sizeof *counts);
    for (int i = 0; i < SAMPLES; i++) {
        const sample *s = &samples[i];
        if (!choose(s))
            continue;
        n++;
        if (s->depth == 0)
            continue; /* counts for the whole and for no key */
        count *self = &counts[key(s->frame[s->depth - 1])];
        self->self++;
        self->self_us += s->weight_us;
        int seen[KEYS] = {0};
        for (int d = 0; d < s->depth; d++) {
            int k = key(s->frame[d]);
            if (seen[k]++)
                continue;
            counts[k].total++;
            counts[k].total_us += s->weight_us;
        }
    }
    return n;
}

/* Edges caller -> callee, once a sample; caller FUNCTIONS is the root. */
static void
count_edges_by_hand(count edges[FUNCTIONS + 1][FUNCTIONS])
{
    memset(edges, 0, (FUNCTIONS + 1) * sizeof *edges);
    for (int i = 0; i < SAMPLES; i++) {
        const sample *s = &samples[i];
        int seen[FUNCTIONS + 1][FUNCTIONS] = {{0}};
        for (int d = 0; d < s->depth; d++) {
            int caller = d ? function_of(s->frame[d - 1]) : FUNCTIONS;
            int callee = function_of(s->frame[d]);
            count *e = &edges[caller][callee];
            if (!seen[caller][callee]++) {
                e->total++;
                e->total_us += s->weight_us;
            }
            if (d == s->depth - 1) {
                e->self++;
                e->self_us += s->weight_us;
            }
        }
    }
}

/* --- the database of the samples --- */

static int
compare_stacks(const void *x, const void *y)
{
    const sample *a = *(sample *const *)x, *b = *(sample *const *)y;
    for (int d = 0; d < a->depth && d < b->depth; d++)
        if (a->frame[d] != b->frame[d])
            return a->frame[d] - b->frame[d];
    return a->depth - b->depth;
}

static void
put(sqlite3 *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *sql = sqlite3_vmprintf(format, args);
    va_end(args);
    fixture_sql(s, sql);
    sqlite3_free(sql);
}

/* In order of their stacks, each new frame on a stack is the next node. */
static void
put_nodes(sqlite3 *s)
{
    sample *sorted[SAMPLES];
    for (int i = 0; i < SAMPLES; i++)
        sorted[i] = &samples[i];
    qsort(sorted, SAMPLES, sizeof *sorted, compare_stacks);
    int open[DEPTH] = {0}, n_open = 0, next = 1;
    const sample *before = NULL;
    for (int i = 0; i < SAMPLES; i++) {
        int same = 0;
        while (before && same < n_open && same < sorted[i]->depth &&
               before->frame[same] == sorted[i]->frame[same])
            same++;
        for (n_open = same; n_open < sorted[i]->depth; n_open++) {
            int frame = sorted[i]->frame[n_open];
            open[n_open] = next;
            put(s,
                "INSERT INTO node VALUES(%d, nullif(%d, 0), 0, %d, %d, %d,"
                " %d, 0, 0, 0)",
                next++, n_open ? open[n_open - 1] : 0, n_open, frame + 1,
                function_of(frame) + 1, frame + 1);
        }
        const sample *a = before = sorted[i];
        put(s, "INSERT INTO run VALUES(NULL, %d, %d, %d, %lld, %lld, 1, %lld)",
            a->thread + 1, n_open ? open[n_open - 1] : 0, a->status, a->time_us,
            a->time_us, a->weight_us);
    }
    fixture_sql(s, "UPDATE node SET last_id = (WITH RECURSIVE below(id) AS"
                   " (VALUES(node.id) UNION ALL SELECT n.id FROM node AS n"
                   " JOIN below ON n.parent_id = below.id)"
                   " SELECT max(id) FROM below)");
}

static void
put_names(sqlite3 *s)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        if (i % 2 == 0)
            put(s,
                "INSERT INTO file VALUES(%d, '/app/m%d.py', 'm%d.py',"
                " 'm%d', 'project', x'00')",
                i / 2 + 1, i / 2, i / 2, i / 2);
        put(s,
            "INSERT INTO function VALUES(%d, %d, 'f%d', 'f%d', %d, 'py',"
            " x'00')",
            i + 1, i / 2 + 1, i, i, 10 * i);
    }
    for (int i = 0; i < THREADS; i++)
        put(s,
            "INSERT INTO thread(id, process_id, tid, interp, name, is_main,"
            " t1_us, samples, weight_us, unobserved_us)"
            " VALUES(%d, 1, %d, 0, 't%d', %d, 1000000, 0, 0, 0)",
            i + 1, i + 100, i, i == 0);
}

static void
put_totals(sqlite3 *s)
{
    count counts[KEYS];
    count_by_hand(all, function_of, counts);
    int64_t weight_us = 0;
    for (int i = 0; i < SAMPLES; i++)
        weight_us += samples[i].weight_us;
    for (int i = 0; i < FUNCTIONS; i++)
        put(s,
            "INSERT INTO function_total VALUES(1, %d, %lld, %lld, 0, 0, %lld,"
            " %lld, 0, 0)",
            i + 1, counts[i].self, counts[i].self_us, counts[i].total,
            counts[i].total_us);
    put(s, "UPDATE thread SET samples = %d WHERE id = 1", SAMPLES);
    put(s, "UPDATE profile SET samples = %d, weight_us = %lld", SAMPLES,
        weight_us);
}

static q_database *
open_random(fixture *f, unsigned seed)
{
    make_samples(seed);
    fixture_write(f, FIXTURE_PROFILE);
    sqlite3 *s = fixture_handle(f);
    fixture_sql(s, "BEGIN");
    put_names(s);
    put_nodes(s);
    if (seed % 2) /* may be empty */
        put_totals(s);
    fixture_sql(s, "CREATE INDEX node_parent ON node(parent_id);"
                   "INSERT INTO node_self SELECT NULL, node_id, thread_id,"
                   " status, sum(n), sum(weight_us) FROM run"
                   " GROUP BY node_id, thread_id, status ORDER BY node_id;"
                   "COMMIT");
    sqlite3_close(s);
    return fixture_open(f);
}

/* --- comparing --- */

static q_result *
ask(q_database *database, const char *query)
{
    q_result *result = NULL;
    pr_err err = PR_ERR_INIT;
    if (q_run(database, query, &result, &err) != PR_OK)
        fail_msg("'%s': %s", query, err.what);
    return result;
}

static q_value
value(const q_result *result, const char *column)
{
    for (size_t i = 0; i < q_result_columns(result); i++)
        if (strcmp(q_result_name(result, i), column) == 0)
            return q_result_value(result, i);
    fail_msg("no column %s", column);
    return (q_value){Q_NULL, 0, 0, NULL, 0};
}

static int64_t
micros(q_value seconds)
{
    return (int64_t)(seconds.real * 1e6 + 0.5);
}

static void
assert_counts(const q_result *result, const count *c, int64_t n)
{
    assert_int_equal(value(result, "self_samples").integer, c->self);
    assert_int_equal(value(result, "total_samples").integer, c->total);
    assert_int_equal(micros(value(result, "self_s")), c->self_us);
    assert_int_equal(micros(value(result, "total_s")), c->total_us);
    double share = 100.0 * (double)c->total / (double)n;
    double taken = value(result, "total_pct").real;
    assert_true(taken > share - 0.0051 && taken < share + 0.0051);
}

/* "f3" -> 3 and so on: the last number of a text. */
static int
number_in(q_value v)
{
    assert_int_equal(v.type, Q_TEXT);
    int n = 0;
    for (size_t i = 0; i < v.len; i++)
        if (v.text[i] >= '0' && v.text[i] <= '9')
            n = n * 10 + (v.text[i] - '0');
    return n;
}

static int
row_function(const q_result *result)
{
    return number_in(value(result, "function"));
}

static int
row_frame(const q_result *result)
{
    return (int)value(result, "line").integer - 1;
}

static int
row_file(const q_result *result)
{
    return number_in(value(result, "file"));
}

/* Every row is as counted, in order of `by`, and no key is left out. */
static void
check(q_database *database, const char *query, const char *by, chooser choose,
      int (*key)(int), int (*row_key)(const q_result *))
{
    count counts[KEYS];
    int64_t n = count_by_hand(choose, key, counts);
    q_result *result = ask(database, query);
    int rows = 0, expected = 0;
    int64_t previous = INT64_MAX;
    pr_err err = PR_ERR_INIT;
    while (q_result_next(result, &err) == PR_OK) {
        rows++;
        assert_counts(result, &counts[row_key(result)], n);
        assert_true(value(result, by).integer <= previous);
        previous = value(result, by).integer;
    }
    assert_string_equal(err.what, "");
    for (int k = 0; k < KEYS; k++)
        expected += counts[k].total > 0;
    assert_int_equal(rows, expected);
    q_result_free(result);
}

static void
totals_equal_a_count_of_every_sample(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        fixture f;
        fixture_begin(&f);
        q_database *d = open_random(&f, seed);
        check(d, "top by self", "self_samples", all, function_of, row_function);
        check(d, "top by total", "total_samples", all, function_of,
              row_function);
        check(d, "top thread t* by total", "total_samples", all, function_of,
              row_function);
        check(d, "lines by self", "self_samples", all, frame_of, row_frame);
        check(d, "lines by total", "total_samples", all, frame_of, row_frame);
        check(d, "files by total", "total_samples", all, file_of, row_file);
        check(d, "top where gil by self", "self_samples", with_gil, function_of,
              row_function);
        check(d, "top where idle thread t2 by self", "self_samples", idle_of_t2,
              function_of, row_function);
        check(d, "top where main and gil by self", "self_samples",
              main_with_gil, function_of, row_function);
        check(d, "lines between 30ms and 90ms by self", "self_samples",
              in_range, frame_of, row_frame);
        check(d, "files between 3% and 0.09s by self", "self_samples", in_range,
              file_of, row_file);
        q_close(d);
        fixture_end(&f);
    }
}

static void
edges_count_once_a_sample(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    q_database *d = open_random(&f, 99);
    count edges[FUNCTIONS + 1][FUNCTIONS];
    count_edges_by_hand(edges);
    int taken = 0, expected = 0;
    pr_err err = PR_ERR_INIT;
    for (int f0 = 0; f0 < FUNCTIONS; f0++) {
        static const char *const verbs[] = {"callers", "callees"};
        for (int v = 0; v < 2; v++) {
            char query[32];
            snprintf(query, sizeof query, "%s of f%d", verbs[v], f0);
            q_result *result = ask(d, query);
            while (q_result_next(result, &err) == PR_OK) {
                q_value from = value(result, "caller");
                int caller = from.text[0] == '(' ? FUNCTIONS : number_in(from);
                int callee = number_in(value(result, "callee"));
                assert_int_equal(v ? caller : callee, f0);
                assert_counts(result, &edges[caller][callee], SAMPLES);
                taken++;
            }
            q_result_free(result);
        }
    }
    assert_string_equal(err.what, "");
    for (int a = 0; a <= FUNCTIONS; a++)
        for (int b = 0; b < FUNCTIONS; b++)
            if (edges[a][b].total) /* by caller and by callee */
                expected += a == FUNCTIONS ? 1 : 2;
    assert_int_equal(taken, expected);
    q_close(d);
    fixture_end(&f);
}

/* Does the sample have this path of functions, from frame `from` on? */
static int
has_path(const sample *s, int from, const int *path, int len)
{
    if (from + len > s->depth)
        return 0;
    for (int i = 0; i < len; i++)
        if (function_of(s->frame[from + i]) != path[i])
            return 0;
    return 1;
}

static int
outermost(const sample *s, int function)
{
    for (int d = 0; d < s->depth; d++)
        if (function < 0 || function_of(s->frame[d]) == function)
            return d;
    return DEPTH;
}

/* Each row of a tree is a path; count the samples that have it below the
 * outermost frame of `root`, or from the start (-1). */
static void
check_tree(q_database *database, const char *query, int root)
{
    q_result *result = ask(database, query);
    pr_err err = PR_ERR_INIT;
    int path[DEPTH], rows = 0;
    int64_t at_root = 0, expected = 0;
    while (q_result_next(result, &err) == PR_OK) {
        int64_t depth = value(result, "depth").integer;
        assert_true(depth >= 0 && depth < DEPTH);
        path[depth] = row_function(result);
        count c = {0, 0, 0, 0};
        for (int i = 0; i < SAMPLES; i++) {
            const sample *s = &samples[i];
            int from = outermost(s, root), len = (int)depth + 1;
            if (!has_path(s, from, path, len))
                continue;
            c.total++;
            c.total_us += s->weight_us;
            c.self += from + len == s->depth;
            c.self_us += from + len == s->depth ? s->weight_us : 0;
        }
        assert_counts(result, &c, SAMPLES);
        at_root += depth == 0 ? c.total : 0;
        rows++;
    }
    assert_string_equal(err.what, "");
    for (int i = 0; i < SAMPLES; i++)
        expected += outermost(&samples[i], root) < DEPTH;
    assert_int_equal(at_root, expected);
    assert_true(rows > 1);
    q_result_free(result);
}

static void
a_tree_holds_every_path_of_functions(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    q_database *d = open_random(&f, 7);
    check_tree(d, "tree above 0%", -1);
    check_tree(d, "tree from f1 above 0%", 1);
    check_tree(d, "tree from m2.py:f5 above 0%", 5);
    q_result *result = ask(d, "tree above 10% depth 2");
    pr_err err = PR_ERR_INIT;
    while (q_result_next(result, &err) == PR_OK) {
        assert_true(value(result, "depth").integer < 2);
        assert_true(value(result, "total_samples").integer * 10 >= SAMPLES);
    }
    q_result_free(result);
    q_close(d);
    fixture_end(&f);
}

static void
a_run_that_crosses_the_range_counts_by_its_samples(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        int64_t n, us;
    } cases[] = {
        /* five samples at 0, 1000, ... 4000, each worth 10 us */
        {"top between 0us and 1us", 1, 10},
        {"top between 0us and 1000us", 1, 10},
        {"top between 0us and 1001us", 2, 20},
        {"top between 1000us and 3001us", 3, 30},
        {"top between 3999us and 4001us", 1, 10},
        {"top between 4000us and 1s", 1, 10},
        {"top between 4001us and 1s", 0, 0},
        {"top between 1us and 999us", 0, 0},
        {"top between 0% and 100%", 5, 50},
    };
    fixture f;
    fixture_begin(&f);
    fixture_write(&f,
                  "INSERT INTO file VALUES(1, 'a', 'a', 'a', 'project', x'00');"
                  "INSERT INTO function VALUES(1, 1, 'f', 'f', 1, 'py', x'00');"
                  "INSERT INTO node VALUES(1, NULL, 1, 0, 1, 1, 1, 1, 1, 1);"
                  "INSERT INTO run VALUES(1, 1, 1, 0, 0, 4000, 5, 50);");
    q_database *d = fixture_open(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        q_result *result = ask(d, cases[i].query);
        pr_err err = PR_ERR_INIT;
        pr_code rc = q_result_next(result, &err);
        assert_int_equal(rc, cases[i].n ? PR_OK : PR_END);
        if (rc == PR_OK) {
            assert_int_equal(value(result, "self_samples").integer, cases[i].n);
            assert_int_equal(micros(value(result, "self_s")), cases[i].us);
        }
        q_result_free(result);
    }
    q_close(d);
    fixture_end(&f);
}

static void
a_range_must_end_after_it_begins(void **state)
{
    (void)state;
    static const char *const queries[] = {
        "top between 2ms and 2ms", "top between 3ms and 2ms",
        "top between 80% and 2ms", "top between 9ms and 3%"};
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS);
    q_database *d = fixture_open(&f);
    for (size_t i = 0; i < 4; i++) {
        q_result *result = NULL;
        pr_err err = PR_ERR_INIT;
        assert_int_equal(q_run(d, queries[i], &result, &err), PR_USAGE);
        assert_int_equal(err.offset, 20);
        assert_null(result);
    }
    q_close(d);
    fixture_end(&f);
}

static void
threads_and_summary_add_up(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS);
    q_database *d = fixture_open(&f);
    pr_err err = PR_ERR_INIT;
    q_result *result = ask(d, "threads where gil");
    assert_int_equal(q_result_next(result, &err), PR_OK);
    assert_string_equal(value(result, "thread").text, "MainThread");
    assert_int_equal(value(result, "samples").integer, 5);
    assert_true(value(result, "pct").real == 55.56);
    assert_int_equal(q_result_next(result, &err), PR_OK);
    assert_int_equal(value(result, "tid").integer, 102);
    assert_int_equal(value(result, "samples").integer, 4);
    assert_int_equal(q_result_next(result, &err), PR_END);
    assert_int_equal(q_result_next(result, &err), PR_END);
    q_result_free(result);
    result = ask(d, "summary");
    do
        assert_int_equal(q_result_next(result, &err), PR_OK);
    while (strcmp(value(result, "what").text, "samples") != 0);
    assert_int_equal(value(result, "value").integer, 10);
    q_result_free(result);
    q_close(d);
    fixture_end(&f);
}

static void
files_and_kinds_choose_rows_not_samples(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS "UPDATE function SET kind = 'native'"
                                   " WHERE id = 2;");
    q_database *d = fixture_open(&f);
    pr_err err = PR_ERR_INIT;
    static const char *const queries[] = {"top in data.py", "top in lib/*.py",
                                          "top in /srv/lib/data.py",
                                          "top in data"};
    for (size_t i = 0; i < 4; i++) {
        q_result *result = ask(d, queries[i]);
        assert_int_equal(q_result_next(result, &err), PR_OK);
        assert_string_equal(value(result, "function").text, "load");
        assert_int_equal(value(result, "self_samples").integer, 8);
        assert_true(value(result, "self_pct").real == 80.0);
        assert_int_equal(q_result_next(result, &err), PR_END);
        q_result_free(result);
    }
    q_result *result = ask(d, "top by total");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(q_result_next(result, &err), PR_OK);
        assert_string_not_equal(value(result, "function").text, "Shop.work");
    }
    assert_int_equal(q_result_next(result, &err), PR_END);
    q_result_free(result);
    q_close(d);
    fixture_end(&f);
}

/* Five recordings: two of one process, one of the same pid that started
 * later, and two that do not say when their process started; the last of them
 * was recorded together with the one before it. */
static const char recordings[] =
    "INSERT INTO profile SELECT value, CAST(value AS BLOB), value || '.bin',"
    " CASE WHEN value > 3 THEN x'0f' END, 'web1', NULL, NULL, NULL, 'wall',"
    " '', 'real', NULL, NULL, 1000, value * 1000000, 0, 0, 0, NULL, NULL,"
    " NULL, 0, 0, 1, 1, 1, NULL, NULL FROM json_each('[1,2,3,4,5]');"
    "INSERT INTO process(id, profile_id, pid) SELECT id, id, 7 FROM profile;"
    "INSERT INTO process(id, profile_id, pid) VALUES(6, 1, 8), (7, 2, 8);"
    "INSERT INTO meta VALUES(1, 'process.start_us', 5),"
    " (2, 'process.start_us', 5), (3, 'process.start_us', 6);"
    "INSERT INTO thread(id, process_id, tid, interp, is_main, samples,"
    " weight_us, unobserved_us) VALUES(1, 1, 7, 0, 1, 0, 0, 0),"
    " (2, 1, 9, 0, 0, 0, 0, 0), (3, 2, 7, 0, 1, 0, 0, 0),"
    " (4, 2, 7, 1, 0, 0, 0, 0), (5, 3, 7, 0, 1, 0, 0, 0),"
    " (6, 4, 7, 0, 1, 0, 0, 0), (7, 4, 7, 0, 1, 0, 0, 0),"
    " (8, 5, 7, 0, 1, 0, 0, 0);";

static void
a_process_that_was_recorded_twice_counts_once(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, recordings);
    q_database *d = fixture_open(&f);
    pr_err err = PR_ERR_INIT;
    q_result *result = ask(d, "summary");
    int seen = 0;
    while (q_result_next(result, &err) == PR_OK) {
        const char *what = value(result, "what").text;
        q_value v = value(result, "value");
        if (strcmp(what, "processes") == 0 && ++seen)
            assert_int_equal(v.integer, 6); /* 1 = 2, 3, 4, 5, 6, 7 */
        if (strcmp(what, "threads") == 0 && ++seen)
            assert_int_equal(v.integer, 7); /* thread 1 is thread 3 */
        if (strcmp(what, "duration_s") == 0 && ++seen)
            assert_true(v.real == 1 + 2 + 3 + 5); /* 4 ran beside 5 */
    }
    assert_int_equal(seen, 3);
    q_result_free(result);
    q_close(d);
    fixture_end(&f);
}

/* A profile of imported stacks: each status says nothing. */
#define WITHOUT_STATES                                \
    FIXTURE_ROWS "UPDATE profile SET knows_ran = 0,"  \
                 " knows_cpu = 0, knows_waiting = 0," \
                 " ran_n = 0, ran_us = 0;"            \
                 "UPDATE run SET status = 4; UPDATE node_self SET status = 4;"

static void
states_that_no_profile_has_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        uint64_t at;
    } cases[] = {{"top where gil", 10},     {"threads where gil", 14},
                 {"top where idle", 10},    {"tree where cpu", 11},
                 {"top where waiting", 10}, {"top where exception", 10},
                 {"top per status", 8},     {"waits", 0},
                 {"longest where gil", 14}};
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, WITHOUT_STATES);
    q_database *d = fixture_open(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        q_result *result = NULL;
        pr_err err = PR_ERR_INIT;
        pr_code rc = q_run(d, cases[i].query, &result, &err);
        if (rc != PR_USAGE || err.offset != cases[i].at || result ||
            !strstr(err.what, "in which state"))
            fail_msg("%s: code %d at %llu: %s", cases[i].query, rc,
                     (unsigned long long)err.offset, err.what);
    }
    pr_err err = PR_ERR_INIT;
    q_result *result = ask(d, "longest");
    for (int rows = 0; rows < 4; rows++) {
        assert_int_equal(q_result_next(result, &err), PR_OK);
        assert_int_equal(value(result, "status").type, Q_NULL);
    }
    assert_int_equal(q_result_next(result, &err), PR_END);
    q_result_free(result);
    q_close(d);
    fixture_end(&f);
}

/* Beside a profile with states, one without adds nothing to what waited. */
static void
waits_are_those_of_profiles_with_states(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(
        &f, FIXTURE_ROWS
        "INSERT INTO profile SELECT 2, x'02', 'old.bin', NULL, NULL, NULL,"
        " NULL, NULL, 'all', 'threads', 'real', NULL, NULL, 1000, 10000, 10,"
        " 10000, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL;"
        "UPDATE process SET profile_id = 2;"
        "INSERT INTO process(id, profile_id, pid) VALUES(2, 1, 8);"
        "UPDATE thread SET process_id = 2 WHERE id = 2;"
        "UPDATE run SET status = 4 WHERE thread_id = 1;"
        "UPDATE node_self SET status = 4 WHERE thread_id = 1;");
    q_database *d = fixture_open(&f);
    pr_err err = PR_ERR_INIT;
    q_result *result = ask(d, "waits");
    assert_int_equal(q_result_next(result, &err), PR_OK);
    assert_int_equal(value(result, "self_samples").integer, 1);
    assert_string_equal(value(result, "status").text, "waited for the GIL");
    assert_int_equal(q_result_next(result, &err), PR_END);
    q_result_free(result);
    q_close(d);
    fixture_end(&f);
}

static void
explain_shows_sql_that_runs(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS);
    q_database *d = fixture_open(&f);
    pr_err err = PR_ERR_INIT;
    q_result *result =
        ask(d, "explain callers of load where gil between 0s and 9s");
    static const char *const steps[] = {"samples", "functions", "nodes",
                                        "answer"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(q_result_next(result, &err), PR_OK);
        assert_string_equal(value(result, "step").text, steps[i]);
        if (i == 3)
            break; /* needs the table of the fold */
        q_result *ran = NULL;
        assert_int_equal(q_run_sql(d, value(result, "sql").text, &ran, &err),
                         PR_OK);
        assert_int_equal(q_result_next(ran, &err), PR_OK);
        q_result_free(ran);
    }
    q_result_free(result);
    q_close(d);
    fixture_end(&f);
}

/* A question costs a constant number of steps per row.  With a correlated
 * subquery instead of prefix sums it was thousands. */
static void
sums_that_are_ready_are_used_and_titled(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS "INSERT INTO function_sum VALUES"
                                   "(1, 0, 0, 0, 0, 10, 10000, 9, 9000),"
                                   " (2, 2, 2000, 2, 2000, 6, 6000, 5, 5000),"
                                   " (3, 8, 8000, 7, 7000, 8, 8000, 7, 7000);");
    q_database *d = fixture_open(&f);
    pr_err err = PR_ERR_INIT;
    q_result *ready = ask(d, "top by name"),
             *folded = ask(d, "top thread * by name");
    assert_int_equal(d->n_answers, 1); /* one of them needed a table */
    for (;;) {
        pr_code rc = q_result_next(ready, &err);
        assert_int_equal(q_result_next(folded, &err), rc);
        if (rc != PR_OK)
            break;
        for (size_t i = 0; i < q_result_columns(ready); i++) {
            q_value a = q_result_value(ready, i), b = q_result_value(folded, i);
            assert_int_equal(a.type, b.type);
            assert_true(a.integer == b.integer && a.real == b.real &&
                        a.len == b.len);
        }
    }
    assert_int_equal(q_result_basis(ready)->samples, 10);
    assert_int_equal(q_result_basis(folded)->samples, 10);
    assert_int_equal(q_result_basis(ready)->ran, 9);
    assert_int_equal(q_result_basis(folded)->ran, 9);
    assert_true(q_result_basis(ready)->seconds == 0.01);
    assert_true(q_result_basis(ready)->unobserved_s == 0.125);
    q_result_free(ready);
    q_result_free(folded);
    q_close(d);
    fixture_end(&f);
}

static void
samples_that_a_process_alone_lost_are_counted(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS
                  "UPDATE thread SET proven = 3, unproven = 2, lost = 1"
                  " WHERE id = 1;"
                  "INSERT INTO loss VALUES(1, 1, NULL, 'lost_file', 20),"
                  " (2, 1, NULL, 'lost_torn', 4), (3, 1, 1, 'lost_file', 1)");
    q_database *d = fixture_open(&f);
    q_result *answer = ask(d, "top");
    assert_int_equal(q_result_basis(answer)->proven, 8);
    assert_int_equal(q_result_basis(answer)->unproven, 2);
    assert_int_equal(q_result_basis(answer)->lost, 25);
    q_result_free(answer);
    q_close(d);
    fixture_end(&f);
}

static void
a_stored_tree_is_answered_unless_it_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *rows;
        pr_code rc;
    } trees[] = {
        {"(1, 0, 1, 1, 0, 0, 0, 0, 10, 10, 9, 9),"
         " (1, 1, 2, 2, 2, 2, 2, 2, 6, 6, 5, 5)",
         PR_OK},
        {"(1, 0, 1, 1, 0, 0, 0, 0, 10, 10, 9, 9),"
         " (1, 1, 2, 2, 2, 2, 2, 2, 6, 6, 5, 5),"
         " (1, 7, 8, 2, 2, 2, 2, 2, 6, 6, 5, 5)", /* on no row */
         PR_OK},
        {"(1, 0, 2, 1, 0, 0, 0, 0, 9, 9, 9, 9),"
         " (1, 2, 1, 2, 0, 0, 0, 0, 9, 9, 9, 9),"
         " (1, 1, 2, 2, 0, 0, 0, 0, 9, 9, 9, 9)", /* a cycle */
         PR_DAMAGED},
        {"(1, 0, 1, 1, 0, 0, 0, 0, 9, 9, 9, 9),"
         " (1, 1, 1, 1, 0, 0, 0, 0, 9, 9, 9, 9)",
         PR_DAMAGED},
        {"(1, 0, 0, 1, 0, 0, 0, 0, 9, 9, 9, 9)", PR_DAMAGED},
        {"(1, 0, 1, 1, 0, 0, 0, 0, -9, 9, 9, 9)", PR_DAMAGED},
    };
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        fixture f;
        fixture_begin(&f);
        char *sql = sqlite3_mprintf(
            FIXTURE_ROWS "INSERT INTO tree_total VALUES%s", trees[i].rows);
        fixture_write(&f, sql);
        sqlite3_free(sql);
        q_database *d = fixture_open(&f);
        q_result *result = NULL;
        pr_err err = PR_ERR_INIT;
        assert_int_equal(q_run(d, "tree", &result, &err), trees[i].rc);
        if (trees[i].rc == PR_OK) { /* node_self has another tree */
            assert_int_equal(q_result_next(result, &err), PR_OK);
            assert_int_equal(q_result_next(result, &err), PR_OK);
            assert_int_equal(q_result_next(result, &err), PR_END);
            q_result_free(result);
        }
        q_close(d);
        fixture_end(&f);
    }
}

static void
the_cost_follows_the_number_of_nodes(void **state)
{
    (void)state;
    static const char *const queries[] = {
        "top by total",  "lines by total", "files",       "callers of f3",
        "callees of f3", "tree",           "tree from f3"};
    enum { NODES = 40000 };
    fixture f;
    fixture_begin(&f);
    fixture_write(
        &f,
        "INSERT INTO file VALUES(1, 'a', 'a', 'a', 'project', x'00');"
        "WITH RECURSIVE i(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM i"
        " WHERE x < 99) INSERT INTO function SELECT x, 1, 'f' || x, 'f' || x,"
        " x, 'py', x'00' FROM i;"
        "WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i"
        " WHERE x < 40000) INSERT INTO node SELECT x,"
        /* a chain of ten below each tenth node */
        " CASE WHEN x % 10 = 1 THEN NULL ELSE x - 1 END, (x + 9) / 10 * 10,"
        " (x - 1) % 10, x % 100, x % 100, 1, 0, 0, 0 FROM i;"
        "INSERT INTO node_self SELECT id, id, 1, 0, 1, 1 FROM node;");
    q_database *d = fixture_open(&f);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        q_result *result = ask(d, queries[i]);
        assert_true(d->ticks * Q_STEPS_PER_TICK <= 60 * NODES);
        q_result_free(result);
    }
    q_close(d);
    fixture_end(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_equal_a_count_of_every_sample),
        cmocka_unit_test(edges_count_once_a_sample),
        cmocka_unit_test(a_tree_holds_every_path_of_functions),
        cmocka_unit_test(a_run_that_crosses_the_range_counts_by_its_samples),
        cmocka_unit_test(a_range_must_end_after_it_begins),
        cmocka_unit_test(threads_and_summary_add_up),
        cmocka_unit_test(files_and_kinds_choose_rows_not_samples),
        cmocka_unit_test(a_process_that_was_recorded_twice_counts_once),
        cmocka_unit_test(states_that_no_profile_has_are_refused),
        cmocka_unit_test(waits_are_those_of_profiles_with_states),
        cmocka_unit_test(explain_shows_sql_that_runs),
        cmocka_unit_test(sums_that_are_ready_are_used_and_titled),
        cmocka_unit_test(samples_that_a_process_alone_lost_are_counted),
        cmocka_unit_test(a_stored_tree_is_answered_unless_it_cannot_be),
        cmocka_unit_test(the_cost_follows_the_number_of_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
