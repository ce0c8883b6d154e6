/*
 * parser.c - recursive descent without the recursion: a verb, then clauses.
 */
#include "query/parser.h"
#include "query/lexer.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_QUERY = 64 * 1024, /* bytes of a query text */
    MAX_ROWS = 1000000,    /* as a number in a query */
    MILLION = 1000000
};

typedef struct parser {
    q_lexer lexer;
    q_token token; /* the next one, not yet taken */
    unsigned seen; /* clauses, by their bit */
    q_query query;
} parser;

enum {
    BY = 1,
    PER = 2,
    WHERE = 4,
    THREAD = 8,
    BETWEEN = 16,
    IN = 32,
    DEPTH = 64,
    ABOVE = 128,
    SAMPLES = WHERE | THREAD | BETWEEN
};

typedef struct verb {
    const char *word;
    q_verb verb;
    q_level level;
    q_order order;
    int limit;        /* rows if the query names no number; 0: takes none */
    const char *link; /* the word between verb and name; NULL: no name */
    bool needs_name;
    unsigned clauses;
} verb;

static const verb verbs[] = {
    {"top", Q_TOP, Q_FUNCTION, Q_BY_SELF, 20, NULL, false,
     BY | PER | IN | SAMPLES},
    {"lines", Q_TOP, Q_LINE, Q_BY_SELF, 20, NULL, false, BY | IN | SAMPLES},
    {"files", Q_TOP, Q_FILE, Q_BY_SELF, 20, NULL, false, BY | IN | SAMPLES},
    {"callers", Q_CALLERS, Q_FUNCTION, Q_BY_TOTAL, 20, "of", true,
     BY | IN | SAMPLES},
    {"callees", Q_CALLEES, Q_FUNCTION, Q_BY_TOTAL, 20, "of", true,
     BY | IN | SAMPLES},
    {"tree", Q_TREE, Q_FUNCTION, Q_BY_TOTAL, 0, "from", false,
     DEPTH | ABOVE | SAMPLES},
    {"threads", Q_THREADS, Q_FUNCTION, Q_BY_TOTAL, 0, NULL, false, SAMPLES},
    {"summary", Q_SUMMARY, Q_FUNCTION, Q_BY_TOTAL, 0, NULL, false, 0},
};

/* A word and the number it stands for; ends with word NULL. */
typedef struct choice {
    const char *word;
    unsigned value;
} choice;

static const choice orders[] = {
    {"self", Q_BY_SELF}, {"total", Q_BY_TOTAL}, {"name", Q_BY_NAME}, {NULL, 0}};
static const choice levels[] = {
    {"function", Q_FUNCTION}, {"line", Q_LINE}, {"file", Q_FILE}, {NULL, 0}};
static const choice conditions[] = {{"gil", Q_WHERE_GIL},
                                    {"cpu", Q_WHERE_CPU},
                                    {"idle", Q_WHERE_IDLE},
                                    {"waiting", Q_WHERE_WAITING},
                                    {"exception", Q_WHERE_EXCEPTION},
                                    {"main", Q_WHERE_MAIN},
                                    {NULL, 0}};
static const choice units[] = {
    {"us", 1}, {"ms", 1000}, {"s", MILLION}, {"m", 60u * MILLION}, {NULL, 0}};

static pr_code
advance(parser *p, pr_err *err)
{
    return q_lexer_next(&p->lexer, &p->token, err);
}

/* "self, total or name" */
static const char *
list_choices(const choice *choices, char *buf, size_t size)
{
    size_t n = 0;
    buf[0] = '\0';
    for (const choice *c = choices; c->word && n < size; c++) {
        const char *before = c == choices ? "" : c[1].word ? ", " : " or ";
        size_t left = size - n;
        size_t len = strlen(before) + strlen(c->word);
        if (len >= left)
            break;
        memcpy(buf + n, before, strlen(before));
        memcpy(buf + n + strlen(before), c->word, strlen(c->word) + 1);
        n += len;
    }
    return buf;
}

