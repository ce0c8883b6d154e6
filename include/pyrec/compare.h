/*
 * compare.h - which functions of two groups of runs differ, how much, and how
 * surely (spec/compare.md has the method, its formulas and their error rates).
 *
 * Mathematics alone: nothing here reads a file or prints.  Every function may
 * run in several threads at once.
 */
#ifndef PYREC_COMPARE_H
#define PYREC_COMPARE_H

#include <pyrec/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The samples and time of one function, or of all, in one run. */
typedef struct conv_measure {
    int64_t n;  /* samples */
    int64_t us; /* the time that they stand for */
} conv_measure;

/* Two sides of runs.  A run is one recording of the same work; the columns of
 * the base side come first.  All arrays are the caller's. */
typedef struct conv_sides {
    size_t n_base, n_new; /* runs; at least one each */
    size_t n_functions;
    const conv_measure *function; /* [n_functions][n_base + n_new] */
    const conv_measure *whole;    /* [n_base + n_new]: all samples of the run */
    /* [n_base + n_new]: units of work that the run did, each above 0; NULL:
     * every run did the same work */
    const double *work;
    /* as `function`, but of all samples whose stack holds the function, which
     * decides CONV_NEW and CONV_GONE; NULL: `function` decides */
    const conv_measure *on_stack;
} conv_sides;

/* The scale on which a function's seconds are compared. */
typedef enum conv_scale {
    CONV_SCALE_CENTRED = 0, /* without the factor that all functions of a run
                             * share: the machine's speed and load */
    CONV_SCALE_SECONDS,     /* as they are */
    CONV_SCALE_SHARE        /* as a share of the run */
} conv_scale;

/* NULL in place of options stands for the defaults; an option that this version
 * does not know is PR_USAGE. */
typedef struct conv_compare_opts {
    size_t size; /* sizeof(conv_compare_opts) */
    conv_scale scale;
    double alpha;        /* chance that a comparison has a false mark */
    double least_effect; /* 0.05: a change of at most 5 % is never marked */
    double least_share;  /* only functions with this share of a side are
                          * tested */
    double same_within;  /* 0.10: "same" needs an interval within 10 % */
} conv_compare_opts;

/* One run cannot show how runs vary.  With one run on each side the comparison
 * assumes this standard deviation, between runs, of the natural logarithm of a
 * function's seconds, in addition to that of counting samples.  It assumes the
 * same for the factor that all functions of a run share. */
#define CONV_ONE_RUN_SD 0.10

/* The share of a side that a function needs to be tested. */
#define CONV_LEAST_SHARE 0.005

#define CONV_COMPARE_OPTS_INIT                                     \
    {                                                              \
        sizeof(conv_compare_opts), CONV_SCALE_CENTRED, 0.05, 0.05, \
            CONV_LEAST_SHARE, 0.10                                 \
    }

typedef enum conv_verdict {
    CONV_INCONCLUSIVE = 0, /* none of the others */
    CONV_SAME,             /* the interval lies within same_within of 1 */
    CONV_WORSE,
    CONV_BETTER,
    CONV_NEW, /* on no stack of the base, with enough samples in the new side */
    CONV_GONE /* the same with the sides exchanged */
} conv_verdict;

/* The reason why the seconds or the share of a function moved although its
 * verdict is neither worse nor better. */
typedef enum conv_cause {
    CONV_CAUSE_NONE = 0,
    CONV_CAUSE_ALL,  /* its seconds moved as those of all functions did */
    CONV_CAUSE_SHARE /* only its share moved, because others grew or shrank */
} conv_cause;

/* The comparison of one function.  Ratios are new / base; NAN: unknown. */
typedef struct conv_change {
    conv_measure base, now;       /* sums over the side's runs */
    double base_us, new_us;       /* mean of a run, or of a unit of work */
    double base_share, new_share; /* mean over the side's runs, 0 to 1 */
    double raw;                   /* ratio of the geometric means of seconds */
    double ratio, low, high;      /* on the scale, with its 95 % interval */
    double sd;         /* between runs, of the natural logarithm, as tested */
    double p;          /* two-sided, of this function alone */
    double adjusted;   /* p after Holm's correction; NAN: not tested */
    double detectable; /* 0.2: a change of 20 % would be marked 8 times in 10 */
    double within;     /* the interval lies within this of 1; 0 for a function
                        * that is worse, better, new or gone */
    conv_verdict verdict;
    conv_cause cause;
    int in_range;  /* 1: the only run of one side lies among the runs of the
                    * other, so the function is not marked */
    int two_modes; /* 1: the runs of one side form two groups that lie apart */
} conv_change;

