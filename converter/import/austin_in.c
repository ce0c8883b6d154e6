/*
 * austin_in.c - austin's text: a line for each sample, with the microseconds
 * since the sample before it.
 *
 *   1.0      Process PID;Thread HEX;name (file);L12;...;name (file);L3 US
 *            "Process" only with --children; -a: name (file:line);
 *            --full: US BYTES BYTES
 *   2 to 4   P<pid>;T<interp>:<tid>;file:name:line;... US
 *            comments "# key: value"; --full: US,IDLE,BYTES
 *
 * Samples stand for their microseconds.  A time that is negative is none.
 */
#include "converter/import/frame_text.h"
#include "converter/import/imports.h"
#include "converter/import/lines.h"

#include <string.h>

enum { NUMBERS_MAX = 3 };

typedef struct austin {
    conv_lines lines;
    conv_stacks *stacks;
} austin;

static pr_text
first_part(pr_text text)
{
    return (pr_text){text.bytes, conv_frame_text_find(text, ';')};
}

/* The text after a part, without the ';' between them. */
static pr_text
after_part(pr_text text, pr_text part)
{
    return conv_frame_text_after(text, part.len + (part.len < text.len));
}

/* ---- threads ---- */

static bool
number(pr_text text, uint64_t *ret)
{
    return conv_frame_text_number(text, 10, ret) ||
           conv_frame_text_number(text, 16, ret);
}

/* "P<pid>" or "Process PID". */
static bool
is_process(pr_text part, conv_owner *ret)
{
    size_t n = conv_frame_text_begins(part, "Process ") ? 8 : 1;
    return conv_frame_text_begins(part, "P") &&
           conv_frame_text_number(conv_frame_text_after(part, n), 10,
                                  &ret->pid);
}

/* "T<interp>:<tid>", "T<tid>" or "Thread HEX". */
static bool
is_thread(pr_text part, conv_owner *ret)
{
    uint64_t interp = 0;
    if (conv_frame_text_begins(part, "Thread "))
        return conv_frame_text_number(conv_frame_text_after(part, 7), 16,
                                      &ret->tid);
    if (!conv_frame_text_begins(part, "T"))
        return false;
    pr_text rest = conv_frame_text_after(part, 1);
    size_t colon = conv_frame_text_find(rest, ':');
    if (colon < rest.len) {
        if (!conv_frame_text_number((pr_text){rest.bytes, colon}, 10, &interp))
            return false;
        rest = conv_frame_text_after(rest, colon + 1);
    }
    ret->interp = (uint32_t)interp;
    return interp <= UINT32_MAX && number(rest, &ret->tid);
}

static bool
take_owner(pr_text *stack, conv_owner *ret)
{
    pr_text part = first_part(*stack);
    if (is_process(part, ret)) {
        *stack = after_part(*stack, part);
        part = first_part(*stack);
    }
    if (!is_thread(part, ret))
        return false;
    *stack = after_part(*stack, part);
    return true;
}

/* ---- numbers ---- */

static size_t
last_space(pr_text text)
{
    for (size_t i = text.len; i-- > 0;)
        if (text.bytes[i] == ' ')
            return i;
    return text.len;
}

static bool
is_number(pr_text text)
{
    uint64_t value;
    pr_text digits =
        conv_frame_text_after(text, conv_frame_text_begins(text, "-") ? 1 : 0);
    return conv_frame_text_number(digits, 10, &value);
}

/* The time of a sample; a number that does not fit or is negative is none. */
static uint64_t
time_of(pr_text text)
{
    uint64_t value;
    return conv_frame_text_number(text, 10, &value) ? value : 0;
}

/* "US,IDLE,BYTES" at the end, or up to three numbers with spaces between. */
static bool
take_numbers(pr_text *line, pr_text ret[NUMBERS_MAX], size_t *ret_n)
{
    size_t space = last_space(*line);
    if (space == line->len)
        return false;
    pr_text rest = conv_frame_text_after(*line, space + 1);
    *ret_n = 0;
    while (conv_frame_text_find(rest, ',') < rest.len &&
           *ret_n < NUMBERS_MAX - 1) {
        size_t comma = conv_frame_text_find(rest, ',');
        ret[(*ret_n)++] = (pr_text){rest.bytes, comma};
        rest = conv_frame_text_after(rest, comma + 1);
    }
    ret[(*ret_n)++] = rest;
    *line = (pr_text){line->bytes, space};
    for (size_t i = 0; i < *ret_n; i++)
        if (!is_number(ret[i]))
            return false;
    return true;
}

/* The first two numbers of "US BYTES BYTES" are still in the line: the last
 * part of a stack of version 1 ends in a thread's number, a line or a
 * parenthesis. */
