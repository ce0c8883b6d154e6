/*
 * parser.c - recursive descent without the recursion: a verb, then clauses.
 */
#include "query/language/parser.h"

#include "query/language/lexer.h"
#include "query/language/values.h"
#include "query/language/verbs.h"

#include <base/array.h>
#include <base/words.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_QUERY = 64 * 1024, /* bytes of a query text */
    MAX_ROWS = 1000000,    /* as a number in a query */
};

typedef struct parser {
    q_lexer lexer;
    q_token token; /* the next one, not taken */
    unsigned seen; /* clauses, by their bit */
    bool has_unit; /* `per` named one */
    q_day day;     /* of the range's last day, with has_day */
    bool has_day;
    q_query query;
} parser;

/* A word and the number it stands for; ends with word NULL. */
typedef struct choice {
    const char *word;
    unsigned value;
} choice;

static const choice orders[] = {{"self", Q_BY_SELF},
                                {"total", Q_BY_TOTAL},
                                {"ran", Q_BY_RAN},
                                {"name", Q_BY_NAME},
                                {NULL, 0}};
static const choice conditions[] = {{"gil", Q_WHERE_GIL},
                                    {"cpu", Q_WHERE_CPU},
                                    {"idle", Q_WHERE_IDLE},
                                    {"waiting", Q_WHERE_WAITING},
                                    {"exception", Q_WHERE_EXCEPTION},
                                    {"main", Q_WHERE_MAIN},
                                    {"native", Q_WHERE_NATIVE},
                                    {"gc", Q_WHERE_GC},
                                    {NULL, 0}};
static const choice fields[] = {
    {"function", Q_FIELD_FUNCTION}, {"file", Q_FIELD_FILE},
    {"module", Q_FIELD_MODULE},     {"class", Q_FIELD_CLASS},
    {"line", Q_FIELD_LINE},         {"depth", Q_FIELD_DEPTH},
    {"task", Q_FIELD_TASK},         {"thread", Q_FIELD_THREAD},
    {"tid", Q_FIELD_TID},           {"pid", Q_FIELD_PID},
    {"interp", Q_FIELD_INTERP},     {"host", Q_FIELD_HOST},
    {"label", Q_FIELD_LABEL},       {NULL, 0}};
static const choice operators[] = {{"=", Q_EQUAL},       {"!=", Q_NOT_EQUAL},
                                   {"<", Q_LESS},        {">", Q_GREATER},
                                   {"like", Q_LIKE},     {"is", Q_EQUAL},
                                   {"not", Q_NOT_EQUAL}, {NULL, 0}};
static const choice classes[] = {{"project", 0}, {"stdlib", 1},  {"site", 2},
                                 {"frozen", 3},  {"special", 4}, {NULL, 0}};
static const choice formats[] = {{"table", Q_TABLE}, {"csv", Q_CSV},
                                 {"json", Q_JSON},   {"markdown", Q_MARKDOWN},
                                 {"md", Q_MARKDOWN}, {"collapsed", Q_COLLAPSED},
                                 {"svg", Q_SVG},     {NULL, 0}};

static const choice scales[] = {{"centred", CONV_SCALE_CENTRED},
                                {"seconds", CONV_SCALE_SECONDS},
                                {"share", CONV_SCALE_SHARE},
                                {NULL, 0}};
static const choice owners[] = {
    {"label", Q_FIELD_LABEL}, {"host", Q_FIELD_HOST}, {NULL, 0}};

enum { UNIT = 64 }; /* a part is its number, a unit is its number and this */
static const choice parts[] = {{"function", UNIT | Q_FUNCTION},
                               {"line", UNIT | Q_LINE},
                               {"file", UNIT | Q_FILE},
                               {"module", UNIT | Q_MODULE},
                               {"class", UNIT | Q_CLASS},
                               {"task", UNIT | Q_TASK},
                               {"thread", Q_PER_THREAD},
                               {"process", Q_PER_PROCESS},
                               {"profile", Q_PER_PROFILE},
                               {"label", Q_PER_LABEL},
                               {"status", Q_PER_STATUS},
                               {"second", Q_PER_TIME},
                               {NULL, 0}};

