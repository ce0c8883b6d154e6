/*
 * tree.h - the processes of one recording: the one that was asked for, and with
 * --children its descendants.  Each that is a CPython has a file of its own;
 * all files share one recording id.
 */
#ifndef RECORDER_TREE_H
#define RECORDER_TREE_H

#include "recorder/linux/descendants.h"
#include "recorder/options.h"
#include "recorder/record.h"
#include "recorder/screen.h"
#include <poll.h>

/* -p: an older process does not become a Python any more. */
enum { REC_YOUNG_MS = 2000 };

/* A process that is recorded or may be. */
typedef struct rec_member {
    pid_t pid;
    bool root;          /* the one that was asked for */
    char *output;       /* owned; NULL until it may be recorded */
    rec_record *record; /* NULL while it is not recorded */
    uint64_t seen_ns, try_ns;
    uint64_t print; /* of its state at the last try, when it was not a Python */
    bool held;      /* the last attach to it did not return */
    bool other;     /* it runs another program */
    bool done;      /* to be dropped */
} rec_member;

typedef struct rec_tree {
    const rec_options *options;
    rec_screen *screen;
    int signal_fd;
    char *output; /* owned: of the root; names the others */
    rec_recording_id id;
    bool begun;           /* a process is recorded, or was */
    uint64_t start_ns;    /* when the first one began, or else pyrec */
    uint64_t period_ns;   /* the present distance of ticks */
    uint64_t patience_ns; /* until then the root may become a Python */
    bool stopping;        /* no recording starts any more */
    rec_member *member;
    size_t n, cap;
    pid_t *recorded; /* descendants that have a file, in order */
    size_t n_recorded, cap_recorded;
    uint64_t n_files; /* completed */
    uint64_t gone;    /* descendants that ended before they could be recorded */
    rec_report sum;
    pid_t first; /* the process of the first file, and that file */
    char *first_output;
    pr_code code; /* the first failure */
} rec_tree;

/* signal_fd: readable once a signal has come that ends the recording. */
void rec_tree_init(rec_tree *tree, const rec_options *options,
                   rec_screen *screen, int signal_fd);
void rec_tree_release(rec_tree *tree);

pr_code rec_tree_add_root(rec_tree *tree, pid_t pid, pr_err *err);

/* Take the event that a descendant was born or executed a program. */
pr_code rec_tree_take(rec_tree *tree, const rec_descendant_event *event,
                      pr_err *err);

/* Start the recordings that can be started.  Returns the number of processes
 * that are recorded; *ret_waiting: others may follow.  A descendant that runs
 * another program may become a Python, but nothing waits for that alone. */
size_t rec_tree_start(rec_tree *tree, bool *ret_waiting);

/* The end of the duration, CLOCK_MONOTONIC; UINT64_MAX: not known.  Until a
 * process is recorded, the duration limits the wait for one, except with
 * --wait. */
uint64_t rec_tree_end_ns(const rec_tree *tree);

/* Milliseconds until rec_tree_start() has something to do; -1: none. */
int rec_tree_timeout(const rec_tree *tree);

/* Note that the root has ended. */
void rec_tree_root_ended(rec_tree *tree);

/* Descriptors to be polled, one a member: [tree->n]. */
void rec_tree_poll(const rec_tree *tree, struct pollfd *fds);

/* Finish recordings that ended, by the result of the poll, or that are overdue.
 * `children` may be NULL. */
void rec_tree_finish(rec_tree *tree, const struct pollfd *fds,
                     const rec_descendants *children);

/* Ask all to end; start no more. */
void rec_tree_stop(rec_tree *tree);

/* Set another distance of ticks for all recordings. */
void rec_tree_set_period(rec_tree *tree, uint64_t period_ns);

/* CPU time that the samplers of all running recordings used so far. */
uint64_t rec_tree_cpu_ns(const rec_tree *tree);

/* Print a failure and remember the first one. */
void rec_tree_fail(rec_tree *tree, pr_code code, const pr_err *err);

/* Print, at the end, the reason why no process was recorded. */
void rec_tree_explain_nothing(rec_tree *tree);

#endif
