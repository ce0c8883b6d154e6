/*
 * mojo_in.c - austin's binary format MOJO, versions 1 to 4
 * (https://p403n1x87.github.io/austin, "The MOJO File Format").
 *
 * "MOJ", the version, and events until the file ends: a file that is cut ends
 * before the sample that is cut.  A sample is a stack, its frames from the
 * outermost one, and its metrics.  The numbers by which events refer to
 * strings and frames are those of one process; a later definition replaces
 * an earlier one.
 */
#include "converter/import/frame_text.h"
#include "converter/import/imports.h"

#include <base/intern.h>
#include <stdlib.h>
#include <string.h>

enum {
    METADATA = 1,
    STACK = 2,
    FRAME = 3,
    FRAME_INVALID = 4,
    FRAME_REF = 5,
    FRAME_KERNEL = 6,
    GC = 7,
    IDLE = 8,
    TIME = 9,
    MEMORY = 10,
    STRING = 11,
    STRING_REF = 12,
    STACK_REPEAT = 13,
    TASK_STACK = 14,
    TASK_WAITER = 15,
    VERSION_MAX = 4
};

typedef struct key {
    uint64_t pid, number;
} key;

/* The meaning of a number of a process. */
typedef struct meaning {
    pr_text text;   /* of a string */
    uint32_t frame; /* of a frame */
} meaning;

typedef struct meanings {
    pr_set keys;
    meaning *at; /* [keys.n] */
    size_t cap;
} meanings;

typedef struct mojo {
    const uint8_t *begin, *at, *end;
    conv_stacks *stacks;
    conv_stacks_facts *facts;
    uint64_t version;
    meanings strings, frames;
    bool full;   /* each sample says whether its thread was idle */
    bool memory; /* metrics are of memory alone */
    /* the sample that is being read */
    bool open, is_task, idle, collecting;
    conv_owner owner;
    uint32_t thread, stack;
    uint64_t us;
} mojo;

/* ---- values ---- */

static bool
take_number(mojo *m, uint64_t *ret)
{
    unsigned shift = 6;
    if (m->at == m->end)
        return false;
    uint8_t byte = *m->at++;
    bool negative = byte & 0x40;
    uint64_t value = byte & 0x3f;
    while (byte & 0x80) {
        if (m->at == m->end)
            return false;
        byte = *m->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    }
    *ret = negative ? 0 : value;
    return true;
}

static bool
take_string(mojo *m, pr_text *ret)
{
    const uint8_t *end = memchr(m->at, 0, (size_t)(m->end - m->at));
    if (!end)
        return false;
    *ret = (pr_text){(const char *)m->at, (size_t)(end - m->at)};
    m->at = end + 1;
    return true;
}

static pr_code
set_meaning(meanings *all, const mojo *m, uint64_t number, meaning value,
            pr_err *err)
{
    const key k = {m->owner.pid, number};
    uint32_t id;
    pr_code rc = pr_set_add(&all->keys, &k, &id, err);
    if (rc == PR_OK &&
        !pr_grow(&all->at, &all->cap, all->keys.n, sizeof *all->at))
        rc = pr_no_memory(err);
    if (rc == PR_OK)
        all->at[id] = value;
    return rc;
}

static const meaning *
meaning_of(const meanings *all, const mojo *m, uint64_t number)
{
    const key k = {m->owner.pid, number};
    uint32_t id = pr_set_find(&all->keys, &k);
    return id == PR_TABLE_NONE ? NULL : &all->at[id];
}

/* Number 1 is a name that austin could not read. */
static pr_text
string_of(const mojo *m, uint64_t number)
{
    static const char unknown[] = "<unknown>";
    const meaning *found = meaning_of(&m->strings, m, number);
    if (found)
        return found->text;
    return (pr_text){unknown, number == 1 ? sizeof unknown - 1 : 0};
}

/* ---- samples ---- */

static pr_code
push(mojo *m, uint32_t frame, pr_err *err)
{
    return m->is_task
               ? PR_OK
               : conv_stacks_child(m->stacks, m->stack, frame, &m->stack, err);
}

static pr_code
push_name(mojo *m, pr_text name, pr_err *err)
{
    conv_place place = conv_frame_text_name(name);
    uint32_t frame;
    pr_code rc = conv_stacks_frame(m->stacks, &place, &frame, err);
    return rc == PR_OK ? push(m, frame, err) : rc;
}

