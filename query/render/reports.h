/*
 * reports.h - the outcome of a check for a CI page and for machines.
 */
#ifndef QUERY_RENDER_REPORTS_H
#define QUERY_RENDER_REPORTS_H

#include <pyrec/query.h>
#include <stdbool.h>
#include <stdio.h>

/* The outcome of a check: its answer, or the reason why it has none. */
typedef struct q_outcome {
    pr_code code;          /* PR_OK, PR_REGRESSION or another failure */
    const char *why;       /* of a failure */
    q_check_answer answer; /* rules is NULL: none */
} q_outcome;

/* Rules and the first functions as Markdown. */
pr_code q_report_markdown(const q_outcome *outcome, FILE *out, pr_err *err);

/* {"status": N, "reason": text, "check": answer, "diff": answer} */
pr_code q_report_json(const q_outcome *outcome, FILE *out, pr_err *err);

/* The new side's seconds as a list of {"name", "unit", "value", "range",
 * "extra"}: the form customSmallerIsBetter of github-action-benchmark. */
pr_code q_report_benchmark(const q_outcome *outcome, FILE *out, pr_err *err);

/* Is this the start of a report?  A string of up to 63 bytes of a file. */
bool q_report_is_one(const char *start);

#endif
