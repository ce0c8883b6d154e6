/*
 * checkpoint_pending.c - names and events on their way into a checkpoint.
 */
#include "format/write/checkpoint_pending.h"

#include <base/array.h>
#include <base/hash.h>
#include <base/hash_table.h>
#include <inttypes.h>
#include <pyrec/error.h>
#include <stdint.h>
#include <stdlib.h>

/* One entry of a list.  With the writer's own limit on what it lets gather,
 * a body stays far below what 5.2 allows. */
#define ENTRY_MAX ((size_t)64 << 20)

/* A repetition of the description costs less than this part of the file. */
#define RARITY 32

/* A changed counter in the weight: ref, kind and value at most. */
#define COUNT_MAX (4 * PF_VARINT_MAX)

void
pf_pending_release(pf_pending *notes)
{
    free(notes->strings.all.items.p);
    free(notes->frames.items.p);
    free(notes->new_frames.items.p);
    free(notes->threads.all.items.p);
    free(notes->meta.all.items.p);
    free(notes->gc.items.p);
    free(notes->tasks.items.p);
    free(notes->marks.items.p);
    free(notes->processes.all.items.p);
    free(notes->rates.items.p);
    free(notes->counter);
    free(notes->changed);
    pr_table_release(&notes->counters);
    *notes = (pf_pending){0};
}

static pr_code
check_size(size_t n, const char *what, pr_err *err)
{
    if (n > ENTRY_MAX)
        return PR_FAIL(err, PR_LIMIT, "%s of %zu bytes is too large", what, n);
    return PR_OK;
}

/* An entry was put: count it, unless memory ran out on the way. */
static pr_code
end_entry(pf_list *list, pr_err *err)
{
    if (list->items.failed)
        return pr_no_memory(err);
    list->n++;
    return PR_OK;
}

/* ---- tables ---- */

pr_code
pf_pending_string(pf_pending *notes, const char *bytes, size_t len, pr_err *err)
{
    pr_code rc = check_size(len, "a name", err);
    if (rc != PR_OK)
        return rc;
    if (notes->strings.all.n == UINT32_MAX)
        return PR_FAIL(err, PR_LIMIT, "too many names");
    pf_buf_string(&notes->strings.all.items, bytes, len);
    return end_entry(&notes->strings.all, err);
}

static void
put_frame(pf_buf *b, const pr_frame *frame)
{
    if (pf_buf_reserve(b, PF_FRAME_MAX))
        pf_buf_end(b, pf_put_frame(b->p + b->n, frame));
}

pr_code
pf_pending_frame(pf_pending *notes, const pr_frame *frame, pr_err *err)
{
    if (frame->file >= notes->strings.all.n ||
        frame->func >= notes->strings.all.n)
        return PR_FAIL(err, PR_INTERNAL,
                       "frame %" PRIu64 " has names that were not emitted",
                       notes->frames.n);
    if (!pf_place_fits(frame->line, frame->end_line) ||
        !pf_place_fits(frame->column, frame->end_column))
        return PR_FAIL(err, PR_INTERNAL,
                       "place of frame %" PRIu64 " makes no sense",
                       notes->frames.n);
    if (notes->frames.n == UINT32_MAX)
        return PR_FAIL(err, PR_LIMIT, "too many frames");
    put_frame(&notes->frames.items, frame);
    pr_code rc = end_entry(&notes->frames, err);
    if (rc != PR_OK || notes->tables_only)
        return rc;
    pf_list *new = &notes->new_frames;
    put_frame(&new->items, frame);
    pf_buf_varint(&new->items,
                  frame->first_line > 0 ? (uint64_t)frame->first_line : 0);
    return end_entry(new, err);
}

/* ---- events ---- */

void
pf_put_ref(pf_buf *body, pf_ref ref)
{
    pf_buf_varint(body, ref.tid);
    pf_buf_varint(body, ref.interp);
}

