/*
 * talk.c - libedit in its readline form.
 */
#include "query/talk/talk.h"

#include <base/array.h>
#include <editline/readline.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* libedit's completion has no context of its own. */
static const q_talk_source *talking;

typedef struct candidates {
    char **word;
    size_t n, cap;
} candidates;

static void
add_candidate(void *list, const char *word)
{
    candidates *c = list;
    if (!pr_grow(&c->word, &c->cap, c->n + 2, sizeof *c->word))
        return;
    char *copy = strdup(word);
    if (copy)
        c->word[c->n++] = copy;
}

static size_t
common_length(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* readline expects the common beginning before the candidates. */
static char **
as_matches(candidates *c)
{
    if (c->n == 0) {
        free(c->word);
        return NULL;
    }
    size_t common = strlen(c->word[0]);
    for (size_t i = 1; i < c->n; i++) {
        size_t n = common_length(c->word[0], c->word[i]);
        common = n < common ? n : common;
    }
    char **matches = calloc(c->n + 2, sizeof *matches);
    if (matches) {
        matches[0] = strndup(c->word[0], common);
        memcpy(matches + 1, c->word, c->n * sizeof *matches);
    }
    free(c->word);
    return matches;
}

static char **
complete(const char *word, int start, int end)
{
    candidates c = {0};
    char *before = strndup(rl_line_buffer, (size_t)start);
    (void)end;
    rl_attempted_completion_over = 1; /* never file names of this machine */
    if (before)
        talking->complete(talking->context, before, word, add_candidate, &c);
    free(before);
    return as_matches(&c);
}

static bool
is_end(const char *line)
{
    return strcasecmp(line, "quit") == 0 || strcasecmp(line, "exit") == 0 ||
           strcasecmp(line, "q") == 0;
}

void
q_talk_run(const q_talk_source *source)
{
    static char word_breaks[] = " \t";
    talking = source;
    rl_initialize();
    rl_readline_name = "pyquery";
    rl_basic_word_break_characters = word_breaks;
    rl_attempted_completion_function = complete;
    char *line;
    while ((line = readline("pyquery> ")) != NULL) {
        char *text = line + strspn(line, " \t");
        if (is_end(text)) {
            free(line);
            break;
        }
        if (*text) {
            add_history(text);
            source->ask(source->context, text);
        }
        free(line);
    }
    if (!line)
        putchar('\n');
}
