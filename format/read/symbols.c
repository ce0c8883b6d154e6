/*
 * symbols.c - strings, frames, threads, metadata and counters of a file.
 */
#include "format/read/symbols.h"
#include "format/limits.h"

#include <base/hash.h>
#include <base/hash_table.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

/* What stands for a name that a damaged part of the file took with it. */
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
    *symbols = (pf_symbols){0};
}

void
pf_names_release(pf_names *names)
{
    pf_symbols_release(&names->symbols);
    free(names->thread);
    pr_table_release(&names->thread_table);
    free(names->thread_text.p);
    pf_processes_release(&names->processes);
    free(names->rate);
    for (size_t i = 0; i < names->n_meta; i++)
        free(names->meta[i].key);
    free(names->meta);
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
    pf_buf_bytes(&s->text, bytes, len);
    if (s->text.failed ||
        !pr_grow(&s->string, &s->string_cap, n + 1, sizeof *s->string) ||
        !pr_grow(&s->length, &s->length_cap, n + 1, sizeof *s->length))
        return pr_no_memory(err);
    pr_code code = map_add(&s->string_map, id, (uint32_t)n, err);
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
    if (!pr_grow(&s->frame, &s->frame_cap, n + 1, sizeof *s->frame))
        return pr_no_memory(err);
    pr_code code = map_add(&s->frame_map, id, (uint32_t)n, err);
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

pr_code
pf_symbols_from_tables(pf_symbols *symbols, pf_cur strings, uint32_t n_strings,
                       pf_cur frames, uint32_t n_frames, pr_err *err)
{
    pf_symbols t = {0};
    pr_code code = read_strings(&t, strings, n_strings, err);
    if (code == PR_OK)
        code = read_frames(&t, frames, n_frames, err);
    if (code != PR_OK) {
        pf_symbols_release(&t);
        return code;
    }
    for (size_t i = 0; i < t.n_frames; i++) {
        uint32_t told = map_find(&symbols->frame_map, (uint32_t)i);
        if (told != UINT32_MAX)
            t.frame[i].first_line = symbols->frame[told].first_line;
    }
    pf_symbols_release(symbols);
    *symbols = t;
    return PR_OK;
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

bool
pf_symbols_complete(const pf_symbols *s)
{
    for (size_t i = 0; i < s->n_frames; i++)
        if (map_find(&s->string_map, s->frame[i].file) == UINT32_MAX ||
            map_find(&s->string_map, s->frame[i].func) == UINT32_MAX)
            return false;
    return true;
}

/* Strings of frames that did not arrive: the two told behind the last. */
static pr_code
tell_frame(const pf_symbols *s, const pr_frame *frame, pr_sink *sink,
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
tell_lost_strings(pr_sink *sink, pr_err *err)
{
    pr_code code = PR_SINK_CALL(sink, string, PR_SYNTHETIC_FILE,
                                sizeof PR_SYNTHETIC_FILE - 1, err);
    if (code == PR_OK)
        code = PR_SINK_CALL(sink, string, LOST_FUNC, sizeof LOST_FUNC - 1, err);
    return code;
}

static pr_code
tell_lost_frame(const pf_symbols *s, pr_sink *sink, pr_err *err)
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
pf_symbols_tell(const pf_symbols *s, pr_sink *sink, pr_err *err)
{
    pr_code code = PR_OK;
    for (size_t i = 0; i < s->n_strings && code == PR_OK; i++)
        code = PR_SINK_CALL(
            sink, string,
            s->length[i] ? (const char *)s->text.p + s->string[i] : "",
            s->length[i], err);
    if (code == PR_OK && s->holes)
        code = tell_lost_strings(sink, err);
    for (size_t i = 0; i < s->n_frames && code == PR_OK; i++)
        code = tell_frame(s, &s->frame[i], sink, err);
    if (code == PR_OK && s->holes)
        code = tell_lost_frame(s, sink, err);
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
        if (!pr_grow(&names->thread, &names->thread_cap, n + 1,
                     sizeof *names->thread) ||
            !pr_table_insert(&names->thread_table, hash_ref(ref), (uint32_t)n))
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
    pf_buf_bytes(&names->thread_text, record->name, record->name_len);
    if (names->thread_text.failed)
        return pr_no_memory(err);
    thread->tid = record->tid;
    thread->interp = record->interp;
    thread->process = process;
    thread->is_main = record->is_main;
    thread->name_at = name_at;
    thread->name_len = record->name_len;
    return PR_OK;
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
    if (!pr_grow(&names->rate, &names->rate_cap, names->n_rates + 1,
                 sizeof *names->rate))
        return pr_no_memory(err);
    names->rate[names->n_rates++] = rate;
    return PR_OK;
}

pr_code
pf_names_process_of(pf_names *names, pf_ref ref, uint32_t *ret, pr_err *err)
{
    if (ref.tid >= PF_REF_PROCESS_INTERP)
        return PR_FAIL(err, PR_DAMAGED,
                       "process %" PRIu64 " is beyond the limit", ref.tid);
    return pf_processes_add(&names->processes, (uint32_t)ref.tid, ret, err);
}

pr_code
pf_names_base(void *context, pf_ref ref, uint64_t base_us, pr_err *err)
{
    (void)base_us; /* a matter of the replay */
    pf_names *names = context;
    uint32_t at;
    pr_code code = pf_names_add_thread(names, ref, &at, err);
    if (code == PR_OK)
        names->thread[at].sampled = true;
    return code;
}

pr_code
pf_names_tell_thread(const pf_names *names, uint32_t thread, pr_sink *sink,
                     pr_err *err)
{
    const pf_thread *t = &names->thread[thread];
    const char *name = "";
    if (t->name_len)
        name = (const char *)names->thread_text.p + t->name_at;
    pr_thread told = {t->tid, t->interp,   t->is_main,
                      name,   t->name_len, t->process};
    return PR_SINK_CALL(sink, thread, &told, err);
}

/* ---- metadata ---- */

/* Where the key is or belongs. */
static size_t
meta_place(const pf_names *names, const char *key)
{
    size_t low = 0, high = names->n_meta;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(names->meta[mid].key, key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static pr_code
meta_new(const char *key, size_t key_len, const char *value, size_t value_len,
         pf_meta *ret, pr_err *err)
{
    char *block = malloc(key_len + value_len + 2);
    if (!block)
        return pr_no_memory(err);
    memcpy(block, key, key_len);
    block[key_len] = '\0';
    char *copy = block + key_len + 1;
    memcpy(copy, value, value_len);
    copy[value_len] = '\0';
    *ret = (pf_meta){block, copy, value_len};
    return PR_OK;
}

pr_code
pf_names_meta(void *context, const char *key, size_t key_len, const char *value,
              size_t value_len, pr_err *err)
{
    pf_names *names = context;
    pf_meta meta;
    if (memchr(key, '\0', key_len))
        return PR_FAIL(err, PR_DAMAGED, "a key of the metadata holds a NUL");
    if (names->n_meta == PF_META_MAX)
        return PR_FAIL(err, PR_LIMIT, "more than %d keys of metadata",
                       PF_META_MAX);
    if (!pr_grow(&names->meta, &names->meta_cap, names->n_meta + 1,
                 sizeof *names->meta))
        return pr_no_memory(err);
    pr_code code = meta_new(key, key_len, value, value_len, &meta, err);
    if (code != PR_OK)
        return code;
    size_t at = meta_place(names, meta.key);
    if (at < names->n_meta && !strcmp(names->meta[at].key, meta.key)) {
        free(names->meta[at].key);
    } else {
        memmove(&names->meta[at + 1], &names->meta[at],
                (names->n_meta - at) * sizeof *names->meta);
        names->n_meta++;
    }
    names->meta[at] = meta;
    return PR_OK;
}

const pf_meta *
pf_names_meta_find(const pf_names *names, const char *key)
{
    size_t at = meta_place(names, key);
    bool there = at < names->n_meta && !strcmp(names->meta[at].key, key);
    return there ? &names->meta[at] : NULL;
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

pr_code
pf_names_count(void *context, pf_ref ref, const pr_count *told, pr_err *err)
{
    pf_names *names = context;
    pr_count count = *told;
    pr_code code = pf_ref_is_process(ref)
                       ? pf_names_process_of(names, ref, &count.process, err)
                       : pf_names_add_thread(names, ref, &count.thread, err);
    if (code != PR_OK)
        return code;
    count_key key = {names->count, &count};
    uint64_t hash = hash_count(&count);
    uint32_t at = pr_table_find(&names->count_table, hash, same_count, &key);
    if (at != PR_TABLE_NONE) {
        names->count[at] = count;
        return PR_OK;
    }
    size_t n = names->n_counts;
    if (!pr_grow(&names->count, &names->count_cap, n + 1,
                 sizeof *names->count) ||
        !pr_table_insert(&names->count_table, hash, (uint32_t)n))
        return pr_no_memory(err);
    names->count[n] = count;
    names->n_counts++;
    return PR_OK;
}
