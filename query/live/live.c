/*
 * live.c - the screen, on ncurses.
 *
 * An answer is drawn again when the recording grew, the window's size changed,
 * or a key chose another one.  An answer that costs more than a part of the
 * time between two draws makes that time longer, so that the view never takes
 * more than about three hundredths of a processor.
 */
#include "query/live/live.h"

#include "query/live/views.h"

#include <base/array.h>
#include <ncurses.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

enum { HEAD_ROWS = 1, FOOT_ROWS = 2, LONGEST_QUERY = 1024 };
#define DRAWS_SECOND 1.0
#define PART_OF_TIME 33.0 /* between two draws, of the cost of one */

typedef struct screen {
    const q_live_source *source;
    const char *name;
    q_choices choices;
    q_news news;
    char *text; /* the last answer */
    char search[64];
    char message[300]; /* why there is no answer */
    int first;         /* line shown at the top */
    bool paused, help;
    double next; /* the time of the next check */
} screen;

static volatile sig_atomic_t interrupted;

static void
note_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static double
now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- asking ---- */

static void
ask(screen *s)
{
    char query[LONGEST_QUERY];
    pr_err err = PR_ERR_INIT;
    char *text = NULL;
    size_t rows = LINES > 8 ? (size_t)LINES - 6 : 2;
    s->message[0] = '\0';
    if (!s->news.has_samples)
        return;
    pr_code rc =
        q_choices_query(&s->choices, rows, query, sizeof query)
            ? s->source->answer(s->source->context, query,
                                COLS > 0 ? (size_t)COLS : 80, &text, &err)
            : PR_FAIL(&err, PR_LIMIT, "the question is too long");
    if (rc != PR_OK) {
        pr_err_format(&err, s->message, sizeof s->message);
        return;
    }
    free(s->text);
    s->text = text;
}

static void
renew(screen *s)
{
    pr_err err = PR_ERR_INIT;
    double begin = now_s();
    if (s->source->renew(s->source->context, &s->news, &err) != PR_OK)
        pr_err_format(&err, s->message, sizeof s->message);
    else
        ask(s);
    double end = now_s(), wait = (end - begin) * PART_OF_TIME;
    s->next = end + (wait > 1 / DRAWS_SECOND ? wait : 1 / DRAWS_SECOND);
}

/* ---- drawing ---- */

/* How many bytes of the text fit the window's width. */
static size_t
fitting(const char *text, size_t len)
{
    mbstate_t state = {0};
    size_t at = 0;
    for (int cells = 0; at < len;) {
        wchar_t c;
        size_t n = mbrtowc(&c, text + at, len - at, &state);
        if (n == 0 || n > len - at) {
            n = 1;
            c = L'?';
            state = (mbstate_t){0};
        }
        int width = wcwidth(c);
        cells += width > 0 ? width : 0;
        if (cells > COLS)
            break;
        at += n;
    }
    return at;
}

static void
draw_text(int y, int attributes, const char *text, size_t len)
{
    attron(attributes);
    mvaddnstr(y, 0, text, (int)fitting(text, len));
    attroff(attributes);
}

static bool
holds(const char *line, size_t len, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; n && i + n <= len; i++)
        if (strncasecmp(line + i, what, n) == 0)
            return true;
    return n == 0;
}

/* The head of an answer ends with an empty line; the titles follow. */
static void
draw_answer(const screen *s)
{
    int y = HEAD_ROWS, row = 0;
    bool in_head = true, was_head = true;
    for (const char *at = s->text ? s->text : "";
         *at && y < LINES - FOOT_ROWS;) {
        size_t len = strcspn(at, "\n");
        bool titles = was_head && !in_head;
        was_head = in_head;
        if (in_head || titles) {
            draw_text(y++, titles ? A_REVERSE : A_BOLD, at, len);
            in_head = in_head && len > 0;
        } else if (holds(at, len, s->search) && row++ >= s->first) {
            draw_text(y++, A_NORMAL, at, len);
        }
        at += len + (at[len] == '\n');
    }
}

static void
draw_help(void)
{
    static const char *const lines[] = {
        "1 functions   2 lines   3 threads   4 calls   5 waits   0 your own"
        " question",
        "r s t n       sort by what ran, self, total, name",
        "f             only samples of a state: GIL, CPU, waiting, idle, ...",
        "w             since the start, the last 5 s, the last 30 s",
        "T             only one thread        /  only lines with a text",
        "p or space    pause                  arrows, page keys: scroll",
        "q             quit                   ?  this help",
    };
    for (int i = 0; i < (int)(sizeof lines / sizeof *lines); i++)
        mvaddnstr(HEAD_ROWS + 1 + i, 2, lines[i], COLS - 2);
}

