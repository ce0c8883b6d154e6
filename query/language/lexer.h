/*
 * lexer.h - split a query text into words (spec/query.md, "Words").
 */
#ifndef QUERY_LANGUAGE_LEXER_H
#define QUERY_LANGUAGE_LEXER_H

#include <pyrec/error.h>

typedef enum q_token_kind {
    Q_TOKEN_END = 0,
    Q_TOKEN_WORD,
    Q_TOKEN_QUOTED
} q_token_kind;

typedef struct q_token {
    q_token_kind kind;
    size_t at;        /* where it begins in the query, for the error record */
    const char *text; /* borrowed; of a quoted token without its quotes */
    size_t len;
    char quote; /* of a quoted token; two of them inside stand for one */
} q_token;

typedef struct q_lexer {
    const char *query;
    size_t at;
} q_lexer;

/* Read the next token; at the end always Q_TOKEN_END.  PR_USAGE. */
pr_code q_lexer_next(q_lexer *lexer, q_token *ret, pr_err *err);

/* 1 if the token is this bare word, whatever its case. */
int q_token_is(const q_token *token, const char *word);

/* The text that the token stands for; the caller frees it.  NULL: no memory. */
char *q_token_text(const q_token *token);

#endif
