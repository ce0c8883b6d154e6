/*
 * code.c - the cache of code objects and of their frames.
 *
 * The hot path is find_entry() and rec_codes_frame(): one hash lookup each.
 *
 * Reused memory.  A code object may be freed and another one made at the same
 * address, so the facts known of an address hold only while the object there is
 * the same one.  pyrec verifies that with each stack: rec_codes_ask() adds the
 * object's own words to the batch of reads that holds the stack, and
 * rec_codes_get() compares them with those that were read first.
 *
 * 3.14, 3.15  code_object_generation of an interpreter counts the code objects
 *             that were freed (code_dealloc(), Objects/codeobject.c).  An
 *             object that was verified at the present count need not be read,
 *             provided that it was alive when it was verified: freed memory
 *             keeps its words until it is used again, which does not count.  A
 *             frame keeps its code object alive, so pyrec verifies only code
 *             objects that a frame of the same read refers to.
 * 3.12, 3.13  the words hold co_version, which no two code objects of an
 *             interpreter share (PyCode_New, Objects/codeobject.c) until
 *             2^32 were made.
 * 3.11        has neither.  All words may be equal if every object that they
 *             point to was freed and made again at its address, so the text of
 *             the qualified name and of the file name is compared, too.  The
 *             limit: two functions of the same name, file and first line that
 *             differ in the lines within.
 */
#include "recorder/cpython/code.h"

#include "recorder/cpython/linetable.h"
#include "recorder/cpython/object.h"
#include <base/array.h>
#include <base/hash.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    NAME_MAX_POINTS = 64 << 10, /* a longer name is cut */
    LINES_MAX = 16 << 20,
    COPIES_MAX = 2048, /* MAX_THREADS of the thread-local bytecode */
    CODES_MAX = 1 << 20,
    FRAMES_MAX = 1 << 22,
    COST_MAX = 256 << 20, /* bytes of line tables */
    UNITS_MAX = 1 << 28,
    WORDS_MAX = 1 << 21, /* a frame is smaller than a stack chunk of 16 MiB */
    TYPE_NAME = 5,       /* "code" and its NUL */
    TEXT_COMPARED = 256, /* bytes of a name that are compared on 3.11 */
    TEXTS_LATELY = 8
};

/* The first bytes of a str, to be compared. */
typedef struct text {
    uint64_t address;
    uint32_t len; /* 0: not compared */
    uint64_t hash;
} text;

typedef struct entry {
    rec_code code;
    rec_lines lines; /* empty if they could not be read */
    uint32_t file, func;
    int32_t first_line;
    uint64_t own;                /* hash of its own words ... */
    text name, path;             /* ... 3.11: and of two it points to ... */
    uint64_t hash;               /* ... and of all it says */
    uint64_t window;             /* the window that verified it ... */
    uint64_t interp, generation; /* ... and the count then (3.14+) */
    bool stale;                  /* to be read again */
    bool degraded;  /* its names or lines could not be read: its frames are
                     * good for this stack only */
    bool unsure;    /* ... in one window only: the object may have been freed
                     * while they were read */
    uint64_t *copy; /* thread-local instructions (free-threaded 3.14+) */
    size_t n_copies;
} entry;

/* A frame that was asked for before. */
typedef struct memo {
    uint32_t index,
        unit; /* entry, instruction (UINT32_MAX: before the first) */
    uint32_t id;
    uint8_t opcode;
} memo;

struct rec_codes {
    const rec_layout *layout;
    rec_name_table *names;
    bool opcodes;
    entry *entry;
    size_t n_entries, cap_entries;
    pr_table by_address;
    memo *memo;
    size_t n_memos, cap_memos;
    pr_table by_instruction;
    uint64_t code_type;          /* address of PyCode_Type, once seen */
    uint32_t own_from, own_to;   /* the words that identify an object */
    uint64_t window;             /* the present stack */
    uint64_t interp, generation; /* of it, where they are counted */
    bool counted;
    uint64_t epoch;
    /* 3.11: texts that were asked for, and found equal, with this stack: the
     * objects of one file share its name */
    uint64_t asked[TEXTS_LATELY], equal[TEXTS_LATELY];
    size_t cost;
    uint64_t hits, misses, invalidations, degraded;
};

