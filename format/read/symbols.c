/*
 * symbols.c - strings, frames, threads, metadata and counters of a file.
 */
#include "format/read/symbols.h"
#include "format/limits.h"

#include <base/array.h>
#include <base/hash.h>
#include <base/hash_table.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

/* The name of a frame whose own name was in a damaged part of the file. */
#define LOST_FUNC "<lost>"

void
pf_symbols_release(pf_symbols *symbols)
{
    free(symbols->text.p);
    free(symbols->string);
    free(symbols->length);
    free(symbols->string_map.range);
    free(symbols->frame);
    free(symbols->frame_map.range);
    *symbols = (pf_symbols){.budget = symbols->budget};
}

pr_code
pf_names_init(pf_names *names, pf_budget *budget, pr_err *err)
{
    *names = (pf_names){
        .budget = budget, .symbols.budget = budget, .metadata.budget = budget};
    return pf_processes_init(&names->processes, budget, err);
}

void
pf_names_release(pf_names *names)
{
    pf_symbols_release(&names->symbols);
    free(names->thread);
    pr_table_release(&names->thread_table);
    free(names->thread_text.p);
    pf_processes_release(&names->processes);
#define RELEASE(op, type) free(names->op);
    PF_LISTED_MAP(RELEASE)
#undef RELEASE
    pf_metadata_release(&names->metadata);
    free(names->count);
    pr_table_release(&names->count_table);
    *names = (pf_names){0};
}

/* ---- ids ---- */

/* Register that `id` arrived as number `at`: ids only grow. */
static pr_code
map_add(pf_id_map *map, uint32_t id, uint32_t at, pr_err *err)
{
    pf_id_range *last = map->n ? &map->range[map->n - 1] : NULL;
    if (last && id == last->end) {
        last->end++;
        return PR_OK;
    }
    if (last && id < last->end)
        return PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint names id %" PRIu32 " again", id);
    if (!pr_grow(&map->range, &map->cap, map->n + 1, sizeof *map->range))
        return pr_no_memory(err);
    map->range[map->n++] = (pf_id_range){id, id + 1, at};
    return PR_OK;
}

/* UINT32_MAX: the id did not arrive. */
static uint32_t
map_find(const pf_id_map *map, uint32_t id)
{
    size_t low = 0, high = map->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const pf_id_range *r = &map->range[mid];
        if (id >= r->end)
            low = mid + 1;
        else if (id < r->first)
            high = mid;
        else
            return r->at + (id - r->first);
    }
    return UINT32_MAX;
}

/* ---- strings and frames ---- */

static pr_code
add_string(pf_symbols *s, uint32_t id, const char *bytes, size_t len,
           pr_err *err)
{
    size_t n = s->n_strings, at = s->text.n;
    if (len > UINT32_MAX)
        return PR_FAIL(err, PR_LIMIT, "a name of %zu bytes is too long", len);
    pr_code code =
        pf_budget_grow(s->budget, &s->text.p, &s->text.cap, at + len, 1, err);
    if (code == PR_OK)
        code = pf_budget_grow(s->budget, &s->string, &s->string_cap, n + 1,
                              sizeof *s->string, err);
    if (code == PR_OK)
        code = pf_budget_grow(s->budget, &s->length, &s->length_cap, n + 1,
                              sizeof *s->length, err);
    if (code != PR_OK)
        return code;
    pf_buf_bytes(&s->text, bytes, len);
    code = map_add(&s->string_map, id, (uint32_t)n, err);
    if (code != PR_OK)
        return code;
    s->string[n] = at;
    s->length[n] = (uint32_t)len;
    s->n_strings++;
    return PR_OK;
}

static pr_code
add_frame(pf_symbols *s, uint32_t id, const pr_frame *frame, pr_err *err)
{
    size_t n = s->n_frames;
    pr_code code = pf_budget_grow(s->budget, &s->frame, &s->frame_cap, n + 1,
                                  sizeof *s->frame, err);
    if (code == PR_OK)
        code = map_add(&s->frame_map, id, (uint32_t)n, err);
    if (code != PR_OK)
        return code;
    s->frame[n] = *frame;
    s->n_frames++;
    return PR_OK;
}

pr_code
pf_names_string(void *context, uint32_t id, const char *bytes, size_t len,
                pr_err *err)
{
    pf_names *names = context;
    return add_string(&names->symbols, id, bytes, len, err);
}

