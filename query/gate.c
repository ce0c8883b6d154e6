/*
 * gate.c - one run first, and more only if it gives reason to.
 */
#include "query/gate.h"

#include "query/database/inputs.h"
#include "query/render/reports.h"
#include "query/report_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

/* ---- reports ---- */

enum { REPORTS = 3 };

typedef pr_code (*report_fn)(const q_outcome *, FILE *, pr_err *);

/* All files of both sides.  A side that cannot be read ends the check before it
 * reports. */
static void
gather_inputs(const q_command *c, q_inputs *ret)
{
    q_query query;
    q_inputs named = {0};
    q_inputs_expand(c->path, c->n_paths, ret, NULL);
    if (q_parse(c->query, &query, NULL) != PR_OK)
        return;
    for (size_t i = 0; i < query.n_sides; i++)
        q_inputs_match(query.side[i].text, PR_NO_OFFSET, &named, NULL);
    q_inputs_expand((const char *const *)named.path, named.n, ret, NULL);
    q_inputs_release(&named);
    q_query_release(&query);
}

static pr_code
refuse_files(const q_command *c, pr_err *err)
{
    const char *const path[REPORTS] = {c->summary, c->json, c->benchmark};
    q_inputs inputs = {0};
    gather_inputs(c, &inputs);
    pr_code rc = q_report_files_refuse(path, REPORTS, &inputs, err);
    q_inputs_release(&inputs);
    return rc;
}

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
    if (rc == PR_OK)
        rc = q_report_file_write(path, text, n, err);
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
    if (refuse_files(command, err) != PR_OK)
        return PR_USAGE;
    outcome.code = check(database, command, opened, &outcome.answer, &failed);
    outcome.why = failed.what;
    pr_code rc = PR_OK;
    if (outcome.answer.rules)
        rc = q_render(outcome.answer.rules, opts, out, err);
    fflush(out); /* a report to the same place comes after it */
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