/* ---- life ---- */

pr_code
rec_codes_new(const rec_layout *layout, rec_name_table *names, bool opcodes,
              rec_codes **ret, pr_err *err)
{
    rec_codes *c = calloc(1, sizeof *c);
    if (!c)
        return pr_no_memory(err);
    c->layout = layout;
    c->opcodes = opcodes;
    /* CPython sets all words between the two once, when it makes the object */
    c->own_from = layout->code.stacksize < layout->code.firstlineno
                      ? layout->code.stacksize
                      : layout->code.firstlineno;
    c->own_to = layout->code.linetable + 8;
    c->names = names;
    *ret = c;
    return PR_OK;
}

static void
release_entry(rec_codes *c, entry *e)
{
    c->cost -= rec_lines_cost(&e->lines);
    rec_lines_release(&e->lines);
    free(e->copy);
    e->copy = NULL;
}

static void
forget_frames(rec_codes *c)
{
    c->n_memos = 0;
    pr_table_reset(&c->by_instruction);
}

/* Empty the cache: its limits are reached, or it ends. */
static void
reset(rec_codes *c)
{
    for (size_t i = 0; i < c->n_entries; i++)
        release_entry(c, &c->entry[i]);
    c->n_entries = 0;
    pr_table_reset(&c->by_address);
    forget_frames(c);
    c->epoch++;
}

void
rec_codes_free(rec_codes *c)
{
    if (!c)
        return;
    reset(c);
    free(c->entry);
    free(c->memo);
    pr_table_release(&c->by_address);
    pr_table_release(&c->by_instruction);
    free(c);
}

void
rec_codes_begin(rec_codes *c, uint64_t interp, const uint64_t *generation)
{
    c->window++;
    c->interp = interp;
    c->counted = generation != NULL;
    c->generation = generation ? *generation : 0;
    memset(c->asked, 0, sizeof c->asked);
    memset(c->equal, 0, sizeof c->equal);
}

rec_code_stamp
rec_codes_stamp(const rec_codes *c)
{
    return (rec_code_stamp){c->epoch, c->interp, c->generation, c->counted};
}

bool
rec_codes_hold(const rec_codes *c, const rec_code_stamp *stamp)
{
    return c->counted && stamp->counted && stamp->epoch == c->epoch &&
           stamp->interp == c->interp && stamp->generation == c->generation;
}

uint64_t
rec_codes_degraded(const rec_codes *c)
{
    return c->degraded;
}

void
rec_codes_counts(const rec_codes *c, uint64_t *ret_hits, uint64_t *ret_misses,
                 uint64_t *ret_invalidations)
{
    *ret_hits = c->hits;
    *ret_misses = c->misses;
    *ret_invalidations = c->invalidations;
}

/* ---- finding ---- */

typedef struct address_key {
    const rec_codes *codes;
    uint64_t address;
} address_key;

static bool
same_address(const void *context, uint32_t i)
{
    const address_key *k = context;
    return k->codes->entry[i].code.address == k->address;
}

static entry *
find_entry(const rec_codes *c, uint64_t address)
{
    address_key key = {c, address};
    uint32_t i =
        pr_table_find(&c->by_address, pr_mix64(address), same_address, &key);
    return i == PR_TABLE_NONE ? NULL : &c->entry[i];
}

/* Is it the object at its address, as far as the present stack shows? */
static bool
is_verified(const rec_codes *c, const entry *e)
{
    if (e->stale || e->unsure)
        return false;
    if (e->window == c->window)
        return true;
    return c->counted && !e->degraded && e->generation == c->generation &&
           e->interp == c->interp;
}