pr_code
pf_pending_thread(pf_pending *notes, pf_ref ref, const pr_thread *thread,
                  pr_err *err)
{
    pr_code rc = check_size(thread->name_len, "name of a thread", err);
    if (rc != PR_OK || notes->tables_only)
        return rc;
    bool identity = thread->process != 0 || thread->tid != ref.tid ||
                    thread->interp != ref.interp;
    pf_buf *b = &notes->threads.all.items;
    pf_put_ref(b, ref);
    pf_buf_u8(b, (uint8_t)((thread->is_main ? PF_THREAD_MAIN : 0) |
                           (identity ? PF_THREAD_IDENTITY : 0)));
    pf_buf_string(b, thread->name, thread->name_len);
    if (identity) {
        pf_buf_varint(b, thread->process);
        pf_buf_varint(b, thread->tid);
        pf_buf_varint(b, thread->interp);
    }
    return end_entry(&notes->threads.all, err);
}

static void
put_text(pf_buf *b, const pr_text *text)
{
    pf_buf_string(b, text->bytes, text->len);
}

static bool
is_key(const pr_text *key)
{
    return key->len > 0 && key->len <= PF_META_KEY_MAX &&
           !memchr(key->bytes, 0, key->len);
}

static pr_code
check_process(const pr_process *p, pr_err *err)
{
    size_t n = 0;
    const pr_text *all[] = {&p->command, &p->host, &p->scope};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        n += all[i]->len;
    for (uint32_t i = 0; i < p->n_meta; i++) {
        const pr_pair *pair = &p->meta[i];
        if (!is_key(&pair->key))
            return PR_FAIL(err, PR_LIMIT,
                           "metadata key of process %" PRIu32
                           " is not 1 to %d bytes without NUL",
                           p->index, PF_META_KEY_MAX);
        n += pair->key.len + pair->value.len;
    }
    return check_size(n, "description of a process", err);
}

pr_code
pf_pending_process(pf_pending *notes, const pr_process *p, pr_err *err)
{
    pr_code rc = check_process(p, err);
    if (rc != PR_OK || notes->tables_only)
        return rc;
    pf_buf *b = &notes->processes.all.items;
    const uint64_t field[] = {p->index, p->pid, p->parent, p->start_us,
                              p->end_us};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        pf_buf_varint(b, field[i]);
    pf_buf_bytes(b, p->python, sizeof p->python);
    put_text(b, &p->command);
    put_text(b, &p->host);
    put_text(b, &p->scope);
    pf_buf_varint(b, p->n_meta);
    for (uint32_t i = 0; i < p->n_meta; i++) {
        put_text(b, &p->meta[i].key);
        put_text(b, &p->meta[i].value);
    }
    return end_entry(&notes->processes.all, err);
}

pr_code
pf_pending_rate(pf_pending *notes, const pr_rate *rate, pr_err *err)
{
    if (rate->interval_us == 0)
        return PR_FAIL(err, PR_INTERNAL, "interval is 0");
    if (notes->tables_only)
        return PR_OK;
    pf_buf *b = &notes->rates.items;
    pf_buf_varint(b, rate->process);
    pf_buf_varint(b, rate->time_us);
    pf_buf_varint(b, rate->interval_us);
    return end_entry(&notes->rates, err);
}

pr_code
pf_pending_meta(pf_pending *notes, const char *key, const char *value,
                size_t len, pr_err *err)
{
    size_t key_len = strlen(key);
    if (key_len == 0 || key_len > PF_META_KEY_MAX)
        return PR_FAIL(err, PR_LIMIT,
                       "key of metadata has %zu bytes, not 1 to %d", key_len,
                       PF_META_KEY_MAX);
    pr_code rc = check_size(len, "metadata", err);
    if (rc != PR_OK || notes->tables_only)
        return rc;
    pf_buf_string(&notes->meta.all.items, key, key_len);
    pf_buf_string(&notes->meta.all.items, value, len);
    return end_entry(&notes->meta.all, err);
}

pr_code
pf_pending_gc(pf_pending *notes, const pr_gc_event *event, pr_err *err)
{
    if (notes->tables_only)
        return PR_OK;
    const uint64_t field[] = {
        event->process,   event->interp,        event->generation,
        event->start_us,  event->stop_us,       event->collections,
        event->collected, event->uncollectable, event->candidates,
        event->heap_size, event->duration_ns,
    };
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        pf_buf_varint(&notes->gc.items, field[i]);
    return end_entry(&notes->gc, err);
}