pr_code
pf_names_frame(void *context, uint32_t id, const pr_frame *frame, pr_err *err)
{
    pf_names *names = context;
    return add_frame(&names->symbols, id, frame, err);
}

static pr_code
read_strings(pf_symbols *s, pf_cur c, uint32_t n, pr_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *bytes;
        size_t len;
        if (!pf_get_string(&c, &bytes, &len))
            return PR_FAIL(err, PR_DAMAGED,
                           "the string table ends in string %" PRIu32
                           " of %" PRIu32,
                           i, n);
        pr_code code = add_string(s, i, bytes, len, err);
        if (code != PR_OK)
            return code;
    }
    return PR_OK;
}

static pr_code
read_frames(pf_symbols *s, pf_cur c, uint32_t n, pr_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        pr_frame frame;
        if (!pf_get_frame(&c, &frame))
            return PR_FAIL(
                err, PR_DAMAGED,
                "the frame table ends in frame %" PRIu32 " of %" PRIu32, i, n);
        pr_code code = add_frame(s, i, &frame, err);
        if (code != PR_OK)
            return code;
    }
    return PR_OK;
}

/* Check that each frame names strings of the table. */
static pr_code
check_frames(const pf_symbols *s, pr_err *err)
{
    for (size_t i = 0; i < s->n_frames; i++)
        if (s->frame[i].file >= s->n_strings ||
            s->frame[i].func >= s->n_strings)
            return PR_FAIL(err, PR_DAMAGED,
                           "frame %zu names a string that does not exist", i);
    return PR_OK;
}

pr_code
pf_symbols_from_tables(pf_symbols *s, pf_cur strings, uint32_t n_strings,
                       pf_cur frames, uint32_t n_frames, pr_err *err)
{
    pr_code code = read_strings(s, strings, n_strings, err);
    if (code == PR_OK)
        code = read_frames(s, frames, n_frames, err);
    return code == PR_OK ? check_frames(s, err) : code;
}

void
pf_symbols_take_tables(pf_symbols *s, pf_symbols *tables)
{
    for (size_t i = 0; i < tables->n_frames; i++) {
        uint32_t known = map_find(&s->frame_map, (uint32_t)i);
        if (known != UINT32_MAX)
            tables->frame[i].first_line = s->frame[known].first_line;
    }
    pf_symbols_release(s);
    *s = *tables;
    *tables = (pf_symbols){0};
}

static bool
same_place(const pr_frame *a, const pr_frame *b)
{
    return a->file == b->file && a->func == b->func && a->line == b->line &&
           a->end_line == b->end_line && a->column == b->column &&
           a->end_column == b->end_column && a->opcode == b->opcode;
}

bool
pf_symbols_equal(const pf_symbols *a, const pf_symbols *b)
{
    if (a->n_strings != b->n_strings || a->n_frames != b->n_frames ||
        a->text.n != b->text.n)
        return false;
    if (a->text.n && memcmp(a->text.p, b->text.p, a->text.n) != 0)
        return false;
    for (size_t i = 0; i < a->n_strings; i++)
        if (a->length[i] != b->length[i])
            return false;
    for (size_t i = 0; i < a->n_frames; i++)
        if (!same_place(&a->frame[i], &b->frame[i]))
            return false;
    return true;
}

uint32_t
pf_symbols_frame(const pf_symbols *symbols, uint32_t id)
{
    uint32_t at = map_find(&symbols->frame_map, id);
    if (at == UINT32_MAX && symbols->holes)
        return (uint32_t)symbols->n_frames;
    return at;
}

/* Strings that did not arrive become the two of emit_lost_strings(). */
static pr_code
emit_frame(const pf_symbols *s, const pr_frame *frame, pr_sink *sink,
           pr_err *err)
{
    pr_frame f = *frame;
    f.file = map_find(&s->string_map, frame->file);
    f.func = map_find(&s->string_map, frame->func);
    if (f.file == UINT32_MAX)
        f.file = (uint32_t)s->n_strings;
    if (f.func == UINT32_MAX)
        f.func = (uint32_t)s->n_strings + 1;
    return PR_SINK_CALL(sink, frame, &f, err);
}

/* A file with holes has one more frame, and the two strings it needs. */
static pr_code
emit_lost_strings(pr_sink *sink, pr_err *err)
{
    pr_code code = PR_SINK_CALL(sink, string, PR_SYNTHETIC_FILE,
                                sizeof PR_SYNTHETIC_FILE - 1, err);
    if (code == PR_OK)
        code = PR_SINK_CALL(sink, string, LOST_FUNC, sizeof LOST_FUNC - 1, err);
    return code;
}

