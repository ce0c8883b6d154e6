/*
 * data_stack.c - the data stack of one thread, read with its state.
 */
#include "recorder/cpython/data_stack.h"

#include <base/array.h>
#include <stdlib.h>

enum {
    CHUNK_MAX = 16 << 20,
    CHUNK_SLACK = 4096, /* a stack may have grown by this since the last read */
    CHUNKS_MAX = 4096,
    CHUNKS_STALE =
        2, /* kept for a stack that crosses a border again and again */
    OFF_MAX = 512
};

void
rec_data_stack_release(rec_data_stack *s)
{
    free(s->chunk);
    free(s->off);
    *s = (rec_data_stack){0};
}

static uint32_t
reach(uint32_t so_far, uint32_t offset, uint32_t width)
{
    return offset != REC_ABSENT && offset + width > so_far ? offset + width
                                                           : so_far;
}

uint32_t
rec_tstate_bytes(const rec_layout *l)
{
    const uint32_t offsets[] = {l->tstate.next,
                                l->tstate.interp,
                                l->tstate.current_frame,
                                l->tstate.cframe,
                                l->tstate.thread_id,
                                l->tstate.native_thread_id,
                                l->tstate.base_frame,
                                l->tstate.datastack_chunk,
                                l->tstate.last_profiled_frame_seq,
                                l->tstate.datastack_top,
                                l->tstate.current_exception,
                                l->tstate.exc_info,
                                l->tstate.status};
    uint32_t n = 8;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        n = reach(n, offsets[i], 8);
    if (l->tstate.exc_state != REC_ABSENT)
        n = reach(n, l->tstate.exc_state + l->exc.exc_value, 8);
    return n;
}

static size_t
add_again(const rec_data_stack *s, const rec_layout *l, rec_batch *w)
{
    if (l->tstate.current_frame != REC_ABSENT)
        return rec_batch_add(w, s->tstate + l->tstate.current_frame, 8);
    if (!s->cframe)
        return REC_NO_PIECE;
    return rec_batch_add(w, s->cframe + l->cframe.current_frame, 8);
}

/* Both fields of a _PyCFrame lie within its first bytes (3.11: 24, 3.12:
 * 16). */
static uint32_t
cframe_bytes(const rec_layout *l)
{
    return reach(l->cframe.current_frame + 8, l->cframe.previous, 8);
}

bool
rec_data_stack_add(rec_data_stack *s, const rec_layout *l, rec_batch *w,
                   bool again, rec_shot *ret)
{
    rec_shot shot = {.cframe = REC_NO_PIECE, .again = REC_NO_PIECE};
    s->head = l->chunk.head;
    shot.tstate = rec_batch_add(w, s->tstate, rec_tstate_bytes(l));
    if (shot.tstate == REC_NO_PIECE)
        return false;
    if (l->tstate.cframe != REC_ABSENT && s->cframe)
        shot.cframe = rec_batch_add(w, s->cframe, cframe_bytes(l));
    if (l->tstate.cframe != REC_ABSENT && s->below)
        rec_batch_add(w, s->below + l->cframe.current_frame, 8);
    for (size_t i = 0; i < s->n_off; i++)
        rec_batch_add(w, s->off[i], l->frame.size);
    /* stale chunks come last: they are the ones that may be gone */
    for (size_t i = 0; i < s->n_chunks; i++)
        s->chunk[i].piece = i < s->first ? REC_NO_PIECE
                                         : rec_batch_add(w, s->chunk[i].address,
                                                         s->chunk[i].want);
    if (again)
        shot.again = add_again(s, l, w);
    *ret = shot;
    return true;
}

static pr_code
read_word(rec_batch *w, uint64_t address, uint64_t *ret, pr_err *err)
{
    const uint8_t *p = rec_batch_find(w, address, 8);
    if (!p) {
        if (!rec_plausible(address))
            return PR_FAIL_AT(err, PR_TORN, address, "not a pointer");
        size_t piece = rec_batch_add(w, address, 8);
        pr_code code = rec_batch_read(w, err);
        if (code != PR_OK)
            return code;
        p = rec_batch_bytes(w, piece);
    }
    if (!p)
        return PR_FAIL_AT(err, PR_TORN, address, "word is not there");
    *ret = rec_u64(p);
    return PR_OK;
}

/* 3.11 and 3.12 keep the current frame in a _PyCFrame on the C stack.  The
 * frame of the one below it is on the stack too (sampling.md, "Repair"). */
static pr_code
follow_cframe(rec_data_stack *s, const rec_layout *l, rec_batch *w,
              rec_shot *shot, pr_err *err)
{
    uint64_t cframe =
        rec_u64(rec_batch_bytes(w, shot->tstate) + l->tstate.cframe);
    s->cframe = cframe;
    pr_code code = read_word(w, cframe + l->cframe.current_frame,
                             &shot->current_frame, err);
    uint64_t below = 0;
    if (code == PR_OK)
        code = read_word(w, cframe + l->cframe.previous, &below, err);
    s->below = below;
    if (code != PR_OK || !below)
        return code;
    return read_word(w, below + l->cframe.current_frame, &shot->outer_frame,
                     err);
}