/* The sample is whole when the next one begins. */
static pr_code
close_sample(mojo *m, pr_err *err)
{
    const pr_text collector = {PR_GC_FUNC, sizeof PR_GC_FUNC - 1};
    uint32_t stack = m->stack;
    pr_code rc = PR_OK;
    if (!m->open)
        return PR_OK;
    m->is_task = false;
    if (m->collecting)
        rc = push_name(m, collector, err);
    const conv_entry_value value = {.us = m->us,
                                    .status = m->idle   ? 0
                                              : m->full ? PR_ON_CPU
                                                        : PR_CPU_UNKNOWN};
    if (rc == PR_OK)
        rc = conv_stacks_add(m->stacks, m->thread, m->stack, &value, err);
    m->stack = stack; /* a repetition has its own state */
    m->idle = m->collecting = false;
    m->us = 0;
    return rc;
}

static pr_code
open_sample(mojo *m, pr_text tid, pr_err *err)
{
    if (!conv_frame_text_number(tid, 16, &m->owner.tid))
        return PR_FAIL_AT(err, PR_DAMAGED, (uint64_t)(m->at - m->begin),
                          "a thread's number is wrong");
    m->stack = 0;
    m->open = true;
    return conv_stacks_thread(m->stacks, &m->owner, &m->thread, err);
}

/* ---- events: true if the whole event is there ---- */

static bool
take_metadata(mojo *m, pr_code *rc, pr_err *err)
{
    pr_text name, value;
    if (!take_string(m, &name) || !take_string(m, &value))
        return false;
    if (conv_frame_text_begins(name, "interval") &&
        !conv_frame_text_number(value, 10, &m->facts->interval_us))
        m->facts->interval_us = 0;
    if (conv_frame_text_begins(name, "mode")) {
        m->full |= conv_frame_text_begins(value, "full");
        m->memory |= conv_frame_text_begins(value, "memory");
        *rc = conv_stacks_meta(m->stacks, "austin.mode", value, err);
    }
    return true;
}

static bool
take_stack(mojo *m, pr_code *rc, pr_err *err)
{
    uint64_t pid, interp = 0;
    pr_text tid;
    if (!take_number(m, &pid) ||
        (m->version >= 3 && !take_number(m, &interp)) || !take_string(m, &tid))
        return false;
    *rc = close_sample(m, err);
    m->owner = (conv_owner){.pid = pid, .interp = (uint32_t)interp};
    if (*rc == PR_OK)
        *rc = open_sample(m, tid, err);
    return true;
}

static bool
take_frame(mojo *m, pr_code *rc, pr_err *err)
{
    uint64_t number, file, function, lines[4] = {0};
    size_t n = m->version == 1 ? 1 : 4;
    if (!take_number(m, &number) || !take_number(m, &file) ||
        !take_number(m, &function))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!take_number(m, &lines[i]))
            return false;
    for (size_t i = 0; i < 4; i++)
        if (lines[i] > INT32_MAX)
            lines[i] = 0;
    conv_place place = CONV_PLACE(string_of(m, file), string_of(m, function));
    place.line = (int32_t)lines[0];
    place.end_line = lines[1] ? (int32_t)lines[1] : place.line;
    if (lines[2]) { /* columns count from 1 */
        place.column = (int32_t)lines[2] - 1;
        place.end_column = lines[3] ? (int32_t)lines[3] - 1 : place.column;
    }
    meaning frame = {.frame = 0};
    *rc = conv_stacks_frame(m->stacks, &place, &frame.frame, err);
    if (*rc == PR_OK)
        *rc = set_meaning(&m->frames, m, number, frame, err);
    return true;
}

static bool
take_frame_ref(mojo *m, pr_code *rc, pr_err *err)
{
    uint64_t number;
    if (!take_number(m, &number))
        return false;
    const meaning *found = meaning_of(&m->frames, m, number);
    const pr_text unknown = {"<unknown>", 9};
    *rc = found ? push(m, found->frame, err) : push_name(m, unknown, err);
    return true;
}

static bool
take_kernel_frame(mojo *m, pr_code *rc, pr_err *err)
{
    pr_text name;
    if (!take_string(m, &name))
        return false;
    *rc = push_name(m, name, err);
    return true;
}