static pr_code
advance(parser *p, pr_err *err)
{
    return q_lexer_next(&p->lexer, &p->token, err);
}

/* ---- messages ---- */

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

/* The nearest of the words that could stand here becomes the hint. */
static void
hint_nearest(const parser *p, const choice *choices, pr_err *err)
{
    const char *nearest = NULL;
    size_t distance = 0;
    for (const choice *c = choices; c->word && p->token.len; c++) {
        size_t n = strlen(c->word);
        if (!pr_words_are_near(p->token.text, p->token.len, c->word, n))
            continue;
        size_t d = pr_words_distance(p->token.text, p->token.len, c->word, n);
        if (!nearest || d < distance) {
            nearest = c->word;
            distance = d;
        }
    }
    if (nearest)
        pr_err_hint(err, "did you mean '%s'", nearest);
}

static pr_code
unexpected_word(const parser *p, const choice *choices, pr_err *err)
{
    char words[200];
    pr_code rc = unexpected(p, list_choices(choices, words, sizeof words), err);
    hint_nearest(p, choices, err);
    return rc;
}

/* ---- pieces ---- */

static pr_code
take_choice(parser *p, const choice *choices, unsigned *ret, pr_err *err)
{
    for (const choice *c = choices; c->word; c++)
        if (q_token_is(&p->token, c->word)) {
            *ret = c->value;
            return advance(p, err);
        }
    return unexpected_word(p, choices, err);
}

static pr_code
take_name(parser *p, const char *wanted, q_name *ret, pr_err *err)
{
    if (p->token.kind == Q_TOKEN_END || p->token.len == 0)
        return unexpected(p, wanted, err);
    char *text = q_token_text(&p->token);
    if (!text)
        return PR_FAIL(err, PR_NOMEM, "query");
    free(ret->text);
    *ret = (q_name){text, p->token.at};
    return advance(p, err);
}

/* A time, or a day with or without a time of day; a time of day after such a
 * day is of that day. */
static pr_code
take_time(parser *p, q_time *ret, pr_err *err)
{
    bool starts = q_read_day(&p->token, &p->day);
    pr_code rc = starts ? advance(p, err) : PR_OK;
    if (rc != PR_OK)
        return rc;
    p->has_day = p->has_day || starts;
    bool is_time = q_read_time(&p->token, ret);
    if (!is_time && !starts)
        return unexpected(p,
                          "a time such as 12.5s, 800ms, 40%, 12:03 or"
                          " 'yesterday 12:03'",
                          err);
    if (p->has_day && (starts || ret->kind == Q_CLOCK)) {
        bool on_clock = is_time && ret->kind == Q_CLOCK;
        *ret = q_time_on(&p->day, on_clock ? ret->value : 0);
        return on_clock ? advance(p, err) : PR_OK;
    }
    return advance(p, err);
}

static pr_code
take_word(parser *p, const char *word, pr_err *err)
{
    if (q_token_is(&p->token, word))
        return advance(p, err);
    const choice only[] = {{word, 0}, {NULL, 0}};
    return unexpected_word(p, only, err);
}

/* ---- clauses ---- */

static pr_code
parse_by(parser *p, pr_err *err)
{
    unsigned value = 0;
    pr_code rc = take_choice(p, orders, &value, err);
    p->query.order = (q_order)value;
    return rc;
}

/* "per second", "per 100ms" */
static pr_code
parse_per(parser *p, pr_err *err)
{
    unsigned value = 0;
    p->query.split_at = p->token.at;
    if (q_read_span(&p->token, &p->query.width_us)) {
        if (p->query.width_us == 0)
            return unexpected(p, "longer than nothing", err);
        p->query.split = Q_PER_TIME;
        return advance(p, err);
    }
    pr_code rc = take_choice(p, parts, &value, err);
    if (rc != PR_OK)
        return rc;
    if (value & UNIT) {
        p->query.unit = (q_unit)(value & ~(unsigned)UNIT);
        p->has_unit = true;
        return PR_OK;
    }
    p->query.split = (q_split)value;
    if (value == Q_PER_TIME)
        p->query.width_us = 1000000;
    return value == Q_PER_LABEL
               ? take_name(p, "the key of a label", &p->query.label, err)
               : PR_OK;
}