static void
take_full(pr_text *line, pr_text *us)
{
    pr_text rest = *line, taken[2];
    for (int i = 0; i < 2; i++) {
        size_t space = last_space(rest);
        if (space == rest.len)
            return;
        taken[i] = conv_frame_text_after(rest, space + 1);
        rest = (pr_text){rest.bytes, space};
        if (!is_number(taken[i]))
            return;
    }
    if (rest.len >= 6 && memcmp(rest.bytes + rest.len - 6, "Thread", 6) == 0)
        return;
    *line = rest;
    *us = taken[1];
}

/* ---- frames ---- */

/* "L12", the line of the frame before it. */
static bool
is_line(pr_text part, int32_t *ret)
{
    uint64_t value;
    if (!conv_frame_text_begins(part, "L") ||
        !conv_frame_text_number(conv_frame_text_after(part, 1), 10, &value) ||
        value > INT32_MAX)
        return false;
    *ret = (int32_t)value;
    return true;
}

static conv_place
place_of(pr_text part)
{
    static const char gc[] = ":GC:";
    const pr_text collector = {PR_GC_FUNC, sizeof PR_GC_FUNC - 1};
    if (part.len == sizeof gc - 1 && conv_frame_text_begins(part, gc))
        return conv_frame_text_name(collector);
    conv_place place = conv_frame_text_colons(part);
    return place.file.len ? place : conv_frame_text_parens(part, false);
}

static pr_code
take_frames(const austin *a, pr_text rest, uint32_t *ret, pr_err *err)
{
    pr_code rc = PR_OK;
    *ret = 0;
    while (rest.len && rc == PR_OK) {
        pr_text part = first_part(rest);
        conv_place place = place_of(part);
        uint32_t frame;
        rest = after_part(rest, part);
        pr_text next = first_part(rest);
        if (is_line(next, &place.line)) {
            place.end_line = place.line;
            rest = after_part(rest, next);
        }
        rc = conv_stacks_frame(a->stacks, &place, &frame, err);
        if (rc == PR_OK)
            rc = conv_stacks_child(a->stacks, *ret, frame, ret, err);
    }
    return rc;
}

/* ---- the import ---- */

static pr_code
take_line(const austin *a, pr_err *err)
{
    pr_text line = a->lines.line, numbers[NUMBERS_MAX];
    conv_owner owner = {.tid = 0};
    size_t n;
    uint32_t thread, stack;
    if (!take_numbers(&line, numbers, &n))
        return conv_lines_fail(&a->lines, "does not end in a number", err);
    if (n == 1)
        take_full(&line, &numbers[0]);
    if (!take_owner(&line, &owner))
        return conv_lines_fail(&a->lines, "does not begin with a thread", err);
    conv_entry_value value = {.us = time_of(numbers[0]),
                              .status = PR_CPU_UNKNOWN};
    if (n == NUMBERS_MAX)
        value.status = time_of(numbers[1]) ? 0 : PR_ON_CPU;
    pr_code rc = conv_stacks_thread(a->stacks, &owner, &thread, err);
    if (rc == PR_OK)
        rc = take_frames(a, line, &stack, err);
    return rc == PR_OK ? conv_stacks_add(a->stacks, thread, stack, &value, err)
                       : rc;
}

static bool
holds_memory(conv_content file)
{
    pr_text mode;
    return conv_lines_comment(file, "mode", &mode) &&
           conv_frame_text_begins(mode, "memory");
}

static pr_code
read_austin(conv_content file, conv_stacks *stacks, conv_stacks_facts *facts,
            pr_err *err)
{
    austin a = {.lines = {.file = file}, .stacks = stacks};
    pr_text interval;
    pr_code rc = PR_OK;
    if (holds_memory(file))
        return PR_FAIL(err, PR_USAGE,
                       "it holds amounts of memory, not of time");
    while (rc == PR_OK && conv_lines_next(&a.lines))
        rc = take_line(&a, err);
    if (conv_lines_comment(file, "interval", &interval) &&
        !conv_frame_text_number(interval, 10, &facts->interval_us))
        facts->interval_us = 0;
    facts->assumed_us = 1000;
    facts->in_time = true;
    return rc;
}

static bool
matches_austin(conv_content head, bool whole)
{
    conv_lines lines;
    conv_owner owner = {.tid = 0};
    pr_text numbers[NUMBERS_MAX];
    size_t n;
    if (!conv_lines_first(head, &lines))
        return false;
    pr_text line = lines.line;
    bool cut = lines.at == head.n && !whole;
    if (!cut && !take_numbers(&line, numbers, &n))
        return false;
    if (!cut && n == 1)
        take_full(&line, &numbers[0]);
    return take_owner(&line, &owner);
}

const conv_import conv_import_austin = {
    .info = {"austin", "austin's text"},
    .matches = matches_austin,
    .read = read_austin,
};