bool
rec_codes_is_verified(const rec_codes *c, uint64_t address)
{
    const entry *e = find_entry(c, address);
    return e && is_verified(c, e);
}

/* ---- reading ---- */

static pr_code
not_code(uint64_t address, pr_err *err)
{
    return PR_FAIL(err, PR_TORN, "0x%" PRIx64 " is not a code object", address);
}

/* The type of the first object that says it is a code object is the type of
 * all of them. */
static pr_code
check_type(rec_codes *c, rec_memory *memory, uint64_t address, uint64_t type,
           pr_err *err)
{
    if (c->code_type)
        return type == c->code_type ? PR_OK : not_code(address, err);
    uint8_t word[8], name[TYPE_NAME];
    if (!rec_plausible(type))
        return not_code(address, err);
    pr_code code = rec_memory_read(memory, type + c->layout->object.type_name,
                                   word, sizeof word, err);
    if (code == PR_OK)
        code = rec_memory_read(memory, rec_u64(word), name, sizeof name, err);
    if (code != PR_OK)
        return code;
    if (memcmp(name, "code", sizeof name) != 0)
        return not_code(address, err);
    c->code_type = type;
    return PR_OK;
}

static uint32_t
frame_words(const rec_layout *l, const uint8_t *head)
{
    if (l->code.framesize != REC_ABSENT)
        return rec_u32(head + l->code.framesize);
    uint64_t words = (uint64_t)rec_u32(head + l->code.stacksize) +
                     rec_u32(head + l->code.nlocalsplus) +
                     l->code.frame_specials;
    return words > UINT32_MAX ? UINT32_MAX : (uint32_t)words;
}

/* The numbers of a code object, from its bytes. */
static pr_code
parse_head(const rec_codes *c, uint64_t address, const uint8_t *head, entry *e,
           pr_err *err)
{
    const rec_layout *l = c->layout;
    uint64_t n_units = rec_u64(head + l->code.n_units);
    uint32_t words = frame_words(l, head);
    uint32_t first_line = rec_u32(head + l->code.firstlineno);
    if (n_units == 0 || n_units > UNITS_MAX ||
        words < l->frame.localsplus / 8 || words > WORDS_MAX ||
        first_line > INT32_MAX)
        return not_code(address, err);
    e->code = (rec_code){.address = address,
                         .code_adaptive = address + l->code.code_adaptive,
                         .n_units = (uint32_t)n_units,
                         .frame_words = words};
    e->first_line = (int32_t)first_line;
    return PR_OK;
}

/* Does a failure to read a part of the object leave the rest usable?  A part
 * that is torn may be one that was freed meanwhile. */
static bool
is_bearable(entry *e, pr_code code)
{
    if (code != PR_TORN && code != PR_LIMIT)
        return false;
    e->degraded = true;
    e->unsure |= code == PR_TORN;
    return true;
}

static pr_code
read_name(rec_codes *c, rec_memory *memory, uint64_t address, entry *e,
          uint32_t *ret, pr_err *err)
{
    static const char unknown[] = "<unknown>";
    char *bytes = NULL;
    size_t len = 0;
    pr_err why = PR_ERR_INIT;
    pr_code code = rec_object_str(c->layout, memory, address, NAME_MAX_POINTS,
                                  &bytes, &len, &why);
    if (is_bearable(e, code))
        return rec_name_table_string(c->names, unknown, sizeof unknown - 1, ret,
                                     err);
    if (code != PR_OK) {
        if (err)
            *err = why;
        return code;
    }
    e->hash = pr_hash_seeded(bytes, len, e->hash);
    code = rec_name_table_string(c->names, bytes, len, ret, err);
    free(bytes);
    return code;
}

