/*
 * summary.c - three lines, the details, and the warnings of several runs
 * (summary.h).
 */
#include "recorder/summary.h"

#include "recorder/counters.h"

#include <base/message.h>
#include <base/quote.h>
#include <base/terminal.h>
#include <inttypes.h>
#include <string.h>

/* ---- how far to trust it ---- */

/* Without the right to a better one (spec/sampling.md, "Policy"). */
static bool
is_weak(const char *policy)
{
    return strcmp(policy, "slice") == 0 || strcmp(policy, "other") == 0;
}

static double
missed_percent(const rec_report *t)
{
    return rec_percent(t->missed, t->missed + t->ticks);
}

static double
lost_percent(const rec_report *t)
{
    return rec_percent(t->lost, t->lost + rec_report_samples(t));
}

/* Stacks of tasks and those read from another CPU are never proven. */
static double
unproven_percent(const rec_report *t)
{
    return rec_percent(t->unproven, t->lost + rec_report_samples(t));
}

static bool
expects_proofs(const rec_options *options)
{
    return options->unwinder.strategy != REC_REMOTE &&
           options->unwinder.async_mode == REC_ASYNC_OFF;
}

/* The largest share of the targets' time that the sampler can have taken, by
 * using their CPU or by stopping them: it is less if they were asleep anyway. */
static double
cost_percent(const rec_summary *s)
{
    const rec_report *t = s->report;
    bool elsewhere = !t->colocated || (t->sampler.strayed && t->proven == 0);
    uint64_t taken_ns = t->held_ns + (elsewhere ? 0 : t->sampler.cpu_ns);
    return rec_percent(taken_ns, s->wall_ns);
}

static const char *
why_missed(const rec_report *t, const rec_options *options)
{
    uint64_t in_gaps = t->sampler.gaps.ns / options->period_ns;
    uint64_t others = t->missed > in_gaps ? t->missed - in_gaps : 0;
    if (t->missed_queue)
        return ": writing was too slow (a lower --rate helps)";
    if (rec_percent(others, t->missed + t->ticks) <= 1 || options->realtime)
        return "";
    if (t->sampler.polled)
        return ": its CPU was busy (a lower --rate helps)";
    return is_weak(t->sampler.policy)
               ? ": its CPU was busy (--realtime with CAP_SYS_NICE helps)"
               : ": its CPU was busy (--realtime helps)";
}

static const char *
why_unproven(const rec_report *t, const rec_options *options)
{
    if (options->unwinder.strategy == REC_REMOTE)
        return ": --strategy remote proves no sample";
    if (options->unwinder.async_mode != REC_ASYNC_OFF)
        return ": no stack of a task is proven";
    if (t->sampler.strayed)
        return ": a CPU of the target is not ours to run on (run pyrec where "
               "the target may)";
    return "";
}

/* ---- flaws ---- */

static const char *
why_costly(const rec_options *options)
{
    return options->unwinder.strategy == REC_BLOCKING
               ? " (without --blocking it costs less)"
               : " (--overhead 1% bounds that)";
}

static void
add_flaw(rec_tally *tally, int flaw, double percent, const char *why)
{
    if (percent <= REC_SUMMARY_BAD_PERCENT)
        return;
    tally->flaw[flaw].runs++;
    if (percent <= tally->flaw[flaw].percent)
        return;
    tally->flaw[flaw].percent = percent;
    tally->flaw[flaw].why = why;
}

static void
add_run(rec_tally *tally, const rec_summary *s, const rec_options *options)
{
    const rec_report *t = s->report;
    double unproven = expects_proofs(options) ? unproven_percent(t) : 0;
    tally->runs++;
    add_flaw(tally, REC_FLAW_MISSED, missed_percent(t), why_missed(t, options));
    add_flaw(tally, REC_FLAW_BIASED, lost_percent(t) + unproven,
             why_unproven(t, options));
    if (!options->overhead)
        add_flaw(tally, REC_FLAW_COST, cost_percent(s), why_costly(options));
}