/* Make chunk i of the source the one at `address` with size `size`. */
static bool
put_chunk(rec_data_stack *s, size_t i, uint64_t address, uint32_t size,
          size_t piece, uint32_t want)
{
    if (!pr_grow(&s->chunk, &s->cap_chunks, i + 1, sizeof *s->chunk))
        return false;
    s->chunk[i] = (rec_chunk){address, size, want, piece};
    if (s->n_chunks < i + 1)
        s->n_chunks = i + 1;
    return true;
}

/* Read a chunk that was not foreseen: its usual size first. */
static pr_code
read_chunk(const rec_layout *l, rec_batch *w, uint64_t address, rec_chunk *ret,
           uint64_t *ret_previous, pr_err *err)
{
    if (!rec_plausible(address))
        return PR_FAIL_AT(err, PR_TORN, address, "not a stack chunk");
    size_t piece = rec_batch_add(w, address, l->chunk.usual_size);
    pr_code code = rec_batch_read(w, err);
    if (code != PR_OK)
        return code;
    const uint8_t *p = rec_batch_bytes(w, piece);
    if (!p)
        return PR_FAIL_AT(err, PR_TORN, address, "stack chunk is not there");
    uint64_t size = rec_u64(p + l->chunk.size);
    if (size <= l->chunk.head || size > CHUNK_MAX)
        return PR_FAIL_AT(err, PR_TORN, address, "size of stack chunk");
    *ret_previous = rec_u64(p + l->chunk.previous);
    if (size > l->chunk.usual_size) {
        piece = rec_batch_add(w, address, (size_t)size);
        code = rec_batch_read(w, err);
        if (code != PR_OK)
            return code;
    }
    if (!rec_batch_bytes(w, piece))
        return PR_FAIL_AT(err, PR_TORN, address, "stack chunk is not there");
    *ret = (rec_chunk){address, (uint32_t)size, (uint32_t)size, piece};
    return PR_OK;
}

/* The chunks from the current one outwards that are not where they were: read
 * them, then put them after the ones that are. */
static pr_code
follow_chunks(rec_data_stack *s, const rec_layout *l, rec_batch *w,
              uint64_t current, pr_err *err)
{
    rec_chunk fresh[64], *list = fresh;
    size_t n = 0, cap = 64, known = 0;
    rec_chunk *grown = NULL;
    size_t cap_grown = 0;
    pr_code code = PR_OK;
    for (uint64_t at = current; at && code == PR_OK;) {
        for (known = s->n_chunks; known > 0; known--)
            if (s->chunk[known - 1].address == at)
                break;
        if (known && rec_batch_bytes(w, s->chunk[known - 1].piece))
            break;
        known = 0;
        if (n == cap) {
            if (n >= CHUNKS_MAX ||
                !pr_grow(&grown, &cap_grown, n * 2, sizeof *grown)) {
                code = PR_FAIL_AT(err, PR_LIMIT, at, "too many stack chunks");
                break;
            }
            memcpy(grown, list, list == fresh ? sizeof fresh : 0);
            list = grown;
            cap = cap_grown;
        }
        code = read_chunk(l, w, at, &list[n++], &at, err);
    }
    if (code == PR_OK)
        s->n_chunks = s->n_live = known;
    for (size_t i = n; code == PR_OK && i-- > 0;) {
        if (!put_chunk(s, s->n_chunks, list[i].address, list[i].size,
                       list[i].piece, list[i].want))
            code = pr_no_memory(err);
        else
            s->n_live = s->n_chunks;
    }
    free(grown);
    return code;
}

/* The first live chunk that is read whether or not a walk comes to it. */
static size_t
first_read(const rec_data_stack *s)
{
    return s->first < s->n_live ? s->first : s->n_live ? s->n_live - 1 : 0;
}

/* The known chunks are linked to each other as they were. */
static bool
links_hold(const rec_data_stack *s, const rec_layout *l, const rec_batch *w)
{
    for (size_t i = first_read(s); i < s->n_live; i++) {
        const uint8_t *p = rec_batch_bytes(w, s->chunk[i].piece);
        uint64_t previous = i ? s->chunk[i - 1].address : 0;
        if (!p || rec_u64(p + l->chunk.previous) != previous ||
            rec_u64(p + l->chunk.size) != s->chunk[i].size)
            return false;
    }
    return true;
}

/* Is the current chunk one of the known ones? */
static bool
settle_live(rec_data_stack *s, uint64_t current)
{
    for (size_t i = s->n_chunks; i-- > 0;)
        if (s->chunk[i].address == current) {
            s->n_live = i + 1;
            if (s->n_chunks > s->n_live + CHUNKS_STALE)
                s->n_chunks = s->n_live + CHUNKS_STALE;
            return true;
        }
    return false;
}

