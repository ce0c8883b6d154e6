/*
 * page_changes.h - the functions of a comparison that changed, and the bounds
 * by which the page judges sums that its reader chooses: of a range of time, of
 * a thread, of a box of a flame graph.
 */
#ifndef CONVERTER_PAGE_PAGE_CHANGES_H
#define CONVERTER_PAGE_PAGE_CHANGES_H

#include "converter/model/model.h"

#include <pyrec/compare.h>

typedef struct conv_page_changes {
    conv_change *change; /* [function] by its self time */
    conv_comparison whole;
    conv_compare_opts opts;
    double centre; /* the divisor of ratios: the factor common to all
                        * functions, or 1 */
    double z;      /* a mark needs a normal deviate of this size */
    double
        between_sd; /* of one function between runs, of the logarithm, with that
                        * of the factor of its run */
} conv_page_changes;

/* The processes below n_base are one run of the base, the others one run of the
 * new side. */
pr_code conv_page_changes_find(const conv_model *model, uint32_t n_base,
                               conv_page_changes *ret, pr_err *err);
void conv_page_changes_release(conv_page_changes *changes);

#endif
