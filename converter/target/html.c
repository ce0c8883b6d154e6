/*
 * html.c - the page of converter/page.
 */
#include "converter/page/page.h"
#include "converter/target/table.h"

static pr_code
write_html(conv_job *job, pr_err *err)
{
    conv_page page = {.model = job->model,
                      .source = job->source,
                      .base = job->opts->base,
                      .n_base = job->n_base,
                      .source_folder = job->opts->source_folder,
                      .out = job->out};
    pr_code rc = conv_page_write(&page, err);
    job->names_changed += page.names_changed;
    return rc;
}

const conv_target conv_html = {
    .info = {"html", ".html",
             "a page: flame graph, time line, functions, lines; one file",
             "any browser, from disk, without a network"},
    .level = CONV_LEVEL_LINE,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .takes = CONV_TAKES_LEVEL | CONV_TAKES_BASE | CONV_TAKES_SOURCE,
    .write = write_html,
};
