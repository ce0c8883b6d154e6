/*
 * pyquery - ask a profile questions.
 */
#include "query/command_line.h"
#include "query/completion.h"
#include "query/follow.h"
#include "query/gate.h"
#include "query/overview.h"
#include "query/talk/talk.h"

#include <base/message.h>
#include <base/printed.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- messages ---- */

/* One line for any failure and one for the remedy; a fault in a query shows
 * its place as well. */
static void
report(const pr_err *err, const char *query)
{
    pr_err shown = *err;
    bool has_place = query && shown.offset != PR_NO_OFFSET &&
                     (shown.code == PR_USAGE || shown.code == PR_NAME ||
                      shown.code == PR_LIMIT);
    if (has_place)
        shown.offset = PR_NO_OFFSET;
    shown.hint[0] = '\0';
    pr_message_error(stderr, "pyquery", &shown);
    if (has_place)
        q_render_fault(query, err->offset, stderr);
    if (err->hint[0])
        pr_message(stderr, "pyquery", "hint", "%s", err->hint);
}

/* ---- Ctrl-C ---- */

static q_database *volatile asked;

static void
interrupt(int number)
{
    (void)number;
    if (asked)
        q_interrupt(asked);
}

/* The question ends; a second Ctrl-C ends the program. */
static void
listen_to_interrupts(q_database *database)
{
    struct sigaction action = {.sa_handler = interrupt,
                               .sa_flags = (int)SA_RESETHAND};
    asked = database;
    sigaction(SIGINT, &action, NULL);
}

/* ---- the output ---- */

static size_t
terminal_width(int fd)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    long width = columns ? strtol(columns, NULL, 10) : 0;
    if (width > 0 && width < 100000)
        return (size_t)width;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

static q_render_opts
render_opts_of(const q_command *c)
{
    const char *no_colour = getenv("NO_COLOR");
    return (q_render_opts){.format = c->format,
                           .width = terminal_width(STDOUT_FILENO),
                           .colour = isatty(STDOUT_FILENO) &&
                                     (!no_colour || !no_colour[0])};
}

static pr_code
write_answer(q_database **opened, const q_command *c, FILE *out, pr_err *err)
{
    q_render_opts opts = render_opts_of(c);
    if (c->is_check)
        return q_gate(opened, c, &opts, out, listen_to_interrupts, err);
    q_database *database = *opened;
    if (!c->sql && !c->query)
        return q_overview(database, &opts, out, err);
    if (opts.format == Q_COLLAPSED || (opts.format == Q_SVG && !c->is_series))
        return q_render_stacks(database, c->query, opts.format, out, err);
    q_result *result;
    pr_code rc = c->sql ? q_run_sql(database, c->sql, &result, err)
                        : q_run(database, c->query, &result, err);
    if (rc != PR_OK)
        return rc;
    rc = q_render(result, &opts, out, err);
    q_result_free(result);
    return rc;
}

/* ---- the pager ---- */

/* The user's pager, as a command of the shell; without one less, which ends if
 * all fits on the screen, or cat.  NULL: the answer needs no pager. */
static const char *
pager_of(const q_command *c)
{
    const char *pager = getenv("PAGER");
    if (c->no_pager || c->format != Q_TABLE || !isatty(STDOUT_FILENO))
        return NULL;
    return pager && pager[0]
               ? pager
               : "command -v less >/dev/null || exec cat; exec less -FRX";
}

/* False: the shell could not run the command.  A reader may leave it before the
 * end. */
static bool
run_pager(const char *pager, const char *text, size_t n)
{
    signal(SIGPIPE, SIG_IGN);
    fflush(stdout);
    FILE *to = popen(pager, "w");
    if (!to)
        return false;
    fwrite(text, 1, n, to);
    int status = pclose(to);
    return !WIFEXITED(status) ||
           (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127);
}

static void
show(const char *pager, const char *text, size_t n)
{
    if (!n || run_pager(pager, text, n))
        return;
    pr_message(stderr, "pyquery", "note",
               "the pager '%s' cannot run: the answer follows", pager);
    fwrite(text, 1, n, stdout);
    fflush(stdout);
}

