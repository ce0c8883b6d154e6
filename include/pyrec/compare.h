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
    /* [n_base + n_new]: units of work that the run did, each above 0; NULL: all
     * did the same */
    const double *work;
    /* as `function`, of all samples whose stacks have the function; NULL:
     * `function` */
    const conv_measure *on_stack;
} conv_sides;

/* The scale on which a function's seconds are compared. */
typedef enum conv_scale {
    CONV_SCALE_CENTRED = 0, /* without the factor common to the run's functions:
                             * that of the machine's speed and load */
    CONV_SCALE_SECONDS,     /* as they are */
    CONV_SCALE_SHARE        /* as a share of the run */
} conv_scale;

typedef struct conv_compare_opts {
    size_t size; /* sizeof(conv_compare_opts) */
    conv_scale scale;
    double alpha;        /* chance of one false mark or more a comparison */
    double least_effect; /* 0.05: a change of at most 5 % is never marked */
    double least_share;  /* only functions with this share of a side are
                          * tested */
    double same_within;  /* 0.10: "same" needs an interval within 10 % */
} conv_compare_opts;

/* One run cannot show how runs vary: with one run a side, functions are taken
 * to have this standard deviation between runs, of the natural logarithm of
 * their seconds, besides that of counting.  The factor that all functions of
 * a run share is taken to have the same. */
#define CONV_ONE_RUN_SD 0.10

/* The share of a side that a function needs to be tested. */
#define CONV_LEAST_SHARE 0.005

#define CONV_COMPARE_OPTS_INIT                                     \
    {                                                              \
        sizeof(conv_compare_opts), CONV_SCALE_CENTRED, 0.05, 0.05, \
            CONV_LEAST_SHARE, 0.10                                 \
    }

typedef enum conv_verdict {
    CONV_INCONCLUSIVE = 0, /* the interval holds 1 and is wide */
    CONV_SAME,             /* within conv_change.within */
    CONV_WORSE,
    CONV_BETTER,
    CONV_NEW, /* on no stack of the base, and enough samples in the new side */
    CONV_GONE /* the same with the sides exchanged */
} conv_verdict;

/* Why seconds or shares moved although the verdict is not worse or better. */
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
    double detectable; /* 0.2: a change of 20 % would be marked 8 times of 10 */
    double within;     /* CONV_SAME: the interval lies within this of 1 */
    conv_verdict verdict;
    conv_cause cause;
    int in_range; /* 1: the only run of a side lies among those of the other, so
                    * that it is not marked */
    int two_modes; /* 1: the runs of one side form two groups that lie apart */
} conv_change;

/* The comparison as a whole. */
typedef struct conv_comparison {
    conv_scale scale; /* CONV_SCALE_SECONDS in place of CONV_SCALE_CENTRED if
                       * there are too few functions for a centre */
    double factor;    /* common to all functions, new / base */
    size_t n_factors; /* that groups of functions share, and that were taken out
                       * beside it: 0 to 2 */
    /* the 95 % interval of the factor, and its two-sided p.  With one run a
     * side they rest on assumed variances, and are NAN without a centre. */
    double factor_low, factor_high, factor_p;
    double common_sd; /* with one run a side: the part of each function's sd
                       * that the runs' factor makes; else 0 */
    double base_us, new_us; /* of a run, or of a unit of work: mean, all
                             * functions */
    size_t n_new, n_gone;   /* functions with these verdicts */
    size_t n_tested;
    size_t n_marked;   /* of them: worse or better */
    size_t n_suspects; /* of them: p < 0.05 alone, and slower by more than the
                        * least effect: reason to record more runs */
    int confirmed;     /* 0: a side has fewer than three runs, and a mark is a
                        * hint alone */
} conv_comparison;

/* Compare; ret_change[n_functions] is the caller's.  PR_USAGE for a side
 * without runs or a negative number; PR_NOMEM.  Nothing is set on failure. */
pr_code conv_compare(const conv_sides *sides, const conv_compare_opts *opts,
                     conv_change *ret_change, conv_comparison *ret,
                     pr_err *err);

/* Holm's correction (1979) for several tests: each of the n probabilities
 * becomes the least level of all tests together at which it is significant.
 * PR_NOMEM: p is as it was. */
pr_code conv_adjust(double *p, size_t n, pr_err *err);

/* "worse", "better", "same", "inconclusive", "new", "gone"; static. */
const char *conv_verdict_name(conv_verdict verdict);

/* ---- series ---- */

/* The scaled logarithms of each function's seconds in each of n_base runs, or
 * builds, less what groups of functions share; n_new is 0.  ret[n_functions][n_base].  *ret_scale (may be NULL) as
 * conv_comparison.scale. */
pr_code conv_series(const conv_sides *runs, conv_scale scale, double *ret,
                    conv_scale *ret_scale, pr_err *err);

/* A value that begins a new level. */
typedef struct conv_point {
    size_t at;            /* index of the first value of the new level */
    double before, after; /* means of the values up to the points beside it */
    double p;             /* of Student's test between these values */
} conv_point;

#define CONV_HISTORY_ALPHA 3e-4

/* The points at which the level of n values changes, in order; each with p <=
 * alpha, and at least three values apart.  ret[n] is the caller's; *ret_n is
 * how many.  PR_USAGE for a value that is not finite; PR_NOMEM.  The time grows
 * with n * n: 0.1 ms for 200 values. */
pr_code conv_change_points(const double *y, size_t n, double alpha,
                           conv_point *ret, size_t *ret_n, pr_err *err);

/* The newest values against the 30 before them. */
typedef struct conv_newest {
    size_t n;     /* how many newest ones differ: 1, 2, 4 or 8; 0: none */
    double ratio; /* exp(their mean - that of the 30 before); 1: none */
    double p;     /* of the n, or the smallest of all */
} conv_newest;

/* A reason to record more runs, not a verdict: it alarms about 1.5 times in
 * 1000 unchanged series and builds.  n values, the newest last; fewer than ten
 * never alarm. */
conv_newest conv_judge_newest(const double *y, size_t n);

#ifdef __cplusplus
}
#endif
#endif