static bool
is_number(q_field field)
{
    return field == Q_FIELD_LINE || field == Q_FIELD_DEPTH ||
           field == Q_FIELD_TID || field == Q_FIELD_PID ||
           field == Q_FIELD_INTERP;
}

static pr_code
take_value(parser *p, q_condition *c, pr_err *err)
{
    if (!is_number(c->field))
        return c->op == Q_LESS || c->op == Q_GREATER
                   ? PR_FAIL_AT(err, PR_USAGE, p->token.at,
                                "'<' and '>' compare only numbers")
                   : take_name(p, "a value", &c->value, err);
    if (c->op == Q_LIKE || !q_read_whole(&p->token, INT64_MAX / 10, &c->number))
        return unexpected(p, "a whole number", err);
    return advance(p, err);
}

/* FIELD op VALUE, into the next of a list. */
static pr_code
take_condition(parser *p, q_field field, q_condition *list, size_t *n,
               size_t most, pr_err *err)
{
    if (*n == most)
        return PR_FAIL_AT(err, PR_LIMIT, p->token.at,
                          "more than %zu conditions", most);
    q_condition *c = &list[(*n)++];
    c->field = field;
    pr_code rc = PR_OK;
    if (field == Q_FIELD_LABEL)
        rc = take_name(p, "the key of a label", &c->key, err);
    unsigned op = 0;
    if (rc == PR_OK)
        rc = take_choice(p, operators, &op, err);
    c->op = (q_operator)op;
    return rc == PR_OK ? take_value(p, c, err) : rc;
}

static pr_code
parse_field(parser *p, q_field field, pr_err *err)
{
    return take_condition(p, field, p->query.condition, &p->query.n_conditions,
                          Q_MAX_CONDITIONS, err);
}

static pr_code
parse_condition(parser *p, pr_err *err)
{
    choice all[sizeof conditions / sizeof *conditions +
               sizeof fields / sizeof *fields];
    size_t n = 0;
    for (const choice *c = conditions; c->word; c++) {
        if (q_token_is(&p->token, c->word)) {
            if (!(p->query.where & c->value))
                p->query.where_at[c - conditions] = p->token.at;
            p->query.where |= c->value;
            return advance(p, err);
        }
        all[n++] = *c;
    }
    for (const choice *c = fields; c->word; c++) {
        if (q_token_is(&p->token, c->word)) {
            pr_code rc = advance(p, err);
            return rc == PR_OK ? parse_field(p, (q_field)c->value, err) : rc;
        }
        all[n++] = *c;
    }
    all[n] = (choice){NULL, 0};
    return unexpected_word(p, all, err);
}

