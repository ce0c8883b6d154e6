/*
 * tree.c - when a process is tried, started, given up and finished (tree.h).
 */
#include "recorder/tree.h"

#include "recorder/linux/clock.h"
#include "recorder/linux/command.h"
#include "recorder/linux/process.h"
#include "recorder/linux/procfs.h"
#include "recorder/output_name.h"
#include <base/array.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SETTLE_MS = 20, /* a fork often executes another program soon */
    TRY_SHARE = 16, /* how late a Python may be found, of its age */
    TRY_LEAST_MS = 5,
    TRY_MOST_MS = 250,
    KNOWN_AFTER_MS = 50, /* not a Python by then: another program */
    PATIENCE_MS = 10000  /* for a new process to become a Python */
};

void
rec_tree_init(rec_tree *tree, const rec_options *options, rec_screen *screen,
              int signal_fd)
{
    *tree = (rec_tree){.options = options,
                       .screen = screen,
                       .signal_fd = signal_fd,
                       .id = rec_recording_id_make(),
                       .start_ns = rec_now_ns(),
                       .period_ns = options->period_ns};
}

void
rec_tree_release(rec_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++)
        free(tree->member[i].output);
    free(tree->member);
    free(tree->recorded);
    free(tree->first_output);
    free(tree->output);
}

void
rec_tree_fail(rec_tree *tree, pr_code code, const pr_err *err)
{
    rec_screen_error(tree->screen, err);
    if (tree->code == PR_OK)
        tree->code = code;
}

/* ---- names ---- */

static pr_code
name_root(rec_tree *tree, pid_t pid, pr_err *err)
{
    const char *given = tree->options->output;
    char *name = given ? strdup(given) : rec_output_default(pid, time(NULL));
    if (!name)
        return pr_no_memory(err);
    free(tree->output);
    tree->output = name;
    return PR_OK;
}

static char *
name_child(const rec_tree *tree, pid_t pid)
{
    unsigned nth = 1;
    for (size_t i = 0; i < tree->n_recorded; i++)
        nth += tree->recorded[i] == pid;
    return rec_output_of_child(tree->output, pid, nth);
}

/* A default names the script of the Python, and a wrapper of it (a shell, env)
 * has the same pid before: that name is taken from a process to which pyrec has
 * attached.  It stays once a file has it or is named after it. */
static pr_code
name_output(rec_tree *tree, rec_member *m, pr_err *err)
{
    pr_code code = PR_OK;
    if (m->root && !tree->options->output && !tree->begun)
        code = name_root(tree, m->pid, err);
    if (code != PR_OK)
        return code;
    free(m->output);
    m->output = m->root ? strdup(tree->output) : name_child(tree, m->pid);
    return m->output ? PR_OK : pr_no_memory(err);
}

/* ---- members ---- */

static pr_code
add_member(rec_tree *tree, pid_t pid, bool root, pr_err *err)
{
    if (!pr_grow(&tree->member, &tree->cap, tree->n + 1, sizeof *tree->member))
        return pr_no_memory(err);
    tree->member[tree->n++] =
        (rec_member){.pid = pid, .root = root, .seen_ns = rec_now_ns()};
    return PR_OK;
}

static void
drop_done(rec_tree *tree)
{
    size_t kept = 0;
    for (size_t i = 0; i < tree->n; i++)
        if (tree->member[i].done)
            free(tree->member[i].output);
        else
            tree->member[kept++] = tree->member[i];
    tree->n = kept;
}

/* How long the root may need to become a Python.  A command is a copy of pyrec
 * that has just executed it; an attached process may be as young. */
static uint64_t
patience_ms(const rec_options *options, pid_t pid)
{
    uint64_t age = options->command ? 0 : rec_stat_age_ms(pid);
    uint64_t limit = options->command ? PATIENCE_MS : REC_YOUNG_MS;
    return age < limit ? limit - age : 0;
}

pr_code
rec_tree_add_root(rec_tree *tree, pid_t pid, pr_err *err)
{
    /* wait for a master or wrapper as long as it lives */
    bool always = tree->options->wait || tree->options->children;
    tree->patience_ns =
        always ? UINT64_MAX
               : rec_now_ns() + patience_ms(tree->options, pid) * 1000000;
    pr_code code = name_root(tree, pid, err);
    return code == PR_OK ? add_member(tree, pid, true, err) : code;
}