pr_code
pf_pending_task(pf_pending *notes, pf_ref ref, const pr_task *task, pr_err *err)
{
    pr_code rc = check_size(task->name_len, "name of a task", err);
    if (rc != PR_OK ||
        (rc = check_size((size_t)task->n_parents * PF_VARINT_MAX,
                         "list of a task's parents", err)) != PR_OK)
        return rc;
    if (notes->tables_only)
        return PR_OK;
    pf_buf *b = &notes->tasks.items;
    pf_buf_varint(b, task->key);
    pf_buf_varint(b, task->time_us);
    pf_put_ref(b, ref);
    pf_buf_string(b, task->name, task->name_len);
    pf_buf_varint(b, task->n_parents);
    for (uint32_t i = 0; i < task->n_parents; i++)
        pf_buf_varint(b, task->parent[i]);
    return end_entry(&notes->tasks, err);
}

pr_code
pf_pending_mark(pf_pending *notes, const pr_mark *mark, pr_err *err)
{
    pr_code rc = check_size(mark->text_len, "text of a mark", err);
    if (rc != PR_OK || notes->tables_only)
        return rc;
    pf_buf *b = &notes->marks.items;
    pf_buf_varint(b, mark->process);
    pf_buf_varint(b, mark->kind);
    pf_buf_varint(b, mark->time_us);
    pf_buf_varint(b, mark->end_us);
    pf_buf_string(b, mark->text, mark->text_len);
    return end_entry(&notes->marks, err);
}

/* ---- counters ---- */

typedef struct counter_key {
    const pf_pending *notes;
    pf_ref ref;
    uint32_t kind;
} counter_key;

static bool
same_counter(const void *context, uint32_t value)
{
    const counter_key *key = context;
    const pf_counter *c = &key->notes->counter[value];
    return c->ref.tid == key->ref.tid && c->ref.interp == key->ref.interp &&
           c->kind == key->kind;
}

static pf_counter *
find_or_add_counter(pf_pending *notes, pf_ref ref, uint32_t kind)
{
    counter_key key = {notes, ref, kind};
    uint64_t hash =
        pr_mix64(ref.tid ^ pr_mix64((uint64_t)ref.interp << 32 | kind));
    uint32_t at = pr_table_find(&notes->counters, hash, same_counter, &key);
    if (at != PR_TABLE_NONE)
        return &notes->counter[at];
    if (notes->n_counters >= PR_TABLE_NONE - 1 ||
        !pr_grow(&notes->counter, &notes->cap_counters, notes->n_counters + 1,
                 sizeof *notes->counter) ||
        !pr_table_insert(&notes->counters, hash, (uint32_t)notes->n_counters))
        return NULL;
    pf_counter *c = &notes->counter[notes->n_counters++];
    *c = (pf_counter){.ref = ref, .kind = kind};
    return c;
}

pr_code
pf_pending_count(pf_pending *notes, pf_ref ref, const pr_count *count,
                 pr_err *err)
{
    if (notes->tables_only)
        return PR_OK;
    pf_counter *c = find_or_add_counter(notes, ref, count->kind);
    if (!c || !pr_grow(&notes->changed, &notes->cap_changed,
                       notes->n_changed + 1, sizeof *notes->changed))
        return pr_no_memory(err);
    if (c->known && c->value == count->value)
        return PR_OK;
    c->value = count->value;
    if (count->time_us > notes->counts_us)
        notes->counts_us = count->time_us;
    if (!c->changed)
        notes->changed[notes->n_changed++] = (uint32_t)(c - notes->counter);
    c->known = c->changed = true;
    return PR_OK;
}

/* ---- the body ---- */

/* Bytes that no checkpoint holds. */
static size_t
new_bytes(const pf_known_list *list)
{
    return list->all.items.n - list->written_bytes;
}

size_t
pf_pending_weight(const pf_pending *notes)
{
    if (notes->tables_only)
        return 0;
    return new_bytes(&notes->strings) + notes->new_frames.items.n +
           new_bytes(&notes->threads) + new_bytes(&notes->meta) +
           notes->gc.items.n + notes->tasks.items.n + notes->marks.items.n +
           new_bytes(&notes->processes) + notes->rates.items.n +
           notes->n_changed * COUNT_MAX;
}