static pr_code
emit_lost_frame(const pf_symbols *s, pr_sink *sink, pr_err *err)
{
    pr_frame lost = {(uint32_t)s->n_strings,
                     (uint32_t)s->n_strings + 1,
                     PR_NO_LINE,
                     PR_NO_LINE,
                     PR_NO_LINE,
                     PR_NO_LINE,
                     0,
                     PR_NO_OPCODE};
    return PR_SINK_CALL(sink, frame, &lost, err);
}

pr_code
pf_symbols_emit(const pf_symbols *s, pr_sink *sink, pr_err *err)
{
    pr_code code = PR_OK;
    for (size_t i = 0; i < s->n_strings && code == PR_OK; i++)
        code = PR_SINK_CALL(
            sink, string,
            s->length[i] ? (const char *)s->text.p + s->string[i] : "",
            s->length[i], err);
    if (code == PR_OK && s->holes)
        code = emit_lost_strings(sink, err);
    for (size_t i = 0; i < s->n_frames && code == PR_OK; i++)
        code = emit_frame(s, &s->frame[i], sink, err);
    if (code == PR_OK && s->holes)
        code = emit_lost_frame(s, sink, err);
    return code;
}

/* ---- threads ---- */

typedef struct thread_key {
    const pf_thread *thread;
    pf_ref ref;
} thread_key;

static bool
same_thread(const void *context, uint32_t value)
{
    const thread_key *key = context;
    const pf_thread *t = &key->thread[value];
    return t->ref.tid == key->ref.tid && t->ref.interp == key->ref.interp;
}

static uint64_t
hash_ref(pf_ref ref)
{
    return pr_mix64(ref.tid ^ pr_mix64(ref.interp));
}

uint32_t
pf_names_find_thread(const pf_names *names, pf_ref ref)
{
    thread_key key = {names->thread, ref};
    return pr_table_find(&names->thread_table, hash_ref(ref), same_thread,
                         &key);
}

pr_code
pf_names_add_thread(pf_names *names, pf_ref ref, uint32_t *ret, pr_err *err)
{
    uint32_t at = pf_names_find_thread(names, ref);
    if (at == PR_TABLE_NONE) {
        size_t n = names->n_threads;
        pr_code code =
            pf_budget_grow(names->budget, &names->thread, &names->thread_cap,
                           n + 1, sizeof *names->thread, err);
        if (code != PR_OK)
            return code;
        if (!pr_table_insert(&names->thread_table, hash_ref(ref), (uint32_t)n))
            return pr_no_memory(err);
        names->thread[n] =
            (pf_thread){.ref = ref, .tid = ref.tid, .interp = ref.interp};
        names->n_threads++;
        at = (uint32_t)n;
    }
    *ret = at;
    return PR_OK;
}

pr_code
pf_names_thread(void *context, pf_ref ref, const pr_thread *record, pr_err *err)
{
    pf_names *names = context;
    uint32_t at, process;
    pr_code code = pf_names_add_thread(names, ref, &at, err);
    if (code == PR_OK)
        code =
            pf_processes_add(&names->processes, record->process, &process, err);
    if (code != PR_OK)
        return code;
    pf_thread *thread = &names->thread[at];
    size_t name_at = names->thread_text.n;
    code = pf_budget_grow(names->budget, &names->thread_text.p,
                          &names->thread_text.cap, name_at + record->name_len,
                          1, err);
    if (code != PR_OK)
        return code;
    pf_buf_bytes(&names->thread_text, record->name, record->name_len);
    thread->tid = record->tid;
    thread->interp = record->interp;
    thread->process = process;
    thread->is_main = record->is_main;
    thread->name_at = name_at;
    thread->name_len = record->name_len;
    return PR_OK;
}

static bool
same_identity(const void *context, uint32_t value)
{
    const pf_thread *const *k = context;
    const pf_thread *a = &k[0][value], *b = k[1];
    return a->tid == b->tid && a->interp == b->interp &&
           a->process == b->process;
}

static uint64_t
hash_identity(const pf_thread *t)
{
    return pr_mix64(t->tid ^ pr_mix64((uint64_t)t->process << 32 | t->interp));
}

