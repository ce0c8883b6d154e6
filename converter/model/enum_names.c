/*
 * enum_names.c - tables of names (spec/format.md 4.1 and 5.4).
 */
#include "converter/model/enum_names.h"

#include <stdio.h>

const char *
conv_mode_name(pr_mode mode)
{
    switch (mode) {
    case PR_MODE_WALL:
        return "wall";
    case PR_MODE_CPU:
        return "cpu";
    case PR_MODE_GIL:
        return "gil";
    case PR_MODE_ALL:
        return "all";
    case PR_MODE_EXCEPTION:
        return "exception";
    case PR_MODE_UNKNOWN:
        break;
    }
    return "unknown";
}

const char *
conv_count_name(uint32_t kind)
{
    static const char *const names[PR_COUNT_KINDS] = {
#define COUNT_NAME(name, value, text) [PR_COUNT_##name] = (text),
        PR_COUNT_MAP(COUNT_NAME)
#undef COUNT_NAME
    };
    return kind < PR_COUNT_KINDS ? names[kind] : NULL;
}

const char *
conv_mark_name(uint32_t kind)
{
    static const char *const names[] = {[PR_MARK_GAP] = "gap",
                                        [PR_MARK_EXEC] = "exec",
                                        [PR_MARK_SUSPENDED] = "suspended"};
    return kind < sizeof names / sizeof *names ? names[kind] : "mark";
}

void
conv_capture_names(char text[CONV_CAPTURE_MAX], uint32_t capture)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {{PR_CAPTURE_ALL_THREADS, "threads"},
                 {PR_CAPTURE_NATIVE, "native"},
                 {PR_CAPTURE_GC, "gc"},
                 {PR_CAPTURE_OPCODES, "opcodes"},
                 {PR_CAPTURE_BLOCKING, "blocking"}};
    if (!(capture & PR_CAPTURE_KNOWN)) {
        snprintf(text, CONV_CAPTURE_MAX, "unknown");
        return;
    }
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (capture & names[i].bit)
            n += (size_t)snprintf(text + n, CONV_CAPTURE_MAX - n, "%s%s",
                                  n ? " " : "", names[i].name);
}