bool
pf_pending_describe(pf_pending *notes, uint64_t file_bytes)
{
    uint64_t size = PF_HEADER_SIZE + notes->threads.all.items.n +
                    notes->meta.all.items.n + notes->processes.all.items.n;
    uint64_t last = notes->described_at;
    if (last && (file_bytes < 2 * last || file_bytes - last < size * RARITY))
        return false;
    notes->described_at = file_bytes;
    return true;
}

static void
put_entries(pf_buf *body, uint8_t type, uint64_t n, const pf_buf *items,
            size_t from)
{
    size_t size = items->n - from;
    if (n == 0)
        return;
    pf_buf_u8(body, type);
    pf_buf_varint(body, pf_varint_size(n) + size);
    pf_buf_varint(body, n);
    pf_buf_bytes(body, items->p + from, size);
}

void
pf_put_list(pf_buf *body, uint8_t type, const pf_list *list)
{
    put_entries(body, type, list->n, &list->items, 0);
}

static void
put_known(pf_buf *body, uint8_t type, const pf_known_list *list, bool all)
{
    put_entries(body, type, list->all.n - (all ? 0 : list->written),
                &list->all.items, all ? 0 : list->written_bytes);
}

static void
put_table(pf_buf *body, uint8_t type, uint64_t first, uint64_t n,
          const uint8_t *items, size_t size)
{
    if (n == 0)
        return;
    pf_buf_u8(body, type);
    pf_buf_varint(body, pf_varint_size(first) + pf_varint_size(n) + size);
    pf_buf_varint(body, first);
    pf_buf_varint(body, n);
    pf_buf_bytes(body, items, size);
}

void
pf_pending_put_names(const pf_pending *notes, pf_buf *body)
{
    const pf_known_list *strings = &notes->strings;
    uint64_t n = strings->all.n - strings->written;
    if (n > 0)
        put_table(body, PF_TYPE_STRINGS, strings->written, n,
                  strings->all.items.p + strings->written_bytes,
                  new_bytes(strings));
    const pf_list *frames = &notes->new_frames;
    put_table(body, PF_TYPE_FRAMES, notes->frames.n - frames->n, frames->n,
              frames->items.p, frames->items.n);
}

static void
put_counts(const pf_pending *notes, pf_buf *body)
{
    pf_buf list = {0};
    if (notes->n_changed == 0)
        return;
    pf_buf_varint(&list, notes->counts_us);
    pf_buf_varint(&list, notes->n_changed);
    for (size_t i = 0; i < notes->n_changed; i++) {
        const pf_counter *c = &notes->counter[notes->changed[i]];
        pf_put_ref(&list, c->ref);
        pf_buf_varint(&list, c->kind);
        pf_buf_varint(&list, c->value);
    }
    body->failed |= list.failed;
    pf_buf_u8(body, PF_TYPE_COUNTS);
    pf_buf_string(body, (const char *)list.p, list.n);
    free(list.p);
}

void
pf_pending_put_rest(const pf_pending *notes, bool all, pf_buf *body)
{
    put_known(body, PF_TYPE_PROCESSES, &notes->processes, all);
    put_known(body, PF_TYPE_THREADS, &notes->threads, all);
    put_known(body, PF_TYPE_META, &notes->meta, all);
    pf_put_list(body, PF_TYPE_RATES, &notes->rates);
    put_counts(notes, body);
    pf_put_list(body, PF_TYPE_GC, &notes->gc);
    pf_put_list(body, PF_TYPE_TASKS, &notes->tasks);
    pf_put_list(body, PF_TYPE_MARKS, &notes->marks);
}

static void
empty(pf_list *list)
{
    list->n = 0;
    list->items.n = 0;
}

static void
settle(pf_known_list *list)
{
    list->written = list->all.n;
    list->written_bytes = list->all.items.n;
}

void
pf_pending_written(pf_pending *notes)
{
    settle(&notes->strings);
    settle(&notes->threads);
    settle(&notes->meta);
    settle(&notes->processes);
    empty(&notes->new_frames);
    empty(&notes->gc);
    empty(&notes->tasks);
    empty(&notes->marks);
    empty(&notes->rates);
    for (size_t i = 0; i < notes->n_changed; i++)
        notes->counter[notes->changed[i]].changed = false;
    notes->n_changed = 0;
}