static void
draw_head(const screen *s)
{
    char line[400];
    snprintf(line, sizeof line, "pyquery  %s%s%s%s", s->name,
             s->paused ? "  [paused]" : "", s->search[0] ? "  /" : "",
             s->search);
    draw_text(0, A_REVERSE, line, strlen(line));
}

static void
draw_foot(const screen *s)
{
    char line[128] = "";
    if (s->news.ended)
        snprintf(line, sizeof line, "the recording has ended");
    else if (s->news.silent_s > 5)
        snprintf(line, sizeof line,
                 "nothing new for %.0f s: the recorder may have been killed",
                 s->news.silent_s);
    else if (!s->news.has_samples)
        snprintf(line, sizeof line, "waiting for the first samples");
    if (s->message[0])
        draw_text(LINES - 2, A_BOLD, s->message, strlen(s->message));
    else
        draw_text(LINES - 2, A_BOLD, line, strlen(line));
    static const char keys[] = "q quit  1-5 views  r/s/t/n sort  f state"
                               "  w window  T thread  / search  p pause  ?";
    draw_text(LINES - 1, A_REVERSE, keys, strlen(keys));
}

static void
draw(const screen *s)
{
    erase();
    draw_head(s);
    if (s->help)
        draw_help();
    else
        draw_answer(s);
    draw_foot(s);
    refresh();
}

/* ---- keys ---- */

/* A line of input at the foot; Escape leaves it as it was. */
static void
prompt(const char *title, char *value, size_t size)
{
    char typed[128] = "";
    size_t n = 0;
    timeout(-1);
    for (;;) {
        move(LINES - 1, 0);
        clrtoeol();
        mvprintw(LINES - 1, 0, "%s%s", title, typed);
        refresh();
        int key = getch();
        if (key == '\n' || key == KEY_ENTER)
            break;
        if (key == 27 || key == ERR)
            return;
        if ((key == KEY_BACKSPACE || key == 127 || key == 8) && n)
            typed[--n] = '\0';
        else if (key >= 32 && key < 256 && key != 127 && n + 1 < sizeof typed &&
                 n + 1 < size) {
            typed[n++] = (char)key;
            typed[n] = '\0';
        }
    }
    memcpy(value, typed, n + 1);
}

static void
scroll_by(screen *s, int lines)
{
    s->first = s->first + lines > 0 ? s->first + lines : 0;
}

/* False: the user quits. */
static bool
take_key(screen *s, int key)
{
    switch (key) {
    case 'q':
    case 'Q':
        return false;
    case 'p':
    case ' ':
        s->paused = !s->paused;
        break;
    case '?':
    case 'h':
        s->help = !s->help;
        break;
    case '/':
        s->search[0] = '\0';
        prompt("search: ", s->search, sizeof s->search);
        break;
    case 'T':
        s->choices.thread[0] = '\0';
        prompt("thread: ", s->choices.thread, sizeof s->choices.thread);
        ask(s);
        break;
    case KEY_DOWN:
        scroll_by(s, 1);
        break;
    case KEY_UP:
        scroll_by(s, -1);
        break;
    case KEY_NPAGE:
        scroll_by(s, LINES / 2);
        break;
    case KEY_PPAGE:
        scroll_by(s, -LINES / 2);
        break;
    case KEY_RESIZE:
        ask(s);
        break;
    default:
        if (q_choices_key(&s->choices, key)) {
            s->first = 0;
            ask(s);
        }
    }
    return true;
}

/* ---- the loop ---- */

static void
wait_for_key(const screen *s)
{
    double left = s->next - now_s();
    timeout(s->paused || left > 0.2 ? 200 : left > 0 ? (int)(left * 1000) : 0);
}

static void
run_screen(screen *s)
{
    bool goes_on = true;
    while (goes_on && !interrupted) {
        if (!s->paused && now_s() >= s->next)
            renew(s);
        draw(s);
        wait_for_key(s);
        int key = getch();
        if (key != ERR)
            goes_on = take_key(s, key);
    }
}

pr_code
q_live_run(const q_live_source *source, const char *name, const char *query,
           pr_err *err)
{
    screen s = {.source = source, .name = name, .choices.own = query};
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        PR_FAIL(err, PR_USAGE, "a live view needs a terminal");
        pr_err_hint(err, "without one, ask once: 'pyquery FILE top 20'");
        return PR_USAGE;
    }
    if (query)
        s.choices.view = Q_VIEW_OWN;
    const struct sigaction action = {.sa_handler = note_interrupt};
    SCREEN *terminal = newterm(NULL, stdout, stdin);
    if (!terminal)
        return PR_FAIL(err, PR_USAGE, "this terminal cannot show a live view");
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
    run_screen(&s);
    endwin();
    delscreen(terminal);
    free(s.text);
    return PR_OK;
}