static pr_code
parse_where(parser *p, pr_err *err)
{
    for (;;) {
        pr_code rc = parse_condition(p, err);
        if (rc != PR_OK || !q_token_is(&p->token, "and"))
            return rc;
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
    if (rc == PR_OK)
        rc = take_word(p, "and", err);
    if (rc != PR_OK)
        return rc;
    p->query.has_range = true;
    p->query.to_at = p->token.at;
    return take_time(p, &p->query.to, err);
}

static pr_code
take_part(parser *p, q_time *ret, pr_err *err)
{
    if (!q_read_time(&p->token, ret) || ret->kind == Q_CLOCK)
        return unexpected(p, "a time such as 12.5s, 800ms or 40%", err);
    p->query.has_range = true;
    p->query.to_at = p->token.at;
    return advance(p, err);
}

static pr_code
parse_first(parser *p, pr_err *err)
{
    p->query.from = (q_time){0, Q_SINCE_START, false};
    return take_part(p, &p->query.to, err);
}

/* Negative: from the end. */
static pr_code
parse_last(parser *p, pr_err *err)
{
    pr_code rc = take_part(p, &p->query.from, err);
    p->query.from.value = p->query.from.kind == Q_SHARE
                              ? 1000000 - p->query.from.value
                              : -p->query.from.value;
    p->query.to = (q_time){1000000, Q_SHARE, false};
    return rc;
}

static pr_code
parse_depth(parser *p, pr_err *err)
{
    if (!q_read_whole(&p->token, MAX_ROWS, &p->query.depth))
        return unexpected(p, "a number of levels", err);
    return advance(p, err);
}

static pr_code
parse_above(parser *p, pr_err *err)
{
    if (!q_read_share(&p->token, &p->query.above))
        return unexpected(p, "a share such as 0.5%", err);
    return advance(p, err);
}

/* "to label KEY = VALUE and host = NAME" */
static pr_code
parse_to(parser *p, pr_err *err)
{
    for (;;) {
        unsigned field = 0;
        pr_code rc = take_choice(p, owners, &field, err);
        if (rc == PR_OK)
            rc = take_condition(p, (q_field)field, p->query.now,
                                &p->query.n_now, Q_MAX_NOW, err);
        if (rc != PR_OK || !q_token_is(&p->token, "and"))
            return rc;
        if ((rc = advance(p, err)) != PR_OK)
            return rc;
    }
}

static pr_code
parse_scale(parser *p, pr_err *err)
{
    unsigned value = 0;
    pr_code rc = take_choice(p, scales, &value, err);
    p->query.scale = (conv_scale)value;
    return rc;
}

static pr_code
parse_unit(parser *p, pr_err *err)
{
    return take_name(p, "the key of a label", &p->query.work, err);
}

static pr_code
parse_as(parser *p, pr_err *err)
{
    unsigned value = 0;
    p->query.format_at = p->token.at;
    pr_code rc = take_choice(p, formats, &value, err);
    p->query.format = (q_format)value;
    p->query.has_format = true;
    return rc;
}

static pr_code
add_view(parser *p, q_view_kind kind, const char *wanted, pr_err *err)
{
    if (p->query.n_views == Q_MAX_VIEWS)
        return PR_FAIL_AT(err, PR_LIMIT, p->token.at,
                          "more than %d choices of frames", Q_MAX_VIEWS);
    q_view *view = &p->query.view[p->query.n_views];
    view->kind = kind;
    pr_code rc = take_name(p, wanted, &view->name, err);
    p->query.n_views += rc == PR_OK || view->name.text;
    return rc;
}

static pr_code
parse_focus(parser *p, pr_err *err)
{
    return add_view(p, Q_FOCUS, "a function", err);
}

static pr_code
parse_ignore(parser *p, pr_err *err)
{
    return add_view(p, Q_IGNORE, "a function", err);
}

static pr_code
parse_hide(parser *p, pr_err *err)
{
    return add_view(p, Q_HIDE, "a function", err);
}

static pr_code
add_class(parser *p, q_view_kind kind, pr_err *err)
{
    for (const choice *c = classes; c->word; c++)
        if (q_token_is(&p->token, c->word))
            return add_view(p, kind, "a class of files", err);
    return unexpected_word(p, classes, err);
}

static pr_code
parse_only(parser *p, pr_err *err)
{
    return add_class(p, Q_ONLY, err);
}

static pr_code
parse_without(parser *p, pr_err *err)
{
    return add_class(p, Q_WITHOUT, err);
}

static const struct clause {
    const char *word;
    unsigned bit;
    bool repeats;
    pr_code (*parse)(parser *, pr_err *);
} clauses[] = {
    {"by", Q_CLAUSE_BY, false, parse_by},
    {"per", Q_CLAUSE_PER, true, parse_per},
    {"where", Q_CLAUSE_WHERE, false, parse_where},
    {"in", Q_CLAUSE_IN, false, parse_in},
    {"thread", Q_CLAUSE_THREAD, false, parse_thread},
    {"between", Q_CLAUSE_RANGE, false, parse_between},
    {"first", Q_CLAUSE_RANGE, false, parse_first},
    {"last", Q_CLAUSE_RANGE, false, parse_last},
    {"only", Q_CLAUSE_CLASS, true, parse_only},
    {"without", Q_CLAUSE_CLASS, true, parse_without},
    {"focus", Q_CLAUSE_FOCUS, true, parse_focus},
    {"ignore", Q_CLAUSE_FOCUS, true, parse_ignore},
    {"hide", Q_CLAUSE_HIDE, true, parse_hide},
    {"depth", Q_CLAUSE_DEPTH, false, parse_depth},
    {"above", Q_CLAUSE_ABOVE, false, parse_above},
    {"to", Q_CLAUSE_TO, false, parse_to},
    {"scale", Q_CLAUSE_SCALE, true, parse_scale},
    {"unit", Q_CLAUSE_SCALE, true, parse_unit},
    {"as", Q_CLAUSE_AS, false, parse_as},
};

enum { N_CLAUSES = sizeof clauses / sizeof *clauses };

static unsigned
clauses_of(const q_verb_info *v)
{
    return v->clauses | Q_CLAUSE_AS;
}

/* Words that may stand here: the clauses the verb takes and has not had. */
static pr_code
no_clause(const parser *p, const q_verb_info *v, pr_err *err)
{
    choice open[N_CLAUSES + 1] = {{NULL, 0}};
    size_t n = 0;
    for (size_t i = 0; i < N_CLAUSES; i++)
        if ((clauses_of(v) & clauses[i].bit) &&
            (clauses[i].repeats || !(p->seen & clauses[i].bit)))
            open[n++] = (choice){clauses[i].word, 0};
    if (n == 0)
        return unexpected(p, "the end of the query", err);
    return unexpected_word(p, open, err);
}

/* Does the verb take what followed `per`? */
static pr_code
check_part(const parser *p, const q_verb_info *v, pr_err *err)
{
    const q_query *q = &p->query;
    bool has_owner = q->split != Q_WHOLE && q->split != Q_PER_TIME;
    if (p->has_unit && !(v->clauses & Q_PER_A_UNIT)) {
        PR_FAIL_AT(err, PR_USAGE, q->split_at, "'%s' takes no unit after 'per'",
                   v->word);
        pr_err_hint(err, "'help %s' lists what may follow 'per'", v->word);
        return PR_USAGE;
    }
    if (has_owner && !(v->clauses & (Q_PER_AN_OWNER | Q_PER_A_BUILD)))
        return PR_FAIL_AT(err, PR_USAGE, q->split_at,
                          "'%s' takes only parts of time, such as 'per 100ms'",
                          v->word);
    return PR_OK;
}

static pr_code
take_clause(parser *p, const q_verb_info *v, pr_err *err)
{
    for (size_t i = 0; i < N_CLAUSES; i++) {
        const struct clause *c = &clauses[i];
        if (!q_token_is(&p->token, c->word))
            continue;
        if (!(clauses_of(v) & c->bit))
            return PR_FAIL_AT(err, PR_USAGE, p->token.at, "'%s' takes no '%s'",
                              v->word, c->word);
        if ((p->seen & c->bit) && !c->repeats)
            return PR_FAIL_AT(err, PR_USAGE, p->token.at, "'%s' given twice",
                              c->word);
        p->seen |= c->bit;
        pr_code rc = advance(p, err);
        if (rc == PR_OK)
            rc = c->parse(p, err);
        return rc == PR_OK ? check_part(p, v, err) : rc;
    }
    return no_clause(p, v, err);
}

/* Can the answer have the format that `as` named?  Stacks have neither parts
 * nor other units than functions. */
static pr_code
check_format(parser *p, const q_verb_info *v, pr_err *err)
{
    q_query *q = &p->query;
    bool has_parts = q->split != Q_WHOLE || q->unit != v->unit;
    bool is_chart = q->format == Q_SVG && (v->clauses & Q_AS_CHART) &&
                    q->of.text && !q->explain;
    q->has_stacks = (v->clauses & Q_AS_STACKS) && !has_parts && !q->explain;
    if ((q->format != Q_COLLAPSED && q->format != Q_SVG) || q->has_stacks ||
        is_chart)
        return PR_OK;
    const char *word = q->explain                   ? "explain"
                       : (v->clauses & Q_AS_STACKS) ? "per"
                                                    : v->word;
    PR_FAIL_AT(err, PR_USAGE, q->format_at, "'%s' takes no 'as %s'", word,
               q->format == Q_SVG ? "svg" : "collapsed");
    if (v->clauses & Q_AS_CHART)
        pr_err_hint(err, "'history self(NAME) as svg' draws a series");
    else if (q_is_comparison(v->verb))
        pr_err_hint(err, "'pyconv NEW --to collapsed --diff OLD' compares"
                         " stacks");
    else
        pr_err_hint(err, "'top', 'tree', 'stacks' and 'paths' have stacks; all"
                         " take table, csv, json and markdown");
    return PR_USAGE;
}

/* ---- the whole ---- */

static pr_code
unknown_verb(parser *p, pr_err *err)
{
    enum { MANY = 48 };
    choice words[MANY] = {{NULL, 0}};
    size_t n = 0;
    for (const q_verb_info *v; n + 1 < MANY && (v = q_verb_get(n)) != NULL; n++)
        words[n] = (choice){v->word, 0};
    pr_code rc = unexpected(p, "a verb", err);
    hint_nearest(p, words, err);
    if (p->query.explain && p->token.kind == Q_TOKEN_END)
        pr_err_hint(err, "'explain' shows the SQL of a question, such as"
                         " 'explain top 20 by self'");
    if (q_token_is(&p->token, "select") || q_token_is(&p->token, "with"))
        pr_err_hint(err, "--sql asks in SQL");
    pr_err_hint(err,
                "'help' lists the verbs, such as 'top', 'tree', 'threads'");
    return rc;
}

static pr_code
take_verb(parser *p, const q_verb_info **ret, pr_err *err)
{
    pr_code rc;
    if (q_token_is(&p->token, "explain")) {
        p->query.explain = true;
        if ((rc = advance(p, err)) != PR_OK)
            return rc;
    }
    const q_verb_info *v;
    size_t i = 0;
    while ((v = q_verb_get(i++)) && !q_token_is(&p->token, v->word))
        ;
    if (!v)
        return unknown_verb(p, err);
    *ret = v;
    p->query.verb = v->verb;
    p->query.unit = v->unit;
    p->query.order = v->order;
    p->query.limit = v->limit ? v->limit : -1;
    return advance(p, err);
}

static pr_code
take_limit(parser *p, pr_err *err)
{
    if (!q_read_whole(&p->token, MAX_ROWS, &p->query.limit) ||
        p->query.limit == 0)
        return unexpected(p, "a number from 1 to 1000000", err);
    return advance(p, err);
}

static bool
is_clause(const parser *p)
{
    for (size_t i = 0; i < N_CLAUSES; i++)
        if (q_token_is(&p->token, clauses[i].word))
            return true;
    return false;
}

/* Files, up to the first clause. */
static pr_code
take_files(parser *p, pr_err *err)
{
    q_query *q = &p->query;
    pr_code rc = PR_OK;
    while (rc == PR_OK && p->token.kind != Q_TOKEN_END && !is_clause(p)) {
        if (!pr_grow(&q->side, &q->cap_sides, q->n_sides + 1, sizeof *q->side))
            return pr_no_memory(err);
        q->side[q->n_sides] = (q_name){NULL, 0};
        rc = take_name(p, "a file", &q->side[q->n_sides], err);
        q->n_sides += q->side[q->n_sides].text != NULL;
    }
    return rc;
}

/* Words that stand between some verbs and their name. */
static bool
is_link(const q_token *token)
{
    return q_token_is(token, "of") || q_token_is(token, "from");
}

/* 'lines of f' asks for the lines of one function, which is 'source f'. */
static bool
means_source(const q_verb_info *v)
{
    return v->unit == Q_LINE && !v->link;
}

/* "did you mean 'tree from f'", with the name that follows. */
static void
hint_link(const parser *p, const q_verb_info *v, pr_err *err)
{
    parser next = *p;
    const char *word = means_source(v) ? "source" : v->word;
    const char *link = v->link && v->link[0] ? v->link : NULL;
    if (is_link(&next.token) && advance(&next, NULL) != PR_OK)
        return;
    const q_token *name = &next.token;
    int len = name->len > 60 ? 60 : (int)name->len;
    const char quote[] = {name->quote, '\0'};
    if (name->kind != Q_TOKEN_END && (v->link || means_source(v)))
        pr_err_hint(err, "did you mean '%s %s%s%s%.*s%s'", word,
                    link ? link : "", link ? " " : "", quote, len, name->text,
                    quote);
}

/* A verb before a link that is not its own, such as "tree of f". */
static pr_code
check_link(const parser *p, const q_verb_info *v, pr_err *err)
{
    parser next = *p;
    bool own = v->link && v->link[0] && q_token_is(&p->token, v->link);
    if (own || (!v->link && !means_source(v)) || !is_link(&p->token) ||
        advance(&next, NULL) != PR_OK || next.token.kind == Q_TOKEN_END ||
        is_clause(&next))
        return PR_OK;
    PR_FAIL_AT(err, PR_USAGE, p->token.at, "'%s' takes no '%.*s'", v->word,
               (int)p->token.len, p->token.text);
    hint_link(p, v, err);
    return PR_USAGE;
}

/* The words of the verb itself: its number, its name, its files. */
static pr_code
take_subject(parser *p, const q_verb_info *v, pr_err *err)
{
    char first = p->token.len ? p->token.text[0] : '\0';
    if (v->limit && p->token.kind == Q_TOKEN_WORD && first >= '0' &&
        first <= '9') {
        pr_code rc = take_limit(p, err);
        if (rc != PR_OK)
            return rc;
    }
    if (v->link && strcmp(v->link, "...") == 0)
        return take_files(p, err);
    pr_code linked = check_link(p, v, err);
    if (linked != PR_OK)
        return linked;
    bool ends = p->token.kind == Q_TOKEN_END || is_clause(p);
    if (!v->link || (!v->needs_name && ends))
        return PR_OK;
    if (v->link[0] && !q_token_is(&p->token, v->link)) {
        if (!v->needs_name)
            return PR_OK;
        char wanted[40] = "'";
        strcat(strcat(wanted, v->link), "' and a name");
        unexpected(p, wanted, err);
        hint_link(p, v, err);
        return PR_USAGE;
    }
    pr_code rc = v->link[0] ? advance(p, err) : PR_OK;
    return rc == PR_OK ? take_name(p, "a name", &p->query.of, err) : rc;
}

static pr_code
take_query(parser *p, pr_err *err)
{
    const q_verb_info *v = NULL;
    pr_code rc = advance(p, err);
    if (rc == PR_OK)
        rc = take_verb(p, &v, err);
    if (rc == PR_OK)
        rc = take_subject(p, v, err);
    if (rc != PR_OK && v && p->token.kind == Q_TOKEN_END)
        pr_err_hint(err, "such as '%s'", v->example);
    while (rc == PR_OK && p->token.kind != Q_TOKEN_END)
        rc = take_clause(p, v, err);
    return rc == PR_OK ? check_format(p, v, err) : rc;
}

pr_code
q_parse(const char *text, q_query *ret, pr_err *err)
{
    parser p = {.lexer = {text, 0},
                .query = {.limit = -1, .depth = -1, .above = -1}};
    if (strlen(text) > MAX_QUERY)
        return PR_FAIL(err, PR_USAGE, "the query is longer than %d bytes",
                       MAX_QUERY);
    pr_code rc = take_query(&p, err);
    if (rc == PR_OK)
        *ret = p.query;
    else
        q_query_release(&p.query);
    return rc;
}

void
q_query_release(q_query *query)
{
    free(query->of.text);
    free(query->thread.text);
    free(query->in.text);
    free(query->label.text);
    free(query->work.text);
    for (size_t i = 0; i < query->n_sides; i++)
        free(query->side[i].text);
    free(query->side);
    for (size_t i = 0; i < query->n_now; i++) {
        free(query->now[i].key.text);
        free(query->now[i].value.text);
    }
    for (size_t i = 0; i < query->n_views; i++)
        free(query->view[i].name.text);
    for (size_t i = 0; i < query->n_conditions; i++) {
        free(query->condition[i].key.text);
        free(query->condition[i].value.text);
    }
    *query = (q_query){.limit = -1};
}
