/*
 * overhead.c - from a measured cost to a distance of ticks (overhead.h).
 */
#include "recorder/overhead.h"

enum {
    WINDOW_NS = 250000000,
    FIRST_COST_NS = 100000,
    PERIOD_MOST_NS = 1000000000
};

#define AIM 0.8 /* of the bound: a window shows only the past */

static uint64_t
within(const rec_overhead *o, double period_ns)
{
    if (period_ns >= PERIOD_MOST_NS)
        return PERIOD_MOST_NS > o->nominal_ns ? PERIOD_MOST_NS : o->nominal_ns;
    return period_ns > (double)o->nominal_ns ? (uint64_t)period_ns
                                             : o->nominal_ns;
}

rec_overhead
rec_overhead_begin(double bound, uint64_t nominal_ns, uint64_t now_ns)
{
    rec_overhead o = {
        .bound = bound, .nominal_ns = nominal_ns, .at_ns = now_ns};
    o.period_ns = within(&o, FIRST_COST_NS / bound);
    return o;
}

/* A tick costs share * period; the period that costs the bound follows.  Down
 * at once, up by half: a sudden burst would break the bound. */
void
rec_overhead_update(rec_overhead *o, uint64_t now_ns, uint64_t cpu_ns)
{
    if (now_ns - o->at_ns < WINDOW_NS)
        return;
    uint64_t wall_ns = now_ns - o->at_ns;
    uint64_t before_ns = o->cpu_ns;
    o->at_ns = now_ns;
    o->cpu_ns = cpu_ns;
    if (cpu_ns < before_ns)
        return; /* a recording ended */
    double share = (double)(cpu_ns - before_ns) / (double)wall_ns;
    double period = (double)o->period_ns;
    double wanted = period * share / (o->bound * AIM);
    if (wanted < period / 1.5)
        wanted = period / 1.5;
    if (wanted > period * 0.9 && wanted < period * 1.1)
        return;
    o->period_ns = within(o, wanted);
}
