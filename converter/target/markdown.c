/*
 * markdown.c - a summary for a page of a CI system or a merge request: the
 * profile, the functions by their own and by all time, the threads.
 *
 * GitHub Flavored Markdown.  It stays far below the 65,536 bytes that a
 * comment may have: names are cut at TEXT_MAX bytes, tables at their
 * numbers of rows.
 */
#include "converter/model/enum_names.h"
#include "converter/model/label.h"
#include "converter/model/ranking.h"
#include "converter/model/source_path.h"
#include "converter/target/table.h"

#include <base/buffer.h>
#include <base/quote.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 15, THREADS = 15, TEXT_MAX = 120 };

typedef struct page {
    conv_job *job;
    const conv_model *model;
    conv_ranking ranking;
    pr_buffer text;
} page;

/* At most TEXT_MAX bytes of it; a cut character is replaced, not kept. */
static void
put_name(page *p, pr_bytes name)
{
    size_t n = name.len;
    if (n > TEXT_MAX) {
        n = TEXT_MAX;
        while (n && ((unsigned char)name.at[n] & 0xc0) == 0x80)
            n--;
    }
    pr_quote_markdown(&p->text, name.at, n);
    if (n < name.len) {
        pr_buffer_puts(&p->text, "\xe2\x80\xa6");
        p->text.changed++;
    }
}

static void
put_string(page *p, uint32_t id)
{
    put_name(p, pr_strings_get(&p->model->strings, id));
}

static double
percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- what was recorded ---- */

static void
put_meta(page *p, const char *title, const char *key)
{
    pr_bytes value;
    if (!conv_model_meta(p->model, key, &value))
        return;
    pr_buffer_printf(&p->text, "| %s | ", title);
    put_name(p, value);
    pr_buffer_printf(&p->text, " |\n");
}

static uint64_t
lost_of(const conv_counts *counts)
{
    uint64_t lost = 0;
    for (int kind = PR_COUNT_LOST_TORN; kind <= PR_COUNT_LOST_FILE; kind++) {
        uint64_t n = counts->value[kind];
        lost += n == CONV_NO_COUNT ? 0 : n;
    }
    return lost;
}

/* Damaged parts of a file are those of a process. */
static uint64_t
lost_samples(const conv_model *model)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < model->n_threads; i++)
        lost += lost_of(&model->threads[i].counts);
    for (size_t i = 0; i < model->n_processes; i++)
        lost += lost_of(&model->processes[i].counts);
    return lost;
}

static void
put_recording(page *p)
{
    const conv_model *m = p->model;
    const uint8_t *python = m->start.python;
    put_meta(p, "command", "command");
    put_meta(p, "commit", "label.commit");
    put_meta(p, "branch", "label.branch");
    if (python[0])
        pr_buffer_printf(&p->text, "| Python | %d.%d.%d |\n", python[0],
                         python[1], python[2]);
    pr_buffer_printf(&p->text, "| duration | %.3f s |\n",
                     (double)conv_model_end_us(m) / 1e6);
    if (m->n_processes > 1)
        pr_buffer_printf(&p->text, "| processes | %zu |\n", m->n_processes);
    pr_buffer_printf(&p->text,
                     "| samples | %" PRIu64 " of %zu threads, every %" PRIu64
                     " us, mode %s |\n",
                     m->samples, m->n_threads, m->start.interval_us,
                     conv_mode_name(m->start.mode));
    pr_buffer_printf(&p->text, "| time of all threads | %.3f s |\n",
                     (double)m->weight_us / 1e6);
    if (m->unobserved_us)
        pr_buffer_printf(&p->text, "| not observed | %.3f s |\n",
                         (double)m->unobserved_us / 1e6);
    if (lost_samples(m))
        pr_buffer_printf(&p->text, "| samples lost | %" PRIu64 " |\n",
                         lost_samples(m));
}

/* A file of totals says nothing of its recording. */
static void
put_sums(page *p)
{
    const conv_totals *totals = &p->ranking.totals;
    uint64_t n = 0;
    bool calls = conv_model_counts_calls(p->model);
    for (size_t i = 0; i < totals->n; i++)
        n += calls ? totals->total[i].n : totals->self[i].n;
    pr_buffer_printf(&p->text, "| functions | %zu |\n| %s | %" PRIu64 " |\n",
                     p->ranking.n, calls ? "calls" : "samples", n);
    pr_buffer_printf(&p->text, "| time in functions | %.3f s |\n",
                     (double)p->model->weight_us / 1e6);
}

