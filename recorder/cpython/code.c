/*
 * code.c - the cache of code objects and of their frames.
 *
 * The hot path is rec_codes_find() and rec_codes_frame(): one look into a
 * hash table each.
 *
 * Reused memory.  A code object may be freed and another one made at the same
 * address.  3.14 and later count such events (code_object_generation), and the
 * cache is emptied when the count moves.  3.11 to 3.13 do not.  There a code
 * object is believed for RECHECK_TICKS ticks after it was looked at; its next
 * use looks again.  If its own words (its size, first line, and where its
 * names and line table lie) are as before, what is known of it stays; but each
 * FULL_EVERY-th look, and each that finds other words, reads all of it.  What
 * says something new is a new object, and counted as an invalidation.  The
 * limit of this rule: within that time a frame of the new object is told under
 * the old one's name, if its instruction lies within the old one's.  Programs
 * that drop code while it is sampled (exec() in a loop) are the only ones that
 * can show it.
 */
#include "recorder/cpython/code.h"

#include "recorder/cpython/linetable.h"
#include "recorder/cpython/object.h"
#include <inttypes.h>
#include <stdlib.h>

enum {
    RECHECK_TICKS = 64,
    FULL_EVERY = 32,
    NAME_MAX_POINTS = 64 << 10, /* a longer name is cut */
    LINES_MAX = 16 << 20,
    COPIES_MAX = 2048, /* MAX_THREADS of the thread-local bytecode */
    CODES_MAX = 1 << 20,
    FRAMES_MAX = 1 << 22,
    COST_MAX = 256 << 20, /* bytes of line tables */
    UNITS_MAX = 1 << 28,
    WORDS_MAX = 1 << 21, /* a frame is smaller than a stack chunk of 16 MiB */
    TYPE_NAME = 5        /* "code" and its NUL */
};

typedef struct entry {
    rec_code code;
    rec_lines lines; /* empty if they could not be read */
    uint32_t file, func;
    int32_t first_line;
    uint64_t since; /* the tick at which it was looked at */
    uint32_t looks; /* since all of it was read */
    uint64_t words; /* hash of its own words ... */
    uint64_t hash;  /* ... and of all it says */
    bool stale;     /* to be read again */
    bool degraded;  /* its names or lines could not be read: its frames are
                     * good for this tick only */
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
    uint64_t code_type; /* address of PyCode_Type, once seen */
    uint64_t tick, generation;
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

void
rec_codes_reset(rec_codes *c)
{
    for (size_t i = 0; i < c->n_entries; i++)
        release_entry(c, &c->entry[i]);
    c->n_entries = 0;
    pr_table_reset(&c->by_address);
    forget_frames(c);
    c->code_type = 0; /* another program (exec) has another one */
    c->invalidations++;
}

void
rec_codes_free(rec_codes *c)
{
    if (!c)
        return;
    rec_codes_reset(c);
    free(c->entry);
    free(c->memo);
    pr_table_release(&c->by_address);
    pr_table_release(&c->by_instruction);
    free(c);
}

void
rec_codes_tick(rec_codes *c, uint64_t generation)
{
    c->tick++;
    if (generation != c->generation && c->n_entries)
        rec_codes_reset(c);
    c->generation = generation;
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

const rec_code *
rec_codes_find(rec_codes *c, uint64_t address)
{
    const entry *e = find_entry(c, address);
    if (!e || e->stale)
        return NULL;
    uint64_t age = c->tick - e->since;
    if ((e->degraded && age > 0) ||
        (c->layout->interp.code_generation == REC_ABSENT &&
         age >= RECHECK_TICKS))
        return NULL;
    c->hits++;
    return &e->code;
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

/* Does a failure to read a part of the object leave the rest usable? */
static bool
is_bearable(pr_code code)
{
    return code == PR_TORN || code == PR_LIMIT;
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
    if (is_bearable(code)) {
        e->degraded = true;
        return rec_name_table_string(c->names, unknown, sizeof unknown - 1, ret,
                                     err);
    }
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
    if (is_bearable(code)) {
        e->degraded = true;
        return PR_OK;
    }
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

/* The object's own words into `head` and *e. */
static pr_code
read_head(rec_codes *c, rec_memory *memory, uint64_t address, uint8_t *head,
          entry *e, pr_err *err)
{
    const rec_layout *l = c->layout;
    if (!rec_plausible(address))
        return not_code(address, err);
    pr_code code = rec_memory_read(memory, address, head, l->code.size, err);
    if (code == PR_OK)
        code = check_type(c, memory, address, rec_u64(head + l->object.ob_type),
                          err);
    if (code == PR_OK)
        code = parse_head(c, address, head, e, err);
    if (code != PR_OK)
        return code;
    const uint64_t words[] = {
        (uint64_t)e->code.n_units << 32 | e->code.frame_words,
        (uint64_t)e->first_line, rec_u64(head + l->code.filename),
        rec_u64(head + l->code.qualname), rec_u64(head + l->code.linetable)};
    e->words = pr_hash_bytes(words, sizeof words);
    e->hash = pr_hash_bytes(words, 16); /* addresses do not count */
    e->since = c->tick;
    return PR_OK;
}

/* What the words lead to; on failure *e owns nothing. */
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
    return code;
}

/* Put what was read anew in the place of what was known. */
static void
replace_entry(rec_codes *c, entry *old, entry *fresh)
{
    fresh->code.index = old->code.index;
    /* of a degraded object no frame was kept */
    bool same = old->degraded || old->hash == fresh->hash;
    c->cost += rec_lines_cost(&fresh->lines);
    release_entry(c, old);
    *old = *fresh;
    if (same)
        return;
    c->invalidations++;
    forget_frames(c); /* those of one object cannot be told apart */
}

static pr_code
add_entry(rec_codes *c, entry *fresh, const rec_code **ret, pr_err *err)
{
    size_t cost = rec_lines_cost(&fresh->lines);
    if (c->n_entries >= CODES_MAX || c->cost + cost > COST_MAX)
        rec_codes_reset(c);
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

/* Is what was looked at the object that is known, as far as its own words
 * say? */
static bool
is_unchanged(const entry *old, const entry *fresh)
{
    return old && !old->stale && !old->degraded && old->words == fresh->words &&
           old->looks < FULL_EVERY;
}

pr_code
rec_codes_read(rec_codes *c, rec_memory *memory, uint64_t address,
               const rec_code **ret, pr_err *err)
{
    uint8_t head[REC_CAP_CODE];
    entry fresh = {0};
    c->misses++;
    pr_code code = read_head(c, memory, address, head, &fresh, err);
    if (code != PR_OK)
        return code;
    entry *old = find_entry(c, address);
    if (is_unchanged(old, &fresh)) {
        old->since = c->tick;
        old->looks++;
        *ret = &old->code;
        return PR_OK;
    }
    code = read_rest(c, memory, head, &fresh, err);
    if (code != PR_OK)
        return code;
    if (!old)
        return add_entry(c, &fresh, ret, err);
    replace_entry(c, old, &fresh);
    *ret = &old->code;
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
    /* code that belongs to no line is told as the line of `def` */
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