static pr_code
read_lines(rec_codes *c, rec_memory *memory, uint64_t address, entry *e,
           pr_err *err)
{
    uint8_t *bytes;
    size_t len;
    pr_err why = PR_ERR_INIT;
    pr_code code = rec_object_bytes(c->layout, memory, address, LINES_MAX,
                                    &bytes, &len, &why);
    if (code == PR_OK) {
        e->hash = pr_hash_seeded(bytes, len, e->hash);
        code = rec_lines_init(&e->lines, bytes, len, e->first_line, &why);
    }
    if (is_bearable(e, code))
        return PR_OK;
    if (code != PR_OK && err)
        *err = why;
    return code;
}

/* struct _PyCodeArray: ssize_t size, char *entries[size] (free-threaded 3.14,
 * Include/cpython/code.h).  Entry 0 is co_code_adaptive itself. */
static pr_code
read_copies(rec_memory *memory, uint64_t address, entry *e, pr_err *err)
{
    uint8_t word[8];
    pr_code code = rec_memory_read(memory, address, word, sizeof word, err);
    if (code != PR_OK)
        return code;
    uint64_t n = rec_u64(word);
    if (n > COPIES_MAX)
        return PR_FAIL(err, PR_TORN, "%" PRIu64 " copies of the instructions",
                       n);
    uint64_t *copy = calloc(n + 1, sizeof *copy);
    if (!copy)
        return pr_no_memory(err);
    code = n ? rec_memory_read(memory, address + 8, copy, n * sizeof *copy, err)
             : PR_OK;
    if (code != PR_OK) {
        free(copy);
        return code;
    }
    e->copy = copy;
    e->n_copies = (size_t)n;
    return PR_OK;
}

/* The facts in an object's own words. */
static pr_code
read_head(rec_codes *c, rec_memory *memory, uint64_t address,
          const uint8_t *head, entry *e, pr_err *err)
{
    pr_code code = check_type(c, memory, address,
                              rec_u64(head + c->layout->object.ob_type), err);
    if (code == PR_OK)
        code = parse_head(c, address, head, e, err);
    if (code != PR_OK)
        return code;
    const uint64_t words[] = {(uint64_t)e->code.n_units << 32 |
                                  e->code.frame_words,
                              (uint64_t)e->first_line};
    e->hash = pr_hash_bytes(words, sizeof words); /* addresses do not count */
    return PR_OK;
}

/* ---- 3.11: the texts that are compared ---- */

static bool
compares_texts(const rec_codes *c)
{
    return c->layout->minor == 11;
}

/* The fixed part of a str from its length on, and the first of its text. */
static text
text_at(const rec_codes *c, rec_memory *memory, uint64_t address)
{
    const rec_layout *l = c->layout;
    uint8_t head[REC_CAP_OBJECT];
    text t = {.address = address};
    if (!rec_plausible(address) ||
        rec_memory_read(memory, address, head, l->object.ascii_data, NULL) !=
            PR_OK)
        return t;
    uint64_t points = rec_u64(head + l->object.unicode_length);
    uint32_t some = points < TEXT_COMPARED ? (uint32_t)points : TEXT_COMPARED;
    uint8_t bytes[REC_CAP_OBJECT + TEXT_COMPARED];
    uint32_t len = l->object.ascii_data - l->object.unicode_length + some;
    if (rec_memory_read(memory, address + l->object.unicode_length, bytes, len,
                        NULL) != PR_OK)
        return t;
    t.len = len;
    t.hash = pr_hash_bytes(bytes, len);
    return t;
}

/* Was it noted with this stack?  If not, note it. */
static bool
noted(uint64_t lately[TEXTS_LATELY], uint64_t address)
{
    uint64_t *at = &lately[pr_mix64(address) % TEXTS_LATELY];
    bool found = *at == address;
    *at = address;
    return found;
}

static void
ask_text(rec_codes *c, rec_batch *batch, const text *t)
{
    if (t->len && !noted(c->asked, t->address))
        rec_batch_add(batch, t->address + c->layout->object.unicode_length,
                      t->len);
}

