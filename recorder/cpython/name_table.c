/*
 * name_table.c - two hash tables in front of the sink.
 */
#include "recorder/cpython/name_table.h"

#include <base/array.h>
#include <base/hash.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct rec_name {
    size_t at;
    uint32_t len;
} rec_name;

void
rec_name_table_init(rec_name_table *names, pr_sink *sink)
{
    *names = (rec_name_table){.sink = sink};
}

void
rec_name_table_release(rec_name_table *names)
{
    free(names->bytes);
    free(names->name);
    free(names->frame);
    pr_table_release(&names->by_bytes);
    pr_table_release(&names->by_frame);
    *names = (rec_name_table){0};
}

typedef struct string_key {
    const rec_name_table *names;
    const char *bytes;
    size_t len;
} string_key;

static bool
same_string(const void *context, uint32_t id)
{
    const string_key *k = context;
    const rec_name *name = &k->names->name[id];
    return name->len == k->len &&
           memcmp(k->names->bytes + name->at, k->bytes, k->len) == 0;
}

pr_code
rec_name_table_string(rec_name_table *n, const char *bytes, size_t len,
                      uint32_t *ret, pr_err *err)
{
    string_key key = {n, bytes, len};
    uint64_t hash = pr_hash_bytes(bytes, len);
    uint32_t id = pr_table_find(&n->by_bytes, hash, same_string, &key);
    if (id != PR_TABLE_NONE) {
        *ret = id;
        return PR_OK;
    }
    id = (uint32_t)n->n_names;
    if (id >= UINT32_MAX - 1 || len > UINT32_MAX ||
        !pr_grow(&n->bytes, &n->cap_bytes, n->used + len + 1, 1) ||
        !pr_grow(&n->name, &n->cap_names, n->n_names + 1, sizeof *n->name) ||
        !pr_table_insert(&n->by_bytes, hash, id))
        return pr_no_memory(err);
    if (len)
        memcpy(n->bytes + n->used, bytes, len);
    n->name[n->n_names++] = (rec_name){n->used, (uint32_t)len};
    n->used += len;
    pr_code code = PR_SINK_CALL(n->sink, string, bytes, len, err);
    if (code == PR_OK)
        *ret = id;
    return code;
}

typedef struct frame_key {
    const rec_name_table *names;
    const pr_frame *frame;
} frame_key;

static bool
same_frame(const void *context, uint32_t id)
{
    const frame_key *k = context;
    const pr_frame *a = &k->names->frame[id], *b = k->frame;
    return a->file == b->file && a->func == b->func && a->line == b->line &&
           a->end_line == b->end_line && a->column == b->column &&
           a->end_column == b->end_column && a->first_line == b->first_line &&
           a->opcode == b->opcode;
}

static uint64_t
hash_frame(const pr_frame *f)
{
    const uint32_t words[] = {f->file,
                              f->func,
                              (uint32_t)f->line,
                              (uint32_t)f->end_line,
                              (uint32_t)f->column,
                              (uint32_t)f->end_column,
                              (uint32_t)f->first_line,
                              f->opcode};
    return pr_hash_bytes(words, sizeof words);
}

pr_code
rec_name_table_frame(rec_name_table *n, const pr_frame *frame, uint32_t *ret,
                     pr_err *err)
{
    frame_key key = {n, frame};
    uint64_t hash = hash_frame(frame);
    uint32_t id = pr_table_find(&n->by_frame, hash, same_frame, &key);
    if (id != PR_TABLE_NONE) {
        *ret = id;
        return PR_OK;
    }
    id = (uint32_t)n->n_frames;
    if (id >= UINT32_MAX - 1 ||
        !pr_grow(&n->frame, &n->cap_frames, n->n_frames + 1,
                 sizeof *n->frame) ||
        !pr_table_insert(&n->by_frame, hash, id))
        return pr_no_memory(err);
    n->frame[n->n_frames++] = *frame;
    pr_code code = PR_SINK_CALL(n->sink, frame, frame, err);
    if (code == PR_OK)
        *ret = id;
    return code;
}
