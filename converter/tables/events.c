/*
 * events.c - event, task, task_parent: what happened besides samples.
 */
#include "converter/tables/entry.h"

#include "converter/tables/row.h"

#include <base/buffer.h>
#include <inttypes.h>
#include <stdio.h>

static pr_bytes
string_of(const conv_entry *e, uint32_t id)
{
    return pr_strings_get(&e->model->strings, id);
}

static void
bind_kind(conv_row *row, const conv_event *event)
{
    static const char *const names[] = {[PR_MARK_GAP] = "gap",
                                        [PR_MARK_EXEC] = "exec",
                                        [PR_MARK_SUSPENDED] = "suspended",
                                        [PR_MARK_USER] = "mark",
                                        [PR_MARK_LOST] = "lost"};
    char other[32];
    const char *name = other;
    if (event->is_gc)
        name = "gc";
    else if (event->kind < sizeof names / sizeof *names)
        name = names[event->kind];
    else
        snprintf(other, sizeof other, "mark %" PRIu32, event->kind);
    conv_row_string(row, name);
}

static pr_code
put_event(conv_entry *e, conv_row *row, const conv_event *event, pr_err *err)
{
    conv_row_integer(row, ++e->tables->event);
    conv_row_integer(row, e->process0 + event->process);
    conv_row_integer(row, CONV_NULL);
    bind_kind(row, event);
    conv_row_unsigned(row, event->first_us);
    conv_row_unsigned(row, event->end_us);
    conv_row_name(row, string_of(e, event->text));
    return conv_row_put(row, err);
}

static pr_code
put_interval(conv_entry *e, conv_row *row, const conv_interval *change,
             pr_err *err)
{
    char detail[48];
    snprintf(detail, sizeof detail, "{\"interval_us\":%" PRIu64 "}",
             change->interval_us);
    conv_row_integer(row, ++e->tables->event);
    conv_row_integer(row, e->process0 + change->process);
    conv_row_integer(row, CONV_NULL);
    conv_row_string(row, "rate");
    conv_row_unsigned(row, change->time_us);
    conv_row_unsigned(row, change->time_us);
    conv_row_string(row, detail);
    return conv_row_put(row, err);
}

pr_code
conv_entry_put_events(conv_entry *e, pr_err *err)
{
    const conv_model *model = e->model;
    conv_row row;
    pr_code rc = conv_row_open(&row, e->tables->database, "event", 7, err);
    for (size_t i = 0; i < model->n_events && rc == PR_OK; i++)
        rc = put_event(e, &row, &model->events[i], err);
    for (size_t i = 0; i < model->n_intervals && rc == PR_OK; i++)
        rc = put_interval(e, &row, &model->intervals[i], err);
    e->names_changed += row.text.changed;
    conv_row_close(&row);
    return rc;
}

/* A key is an address of its process. */
typedef struct task_key {
    uint64_t key, process;
} task_key;

/* Task i of the model is the row task0 + i. */
static pr_code
put_tasks(conv_entry *e, int64_t task0, pr_err *err)
{
    conv_row row;
    pr_code rc = conv_row_open(&row, e->tables->database, "task", 6, err);
    for (size_t i = 0; i < e->model->n_tasks && rc == PR_OK; i++) {
        const conv_task *task = &e->model->tasks[i];
        conv_row_integer(&row, task0 + (int64_t)i);
        conv_row_integer(&row, e->process0 + task->process);
        conv_row_integer(&row, task->thread == PR_NO_THREAD
                                   ? CONV_NULL
                                   : e->thread0 + (int64_t)task->thread);
        conv_row_unsigned(&row, task->key);
        conv_row_name(&row, string_of(e, task->name));
        conv_row_unsigned(&row, task->first_us);
        rc = conv_row_put(&row, err);
    }
    e->names_changed += row.text.changed;
    conv_row_close(&row);
    return rc;
}

/* A key is an address, which a later task may have again: the last task of a
 * key counts.  Parents that were never seen are left out. */
static pr_code
put_parents(conv_entry *e, int64_t task0, const pr_set *keys,
            const pr_list *last, pr_err *err)
{
    conv_row row;
    pr_code rc = conv_row_open_or_replace(&row, e->tables->database,
                                          "task_parent", 2, err);
    for (size_t i = 0; i < e->model->n_tasks; i++) {
        const conv_task *task = &e->model->tasks[i];
        for (size_t p = 0; p < task->n_parents && rc == PR_OK; p++) {
            const task_key key = {
                e->model->task_parents[task->first_parent + p], task->process};
            uint32_t at = pr_set_find(keys, &key);
            if (at == PR_TABLE_NONE)
                continue;
            conv_row_integer(&row, task0 + (int64_t)i);
            conv_row_integer(&row, task0 + (int64_t)last->at[at]);
            rc = conv_row_put(&row, err);
        }
    }
    conv_row_close(&row);
    return rc;
}

pr_code
conv_entry_put_tasks(conv_entry *e, pr_err *err)
{
    pr_set keys = {.size = sizeof(task_key)};
    pr_list last = {0};
    int64_t task0 = e->tables->task + 1;
    e->tables->task += (int64_t)e->model->n_tasks;
    pr_code rc = put_tasks(e, task0, err);
    for (uint32_t i = 0; i < e->model->n_tasks && rc == PR_OK; i++) {
        const task_key key = {e->model->tasks[i].key,
                              e->model->tasks[i].process};
        uint32_t at;
        rc = pr_set_add(&keys, &key, &at, err);
        if (rc == PR_OK && at == last.n)
            rc = pr_list_add(&last, i, err);
        else if (rc == PR_OK)
            last.at[at] = i;
    }
    if (rc == PR_OK)
        rc = put_parents(e, task0, &keys, &last, err);
    pr_set_release(&keys);
    pr_list_release(&last);
    return rc;
}