static void
put_facts(page *p)
{
    pr_buffer_printf(&p->text, "| profile | ");
    put_name(
        p, conv_path_base((pr_bytes){p->job->source, strlen(p->job->source)}));
    pr_buffer_printf(&p->text, " |\n| --- | --- |\n");
    if (p->model->is_totals)
        put_sums(p);
    else
        put_recording(p);
}

/* ---- tables ---- */

static void
put_row(page *p, uint32_t unit)
{
    const conv_model *m = p->model;
    conv_total self = p->ranking.totals.self[unit];
    conv_total total = p->ranking.totals.total[unit];
    const conv_function *f = conv_model_function(m, unit);
    pr_bytes file = pr_strings_get(&m->strings, f->file);
    int32_t line = conv_model_line_of(m, unit);
    pr_buffer_printf(
        &p->text, "| %.3f s | %.1f %% | %.3f s | %.1f %% | ",
        (double)self.weight_us / 1e6, percent(self.weight_us, m->weight_us),
        (double)total.weight_us / 1e6, percent(total.weight_us, m->weight_us));
    put_string(p, f->name);
    pr_buffer_printf(&p->text, " | ");
    if (conv_path_of(file) != CONV_PATH_SPECIAL) {
        put_name(p, conv_path_short(file));
        if (line > 0)
            pr_buffer_printf(&p->text, "\\:%" PRId32, line);
    }
    pr_buffer_printf(&p->text, " |\n");
}

static pr_code
put_functions(page *p, const char *title, conv_rank_by by, pr_err *err)
{
    pr_code rc = conv_ranking_sort(&p->ranking, by, err);
    pr_buffer_printf(&p->text,
                     "\n%s\n\n| self | | total | | function | file |\n"
                     "| ---: | ---: | ---: | ---: | --- | --- |\n",
                     title);
    for (size_t i = 0; i < p->ranking.n && i < ROWS; i++)
        put_row(p, p->ranking.unit[i]);
    if (p->ranking.n > ROWS)
        pr_buffer_printf(&p->text, "\n%zu functions more\n",
                         p->ranking.n - ROWS);
    return rc;
}

static void
put_thread(page *p, uint32_t id)
{
    const conv_thread *thread = &p->model->threads[id];
    pr_buffer name = {0};
    conv_label_owner(&name, PR_QUOTE_LINE, p->model, id, ", ");
    pr_buffer_printf(&p->text, "| ");
    put_name(p, (pr_bytes){name.at, name.len});
    pr_buffer_printf(&p->text, " | %" PRIu64 " | %.3f s |\n", thread->samples,
                     (double)thread->weight_us / 1e6);
    p->text.changed += name.changed;
    pr_buffer_release(&name);
}

static void
put_threads(page *p)
{
    const conv_model *m = p->model;
    if (m->n_threads < 2)
        return;
    pr_buffer_printf(&p->text,
                     "\n<details><summary>%zu threads</summary>\n\n"
                     "| thread | samples | time |\n| --- | ---: | ---: |\n",
                     m->n_threads);
    for (uint32_t i = 0; i < m->n_threads && i < THREADS; i++)
        put_thread(p, i);
    if (m->n_threads > THREADS)
        pr_buffer_printf(&p->text, "\n%zu threads more\n",
                         m->n_threads - THREADS);
    pr_buffer_printf(&p->text, "\n</details>\n");
}

static pr_code
write_markdown(conv_job *job, pr_err *err)
{
    page p = {.job = job, .model = job->model};
    pr_code rc = conv_ranking_build(job->model, CONV_UNIT_FUNCTION,
                                    CONV_BY_SELF, &p.ranking, err);
    if (rc != PR_OK)
        return rc;
    put_facts(&p);
    rc =
        put_functions(&p, "**Functions by their own time**", CONV_BY_SELF, err);
    if (rc == PR_OK)
        rc = put_functions(&p, "**Functions by time with their callees**",
                           CONV_BY_TOTAL, err);
    put_threads(&p);
    if (rc == PR_OK && p.text.failed)
        rc = pr_no_memory(err);
    conv_out_write(job->out, p.text.at, p.text.len);
    job->names_changed += p.text.changed;
    pr_buffer_release(&p.text);
    conv_ranking_release(&p.ranking);
    return rc;
}

const conv_target conv_markdown = {
    .info = {"markdown", ".md",
             "a summary: the heaviest functions and the threads",
             "GitHub and GitLab ($GITHUB_STEP_SUMMARY), any text viewer"},
    .level = CONV_LEVEL_FUNCTION,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .of_totals = true,
    .write = write_markdown,
};
