/*
 * collapsed_in.c - "frame;frame;frame N" a line, outermost first, in four
 * dialects.
 *
 *   CPython  tid:TID;file:name:line      (3.15, --collapsed)
 *   py-spy   process PID:"COMMAND";thread (TID): NAME;name (file:line)
 *   pyconv   COMMAND (pid PID);NAME (TID);name (file:first line)
 *   plain    name
 *
 * The first frames of the file show the dialect.  Nothing says how long a
 * sample lasts: one of CPython 1 ms and one of the others 10 ms, which are
 * the defaults of CPython 3.15 and of py-spy.
 */
#include "converter/import/frame_text.h"
#include "converter/import/imports.h"
#include "converter/import/lines.h"

#include <string.h>

enum { LINES_SEEN = 256, INTERVAL_STOCK = 1000, INTERVAL_OTHER = 10000 };

typedef enum dialect { STOCK, PYSPY, PYCONV, PLAIN } dialect;

typedef struct collapsed {
    conv_lines lines;
    conv_stacks *stacks;
    dialect dialect;
} collapsed;

static pr_text
first_part(pr_text stack)
{
    return (pr_text){stack.bytes, conv_frame_text_find(stack, ';')};
}

/* ---- dialect ---- */

static bool
is_stock_thread(pr_text part, conv_owner *ret)
{
    return conv_frame_text_begins(part, "tid:") &&
           conv_frame_text_number(conv_frame_text_after(part, 4), 10,
                                  &ret->tid);
}

/* "thread (TID)" or "thread (TID): NAME"; py-spy has hexadecimal ones. */
static bool
is_pyspy_thread(pr_text part, conv_owner *ret)
{
    if (!conv_frame_text_begins(part, "thread ("))
        return false;
    pr_text rest = conv_frame_text_after(part, 8);
    size_t end = conv_frame_text_find(rest, ')');
    if (end == rest.len)
        return false;
    pr_text tid = {rest.bytes, end};
    bool hex =
        conv_frame_text_begins(tid, "0x") || conv_frame_text_begins(tid, "0X");
    if (!conv_frame_text_number(conv_frame_text_after(tid, hex ? 2 : 0),
                                hex ? 16 : 10, &ret->tid))
        return false;
    pr_text after = conv_frame_text_after(rest, end + 1);
    if (conv_frame_text_begins(after, ": "))
        ret->name = conv_frame_text_after(after, 2);
    return true;
}

/* "process PID:"COMMAND"", as py-spy --subprocesses writes it. */
static bool
is_pyspy_process(pr_text part, conv_owner *ret)
{
    if (!conv_frame_text_begins(part, "process "))
        return false;
    pr_text rest = conv_frame_text_after(part, 8);
    size_t colon = conv_frame_text_find(rest, ':');
    if (colon == rest.len ||
        !conv_frame_text_number((pr_text){rest.bytes, colon}, 10, &ret->pid))
        return false;
    pr_text command = conv_frame_text_after(rest, colon + 1);
    if (command.len >= 2 && command.bytes[0] == '"' &&
        command.bytes[command.len - 1] == '"')
        command = (pr_text){command.bytes + 1, command.len - 2};
    ret->command = command;
    return true;
}

static bool
has_file(pr_text part)
{
    conv_place place = conv_frame_text_parens(part, false);
    return place.file.len && place.file.bytes[0] != '~';
}

/* The dialects in which a stack may begin with that part: bits 1 << dialect. */
static unsigned
dialects_of(pr_text part)
{
    conv_owner owner = {.tid = 0};
    if (is_stock_thread(part, &owner))
        return 1u << STOCK | 1u << PLAIN;
    if (is_pyspy_thread(part, &owner) || is_pyspy_process(part, &owner))
        return 1u << PYSPY | 1u << PLAIN;
    if (conv_frame_text_thread(part, &owner) ||
        conv_frame_text_process(part, &owner))
        return 1u << PYCONV | 1u << PLAIN;
    if (has_file(part))
        return 1u << PYSPY | 1u << PLAIN;
    return 1u << PLAIN;
}

/* The first dialect in which all of the first lines may begin; frames without
 * a file are of every dialect but CPython's and pyconv's. */
static dialect
find_dialect(conv_content file)
{
    conv_lines lines = {.file = file};
    unsigned all = ~0u, any = 0;
    pr_text stack;
    uint64_t n;
    for (int i = 0; i < LINES_SEEN && conv_lines_next(&lines); i++)
        if (conv_lines_number(lines.line, &stack, &n)) {
            unsigned fit = dialects_of(first_part(stack));
            all &= fit;
            any |= fit;
        }
    if (any && all & 1u << STOCK)
        return STOCK;
    if (any && all & 1u << PYCONV)
        return PYCONV;
    return any & 1u << PYSPY ? PYSPY : PLAIN;
}

/* ---- lines ---- */

