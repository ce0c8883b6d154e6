/*
 * summary.c - one line for each thing a reader of the profile must know.
 */
#include "recorder/summary.h"

#include <inttypes.h>
#include <string.h>

/* Without the right to a better one (spec/sampling.md, "Policy"). */
static bool
is_weak(const char *policy)
{
    return strcmp(policy, "slice") == 0 || strcmp(policy, "other") == 0;
}

static const char *
why_missed(const rec_report *t, const rec_options *options)
{
    uint64_t in_gaps = t->sampler.gaps.ns / options->period_ns;
    uint64_t others = t->missed > in_gaps ? t->missed - in_gaps : 0;
    if (t->missed_queue)
        return ", writing was too slow (a lower --rate helps)";
    if (rec_percent(others, t->missed + t->ticks) <= 1 || options->realtime)
        return "";
    if (t->sampler.polled)
        return ", its CPU was busy (a lower --rate helps)";
    return is_weak(t->sampler.policy)
               ? ", its CPU was busy (--realtime with CAP_SYS_NICE helps)"
               : ", its CPU was busy (--realtime helps)";
}

/* Spans of time in which there are no samples, or nothing but equal ones. */
static void
print_spans(FILE *to, const rec_report *t)
{
    const rec_spans *gaps = &t->sampler.gaps, *stood = &t->sampler.stood;
    if (gaps->n)
        fprintf(to,
                "pyrec: warning: nothing could be sampled for %.1f s in all, "
                "%" PRIu64 " time%s\n",
                (double)gaps->ns / 1e9, gaps->n, gaps->n == 1 ? "" : "s");
    if (stood->n)
        fprintf(to,
                "pyrec: the target or the machine stood still for %.1f s in "
                "all, %" PRIu64 " time%s\n",
                (double)stood->ns / 1e9, stood->n, stood->n == 1 ? "" : "s");
}

/* That stacks of tasks and those from another CPU are not proven is no news. */
static void
print_doubts(FILE *to, const rec_report *t, const rec_unwinder_opts *how)
{
    bool remote = how->strategy == REC_REMOTE;
    bool expected = remote || how->async_mode != REC_ASYNC_OFF;
    double doubtful = rec_percent(t->lost + (expected ? 0 : t->unproven),
                                  t->lost + rec_report_samples(t));
    if (remote)
        fputs("pyrec: warning: --strategy remote proves no sample: shares may "
              "be biased\n",
              to);
    if (doubtful > 1)
        fprintf(to,
                "pyrec: warning: %.1f %% of the samples are lost%s: shares "
                "may be biased\n",
                doubtful, expected ? "" : " or not proven");
}

static void
print_losses(FILE *to, const rec_report *t, const rec_options *options)
{
    if (t->missed)
        fprintf(to, "pyrec: %" PRIu64 " ticks missed (%.2f %%)%s\n", t->missed,
                rec_percent(t->missed, t->missed + t->ticks),
                why_missed(t, options));
    print_spans(to, t);
    if (t->truncated)
        fprintf(to,
                "pyrec: %" PRIu64 " stacks cut at the limit of depth "
                "(--max-depth)\n",
                t->truncated);
    if (t->degraded)
        fprintf(to,
                "pyrec: %" PRIu64 " frames without their name or line: it "
                "could not be read\n",
                t->degraded);
    if (t->gc_lost)
        fprintf(to,
                "pyrec: %" PRIu64 " collections were overwritten before they "
                "were read\n",
                t->gc_lost);
    print_doubts(to, t, &options->unwinder);
}

/* Where and how the sampler ran, if that is not what it should be. */
static void
print_place(FILE *to, const rec_report *t, const rec_options *options)
{
    if (t->sampler.strayed)
        fputs("pyrec: a CPU of the target is not ours to run on: sampled from "
              "another one (taskset, cpuset: run pyrec where the target may)\n",
              to);
    if (options->realtime && !t->sampler.polled &&
        strcmp(t->sampler.policy, "fifo") != 0)
        fprintf(to,
                "pyrec: warning: --realtime is not permitted here (it needs "
                "CAP_SYS_NICE), policy %s\n",
                t->sampler.policy);
    if (is_weak(t->sampler.policy) && t->proven)
        fprintf(to,
                "pyrec: policy %s: calls that read a thread's clock may get "
                "too many samples (CAP_SYS_NICE avoids it)\n",
                t->sampler.policy);
}

/* What the sampler took from the CPU of the target is the most that the target
 * was slowed down by: less, if it had slept anyway. */
static void
print_cost(FILE *to, const rec_report *t)
{
    double cpu = rec_percent(t->sampler.cpu_ns, t->wall_ns);
    if (t->colocated && !(t->sampler.strayed && t->proven == 0))
        fprintf(to,
                "pyrec: the target was slowed down by at most about %.1f %% "
                "(sampler on its CPU, policy %s)\n",
                cpu, t->sampler.policy);
    else
        fprintf(to,
                "pyrec: the target was hardly slowed down (sampler %.1f %% of "
                "another CPU%s)\n",
                cpu,
                t->sampler.polled ? ", polling: the period is too short to "
                                    "sleep"
                                  : "");
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

void
rec_summary_print(FILE *to, const rec_report *r, const rec_options *options,
                  pid_t pid, const char *output)
{
    fprintf(to,
            "pyrec: %" PRIu64 " samples of process %d in %.1f s, %" PRIu64
            " bytes in %s\n",
            rec_report_samples(r), (int)pid, (double)r->wall_ns / 1e9,
            r->written.file_bytes, output);
    fprintf(to,
            "pyrec: proven %" PRIu64 ", unchanged or asleep %" PRIu64
            ", stopped %" PRIu64 ", not proven %" PRIu64 ", lost %" PRIu64 "\n",
            r->proven, r->sleeping, r->stopped, r->unproven, r->lost);
    print_place(to, r, options);
    print_cost(to, r);
    print_losses(to, r, options);
    if (options->stats)
        print_counters(to, &r->stats);
}

void
rec_summary_print_children(FILE *to, const rec_descendants_report *r,
                           uint64_t recorded, uint64_t gone)
{
    fprintf(to,
            "pyrec: %" PRIu64 " children seen, %" PRIu64 " recorded, %" PRIu64
            " gone before they could be\n",
            r->seen, recorded, gone);
    if (!r->told)
        fprintf(to,
                "pyrec: children that lived less than %d ms may be unseen: "
                "root outside of containers is told of every one\n",
                r->blind_ms);
    if (r->overruns)
        fprintf(to,
                "pyrec: warning: %" PRIu64 " times, more processes were "
                "started than could be told: children may be unseen\n",
                r->overruns);
}