static bool
take_string_event(mojo *m, pr_code *rc, pr_err *err)
{
    uint64_t number;
    meaning string = {.frame = 0};
    if (!take_number(m, &number) || !take_string(m, &string.text))
        return false;
    *rc = set_meaning(&m->strings, m, number, string, err);
    return true;
}

/* The stack of a task that does not run; until the next stack, frames are its
 * own. */
static bool
take_task(mojo *m)
{
    uint64_t task, name;
    m->is_task = true;
    return take_number(m, &task) && take_number(m, &name);
}

static bool
take_event(mojo *m, uint8_t event, pr_code *rc, pr_err *err)
{
    static const pr_text invalid = {"<invalid>", 9};
    uint64_t ignored;
    switch (event) {
    case METADATA:
        return take_metadata(m, rc, err);
    case STACK:
        return take_stack(m, rc, err);
    case STACK_REPEAT:
        *rc = close_sample(m, err);
        return true;
    case FRAME:
        return take_frame(m, rc, err);
    case FRAME_INVALID:
        *rc = push_name(m, invalid, err);
        return true;
    case FRAME_REF:
        return take_frame_ref(m, rc, err);
    case FRAME_KERNEL:
        return take_kernel_frame(m, rc, err);
    case GC:
        m->collecting = true;
        return true;
    case IDLE:
        m->idle = true;
        return true;
    case TIME:
        return take_number(m, &m->us);
    case MEMORY:
    case STRING_REF:
        return take_number(m, &ignored);
    case STRING:
        return take_string_event(m, rc, err);
    case TASK_STACK:
        return take_task(m);
    case TASK_WAITER:
        return take_number(m, &ignored) && take_number(m, &ignored);
    default:
        *rc = PR_FAIL_AT(err, PR_DAMAGED, (uint64_t)(m->at - m->begin - 1),
                         "an event of an unknown kind, %u", event);
        return true;
    }
}

static pr_code
read_events(mojo *m, pr_err *err)
{
    pr_code rc = PR_OK;
    while (m->at < m->end && rc == PR_OK) {
        const uint8_t *event = m->at++;
        if (!take_event(m, *event, &rc, err))
            return PR_FAIL_AT(err, PR_CUT, (uint64_t)(event - m->begin),
                              "the last event is not whole");
    }
    return rc == PR_OK ? close_sample(m, err) : rc;
}

static pr_code
read_file(mojo *m, pr_err *err)
{
    static const char magic[] = "MOJ";
    size_t n = sizeof magic - 1;
    if ((size_t)(m->end - m->at) < n || memcmp(m->at, magic, n) != 0)
        return PR_FAIL_AT(err, PR_DAMAGED, 0, "it does not begin with MOJ");
    m->at += n;
    if (!take_number(m, &m->version))
        return PR_FAIL(err, PR_DAMAGED, "it ends after its first bytes");
    if (m->version == 0 || m->version > VERSION_MAX)
        return PR_FAIL(err, PR_NEWER, "version %u of MOJO is not known",
                       (unsigned)m->version);
    pr_code rc = read_events(m, err);
    if ((rc == PR_OK || rc == PR_CUT) && m->memory && !m->full)
        return PR_FAIL(err, PR_USAGE,
                       "it holds amounts of memory, not of time");
    return rc;
}

static pr_code
read_mojo(conv_content file, conv_stacks *stacks, conv_stacks_facts *facts,
          pr_err *err)
{
    mojo m = {.begin = file.bytes,
              .at = file.bytes,
              .end = file.bytes + file.n,
              .stacks = stacks,
              .facts = facts};
    m.strings.keys.size = m.frames.keys.size = sizeof(key);
    pr_code rc = read_file(&m, err);
    facts->assumed_us = 1000;
    facts->in_time = true;
    pr_set_release(&m.strings.keys);
    pr_set_release(&m.frames.keys);
    free(m.strings.at);
    free(m.frames.at);
    return rc;
}

static bool
matches_mojo(conv_content head, bool whole)
{
    (void)whole;
    return head.n > 3 && memcmp(head.bytes, "MOJ", 3) == 0 &&
           head.bytes[3] < 0x20;
}

const conv_import conv_import_mojo = {
    .info = {"mojo", "austin's binary format"},
    .matches = matches_mojo,
    .read = read_mojo,
};