/* "a bad recording: 20.0 %", or "3 of 10 recordings are bad: up to 20.0 %" */
static void
print_flawed(FILE *to, const rec_tally *tally, int flaw)
{
    unsigned runs = tally->flaw[flaw].runs;
    double percent = tally->flaw[flaw].percent;
    bool costs = flaw == REC_FLAW_COST;
    if (tally->runs == 1)
        fprintf(
            to, "pyrec: warning: %s %.1f %%",
            costs ? "the recording cost up to" : "a bad recording:", percent);
    else
        fprintf(to, "pyrec: warning: %u of %u recordings %s %.1f %%", runs,
                tally->runs, costs ? "cost up to" : "are bad: up to", percent);
}

void
rec_tally_print(FILE *to, const rec_tally *tally)
{
    static const char *const of[REC_FLAWS] = {
        " of the ticks were missed",
        " of the samples are lost or unproven, shares may be biased",
        " of the time"};
    for (int flaw = 0; flaw < REC_FLAWS; flaw++) {
        if (!tally->flaw[flaw].runs)
            continue;
        print_flawed(to, tally, flaw);
        fprintf(to, "%s%s\n", of[flaw], tally->flaw[flaw].why);
    }
}

/* ---- the three lines ---- */

static void
print_warnings(FILE *to, const rec_summary *s, const rec_options *options)
{
    rec_tally alone = {0};
    add_run(options->tally ? options->tally : &alone, s, options);
    rec_tally_print(to, &alone);
    if (s->report->hung)
        fputs("pyrec: warning: the kernel held the sampler in a read of the "
              "target: the end of the recording is missing\n",
              to);
}

static void
print_size(FILE *to, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t i = 0;
    while (value >= 1000 && i + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        i++;
    }
    fprintf(to, i ? "%.1f %s" : "%.0f %s", value,
            bytes == 1 ? "byte" : units[i]);
}

static const char *
plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void
print_recorded(FILE *to, const rec_summary *s)
{
    uint64_t samples = rec_report_samples(s->report);
    fprintf(to, "pyrec: %" PRIu64 " sample%s of ", samples, plural(samples));
    if (s->files == 1)
        fprintf(to, "process %d", (int)s->pid);
    else
        fprintf(to, "%" PRIu64 " processes", s->files);
    fprintf(to, " in %.1f s, ", (double)s->report->wall_ns / 1e9);
    print_size(to, s->report->written.file_bytes);
    fputs(" in ", to);
    pr_print_terminal(to, s->output, strlen(s->output));
    if (s->files > 1) {
        fprintf(to, " and %" PRIu64 " file%s ", s->files - 1,
                plural(s->files - 1));
        pr_print_terminal(to, s->pattern, strlen(s->pattern));
    }
    if (s->children)
        fprintf(to,
                "; %" PRIu64 " child%s seen, %" PRIu64
                " gone before pyrec could record %s",
                s->children->seen, s->children->seen == 1 ? "" : "ren", s->gone,
                s->gone == 1 ? "it" : "them");
    fputs("\n", to);
}

/* Shares that are not 0. */
static void
print_share(FILE *to, double percent, const char *words, const char *why)
{
    if (percent > 0)
        fprintf(to, ", %.1f %% %s%s", percent, words, percent > 1 ? why : "");
}

/* Time without samples, or with nothing but equal ones. */
static void
print_span(FILE *to, const rec_spans *spans, const char *words)
{
    if (spans->n)
        fprintf(to, "; %s for %.1f s, %" PRIu64 " time%s", words,
                (double)spans->ns / 1e9, spans->n, plural(spans->n));
}

static void
print_trust(FILE *to, const rec_summary *s, const rec_options *options)
{
    const rec_report *t = s->report;
    uint64_t proven = t->proven + t->sleeping + t->stopped;
    fprintf(to, "pyrec: %.1f %% proven",
            rec_percent(proven, t->lost + rec_report_samples(t)));
    print_share(to, unproven_percent(t), "unproven", why_unproven(t, options));
    print_share(to, lost_percent(t), "lost", "");
    print_share(to, missed_percent(t), "of the ticks missed",
                why_missed(t, options));
    print_span(to, &t->sampler.gaps, "nothing could be sampled");
    print_span(to, &t->sampler.stood, "stopped, frozen or suspended");
    double cost = cost_percent(s);
    if (cost > 0)
        fprintf(to, "; slowed down by at most %.1f %%%s\n", cost,
                s->files > 1 ? " in all" : "");
    else
        fputs("; hardly slowed down\n", to);
}