static bool
same_text(rec_codes *c, rec_batch *batch, const text *t)
{
    uint64_t *equal = &c->equal[pr_mix64(t->address) % TEXTS_LATELY];
    if (*equal == t->address)
        return true;
    const uint8_t *p =
        t->len ? rec_batch_find(batch,
                                t->address + c->layout->object.unicode_length,
                                t->len)
               : NULL;
    if (!p || pr_hash_bytes(p, t->len) != t->hash)
        return false;
    *equal = t->address;
    return true;
}

/* ---- the whole object ---- */

/* The objects that the words point to; on failure *e owns nothing. */
static pr_code
read_rest(rec_codes *c, rec_memory *memory, const uint8_t *head, entry *e,
          pr_err *err)
{
    const rec_layout *l = c->layout;
    pr_code code = read_name(c, memory, rec_u64(head + l->code.filename), e,
                             &e->file, err);
    if (code == PR_OK)
        code = read_name(c, memory, rec_u64(head + l->code.qualname), e,
                         &e->func, err);
    if (code == PR_OK && l->code.tlbc != REC_ABSENT &&
        rec_u64(head + l->code.tlbc))
        code = read_copies(memory, rec_u64(head + l->code.tlbc), e, err);
    if (code == PR_OK)
        code = read_lines(c, memory, rec_u64(head + l->code.linetable), e, err);
    if (code != PR_OK)
        free(e->copy);
    else if (compares_texts(c)) {
        e->name = text_at(c, memory, rec_u64(head + l->code.qualname));
        e->path = text_at(c, memory, rec_u64(head + l->code.filename));
    }
    return code;
}

/* Replace the known object by the one that was read. */
static void
replace_entry(rec_codes *c, entry *old, entry *fresh)
{
    fresh->code.index = old->code.index;
    bool was_degraded = old->degraded, same = old->hash == fresh->hash;
    c->cost += rec_lines_cost(&fresh->lines);
    release_entry(c, old);
    *old = *fresh;
    if (same && !was_degraded)
        return;
    c->epoch++;
    if (was_degraded)
        return; /* the cache kept no frame of it */
    c->invalidations++;
    forget_frames(c); /* it cannot separate the frames of one object */
}

static pr_code
add_entry(rec_codes *c, entry *fresh, const rec_code **ret, pr_err *err)
{
    size_t cost = rec_lines_cost(&fresh->lines);
    if (c->n_entries >= CODES_MAX || c->cost + cost > COST_MAX)
        reset(c);
    fresh->code.index = (uint32_t)c->n_entries;
    if (!pr_grow(&c->entry, &c->cap_entries, c->n_entries + 1,
                 sizeof *c->entry) ||
        !pr_table_insert(&c->by_address, pr_mix64(fresh->code.address),
                         fresh->code.index)) {
        rec_lines_release(&fresh->lines);
        free(fresh->copy);
        return pr_no_memory(err);
    }
    c->cost += cost;
    c->entry[c->n_entries] = *fresh;
    *ret = &c->entry[c->n_entries++].code;
    return PR_OK;
}

/* Does the batch show the known object? */
static bool
is_same(rec_codes *c, rec_batch *batch, const entry *e, uint64_t own)
{
    if (e->stale || e->degraded || e->own != own)
        return false;
    return !compares_texts(c) ||
           (same_text(c, batch, &e->name) && same_text(c, batch, &e->path));
}

static void
verify(const rec_codes *c, entry *e)
{
    e->window = c->window;
    e->interp = c->interp;
    e->generation = c->counted ? c->generation : UINT64_MAX;
}

/* Did an earlier window show the same object, and fail to read it? */
static bool
failed_before(const rec_codes *c, const entry *old, uint64_t own)
{
    return old && old->degraded && old->own == own &&
           (!old->unsure || old->window != c->window);
}