/* The last descendant with this pid that is not done. */
static rec_member *
find_child(const rec_tree *tree, pid_t pid)
{
    for (size_t i = tree->n; i-- > 0;)
        if (tree->member[i].pid == pid && !tree->member[i].root)
            return &tree->member[i];
    return NULL;
}

/* A new process gets a moment, since it often executes another program at once;
 * after that exec it is tried at once. */
pr_code
rec_tree_take(rec_tree *tree, const rec_descendant_event *event, pr_err *err)
{
    rec_member *m = event->execed ? find_child(tree, event->pid) : NULL;
    if (m && m->record)
        return PR_OK; /* its recording notices */
    if (!m) {
        pr_code code = add_member(tree, event->pid, false, err);
        if (code != PR_OK)
            return code;
        m = &tree->member[tree->n - 1];
    }
    m->seen_ns = rec_now_ns();
    m->other = false;
    m->print = 0;
    m->try_ns = event->execed ? 0 : m->seen_ns + SETTLE_MS * 1000000;
    return PR_OK;
}

/* ---- starting ---- */

static uint64_t
age_ms(const rec_member *m)
{
    return (rec_now_ns() - m->seen_ns) / 1000000;
}

/* 0: no limit. */
static uint64_t
time_left(const rec_tree *tree)
{
    uint64_t duration = tree->options->duration_ns;
    uint64_t passed = tree->begun ? rec_now_ns() - tree->start_ns : 0;
    if (!duration)
        return 0;
    return duration > passed ? duration - passed : 1;
}

static rec_record_opts
record_opts(const rec_tree *tree)
{
    const rec_options *o = tree->options;
    return (rec_record_opts){.unwinder = o->unwinder,
                             .metadata = {.recording_id = tree->id.text,
                                          .command_lines = !o->no_command_line,
                                          .options = o->line,
                                          .label = o->label,
                                          .n_labels = o->n_labels},
                             .period_ns = tree->period_ns,
                             .duration_ns = time_left(tree),
                             .force = o->force,
                             .fsync = o->fsync,
                             .realtime = o->realtime};
}

static void
note_recorded(rec_tree *tree, const rec_member *m)
{
    if (!tree->begun)
        tree->start_ns = rec_now_ns();
    tree->begun = true;
    if (!m->root && pr_grow(&tree->recorded, &tree->cap_recorded,
                            tree->n_recorded + 1, sizeof *tree->recorded))
        tree->recorded[tree->n_recorded++] = m->pid;
}

/* May it still become a Python? */
static bool
may_become_python(const rec_tree *tree, const rec_member *m, pr_code code)
{
    /* in the middle of an exec its memory belongs to no process */
    bool execs = m->root && !tree->options->command && code == PR_NO_PROCESS &&
                 rec_process_task(m->pid);
    if (code != PR_NOT_PYTHON && code != PR_TORN && !execs)
        return false;
    return m->root ? rec_now_ns() < tree->patience_ns : age_ms(m) < PATIENCE_MS;
}

/* Try again, the less often the older it is.  A child that did not change is
 * not tried again, unless it executes a program. */
static void
postpone(rec_member *m, pr_code code, uint64_t print)
{
    uint64_t age = age_ms(m), wait_ms = age / TRY_SHARE;
    if (wait_ms < TRY_LEAST_MS)
        wait_ms = TRY_LEAST_MS;
    if (wait_ms > TRY_MOST_MS)
        wait_ms = TRY_MOST_MS;
    m->try_ns = rec_now_ns() + wait_ms * 1000000;
    m->other = code == PR_NOT_PYTHON && age >= KNOWN_AFTER_MS;
    m->print = m->other ? print : 0;
}

/* A descendant that is another program, or has ended, is not a failure; nor is
 * a root whose descendants may be recorded. */
static bool
is_silent(const rec_tree *tree, const rec_member *m, pr_code code)
{
    bool ended = code == PR_NO_PROCESS;
    if (m->root)
        return ended && tree->options->children && tree->n_recorded;
    return ended || code == PR_NOT_PYTHON;
}

uint64_t
rec_tree_end_ns(const rec_tree *tree)
{
    const rec_options *o = tree->options;
    bool limited = o->duration_ns && (tree->begun || !o->wait);
    return limited ? tree->start_ns + o->duration_ns : UINT64_MAX;
}

/* How long the reads of a target may last.  A command and its descendants are
 * young, and each change to another thread costs time in which they may end:
 * NULL, without a bound. */
