/*
 * convert.h - convert a profile, or a file of another profiler, into the
 * formats of other tools (spec/convert.md).
 *
 * Ownership  the caller owns all that it passes, and keeps it for the call.
 * Threads    several threads may convert at once, each to its own output.
 */
#ifndef PYREC_CONVERT_H
#define PYREC_CONVERT_H

#include <pyrec/sink.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3;

/* The meaning of a number in an output. */
typedef enum conv_time {
    CONV_TIME_DEFAULT = 0, /* the target's own choice */
    CONV_TIME_REAL = 1,    /* time to the next sample, at most two intervals */
    CONV_TIME_NOMINAL = 2, /* one interval for each sample, as CPython 3.15 */
    CONV_TIME_SAMPLES = 3  /* the number of samples */
} conv_time;

typedef enum conv_level {
    CONV_LEVEL_DEFAULT = 0, /* the target's own choice */
    CONV_LEVEL_FUNCTION = 1,
    CONV_LEVEL_LINE = 2
} conv_level;

/* report() gets the path of an unfinished output, and NULL once the output is
 * complete or removed, so that a program that a signal ends can remove it.
 * report may be NULL. */
typedef struct conv_unfinished {
    void (*report)(void *context, const char *path);
    void *context;
} conv_unfinished;

/* Texts of the caller; `at` may be NULL if n is 0. */
typedef struct conv_name_list {
    const char *const *at;
    size_t n;
} conv_name_list;

/* The state of a thread at a sample (spec/convert.md 3.1). */
enum {
    CONV_WHERE_GIL = 1,
    CONV_WHERE_CPU = 2,
    CONV_WHERE_IDLE = 4,
    CONV_WHERE_WAITING = 8,
    CONV_WHERE_EXCEPTION = 16,
    CONV_WHERE_MAIN = 32
};

/* The samples and frames of a profile that are converted (spec/convert.md 3).
 * A struct of zeros selects all of them. */
typedef struct conv_filters {
    uint32_t where;              /* CONV_WHERE_*: all of these hold */
    conv_name_list threads;      /* samples of these threads: names or ids */
    conv_name_list focus;        /* samples with one of these functions */
    conv_name_list ignore;       /* samples without these functions */
    conv_name_list hide;         /* frames that are left out */
    conv_name_list strip_prefix; /* beginnings of paths that are left out */
    conv_name_list map;          /* "OLD=NEW": beginnings that are replaced */
    int hide_native;             /* 1: leave <native> frames out */
    uint64_t settled_us;         /* samples at or after this time are left out,
                                  * but end the time of the samples before
                                  * them; 0: no limit */
} conv_filters;

/* The metadata key of a profile from which filters took samples: its gaps do
 * not stand for time, so a conversion of it uses the nominal time. */
#define CONV_META_FILTERED "filtered"

/* Metadata keys of a profile that has sums of functions and callers in place
 * of stacks: its content is "totals", and its counts are "calls" or
 * "samples". */
#define CONV_META_CONTENT "import.content"
#define CONV_META_COUNTS  "import.counts"

/* NULL in place of options stands for the defaults; an option that this version
 * does not know is PR_USAGE. */
typedef struct conv_opts {
    size_t size;       /* sizeof(conv_opts) */
    const char *style; /* NULL: the target's own; "stock": exactly the output of
                        * CPython 3.15; "pyspy", "plain" (spec/convert.md) */
    conv_time time;
    conv_level level;
    uint64_t from_us, to_us; /* half-open; 0 and UINT64_MAX: all */
    uint32_t max_depth;      /* 0: the target's default */
    int force;               /* 1: replace an existing output */
    int jobs;                /* threads that may run at once; 1: the caller's */
    int zstd_level;          /* target bin; 0: default */
    int no_compression;      /* target bin: a plain file of CPython 3.15 */
    pr_progress progress;
    conv_unfinished unfinished;
    conv_filters filters;
    const char *base; /* targets with a comparison: compare with this profile;
                       * NULL: no comparison */
    int add;          /* target sqlite; 1: add to an existing output, in one
                       * transaction */
    const char *source_folder; /* targets with sources: the folder that holds
                                * them; NULL: no sources */
    const char *from; /* the kind of all inputs: the name of an import, or
                       * "bin" for a profile; NULL: by their content */
    uint64_t memory;  /* limit of bytes for reading, and again for the stacks;
                       * 0: 1 GiB and 4 GiB */
    uint64_t output_max; /* limit of bytes of an output that is text; 0: 1 GiB,
                          * or 1024 times the inputs if that is more */
} conv_opts;

#define CONV_OPTS_INIT                                                        \
    {                                                                         \
        sizeof(conv_opts), NULL, CONV_TIME_DEFAULT, CONV_LEVEL_DEFAULT, 0,    \
            UINT64_MAX, 0, 0, 1, 0, 0, {NULL, NULL}, {NULL, NULL}, {0}, NULL, \
            0, NULL, NULL, 0, 0                                               \
    }

