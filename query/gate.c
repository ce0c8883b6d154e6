/*
 * gate.c - one run first, and more only if it gives reason to.
 */
#include "query/gate.h"

#include "query/render/reports.h"

#include <base/create.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- reports ---- */

enum { REPORTS = 3 };

typedef pr_code (*report_fn)(const q_outcome *, FILE *, pr_err *);

/* Does the regular file hold a byte 0 near its begin?  Profiles and databases
 * do, and no report does. */
static bool
is_binary(const char *path)
{
    char start[256];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(start, 1, sizeof start, file) : 0;
    if (file)
        fclose(file);
    return n && memchr(start, 0, n);
}

static bool
is_input(const struct stat *st, const q_command *c)
{
    for (size_t i = 0; i < c->n_paths; i++)
        if (pr_is_same_file(c->path[i], st))
            return true;
    return false;
}

/* A report replaces an older one, but neither an input nor any other profile:
 * the base and the members of a folder are named nowhere here. */
static pr_code
refuse_profiles(const q_command *c, pr_err *err)
{
    const char *const path[REPORTS] = {c->summary, c->json, c->benchmark};
    struct stat st;
    for (size_t i = 0; i < REPORTS; i++) {
        if (!path[i] || stat(path[i], &st) != 0 || !S_ISREG(st.st_mode) ||
            !(is_input(&st, c) || is_binary(path[i])))
            continue;
        PR_FAIL(err, PR_USAGE, "a report would replace '%s', which is not one",
                path[i]);
        pr_err_hint(err, "give another name");
        return PR_USAGE;
    }
    return PR_OK;
}

/* Whole or not at all: the text is made in memory first. */
static pr_code
write_report(report_fn report, const q_outcome *outcome, const char *path,
             pr_err *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    if (!memory)
        return pr_no_memory(err);
    pr_code rc = report(outcome, memory, err);
    if (fclose(memory) != 0 && rc == PR_OK)
        rc = pr_no_memory(err);
    FILE *file = rc == PR_OK ? fopen(path, "w") : NULL;
    if (file) {
        bool done = fwrite(text, 1, n, file) == n;
        done = fclose(file) == 0 && done;
        if (!done)
            rc = PR_FAIL_SYS(err, PR_IO, errno, "cannot write '%s'", path);
    } else if (rc == PR_OK) {
        rc = PR_FAIL_SYS(err, PR_IO, errno, "cannot write '%s'", path);
    }
    free(text);
    return rc;
}

static pr_code
write_reports(const q_outcome *outcome, const q_command *c, pr_err *err)
{
    const struct {
        const char *path;
        report_fn report;
    } reports[REPORTS] = {{c->summary, q_report_markdown},
                          {c->json, q_report_json},
                          {c->benchmark, q_report_benchmark}};
    pr_code rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < REPORTS; i++)
        if (reports[i].path)
            rc = write_report(reports[i].report, outcome, reports[i].path, err);
    return rc;
}

/* ---- stages ---- */

static void
release(q_check_answer *answer)
{
    q_result_free(answer->rules);
    q_result_free(answer->diff);
    q_result_free(answer->top);
    *answer = (q_check_answer){0};
}

static pr_code
record_more(const q_command *c, pr_err *err)
{
    int status = system(c->more);
    if (status == 0)
        return PR_OK;
    if (status < 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot run '%s'", c->more);
    PR_FAIL(err, PR_IO, "'%s' ended with status %d", c->more,
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    pr_err_hint(err, "--more is a command that records runs of the new side");
    return PR_IO;
}

static pr_code
open_again(q_database **database, const q_command *c, q_gate_opened opened,
           pr_err *err)
{
    opened(NULL);
    q_close(*database);
    *database = NULL;
    pr_code rc = q_open_all(c->path, c->n_paths, c->memory, database, err);
    opened(*database);
    return rc;
}

static bool
has_answer(pr_code code)
{
    return code == PR_OK || code == PR_REGRESSION;
}

static pr_code
check(q_database **database, const q_command *c, q_gate_opened opened,
      q_check_answer *ret, pr_err *err)
{
    q_check_opts opts = c->check;
    opts.first_stage = c->more != NULL;
    pr_err first = PR_ERR_INIT;
    pr_code rc = q_run_check(*database, c->query, &opts, ret, &first);
    if (!has_answer(rc) || !ret->needs_runs) {
        if (rc != PR_OK)
            *err = first;
        return rc;
    }
    release(ret);
    rc = record_more(c, err);
    if (rc == PR_OK)
        rc = open_again(database, c, opened, err);
    opts.first_stage = 0;
    return rc == PR_OK ? q_run_check(*database, c->query, &opts, ret, err) : rc;
}

pr_code
q_gate(q_database **database, const q_command *command,
       const q_render_opts *opts, FILE *out, q_gate_opened opened, pr_err *err)
{
    q_outcome outcome = {.why = ""};
    pr_err failed = PR_ERR_INIT;
    if (refuse_profiles(command, err) != PR_OK)
        return PR_USAGE;
    outcome.code = check(database, command, opened, &outcome.answer, &failed);
    outcome.why = failed.what;
    pr_code rc = PR_OK;
    if (outcome.answer.rules)
        rc = q_render(outcome.answer.rules, opts, out, err);
    if (rc == PR_OK &&
        (has_answer(outcome.code) || outcome.code == PR_INCOMPARABLE))
        rc = write_reports(&outcome, command, err);
    release(&outcome.answer);
    if (rc != PR_OK)
        return rc;
    if (outcome.code != PR_OK)
        *err = failed;
    return outcome.code;
}
