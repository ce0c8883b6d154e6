/*
 * obstacles.c - spec/compare.md, 4.3: profiles that do not compare.
 */
#include "query/compare/contrast.h"

#include <math.h>
#include <string.h>

/* Shares of time or samples by which sides may differ. */
static const double MOST_APART = 0.40;
enum { MOST_INTERVAL = 2 }; /* ratio of intervals */

static const char *
shown(const char *text)
{
    return text ? text : "unknown";
}

static bool
equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* "3.13" of "3.13.5": bytes up to the second point. */
static size_t
minor_length(const char *python)
{
    size_t n = strcspn(python, ".");
    return python[n] ? n + 1 + strcspn(python + n + 1, ".") : n;
}

static bool
same_minor(const char *a, const char *b)
{
    return !a || !b ||
           (minor_length(a) == minor_length(b) &&
            strncmp(a, b, minor_length(a)) == 0);
}

static void
compare_texts(const q_run_facts *a, const q_run_facts *b, bool any_machine,
              pr_buffer *to)
{
    if (!equal(a->mode, b->mode))
        pr_buffer_printf(to, "modes differ: %s and %s\n", shown(a->mode),
                         shown(b->mode));
    if (!equal(a->capture, b->capture))
        pr_buffer_printf(to, "one samples %s, the other %s\n",
                         shown(a->capture), shown(b->capture));
    if (!equal(a->time, b->time))
        pr_buffer_printf(to, "weights differ: %s and %s\n", shown(a->time),
                         shown(b->time));
    if (!same_minor(a->python, b->python))
        pr_buffer_printf(to, "Pythons differ: %s and %s\n", shown(a->python),
                         shown(b->python));
    if (!any_machine && a->host && b->host && !equal(a->host, b->host))
        pr_buffer_printf(to, "machines differ: %s and %s\n", a->host, b->host);
}

static void
compare_intervals(const q_run_facts *a, const q_run_facts *b, pr_buffer *to)
{
    double x = (double)a->interval_us, y = (double)b->interval_us;
    if (x > 0 && y > 0 && fmax(x, y) >= MOST_INTERVAL * fmin(x, y))
        pr_buffer_printf(to, "intervals differ: %.0f us and %.0f us\n", x, y);
}

/* Does this run differ from the first of all?  One that does is enough. */
static void
compare_runs(const q_sides *s, bool any_machine, pr_buffer *to)
{
    size_t before = to->len;
    for (size_t r = 1; r < s->n_base + s->n_new && to->len == before; r++) {
        compare_texts(&s->run[0], &s->run[r], any_machine, to);
        compare_intervals(&s->run[0], &s->run[r], to);
    }
}

/* Mean of a side: samples lost of those due, or time that is not observed. */
static double
lost_share(const q_sides *s, size_t first, size_t n)
{
    double lost = 0, taken = 0;
    for (size_t r = first; r < first + n; r++) {
        lost += (double)s->run[r].lost;
        taken += (double)s->whole[Q_SELF][r].n;
    }
    return lost + taken > 0 ? lost / (lost + taken) : 0;
}

static double
unobserved_share(const q_sides *s, size_t first, size_t n)
{
    double without = 0, with = 0;
    for (size_t r = first; r < first + n; r++) {
        without += fmax((double)s->run[r].unobserved_us, 0);
        with += (double)s->whole[Q_SELF][r].us;
    }
    return with + without > 0 ? without / (with + without) : 0;
}

static void
compare_losses(const q_sides *s, pr_buffer *to)
{
    double a = lost_share(s, 0, s->n_base);
    double b = lost_share(s, s->n_base, s->n_new);
    if (fabs(a - b) > MOST_APART)
        pr_buffer_printf(to, "%.0f%% and %.0f%% of the samples were lost\n",
                         100 * a, 100 * b);
    a = unobserved_share(s, 0, s->n_base);
    b = unobserved_share(s, s->n_base, s->n_new);
    if (fabs(a - b) > MOST_APART)
        pr_buffer_printf(to, "%.0f%% and %.0f%% of the time are unobserved\n",
                         100 * a, 100 * b);
}

static void
check_state(const q_sides *s, unsigned measure, pr_buffer *to)
{
    for (size_t r = 0; r < s->n_base + s->n_new; r++)
        if (measure == Q_RAN && !s->run[r].knows_ran) {
            pr_buffer_printf(to, "%s does not say which threads ran\n",
                             shown(s->run[r].source));
            return;
        }
}

void
q_contrast_obstacles(const q_contrast *contrast, unsigned measure,
                     bool any_machine, pr_buffer *to)
{
    const q_sides *s = &contrast->sides;
    compare_runs(s, any_machine, to);
    compare_losses(s, to);
    check_state(s, measure, to);
}