static const rec_bound *
bound_of(const rec_tree *tree, const rec_member *m, rec_bound *to)
{
    if (!m->root || tree->options->command)
        return NULL;
    *to = (rec_bound){tree->signal_fd,
                      tree->stopping ? 0 : rec_tree_end_ns(tree)};
    return to;
}

static pr_code
attach(const rec_tree *tree, rec_member *m, rec_record **ret, pr_err *err)
{
    rec_bound bound;
    rec_record_opts opts = record_opts(tree);
    return rec_record_attach(&opts, m->pid, bound_of(tree, m, &bound), ret,
                             &m->held, err);
}

static pr_code
start(rec_tree *tree, rec_member *m, pr_err *err)
{
    rec_bound bound;
    rec_record *record = NULL;
    pr_code code = attach(tree, m, &record, err);
    if (code != PR_OK)
        return code;
    code = name_output(tree, m, err);
    if (code != PR_OK) {
        rec_record_free(record);
        return code;
    }
    code = rec_record_begin(record, m->output, bound_of(tree, m, &bound),
                            &m->held, err);
    if (code == PR_OK)
        m->record = record;
    return code;
}

/* Why the command, which has ended, was not recorded. */
static pr_code
explain_ended(const char *command, pr_code tried, pr_err *err)
{
    if (tried == PR_UNSUPPORTED)
        return PR_FAIL(err, tried,
                       "the CPython of %s does not have what an option needs",
                       command);
    return PR_FAIL(err, PR_NO_PROCESS,
                   rec_command_may_be_python(command)
                       ? "%s ended before it was a Python"
                       : "%s was not a Python",
                   command);
}

/* Say why the try before failed with `tried`.  The sentence costs a list of all
 * processes, so only the last try asks for it. */
static pr_code
start_or_explain(rec_tree *tree, rec_member *m, pr_code tried, pr_err *err)
{
    if (m->held)
        return rec_record_explain_held(m->pid, err);
    pr_code code = start(tree, m, err);
    if (code == PR_NO_PROCESS && tree->options->command && m->root) {
        pr_err_clear(err);
        code = explain_ended(tree->options->command[0], tried, err);
    }
    return code;
}

static void
give_up(rec_tree *tree, rec_member *m, pr_code code)
{
    pr_err err = PR_ERR_INIT;
    bool silent = is_silent(tree, m, code);
    if (!m->root && code == PR_NO_PROCESS)
        tree->gone += !m->other;
    if (!silent)
        code = start_or_explain(tree, m, code, &err);
    m->done = code != PR_OK;
    if (code == PR_OK)
        note_recorded(tree, m);
    else if (!silent)
        rec_tree_fail(tree, code, &err);
}

/* A process that did nothing since before the last try is still not a Python. */
static void
try_start(rec_tree *tree, rec_member *m)
{
    uint64_t print = rec_process_print(m->pid);
    pr_code code = PR_NOT_PYTHON;
    if (m->print != print)
        code = start(tree, m, NULL);
    if (code == PR_OK)
        note_recorded(tree, m);
    else if (may_become_python(tree, m, code))
        postpone(m, code, print);
    else
        give_up(tree, m, code);
}

/* Does the recording go on for this one alone? */
static bool
is_awaited(const rec_tree *tree, const rec_member *m)
{
    return !m->done && !tree->stopping && (m->root || !m->other);
}

size_t
rec_tree_start(rec_tree *tree, bool *ret_waiting)
{
    size_t active = 0;
    *ret_waiting = false;
    for (size_t i = 0; i < tree->n; i++) {
        rec_member *m = &tree->member[i];
        if (!m->record && !tree->stopping && rec_now_ns() >= m->try_ns)
            try_start(tree, m);
        if (m->record)
            active++;
        else if (is_awaited(tree, m))
            *ret_waiting = true;
    }
    drop_done(tree);
    return active;
}

int
rec_tree_timeout(const rec_tree *tree)
{
    int least = -1;
    uint64_t now = rec_now_ns();
    for (size_t i = 0; i < tree->n; i++) {
        const rec_member *m = &tree->member[i];
        uint64_t wait_ns = m->try_ns > now ? m->try_ns - now : 0;
        int wait_ms = (int)(wait_ns / 1000000) + 1;
        if (!m->record && !tree->stopping && (least < 0 || wait_ms < least))
            least = wait_ms;
    }
    return least;
}

/* ---- finishing ---- */

/* The record of an ended root that was not a Python. */
void
rec_tree_root_ended(rec_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++) {
        rec_member *m = &tree->member[i];
        if (m->root && !m->record && !m->done)
            give_up(tree, m, PR_NO_PROCESS);
    }
    drop_done(tree);
}