/* The answer is made before the pager gets it, for one that cannot run. */
static pr_code
ask_paged(q_database **database, const q_command *c, const char *pager,
          pr_err *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    if (!memory)
        return pr_no_memory(err);
    pr_code rc = write_answer(database, c, memory, err);
    if (fclose(memory) == 0)
        show(pager, text, n);
    else if (rc == PR_OK)
        rc = pr_no_memory(err);
    free(text);
    return rc;
}

static pr_code
ask(q_database **database, const q_command *c, pr_err *err)
{
    const char *pager = pager_of(c);
    q_show_all(*database, c->all);
    if (pager)
        return ask_paged(database, c, pager, err);
    pr_code rc = write_answer(database, c, stdout, err);
    fflush(stdout); /* the answer comes before what is said of it */
    return rc;
}

/* ---- talking ---- */

typedef struct talk {
    q_database *database;
    q_command command; /* its query is the one that is asked */
} talk;

static void
ask_typed(void *context, const char *query)
{
    talk *t = context;
    pr_err err = PR_ERR_INIT;
    t->command.query = (char *)(uintptr_t)query;
    t->command.format = Q_TABLE;
    q_command_read_query(&t->command);
    t->command.is_check = false; /* its rules are rows here */
    listen_to_interrupts(t->database);
    if (ask(&t->database, &t->command, &err) != PR_OK)
        report(&err, query);
    t->command.query = NULL;
}

static void
complete_typed(void *context, const char *before, const char *word,
               q_talk_candidate add, void *list)
{
    talk *t = context;
    q_complete(t->database, before, word, add, list);
}

static void
run_talk(q_database *database, const q_command *c)
{
    talk t = {database, *c};
    const q_talk_source source = {&t, ask_typed, complete_typed};
    puts("'help' lists what can be asked; Ctrl-D ends.");
    q_talk_run(&source);
}

/* ---- the program ---- */

/* The recorder that was started for this view ends with it, and its file; one
 * that failed is named. */
static pr_code
end_recorder(const q_command *c, pr_err *err)
{
    int status = 0;
    if (c->recorder <= 0)
        return PR_OK;
    kill((pid_t)c->recorder, SIGINT);
    waitpid((pid_t)c->recorder, &status, 0);
    if (!c->keep)
        unlink(c->path[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return PR_OK;
    PR_FAIL(err, PR_IO, "the recorder ended with status %d",
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    pr_err_hint(err, "'pyrec -p PID -o FILE' says why");
    return PR_IO;
}

static int
run_follow(const q_command *c)
{
    pr_err err = PR_ERR_INIT;
    pr_code rc =
        q_follow(c->path[0], c->title ? c->title : c->path[0], c->query, &err);
    pr_code ended = end_recorder(c, &err);
    rc = rc == PR_OK ? ended : rc;
    if (rc != PR_OK)
        report(&err, c->query);
    return pr_exit_status(rc);
}

/* A cut or damaged input is done in part only if there is an answer. */
static int
status_of_failure(pr_code code)
{
    return code == PR_CUT || code == PR_DAMAGED ? 1 : pr_exit_status(code);
}

static int
run(const q_command *c)
{
    pr_err err = PR_ERR_INIT, partly = PR_ERR_INIT;
    q_database *database = NULL;
    pr_code opened =
        q_open_all(c->path, c->n_paths, c->memory, &database, &partly);
    if (!database) {
        report(&partly, NULL);
        return status_of_failure(opened);
    }
    if (opened != PR_OK)
        pr_message_partial(stderr, "pyquery", &partly);
    pr_code rc = PR_OK;
    listen_to_interrupts(database);
    if (c->talk)
        run_talk(database, c);
    else
        rc = ask(&database, c, &err);
    if (rc != PR_OK)
        report(&err, c->sql ? c->sql : c->query);
    asked = NULL;
    q_close(database);
    return rc != PR_OK ? status_of_failure(rc) : pr_exit_status(opened);
}

int
main(int argc, char **argv)
{
    q_command c = {0};
    pr_err err = PR_ERR_INIT;
    pr_hold_standard();
    setlocale(LC_CTYPE, "");
    pr_code rc = q_command_parse(argc, argv, &c, &err);
    int status = 0;
    if (rc == PR_OK)
        status = c.follow ? run_follow(&c) : run(&c);
    else if (rc != PR_END) {
        report(&err, NULL);
        status = pr_exit_status(rc);
    }
    q_command_release(&c);
    return pr_finish_stdout("pyquery", status);
}