/* The comparison as a whole. */
typedef struct conv_comparison {
    conv_scale scale; /* CONV_SCALE_SECONDS in place of CONV_SCALE_CENTRED if
                       * there are too few functions for a centre */
    double factor;    /* common to all functions, new / base */
    size_t n_factors; /* further factors, which groups of functions share, that
                       * were taken out: 0 to 2 */
    /* the 95 % interval of the factor, and its two-sided p.  With one run on
     * each side they rest on assumed variances, and are NAN without a
     * centre. */
    double factor_low, factor_high, factor_p;
    double common_sd; /* with one run on each side: the part of each function's
                       * sd that the runs' factor causes; else 0 */
    double base_us, new_us; /* mean time of all functions, in a run or in a
                             * unit of work */
    size_t n_new, n_gone;   /* functions with these verdicts */
    size_t n_tested;
    size_t n_marked;   /* of the tested ones: worse or better */
    size_t n_suspects; /* of the tested ones: inconclusive, but with p < alpha
                        * before Holm's correction; a reason to record more
                        * runs */
    int confirmed;     /* 0: a side has fewer than three runs, so that a mark
                        * is only a hint */
} conv_comparison;

/* Compare the sides.  ret_change[n_functions] is the caller's.  PR_USAGE for a side without runs, a negative number, sums beyond
 * an int64_t or work that is not above 0; PR_NOMEM.  Nothing is set on
 * failure. */
pr_code conv_compare(const conv_sides *sides, const conv_compare_opts *opts,
                     conv_change *ret_change, conv_comparison *ret,
                     pr_err *err);

/* Apply Holm's correction (1979) for several tests: each of the n
 * probabilities becomes the smallest level, of all tests together, at which its
 * test is significant.  PR_NOMEM leaves p as it was. */
pr_code conv_adjust(double *p, size_t n, pr_err *err);

/* "worse", "better", "same", "inconclusive", "new", "gone"; static. */
const char *conv_verdict_name(conv_verdict verdict);

/* ---- series ---- */

/* Set ret[n_functions][n_base] to the scaled logarithms of each function's
 * seconds in each of n_base runs, or builds, less the factors that groups of
 * functions share.  *ret_scale (may be NULL) is as conv_comparison.scale.
 * PR_USAGE if n_base is 0 or n_new is not; PR_NOMEM.  The content of ret is
 * undefined after a failure. */
pr_code conv_series(const conv_sides *runs, conv_scale scale, double *ret,
                    conv_scale *ret_scale, pr_err *err);

/* A value that begins a new level. */
typedef struct conv_point {
    size_t at;            /* index of the first value of the new level */
    double before, after; /* means of the values from the last point to this
                           * one, and from this one to the next */
    double p;             /* of Student's test between these values */
} conv_point;

#define CONV_HISTORY_ALPHA 3e-4

/* Find the points at which the level of n values changes, in order, each with
 * p <= alpha and at least three values apart.  ret[n] is the caller's; *ret_n
 * becomes their number.  PR_USAGE for a value that is not finite; PR_NOMEM with
 * *ret_n 0.  The time grows with n * n: 0.1 ms for 200 values. */
pr_code conv_change_points(const double *y, size_t n, double alpha,
                           conv_point *ret, size_t *ret_n, pr_err *err);

/* The newest values against those before them: at most 30, at least nine. */
typedef struct conv_newest {
    size_t n;     /* number of newest values that differ: 1, 2, 4 or 8; 0: no
                   * alarm */
    double ratio; /* exp(their mean - the mean before them); 1 if n is 0 */
    double p;     /* the smallest of the tests: that of the n, if n is not 0 */
} conv_newest;

/* Test the newest of n values, the newest last; fewer than ten never alarm.  An
 * alarm is a reason to record more runs, not a verdict: a series without a
 * change raises one in about 1.5 of 1000 builds. */
conv_newest conv_judge_newest(const double *y, size_t n);

#ifdef __cplusplus
}
#endif
#endif