/* Count the descendants that have ended since they were last tried. */
static void
count_gone(rec_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++) {
        rec_member *m = &tree->member[i];
        if (!m->root && !m->record && !m->done && !rec_process_task(m->pid))
            give_up(tree, m, PR_NO_PROCESS);
    }
}

/* How descendants were found, for the file of the root. */
static void
note_children(const rec_tree *tree, const rec_member *m,
              const rec_descendants *children)
{
    rec_descendants_report r = rec_descendants_count(children);
    char how[64];
    if (!r.announced)
        snprintf(how, sizeof how, "listed every %d ms", r.blind_ms);
    else if (r.overruns)
        snprintf(how, sizeof how, "every fork but for %" PRIu64 " overruns",
                 r.overruns);
    else
        snprintf(how, sizeof how, "every fork");
    rec_record_note_children(m->record, how, r.seen, tree->gone);
}

/* A descendant that ended before its first sample has no file. */
static void
forget_recorded(rec_tree *tree, pid_t pid)
{
    tree->gone++;
    for (size_t i = tree->n_recorded; i-- > 0;)
        if (tree->recorded[i] == pid) {
            tree->recorded[i] = tree->recorded[--tree->n_recorded];
            return;
        }
}

/* The root's file comes first, whenever it is complete. */
static void
note_file(rec_tree *tree, rec_member *m)
{
    tree->n_files++;
    if (tree->first && !m->root)
        return;
    free(tree->first_output);
    tree->first = m->pid;
    tree->first_output = m->output;
    m->output = NULL;
}

static void
finish(rec_tree *tree, rec_member *m, const rec_descendants *children)
{
    pr_err err = PR_ERR_INIT;
    rec_report report;
    if (children && m->root) {
        count_gone(tree);
        note_children(tree, m, children);
    }
    pr_code code = rec_record_finish(m->record, &report, &err);
    m->record = NULL;
    m->done = true;
    rec_report_add(&tree->sum, &report);
    if (code == PR_OK)
        note_file(tree, m);
    else if (!m->root && (code == PR_NO_PROCESS || code == PR_TORN))
        forget_recorded(tree, m->pid);
    else
        rec_tree_fail(tree, code, &err);
}

void
rec_tree_poll(const rec_tree *tree, struct pollfd *fds)
{
    for (size_t i = 0; i < tree->n; i++) {
        const rec_record *record = tree->member[i].record;
        fds[i] =
            (struct pollfd){record ? rec_record_fd(record) : -1, POLLIN, 0};
    }
}

void
rec_tree_finish(rec_tree *tree, const struct pollfd *fds,
                const rec_descendants *children)
{
    /* the root, which comes first, counts how the others ended */
    for (size_t i = tree->n; i-- > 0;) {
        rec_member *m = &tree->member[i];
        if (m->record &&
            ((fds[i].revents & POLLIN) || rec_record_is_overdue(m->record)))
            finish(tree, m, children);
    }
    drop_done(tree);
}

void
rec_tree_stop(rec_tree *tree)
{
    tree->stopping = true;
    for (size_t i = 0; i < tree->n; i++)
        if (tree->member[i].record)
            rec_record_stop(tree->member[i].record);
}

void
rec_tree_set_period(rec_tree *tree, uint64_t period_ns)
{
    if (period_ns == tree->period_ns)
        return;
    tree->period_ns = period_ns;
    for (size_t i = 0; i < tree->n; i++)
        if (tree->member[i].record)
            rec_record_set_period(tree->member[i].record, period_ns);
}

uint64_t
rec_tree_cpu_ns(const rec_tree *tree)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < tree->n; i++)
        if (tree->member[i].record)
            sum += rec_record_cpu_ns(tree->member[i].record);
    return sum;
}

void
rec_tree_explain_nothing(rec_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++) {
        rec_member *m = &tree->member[i];
        pr_err err = PR_ERR_INIT;
        rec_record *record = NULL;
        if (!m->root || m->record || tree->n_files)
            continue;
        pr_code code = attach(tree, m, &record, &err);
        rec_record_free(record);
        if (code == PR_OK)
            code = PR_FAIL(&err, PR_TORN, "process %d has just become a Python",
                           (int)m->pid);
        pr_err_wrap(&err, "the time was over before an interpreter ran");
        rec_tree_fail(tree, code, &err);
    }
}