/* A target as a user sees it.  All texts are static. */
typedef struct conv_target_info {
    const char *name;     /* "speedscope", as --to takes it */
    const char *suffixes; /* of its outputs, separated by spaces; a default
                           * name ends with the first one */
    const char *help;     /* description, in one line */
    const char *opens;    /* programs that open it */
    int adds;             /* 1: the output is a folder or a server that profiles
                           * are added to */
    const char *address;  /* of the server, as a user writes it; NULL: the
                           * output is a file or a folder */
} conv_target_info;

/* The targets in the order of `pyconv --list`; NULL past the end. */
const conv_target_info *conv_target_get(size_t i);

/* The target of whose servers `path` is an address, or else the one that has
 * the longest suffix with which `path` ends; NULL if there is none. */
const conv_target_info *conv_target_of_output(const char *path);

/* A kind of foreign file that is read, as a user sees it.  All texts are
 * static. */
typedef struct conv_import_info {
    const char *name; /* "austin", as --from takes it */
    const char *help; /* description, in one line */
} conv_import_info;

/* The imports in the order of `pyconv --list`; NULL past the end. */
const conv_import_info *conv_import_get(size_t i);

/* The work of the conversion, for the summary. */
typedef struct conv_report {
    uint64_t samples;       /* in the output */
    uint64_t names_changed; /* escaped or cut to fit the target */
    uint64_t unobserved_us; /* time that no sample stands for */
    int tasks_nominal;      /* 1: nominal in place of real time, because
                             * samples of several tasks of one thread were
                             * taken at one moment */
    int interval_assumed;   /* 1: an input does not give its interval, so one
                             * was assumed */
    char unmatched[128];    /* a filter's name that means nothing; "": none */
    uint64_t there;         /* inputs that the database held before */
    int delivered;          /* 1: there is an output */
} conv_report;

/* Convert n inputs to the target's output at `output`, or to stdout for "-" if
 * the target streams.  An input is a profile, a file of another profiler, or a
 * folder of profiles.  Several inputs are merged: they are of one process or
 * one command.  The output appears whole or not at all.  An existing output to
 * which the target adds gets all of the addition or nothing; a server keeps the
 * profiles that it got before a failure.
 * PR_OK; PR_CUT or PR_DAMAGED (err says what is missing) after delivering the
 * rest, or without an output if no sample is left; PR_EXISTS; PR_USAGE for an
 * unknown target or an option that it does not have; PR_NAME if filters leave
 * no sample; PR_LIMIT beyond opts->memory or opts->output_max; otherwise the
 * code that stopped it.  *ret (may be NULL) is set in any case. */
pr_code conv_run(const char *const *input, size_t n, const char *target,
                 const char *output, const conv_opts *opts, conv_report *ret,
                 pr_err *err);

/* Convert n inputs, each file to a profile of its own, to the tables of
 * schema.h in a database in memory, *ret, which the caller closes.  Codes as
 * conv_run(), PR_CUT and PR_DAMAGED with *ret. */
pr_code conv_to_memory(const char *const *input, size_t n,
                       const conv_opts *opts, struct sqlite3 **ret,
                       pr_err *err);

/* The part of a growing file that a database holds.  The caller owns it, and
 * sets it to zero before the first call of conv_grow(). */
typedef struct conv_growth {
    uint64_t settled_us; /* the database holds all samples before this time */
    uint32_t parts;      /* added since the whole file was last converted */
} conv_growth;

/* Bring the database `output` up to date with a profile that is being written.
 * Only new segments are decoded and added: a call costs their conversion, a
 * search for checkpoints in the file's bytes, and a sixty-fourth of a
 * conversion of the whole.  The last intervals of the file wait for the next
 * call.  A file that is finished or has no checkpoints, and a range of time
 * (opts->from_us, to_us), are converted as by conv_run(): the database loses
 * its earlier content.
 * PR_CUT: the file is not finished; ret->delivered (ret must not be NULL) says
 * whether this call changed the database.  Other codes as conv_run(). */
pr_code conv_grow(const char *input, const char *output, const conv_opts *opts,
                  conv_growth *growth, conv_report *ret, pr_err *err);

/* Bring the database at `path` up to date with the profiles of a folder, which
 * are its files that end in .bin, and open it: a new or changed file is
 * converted, and the profile of a file that is gone leaves the database
 * (spec/schema.md, "Archives").  A database that does not exist is made, with
 * permissions 0600; path NULL: one in memory.  Several processes may call this at once; they share the
 * work.  *ret sees no later change; the caller queries it and closes it.
 * Codes as conv_run(), PR_CUT and PR_DAMAGED with *ret; PR_NAME: the folder
 * has no profile; PR_IO with the errno if the database cannot be written. */
pr_code conv_archive_open(const char *folder, const char *path,
                          const conv_opts *opts, struct sqlite3 **ret,
                          pr_err *err);

#ifdef __cplusplus
}
#endif
#endif