pr_code
pf_names_separate(pf_names *names, size_t *ret, pr_err *err)
{
    pr_table table = {0};
    bool room = true;
    *ret = 0;
    for (size_t i = 0; i < names->n_threads && room; i++) {
        pf_thread *t = &names->thread[i];
        const pf_thread *const key[] = {names->thread, t};
        uint64_t own = t->tid;
        while (pr_table_find(&table, hash_identity(t), same_identity, key) !=
               PR_TABLE_NONE)
            t->tid += UINT64_C(1) << 32;
        *ret += t->tid != own;
        room = pr_table_insert(&table, hash_identity(t), (uint32_t)i);
    }
    pr_table_release(&table);
    return room ? PR_OK : pr_no_memory(err);
}

pr_code
pf_names_process(void *context, const pr_process *record, pr_err *err)
{
    pf_names *names = context;
    return pf_processes_describe(&names->processes, record, err);
}

pr_code
pf_names_rate(void *context, const pr_rate *record, pr_err *err)
{
    pf_names *names = context;
    pr_rate rate = *record;
    pr_code code = pf_processes_add(&names->processes, record->process,
                                    &rate.process, err);
    if (code != PR_OK)
        return code;
    code = pf_budget_grow(names->budget, &names->rate, &names->rate_cap,
                          names->n_rate + 1, sizeof *names->rate, err);
    if (code != PR_OK)
        return code;
    names->rate[names->n_rate++] = rate;
    return PR_OK;
}

pr_code
pf_names_process_of(pf_names *names, pf_ref ref, uint32_t *ret, pr_err *err)
{
    return pf_processes_add(&names->processes, (uint32_t)ref.tid, ret, err);
}

pr_code
pf_names_base(void *context, pf_ref ref, uint64_t base_us, pr_err *err)
{
    (void)base_us; /* only the replay needs it */
    pf_names *names = context;
    uint32_t at;
    pr_code code = pf_names_add_thread(names, ref, &at, err);
    if (code != PR_OK)
        return code;
    names->n_sampled += !names->thread[at].sampled;
    names->thread[at].sampled = true;
    return PR_OK;
}

pr_code
pf_names_emit_thread(const pf_names *names, uint32_t thread, pr_sink *sink,
                     pr_err *err)
{
    const pf_thread *t = &names->thread[thread];
    const char *name = "";
    if (t->name_len)
        name = (const char *)names->thread_text.p + t->name_at;
    pr_thread emitted = {t->tid, t->interp,   t->is_main,
                         name,   t->name_len, t->process};
    return PR_SINK_CALL(sink, thread, &emitted, err);
}

/* ---- metadata ---- */

pr_code
pf_names_meta(void *context, const pr_pair *pair, pr_err *err)
{
    pf_names *names = context;
    return pf_metadata_set(&names->metadata, pair, err);
}

/* ---- counters ---- */

typedef struct count_key {
    const pr_count *count, *wanted;
} count_key;

static bool
same_count(const void *context, uint32_t value)
{
    const count_key *key = context;
    const pr_count *c = &key->count[value], *wanted = key->wanted;
    return c->thread == wanted->thread && c->process == wanted->process &&
           c->kind == wanted->kind;
}

static uint64_t
hash_count(const pr_count *c)
{
    return pr_mix64(((uint64_t)c->thread << 32 | c->process) ^
                    pr_mix64(c->kind));
}

static uint32_t
find_count(const pf_names *names, const pr_count *wanted)
{
    count_key key = {names->count, wanted};
    return pr_table_find(&names->count_table, hash_count(wanted), same_count,
                         &key);
}

const pr_count *
pf_names_find_count(const pf_names *names, const pr_count *wanted)
{
    uint32_t at = find_count(names, wanted);
    return at == PR_TABLE_NONE ? NULL : &names->count[at];
}

pr_code
pf_names_count(void *context, pf_ref ref, const pr_count *emitted, pr_err *err)
{
    pf_names *names = context;
    pr_count count = *emitted;
    pr_code code = pf_ref_is_process(ref)
                       ? pf_names_process_of(names, ref, &count.process, err)
                       : pf_names_add_thread(names, ref, &count.thread, err);
    if (code != PR_OK)
        return code;
    uint32_t at = find_count(names, &count);
    if (at != PR_TABLE_NONE) {
        names->count[at] = count;
        return PR_OK;
    }
    size_t n = names->n_counts;
    code = pf_budget_grow(names->budget, &names->count, &names->count_cap,
                          n + 1, sizeof *names->count, err);
    if (code != PR_OK)
        return code;
    if (!pr_table_insert(&names->count_table, hash_count(&count), (uint32_t)n))
        return pr_no_memory(err);
    names->count[n] = count;
    names->n_counts++;
    return PR_OK;
}
