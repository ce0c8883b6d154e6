/*
 * suspension_watch.c - suspensions become marks (suspension_watch.h).
 */
#include "recorder/suspension_watch.h"

#include <stdio.h>
#include <string.h>

enum { CHECK_EVERY_US = 100000 };

void
rec_suspension_init(rec_suspension *still, pid_t pid)
{
    *still = (rec_suspension){.pid = pid, .clocks = rec_clock_gap_read()};
}

static pr_code
emit(pr_sink *sink, uint64_t from_us, uint64_t to_us, const char *text,
     pr_err *err)
{
    pr_mark mark = {PR_MARK_SUSPENDED, from_us, to_us, text, strlen(text)};
    return PR_SINK_CALL(sink, mark, &mark, err);
}

/* The samples' clock stood still as well: it is a moment of it. */
static pr_code
check_clocks(rec_suspension *s, uint64_t now_us, pr_sink *sink, pr_err *err)
{
    rec_clock_gap now = rec_clock_gap_read();
    uint64_t ns = rec_clock_suspended(&s->clocks, &now);
    if (ns == 0)
        return PR_OK;
    s->clocks = now;
    s->spans.n++;
    s->spans.ns += ns;
    char text[64];
    snprintf(text, sizeof text, "the machine was suspended for %.1f s",
             (double)ns / 1e9);
    return emit(sink, now_us, now_us, text, err);
}

pr_code
rec_suspension_end(rec_suspension *s, pr_sink *sink, pr_err *err)
{
    if (!s->why)
        return PR_OK;
    const char *why = s->why;
    s->why = NULL;
    s->spans.n++;
    s->spans.ns += (s->to_us - s->from_us) * 1000;
    return emit(sink, s->from_us, s->to_us, why, err);
}

pr_code
rec_suspension_tick(rec_suspension *s, uint64_t now_us, pr_sink *sink,
                    pr_err *err)
{
    if (now_us < s->next_us)
        return PR_OK;
    s->next_us = now_us + CHECK_EVERY_US;
    pr_code code = check_clocks(s, now_us, sink, err);
    const char *why = rec_is_suspended(s->pid);
    if (code == PR_OK && why != s->why)
        code = rec_suspension_end(s, sink, err);
    if (!why || code != PR_OK)
        return code;
    if (!s->why)
        s->from_us = now_us;
    s->why = why;
    s->to_us = now_us;
    return PR_OK;
}