/* Read the new object at the address.  *old may be NULL. */
static pr_code
read_anew(rec_codes *c, rec_batch *batch, uint64_t address, entry *old,
          uint64_t own, const rec_code **ret, pr_err *err)
{
    entry fresh = {.own = own};
    /* the next read may move the batch's bytes */
    uint8_t head[REC_CAP_CODE];
    memcpy(head, rec_batch_find(batch, address, c->layout->code.size),
           c->layout->code.size);
    c->misses++;
    pr_code code = read_head(c, batch->memory, address, head, &fresh, err);
    if (code == PR_OK)
        code = read_rest(c, batch->memory, head, &fresh, err);
    batch->calls++; /* something was read after the batch */
    if (code != PR_OK)
        return code;
    fresh.unsure &= !failed_before(c, old, own);
    verify(c, &fresh);
    if (old) {
        replace_entry(c, old, &fresh);
        *ret = &old->code;
    } else
        code = add_entry(c, &fresh, ret, err);
    if (code == PR_OK && fresh.unsure)
        code = PR_FAIL(err, PR_TORN,
                       "names or lines of 0x%" PRIx64 " could not be read",
                       address);
    return code;
}

void
rec_codes_ask(rec_codes *c, rec_batch *batch, uint64_t address)
{
    if (!rec_plausible(address))
        return;
    rec_batch_add(batch, address, c->layout->code.size);
    if (!compares_texts(c))
        return;
    const entry *e = find_entry(c, address);
    if (!e)
        return;
    ask_text(c, batch, &e->name);
    ask_text(c, batch, &e->path);
}

static void
note_text(const rec_codes *c, rec_code_set *set, const text *t)
{
    if (t->len)
        rec_code_set_add(set, t->address + c->layout->object.unicode_length,
                         t->len);
}

void
rec_codes_note(const rec_codes *c, rec_code_set *set, uint64_t address)
{
    rec_code_set_add(set, address, c->layout->code.size);
    const entry *e = compares_texts(c) ? find_entry(c, address) : NULL;
    if (!e)
        return;
    note_text(c, set, &e->name);
    note_text(c, set, &e->path);
}

/* The object's own words, from the batch or read now. */
static pr_code
own_words(rec_codes *c, rec_batch *batch, uint64_t address, const uint8_t **ret,
          pr_err *err)
{
    uint32_t size = c->layout->code.size;
    *ret = rec_batch_find(batch, address, size);
    if (*ret)
        return PR_OK;
    if (!rec_plausible(address))
        return not_code(address, err);
    rec_codes_ask(c, batch, address);
    pr_code code = rec_batch_read(batch, err);
    if (code != PR_OK)
        return code;
    *ret = rec_batch_find(batch, address, size);
    return *ret ? PR_OK : not_code(address, err);
}

pr_code
rec_codes_get(rec_codes *c, rec_batch *batch, uint64_t address,
              const rec_code **ret, pr_err *err)
{
    entry *e = find_entry(c, address);
    if (e && is_verified(c, e)) {
        c->hits++;
        *ret = &e->code;
        return PR_OK;
    }
    const uint8_t *words;
    pr_code code = own_words(c, batch, address, &words, err);
    if (code != PR_OK)
        return code;
    uint64_t own = pr_hash_seeded(words + c->own_from, c->own_to - c->own_from,
                                  rec_u64(words + c->layout->code.n_units));
    if (!e || !is_same(c, batch, e, own))
        return read_anew(c, batch, address, e, own, ret, err);
    c->hits++;
    verify(c, e);
    *ret = &e->code;
    return PR_OK;
}

/* ---- frames ---- */

enum { BEFORE_FIRST = UINT32_MAX };

static bool
unit_from(uint64_t base, uint32_t n_units, uint64_t instr, uint32_t *ret)
{
    uint64_t from = instr - base;
    if (from == UINT64_MAX - 1) { /* -2: one instruction before */
        *ret = BEFORE_FIRST;
        return true;
    }
    if (from % 2 || from / 2 >= n_units)
        return false;
    *ret = (uint32_t)(from / 2);
    return true;
}