/* Bytes of live chunk i that hold frames; 0 if its top makes no sense. */
static uint32_t
used_of(const rec_data_stack *s, const rec_layout *l, size_t i,
        const uint8_t *tstate)
{
    const rec_chunk *c = &s->chunk[i];
    if (i + 1 < s->n_live || l->tstate.datastack_top == REC_ABSENT)
        return c->size;
    uint64_t used = rec_u64(tstate + l->tstate.datastack_top) - c->address;
    return used < l->chunk.head || used > c->size ? 0 : (uint32_t)used;
}

/* Read the rest of each piece that was too short, and set the length to ask for
 * next time. */
static pr_code
settle_wants(rec_data_stack *s, const rec_layout *l, rec_batch *w,
             size_t tstate, pr_err *err)
{
    for (size_t i = first_read(s); i < s->n_live; i++) {
        rec_chunk *c = &s->chunk[i];
        uint32_t used = used_of(s, l, i, rec_batch_bytes(w, tstate));
        if (!used)
            return PR_FAIL_AT(err, PR_TORN, c->address,
                              "top of the data stack");
        uint32_t have = c->want;
        c->want = c->size - used > CHUNK_SLACK ? used + CHUNK_SLACK : c->size;
        if (have < used)
            c->piece = rec_batch_add(w, c->address, c->want);
    }
    pr_code code = rec_batch_read(w, err);
    for (size_t i = first_read(s); code == PR_OK && i < s->n_live; i++)
        if (!rec_batch_bytes(w, s->chunk[i].piece))
            code = PR_FAIL_AT(err, PR_TORN, s->chunk[i].address,
                              "chunk of the data stack is not there");
    return code;
}

/* Make the live chunks those from `current` outwards: by the known ones, and if
 * these do not hold, by reading all of them. */
static pr_code
follow_known(rec_data_stack *s, const rec_layout *l, rec_batch *w,
             uint64_t current, pr_err *err)
{
    if (settle_live(s, current) && links_hold(s, l, w))
        return PR_OK;
    pr_code code = follow_chunks(s, l, w, current, err);
    if (code == PR_OK && !links_hold(s, l, w)) {
        s->n_chunks = 0;
        code = follow_chunks(s, l, w, current, err);
    }
    if (code == PR_OK && (!s->n_live || !links_hold(s, l, w)))
        return PR_FAIL_AT(err, PR_TORN, current, "links of the data stack");
    return code;
}

pr_code
rec_data_stack_follow(rec_data_stack *s, const rec_layout *l, rec_batch *w,
                      rec_shot *shot, pr_err *err)
{
    const uint8_t *p = rec_batch_bytes(w, shot->tstate);
    if (!p)
        return PR_FAIL_AT(err, PR_TORN, s->tstate, "thread state is gone");
    uint64_t chunk = rec_u64(p + l->tstate.datastack_chunk);
    if (l->tstate.cframe != REC_ABSENT) {
        pr_code code = follow_cframe(s, l, w, shot, err);
        if (code != PR_OK)
            return code;
    } else {
        shot->current_frame = rec_u64(p + l->tstate.current_frame);
    }
    if (!chunk) { /* a thread that never ran Python code */
        s->n_chunks = s->n_live = 0;
        return PR_OK;
    }
    pr_code code = follow_known(s, l, w, chunk, err);
    if (code != PR_OK)
        return code;
    return settle_wants(s, l, w, shot->tstate, err);
}

pr_code
rec_data_stack_load(rec_data_stack *s, rec_batch *w, size_t i, pr_err *err)
{
    rec_chunk *c = &s->chunk[i];
    c->want = c->size;
    c->piece = rec_batch_add(w, c->address, c->size);
    return rec_batch_read(w, err);
}

static bool
holds(const rec_data_stack *s, size_t i, uint64_t address, size_t len)
{
    const rec_chunk *c = &s->chunk[i];
    uint64_t from = address - c->address;
    return from >= s->head && from < c->size && len <= c->size - from;
}

size_t
rec_data_stack_chunk(const rec_data_stack *s, size_t hint, uint64_t address,
                     size_t len)
{
    /* mostly the same chunk or the next one outwards */
    if (hint < s->n_live && holds(s, hint, address, len))
        return hint;
    if (hint - 1 < s->n_live && holds(s, hint - 1, address, len))
        return hint - 1;
    for (size_t i = s->n_live; i-- > 0;)
        if (holds(s, i, address, len))
            return i;
    return SIZE_MAX;
}

void
rec_data_stack_note_off(rec_data_stack *s, uint64_t address)
{
    if (s->n_off < OFF_MAX &&
        pr_grow(&s->off, &s->cap_off, s->n_off + 1, sizeof *s->off))
        s->off[s->n_off++] = address;
}
