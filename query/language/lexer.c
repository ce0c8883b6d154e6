/*
 * lexer.c - words end at white space; quotes keep it.
 */
#include "query/language/lexer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char space[] = " \t\r\n\v\f";

static pr_code
next_quoted(q_lexer *lexer, q_token *ret, pr_err *err)
{
    const char *begin = lexer->query + lexer->at, *p = begin + 1;
    for (; *p; p++) {
        if (*p != *begin)
            continue;
        if (p[1] != *begin)
            break;
        p++;
    }
    if (!*p)
        return PR_FAIL_AT(err, PR_USAGE, lexer->at, "the quote is not closed");
    size_t end = (size_t)(p + 1 - lexer->query);
    if (p[1] && !strchr(space, p[1]))
        return PR_FAIL_AT(err, PR_USAGE, end,
                          "a space is missing after the quoted name");
    *ret = (q_token){Q_TOKEN_QUOTED, lexer->at, begin + 1,
                     (size_t)(p - begin - 1), *begin};
    lexer->at = end;
    return PR_OK;
}

pr_code
q_lexer_next(q_lexer *lexer, q_token *ret, pr_err *err)
{
    lexer->at += strspn(lexer->query + lexer->at, space);
    const char *begin = lexer->query + lexer->at;
    if (*begin == '"' || *begin == '\'')
        return next_quoted(lexer, ret, err);
    size_t len = strcspn(begin, space);
    *ret = (q_token){len ? Q_TOKEN_WORD : Q_TOKEN_END, lexer->at, begin, len,
                     '\0'};
    lexer->at += len;
    return PR_OK;
}

int
q_token_is(const q_token *token, const char *word)
{
    return token->kind == Q_TOKEN_WORD && token->len == strlen(word) &&
           strncasecmp(token->text, word, token->len) == 0;
}

char *
q_token_text(const q_token *token)
{
    char *text = malloc(token->len + 1);
    if (!text)
        return NULL;
    size_t n = 0;
    for (size_t i = 0; i < token->len; i++) {
        text[n++] = token->text[i];
        if (token->kind == Q_TOKEN_QUOTED && token->text[i] == token->quote)
            i++; /* the second of two */
    }
    text[n] = '\0';
    return text;
}
