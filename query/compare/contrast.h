/*
 * contrast.h - read and compare two sides, for diff and check.
 */
#ifndef QUERY_COMPARE_CONTRAST_H
#define QUERY_COMPARE_CONTRAST_H

#include "query/compare/sides.h"

#include <base/buffer.h>
#include <pyrec/compare.h>

typedef struct q_contrast {
    q_sides sides;
    conv_change *change[Q_MEASURES]; /* [function]; NULL: not compared */
    conv_comparison head[Q_MEASURES];
    conv_scale asked; /* the scale of the query, which head[] may lack */
    pr_buffer notes;  /* lines about the sides, for the reader */
} q_contrast;

/* Open the base that the query names, read both sides, and close it. */
pr_code q_contrast_make(q_database *database, const q_query *query,
                        q_contrast *ret, pr_err *err);

/* Compare by this measure, once. */
pr_code q_contrast_measure(q_contrast *contrast, unsigned measure,
                           conv_scale scale, pr_err *err);
void q_contrast_release(q_contrast *contrast);

/* Q_SELF, Q_TOTAL or Q_RAN, as the query's order. */
unsigned q_contrast_of_order(const q_query *query);

/* Append one line for each reason why the sides do not compare; `measure`
 * must be known. */
void q_contrast_obstacles(const q_contrast *contrast, unsigned measure,
                          bool any_machine, pr_buffer *to);

/* Append the runs of the sides, the facts about their recordings, and the
 * comparison as a whole. */
void q_contrast_describe(const q_contrast *contrast, unsigned measure,
                         pr_buffer *to);

#endif