/* The star of the pattern is the shell's. */
static void
add_others(pr_buffer *command, const char *pattern)
{
    const char *star = strrchr(pattern, '*');
    if (!star)
        return;
    pr_buffer_char(command, ' ');
    pr_quote_path(command, pattern, (size_t)(star - pattern));
    pr_buffer_char(command, '*');
    pr_quote_shell(command, star + 1, strlen(star + 1));
}

static void
print_next(FILE *to, const rec_summary *s)
{
    bool one = s->files == 1;
    pr_buffer command = {0};
    pr_buffer_puts(&command, one ? "pyquery " : "pyconv ");
    pr_quote_path(&command, s->output, strlen(s->output));
    if (!one)
        add_others(&command, s->pattern);
    pr_buffer_puts(&command,
                   one ? " \"top 20 by self\"" : " --to sqlite -o all.db");
    pr_message_next(to, "pyrec", &command);
    pr_buffer_release(&command);
}

/* ---- the details ---- */

static void
print_count(FILE *to, uint64_t n, const char *one, const char *many,
            const char *what)
{
    if (n)
        fprintf(to, "pyrec: %" PRIu64 " %s %s\n", n, n == 1 ? one : many, what);
}

static void
print_losses(FILE *to, const rec_report *t)
{
    print_count(to, t->missed, "tick", "ticks", "missed");
    print_count(to, t->truncated, "stack", "stacks",
                "cut at the limit of depth (--max-depth)");
    print_count(to, t->degraded, "frame", "frames",
                "without name or line, which could not be read");
    print_count(to, t->gc_lost, "collection", "collections",
                "overwritten before they were read");
}

/* The CPUs and the policy of the sampler. */
static void
print_place(FILE *to, const rec_report *t, const rec_options *options)
{
    fprintf(to, "pyrec: sampler policy %s%s\n", t->sampler.policy,
            t->sampler.polled
                ? ", polling: the period is too short to sleep through"
                : "");
    if (t->sampler.strayed)
        fputs("pyrec: a CPU of the target is not ours to run on: sampled from "
              "another one\n",
              to);
    if (options->realtime && !t->sampler.polled &&
        strcmp(t->sampler.policy, "fifo") != 0)
        fputs("pyrec: --realtime is not permitted here (it needs "
              "CAP_SYS_NICE)\n",
              to);
    if (is_weak(t->sampler.policy) && t->proven)
        fputs("pyrec: calls that read a thread's clock may get too many "
              "samples (CAP_SYS_NICE avoids it)\n",
              to);
}

static void
print_children(FILE *to, const rec_descendants_report *r)
{
    if (!r->announced)
        fprintf(to,
                "pyrec: children that lived less than %d ms may be unseen: "
                "root outside of containers sees every one\n",
                r->blind_ms);
    if (r->overruns)
        fprintf(to,
                "pyrec: %" PRIu64 " time%s, more processes started than the "
                "kernel could report: children may be unseen\n",
                r->overruns, plural(r->overruns));
}

static void
print_counters(FILE *to, const rec_stats *stats)
{
    char value[32];
    const char *name;
    for (size_t i = 0; (name = rec_counter_get(stats, i, value, sizeof value));
         i++)
        fprintf(to, "  %-38s %s\n", name, value);
}

static void
print_details(FILE *to, const rec_summary *s, const rec_options *options)
{
    const rec_report *t = s->report;
    fprintf(to,
            "pyrec: proven %" PRIu64 ", unchanged or asleep %" PRIu64
            ", stopped %" PRIu64 ", unproven %" PRIu64 ", lost %" PRIu64 "\n",
            t->proven, t->sleeping, t->stopped, t->unproven, t->lost);
    print_place(to, t, options);
    print_losses(to, t);
    if (s->children)
        print_children(to, s->children);
    print_counters(to, &t->stats);
}

void
rec_summary_print(FILE *to, const rec_summary *s, const rec_options *options)
{
    print_warnings(to, s, options);
    print_recorded(to, s);
    print_trust(to, s, options);
    if (!options->tally)
        print_next(to, s);
    if (options->stats)
        print_details(to, s, options);
}