static bool
unit_of(const entry *e, uint64_t instr, uint32_t *ret)
{
    if (unit_from(e->code.code_adaptive, e->code.n_units, instr, ret))
        return true;
    for (size_t i = 0; i < e->n_copies; i++)
        if (e->copy[i] && unit_from(e->copy[i], e->code.n_units, instr, ret))
            return true;
    return false;
}

typedef struct memo_key {
    memo memo;
    const rec_codes *codes;
} memo_key;

static bool
same_memo(const void *context, uint32_t i)
{
    const memo_key *k = context;
    const memo *m = &k->codes->memo[i];
    return m->index == k->memo.index && m->unit == k->memo.unit &&
           m->opcode == k->memo.opcode;
}

static pr_frame
frame_at(const entry *e, uint32_t unit, uint8_t opcode)
{
    rec_place place;
    pr_frame f = {.file = e->file,
                  .func = e->func,
                  .line = e->first_line,
                  .end_line = e->first_line,
                  .column = PR_NO_LINE,
                  .end_column = PR_NO_LINE,
                  .first_line = e->first_line,
                  .opcode = opcode};
    /* code that belongs to no line gets the line of `def` */
    if (unit == BEFORE_FIRST || !rec_lines_find(&e->lines, unit, &place) ||
        place.line == PR_NO_LINE)
        return f;
    f.line = place.line;
    f.end_line = place.end_line;
    f.column = place.column;
    f.end_column = place.end_column;
    return f;
}

static pr_code
keep_memo(rec_codes *c, memo m, uint64_t hash, pr_err *err)
{
    if (c->n_memos >= FRAMES_MAX)
        forget_frames(c);
    if (!pr_grow(&c->memo, &c->cap_memos, c->n_memos + 1, sizeof *c->memo) ||
        !pr_table_insert(&c->by_instruction, hash, (uint32_t)c->n_memos))
        return pr_no_memory(err);
    c->memo[c->n_memos++] = m;
    return PR_OK;
}

pr_code
rec_codes_frame(rec_codes *c, const rec_code *code, uint64_t instr_ptr,
                uint8_t opcode, uint32_t *ret, pr_err *err)
{
    entry *e = &c->entry[code->index];
    uint32_t unit;
    if (!unit_of(e, instr_ptr, &unit)) {
        e->stale = true;
        return PR_FAIL(err, PR_TORN, "instruction outside of its code object");
    }
    if (!c->opcodes)
        opcode = PR_NO_OPCODE;
    memo_key key = {{code->index, unit, 0, opcode}, c};
    uint64_t hash = pr_mix64((uint64_t)code->index << 32 ^ unit) ^ opcode;
    uint32_t i = e->degraded
                     ? PR_TABLE_NONE
                     : pr_table_find(&c->by_instruction, hash, same_memo, &key);
    if (i != PR_TABLE_NONE) {
        *ret = c->memo[i].id;
        return PR_OK;
    }
    c->degraded += e->degraded;
    pr_frame frame = frame_at(e, unit, opcode);
    pr_code r = rec_name_table_frame(c->names, &frame, &key.memo.id, err);
    if (r == PR_OK && !e->degraded)
        r = keep_memo(c, key.memo, hash, err);
    if (r == PR_OK)
        *ret = key.memo.id;
    return r;
}

pr_code
rec_codes_synthetic(rec_codes *c, const char *file, const char *func,
                    size_t func_len, uint32_t *ret, pr_err *err)
{
    pr_frame f = {.line = PR_NO_LINE,
                  .end_line = PR_NO_LINE,
                  .column = PR_NO_LINE,
                  .end_column = PR_NO_LINE,
                  .opcode = PR_NO_OPCODE};
    pr_code code =
        rec_name_table_string(c->names, file, strlen(file), &f.file, err);
    if (code == PR_OK)
        code = rec_name_table_string(c->names, func, func_len, &f.func, err);
    if (code == PR_OK)
        code = rec_name_table_frame(c->names, &f, ret, err);
    return code;
}
