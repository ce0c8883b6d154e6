/*
 * options.h - the command line of pyrec.
 */
#ifndef RECORDER_OPTIONS_H
#define RECORDER_OPTIONS_H

#include "recorder/metadata.h"
#include <pyrec/unwinder.h>
#include <stdbool.h>

/* The action that the options ask for. */
typedef enum rec_action {
    REC_ACTION_RECORD,
    REC_ACTION_CHECK,
    REC_ACTION_DUMP,
    REC_ACTION_TASKS,
    REC_ACTION_GC,
    REC_ACTION_HELP,
    REC_ACTION_VERSION
} rec_action;

typedef struct rec_options {
    rec_action action;
    pid_t pid;           /* 0: none given */
    const char *output;  /* NULL: a name made of the process and the time */
    char temporary[256]; /* of --top, where no output was given */
    uint64_t period_ns;
    uint64_t duration_ns; /* 0: until the target ends */
    uint64_t gc_every_ns; /* 0: once */
    /* of --every, whose output is a folder */
    uint64_t every_ns;   /* 0: record once */
    const char *name;    /* pattern of the processes to record; NULL: pid */
    uint64_t keep_ns;    /* 0: recordings of any age stay */
    uint64_t max_bytes;  /* of all recordings; 0: any */
    const char *metrics; /* file for a monitoring system; NULL: none */
    double overhead;     /* the share of time that recording may cost; 0: any */
    bool force, fsync, quiet, stats, debug, realtime, children, json;
    bool top;             /* show the recording while it is made */
    bool wait;            /* until the process is a Python */
    bool no_command_line; /* leave out text that may hold secrets */
    char **command;       /* to be started and recorded; argv's, or NULL */
    char line[512];       /* the options as given, for the file */
    uint64_t given;       /* the rows of the command line (base/option.h) */
    rec_unwinder_opts unwinder;
    rec_label *label; /* owned; keys and values are argv's */
    size_t n_labels;
    long repeat;       /* runs, into the folder `output`; 0: one, into a file */
    const char **turn; /* owned; "DIR=COMMAND" of argv, recorded in turn */
    size_t n_turns;
    struct rec_tally *tally; /* of the runs of `repeat` (summary.h); NULL: the
                              * summary of the run warns by itself */
} rec_options;

/* PR_OK, or PR_USAGE with the fault.  Release in either case. */
pr_code rec_options_parse(int argc, char **argv, rec_options *ret, pr_err *err);
void rec_options_release(rec_options *options);

/* The text of --help. */
const char *rec_options_help(void);

#endif
