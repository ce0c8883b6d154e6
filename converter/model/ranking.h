/*
 * ranking.h - functions or lines with their totals, in order.
 */
#ifndef CONVERTER_MODEL_RANKING_H
#define CONVERTER_MODEL_RANKING_H

#include "converter/model/index.h"

typedef enum conv_rank_by { CONV_BY_SELF, CONV_BY_TOTAL } conv_rank_by;

typedef struct conv_ranking {
    conv_unit kind;
    conv_totals totals;
    uint32_t *unit; /* [n] the units with a sample, the heaviest first */
    size_t n;
} conv_ranking;

pr_code conv_ranking_build(const conv_model *model, conv_unit kind,
                           conv_rank_by by, conv_ranking *ret, pr_err *err);
pr_code conv_ranking_sort(conv_ranking *ranking, conv_rank_by by, pr_err *err);
void conv_ranking_release(conv_ranking *ranking);

/* The function of a unit. */
uint32_t conv_ranking_function(const conv_ranking *ranking,
                               const conv_model *model, uint32_t unit);

#endif