/* Take the parts that are the thread's; *ret_rest: the frames. */
static pr_code
take_owner(const collapsed *c, pr_text stack, conv_owner *ret,
           pr_text *ret_rest, pr_err *err)
{
    bool (*const processes[])(pr_text, conv_owner *) = {
        [PYSPY] = is_pyspy_process,
        [PYCONV] = conv_frame_text_process,
        [PLAIN] = NULL};
    bool (*const threads[])(pr_text,
                            conv_owner *) = {[STOCK] = is_stock_thread,
                                             [PYSPY] = is_pyspy_thread,
                                             [PYCONV] = conv_frame_text_thread,
                                             [PLAIN] = NULL};
    bool must = c->dialect == STOCK || c->dialect == PYCONV;
    for (int i = 0; i < 2; i++) {
        bool (*is)(pr_text, conv_owner *) =
            i ? threads[c->dialect] : processes[c->dialect];
        pr_text part = first_part(stack);
        if (is && is(part, ret))
            stack =
                conv_frame_text_after(stack, part.len + (part.len < stack.len));
        else if (i && must)
            return conv_lines_fail(&c->lines, "does not begin with a thread",
                                   err);
    }
    *ret_rest = stack;
    return PR_OK;
}

static conv_place
place_of(const collapsed *c, pr_text part)
{
    if (c->dialect == STOCK)
        return conv_frame_text_colons(part);
    if (c->dialect == PLAIN)
        return conv_frame_text_name(part);
    return conv_frame_text_parens(part, c->dialect == PYCONV);
}

/* pyconv's word for a stack without frames. */
static bool
is_idle(const collapsed *c, pr_text rest)
{
    static const char idle[] = "(idle)";
    return c->dialect != STOCK && rest.len == sizeof idle - 1 &&
           conv_frame_text_begins(rest, idle);
}

static pr_code
take_frames(const collapsed *c, pr_text rest, uint32_t *ret, pr_err *err)
{
    pr_code rc = PR_OK;
    *ret = 0;
    while (rest.len && rc == PR_OK && !is_idle(c, rest)) {
        pr_text part = first_part(rest);
        conv_place place = place_of(c, part);
        uint32_t frame;
        rc = conv_stacks_frame(c->stacks, &place, &frame, err);
        if (rc == PR_OK)
            rc = conv_stacks_child(c->stacks, *ret, frame, ret, err);
        rest = conv_frame_text_after(rest, part.len + (part.len < rest.len));
    }
    return rc;
}

static pr_code
take_line(const collapsed *c, pr_err *err)
{
    conv_entry_value value = {.status = PR_CPU_UNKNOWN};
    conv_owner owner = {.tid = 0};
    uint32_t thread, stack;
    pr_text text, rest = {NULL, 0};
    if (!conv_lines_number(c->lines.line, &text, &value.n))
        return conv_lines_fail(&c->lines, "does not end in a number", err);
    pr_code rc = take_owner(c, text, &owner, &rest, err);
    if (rc == PR_OK)
        rc = conv_stacks_thread(c->stacks, &owner, &thread, err);
    if (rc == PR_OK)
        rc = take_frames(c, rest, &stack, err);
    return rc == PR_OK ? conv_stacks_add(c->stacks, thread, stack, &value, err)
                       : rc;
}

/* ---- the import ---- */

/* Two counts a line are a comparison. */
static bool
is_comparison(conv_content file)
{
    conv_lines lines = {.file = file};
    pr_text stack, more;
    uint64_t n;
    bool any = false;
    while (conv_lines_next(&lines)) {
        any = true;
        if (!conv_lines_number(lines.line, &stack, &n) ||
            !conv_lines_number(stack, &more, &n))
            return false;
    }
    return any;
}

static pr_code
read_collapsed(conv_content file, conv_stacks *stacks, conv_stacks_facts *facts,
               pr_err *err)
{
    collapsed c = {.lines = {.file = file},
                   .stacks = stacks,
                   .dialect = find_dialect(file)};
    pr_code rc = PR_OK;
    if (is_comparison(file))
        return PR_FAIL(err, PR_USAGE,
                       "each line has two numbers: it compares two profiles");
    while (rc == PR_OK && conv_lines_next(&c.lines))
        rc = take_line(&c, err);
    facts->assumed_us = c.dialect == STOCK ? INTERVAL_STOCK : INTERVAL_OTHER;
    return rc;
}

static bool
matches_collapsed(conv_content head, bool whole)
{
    conv_lines lines;
    pr_text stack;
    uint64_t n;
    if (!conv_lines_first(head, &lines))
        return false;
    bool cut = lines.at == head.n && !whole;
    return cut || conv_lines_number(lines.line, &stack, &n);
}

const conv_import conv_import_collapsed = {
    .info = {"collapsed",
             "stacks and their counts, of CPython 3.15, py-spy (raw), pyconv "
             "and others"},
    .matches = matches_collapsed,
    .read = read_collapsed,
};