static pr_code
unexpected(const parser *p, const char *wanted, pr_err *err)
{
    if (p->token.kind == Q_TOKEN_END)
        return PR_FAIL_AT(err, PR_USAGE, p->token.at,
                          "the query ends where %s is expected", wanted);
    int shown = p->token.len > 60 ? 60 : (int)p->token.len;
    return PR_FAIL_AT(err, PR_USAGE, p->token.at, "'%.*s' is not %s", shown,
                      p->token.text, wanted);
}

static pr_code
take_choice(parser *p, const choice *choices, unsigned *ret, pr_err *err)
{
    for (const choice *c = choices; c->word; c++)
        if (q_token_is(&p->token, c->word)) {
            *ret = c->value;
            return advance(p, err);
        }
    char words[160];
    return unexpected(p, list_choices(choices, words, sizeof words), err);
}

static pr_code
take_name(parser *p, const char *wanted, q_name *ret, pr_err *err)
{
    if (p->token.kind == Q_TOKEN_END || p->token.len == 0)
        return unexpected(p, wanted, err);
    char *text = q_token_text(&p->token);
    if (!text)
        return pr_no_memory(err);
    free(ret->text);
    *ret = (q_name){text, p->token.at};
    return advance(p, err);
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at *at, at most `limit`; moves *at behind them. */
static bool
read_digits(const q_token *t, size_t *at, int64_t limit, int64_t *ret)
{
    int64_t value = 0;
    size_t i = *at;
    for (; i < t->len && is_digit(t->text[i]); i++) {
        value = value * 10 + (t->text[i] - '0');
        if (value > limit)
            return false;
    }
    if (i == *at)
        return false;
    *at = i;
    *ret = value;
    return true;
}

/* "12" or "12.345678" at *at, in millionths; more decimals are dropped. */
static bool
read_decimal(const q_token *t, size_t *at, int64_t *ret)
{
    int64_t whole;
    if (!read_digits(t, at, 1000000000, &whole))
        return false;
    int64_t value = whole * MILLION;
    if (*at < t->len && t->text[*at] == '.') {
        size_t i = *at + 1;
        if (i == t->len || !is_digit(t->text[i]))
            return false;
        for (int64_t unit = MILLION / 10; i < t->len && is_digit(t->text[i]);
             i++, unit /= 10)
            value += (t->text[i] - '0') * unit;
        *at = i;
    }
    *ret = value;
    return true;
}

static bool
read_whole(const q_token *t, int64_t limit, int64_t *ret)
{
    size_t at = 0;
    return t->kind == Q_TOKEN_WORD && read_digits(t, &at, limit, ret) &&
           at == t->len;
}

static bool
read_share(const q_token *t, int64_t *ret)
{
    size_t at = 0;
    int64_t percent;
    if (t->kind != Q_TOKEN_WORD || !read_decimal(t, &at, &percent) ||
        at + 1 != t->len || t->text[at] != '%' || percent > 100 * MILLION)
        return false;
    *ret = percent / 100;
    return true;
}

/* 12.5s, 800ms, 00:01:30.5 */
static bool
read_span_us(const q_token *t, int64_t *ret)
{
    size_t at = 0;
    int64_t value, sum = 0;
    if (t->kind != Q_TOKEN_WORD)
        return false;
    for (int part = 0; part < 3; part++) {
        if (!read_decimal(t, &at, &value))
            return false;
        sum = sum * 60 + value;
        if (at == t->len || t->text[at] != ':')
            break;
        at++;
    }
    if (memchr(t->text, ':', t->len)) { /* in seconds */
        *ret = sum;
        return at == t->len;
    }
    for (const choice *u = units; u->word; u++)
        if (t->len - at == strlen(u->word) &&
            memcmp(t->text + at, u->word, t->len - at) == 0) {
            *ret = value / MILLION * u->value +
                   value % MILLION * u->value / MILLION;
            return true;
        }
    return false;
}

static pr_code
take_time(parser *p, q_time *ret, pr_err *err)
{
    q_time time = {0, false};
    if (read_share(&p->token, &time.value))
        time.is_share = true;
    else if (!read_span_us(&p->token, &time.value))
        return unexpected(p, "a time such as 12.5s, 800ms, 00:01:30 or 40%",
                          err);
    *ret = time;
    return advance(p, err);
}

static pr_code
parse_by(parser *p, pr_err *err)
{
    unsigned value = 0;
    pr_code rc = take_choice(p, orders, &value, err);
    p->query.order = (q_order)value;
    return rc;
}

static pr_code
parse_per(parser *p, pr_err *err)
{
    unsigned value = 0;
    pr_code rc = take_choice(p, levels, &value, err);
    p->query.level = (q_level)value;
    return rc;
}

static pr_code
parse_where(parser *p, pr_err *err)
{
    for (;;) {
        size_t at = p->token.at;
        unsigned value = 0;
        pr_code rc = take_choice(p, conditions, &value, err);
        if (rc != PR_OK)
            return rc;
        /* the first of these two, if there is one */
        if (!(p->query.where & (Q_WHERE_CPU | Q_WHERE_IDLE)))
            p->query.where_at = at;
        p->query.where |= value;
        if (!q_token_is(&p->token, "and"))
            return PR_OK;
        if ((rc = advance(p, err)) != PR_OK)
            return rc;
    }
}

static pr_code
parse_thread(parser *p, pr_err *err)
{
    return take_name(p, "the name or number of a thread", &p->query.thread,
                     err);
}

static pr_code
parse_in(parser *p, pr_err *err)
{
    return take_name(p, "a file name or pattern", &p->query.in, err);
}

static pr_code
parse_between(parser *p, pr_err *err)
{
    pr_code rc = take_time(p, &p->query.from, err);
    if (rc != PR_OK)
        return rc;
    if (!q_token_is(&p->token, "and"))
        return unexpected(p, "'and'", err);
    if ((rc = advance(p, err)) != PR_OK)
        return rc;
    p->query.has_range = true;
    p->query.to_at = p->token.at;
    return take_time(p, &p->query.to, err);
}

static pr_code
parse_depth(parser *p, pr_err *err)
{
    if (!read_whole(&p->token, MAX_ROWS, &p->query.depth))
        return unexpected(p, "a number of levels", err);
    return advance(p, err);
}

static pr_code
parse_above(parser *p, pr_err *err)
{
    if (!read_share(&p->token, &p->query.above))
        return unexpected(p, "a share such as 0.5%", err);
    return advance(p, err);
}

static const struct clause {
    const char *word;
    unsigned bit;
    pr_code (*parse)(parser *, pr_err *);
} clauses[] = {
    {"by", BY, parse_by},
    {"per", PER, parse_per},
    {"where", WHERE, parse_where},
    {"thread", THREAD, parse_thread},
    {"between", BETWEEN, parse_between},
    {"in", IN, parse_in},
    {"depth", DEPTH, parse_depth},
    {"above", ABOVE, parse_above},
};

enum {
    N_VERBS = sizeof verbs / sizeof *verbs,
    N_CLAUSES = sizeof clauses / sizeof *clauses
};

/* What may stand here: the clauses the verb takes and has not had. */
static pr_code
no_clause(const parser *p, const verb *v, pr_err *err)
{
    choice open[N_CLAUSES + 1] = {{NULL, 0}};
    size_t n = 0;
    for (size_t i = 0; i < N_CLAUSES; i++)
        if (v->clauses & clauses[i].bit & ~p->seen)
            open[n++] = (choice){clauses[i].word, 0};
    char words[160] = "the end of the query";
    if (n)
        list_choices(open, words, sizeof words);
    return unexpected(p, words, err);
}

static pr_code
take_clause(parser *p, const verb *v, pr_err *err)
{
    for (size_t i = 0; i < N_CLAUSES; i++) {
        const struct clause *c = &clauses[i];
        if (!q_token_is(&p->token, c->word))
            continue;
        if (!(v->clauses & c->bit))
            return PR_FAIL_AT(err, PR_USAGE, p->token.at, "'%s' takes no '%s'",
                              v->word, c->word);
        if (p->seen & c->bit)
            return PR_FAIL_AT(err, PR_USAGE, p->token.at, "'%s' given twice",
                              c->word);
        p->seen |= c->bit;
        pr_code rc = advance(p, err);
        return rc == PR_OK ? c->parse(p, err) : rc;
    }
    return no_clause(p, v, err);
}

static pr_code
take_verb(parser *p, const verb **ret, pr_err *err)
{
    pr_code rc;
    if (q_token_is(&p->token, "explain")) {
        p->query.explain = true;
        if ((rc = advance(p, err)) != PR_OK)
            return rc;
    }
    choice words[N_VERBS + 1] = {{NULL, 0}};
    for (unsigned i = 0; i < N_VERBS; i++)
        words[i] = (choice){verbs[i].word, i};
    unsigned i = 0;
    if ((rc = take_choice(p, words, &i, err)) != PR_OK) {
        if (q_token_is(&p->token, "select") || q_token_is(&p->token, "with"))
            pr_err_hint(err, "--sql asks in SQL");
        return rc;
    }
    *ret = &verbs[i];
    p->query.verb = verbs[i].verb;
    p->query.level = verbs[i].level;
    p->query.order = verbs[i].order;
    p->query.limit = verbs[i].limit ? verbs[i].limit : -1;
    return PR_OK;
}

/* What belongs to the verb itself: its number, its name. */
static pr_code
take_subject(parser *p, const verb *v, pr_err *err)
{
    if (v->limit && p->token.kind == Q_TOKEN_WORD &&
        is_digit(p->token.text[0])) {
        if (!read_whole(&p->token, MAX_ROWS, &p->query.limit) ||
            p->query.limit == 0)
            return unexpected(p, "a number from 1 to 1000000", err);
        pr_code rc = advance(p, err);
        if (rc != PR_OK)
            return rc;
    }
    if (!v->link)
        return PR_OK;
    if (!q_token_is(&p->token, v->link)) {
        if (!v->needs_name)
            return PR_OK;
        char wanted[40] = "'";
        strcat(strcat(wanted, v->link), "' and a name");
        return unexpected(p, wanted, err);
    }
    pr_code rc = advance(p, err);
    return rc == PR_OK ? take_name(p, "a function", &p->query.of, err) : rc;
}

static pr_code
take_query(parser *p, pr_err *err)
{
    const verb *v = NULL;
    pr_code rc = advance(p, err);
    if (rc == PR_OK)
        rc = take_verb(p, &v, err);
    if (rc == PR_OK)
        rc = take_subject(p, v, err);
    while (rc == PR_OK && p->token.kind != Q_TOKEN_END)
        rc = take_clause(p, v, err);
    return rc;
}

pr_code
q_parse(const char *text, q_query *ret, pr_err *err)
{
    if (strnlen(text, MAX_QUERY + 1) > MAX_QUERY)
        return PR_FAIL(err, PR_USAGE, "the query is longer than %d bytes",
                       MAX_QUERY);
    parser p = {.lexer = {text, 0},
                .query = {.depth = -1, .above = MILLION / 100}};
    pr_code rc = take_query(&p, err);
    if (rc != PR_OK) {
        q_query_release(&p.query);
        return rc;
    }
    *ret = p.query;
    return PR_OK;
}

void
q_query_release(q_query *query)
{
    free(query->of.text);
    free(query->thread.text);
    free(query->in.text);
    *query = (q_query){0};
}
