/*
 * question.h - the questions that a server answers.
 */
#ifndef QUERY_REMOTE_QUESTION_H
#define QUERY_REMOTE_QUESTION_H

#include "query/remote/engine.h"

/* PR_USAGE: not this question; the mark is at the clause, the hint has a
 * remedy.  The question has no functions. */
pr_code q_remote_question_make(const q_query *query, q_remote_question *ret,
                               pr_err *err);

/* "a server does not answer WHAT", with the mark at a place of the query. */
pr_code q_remote_question_refuse(const char *what, uint64_t at, pr_err *err);

#endif
