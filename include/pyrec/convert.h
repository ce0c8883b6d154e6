/*
 * convert.h - a profile, or a file of another profiler, into what other tools
 * read (spec/convert.md).
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
    CONV_TIME_REAL = 1,    /* to the next sample, at most twice the interval */
    CONV_TIME_NOMINAL = 2, /* samples times the nominal interval, as 3.15 */
    CONV_TIME_SAMPLES = 3
} conv_time;

typedef enum conv_level {
    CONV_LEVEL_DEFAULT = 0, /* the target's own choice */
    CONV_LEVEL_FUNCTION = 1,
    CONV_LEVEL_LINE = 2
} conv_level;

/* Gets the name of an output that is being made, and NULL once there is none,
 * so that a program that is ended by a signal can remove it.  The function may
 * be NULL. */
typedef struct conv_unfinished {
    void (*report)(void *context, const char *path);
    void *context;
} conv_unfinished;

/* Texts of the caller; at may be NULL if n is 0. */
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

/* Which samples and frames of a profile are converted (spec/convert.md 3).
 * All zero: all of them. */
typedef struct conv_filters {
    uint32_t where;              /* CONV_WHERE_*: all of these hold */
    conv_name_list threads;      /* samples of these threads: names or ids */
    conv_name_list focus;        /* samples with one of these functions */
    conv_name_list ignore;       /* samples without these functions */
    conv_name_list hide;         /* frames that are left out */
    conv_name_list strip_prefix; /* beginnings of paths that are left out */
    conv_name_list map;          /* "OLD=NEW": beginnings that are replaced */
    int hide_native;             /* 1: leave <native> frames out */
    uint64_t settled_us;         /* samples from then on are left out; they end
                                  * the time of those before; 0: none */
} conv_filters;

/* Metadata of a profile that filters took samples from: its gaps do not stand
 * for time, so conversions of it take the nominal time. */
#define CONV_META_FILTERED "filtered"

/* Metadata "totals" of a profile that has sums of functions and callers in place
 * of stacks; and what these count, "calls" or "samples". */
#define CONV_META_CONTENT "import.content"
#define CONV_META_COUNTS  "import.counts"

typedef struct conv_opts {
    size_t size;       /* sizeof(conv_opts) */
    const char *style; /* NULL or "stock": exactly CPython 3.15's output */
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
                       * NULL: do not */
    int add;          /* target sqlite, 1: an existing output is added to, in
                       * one transaction */
    const char *source_folder; /* targets with sources: the folder that holds
                                * them; NULL: no sources */
    const char *from; /* all inputs are of this kind: the name of an import, or
                       * "bin" for a profile; NULL: by their content */
    uint64_t memory;  /* bytes that reading may take, and that the stacks may
                       * take; 0: 1 GiB and 4 GiB */
    uint64_t output_max; /* bytes of an output that is text; 0: 1 GiB, or 1024
                          * times the inputs if that is more */
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
    const char *suffixes; /* of its outputs, separated by spaces; the first
                           * one is the default's */
    const char *help;     /* what it is, in one line */
    const char *opens;    /* programs that open it */
    int adds;             /* 1: the output is a folder or a server that profiles
                           * are added to */
    const char *address;  /* of the server, as a user writes it; NULL: the
                           * output is a file or a folder */
} conv_target_info;

/* The targets in the order of `pyconv --list`; NULL past the end. */
const conv_target_info *conv_target_get(size_t i);

/* The target whose suffix the file name ends with, the longest such suffix, or
 * of whose servers it is an address; NULL if there is none. */
const conv_target_info *conv_target_of_output(const char *path);

/* A kind of foreign file that is read, as a user sees it.  All texts are
 * static. */
typedef struct conv_import_info {
    const char *name; /* "austin", as --from takes it */
    const char *help; /* what it is, in one line */
} conv_import_info;

/* The imports in the order of `pyconv --list`; NULL past the end. */
const conv_import_info *conv_import_get(size_t i);

/* The work of the conversion, for the summary. */
typedef struct conv_report {
    uint64_t samples;       /* in the output */
    uint64_t names_changed; /* escaped or cut to fit the target */
    uint64_t unobserved_us; /* time no sample stands for */
    int tasks_nominal;      /* 1: nominal in place of real time, because
                             * samples of several tasks of one thread were
                             * taken at one moment */
    int interval_assumed;   /* 1: an input does not say how long its samples
                             * last */
    char unmatched[128];    /* a filter's name that means nothing; "": none */
    uint64_t there;         /* inputs that the database to be added to had */
    int delivered;          /* 1: there is an output */
} conv_report;

/* Convert n files, profiles or files of other profilers (more than one: merged,
 * of one process or one command), to
 * the target's output at `output`, "-" for stdout where the target streams.
 * The output appears whole or not at all; of one that is added to this holds
 * for what is added; a server keeps the profiles that it got before a failure.
 * PR_OK; PR_CUT or PR_DAMAGED (err
 * says what is missing) after delivering the rest, or without an
 * output if that is nothing; PR_EXISTS; PR_USAGE for an unknown target; or why
 * it failed.  *ret (may be NULL) is set in any case. */
pr_code conv_run(const char *const *input, size_t n, const char *target,
                 const char *output, const conv_opts *opts, conv_report *ret,
                 pr_err *err);

/* The tables of schema.h of n files, each a profile of its own, in a database
 * in memory that the caller closes.  Codes as conv_run(). */
pr_code conv_to_memory(const char *const *input, size_t n,
                       const conv_opts *opts, struct sqlite3 **ret,
                       pr_err *err);

/* How far a database has kept up with a file: zero at first, the caller's. */
typedef struct conv_growth {
    uint64_t settled_us; /* it has all before this moment */
    uint32_t parts;      /* that were added since it was made from the whole */
} conv_growth;

/* Bring the database `output` up to date with a profile that is being written:
 * only new segments are decoded and added, so that the cost is theirs, a search
 * for checkpoints in the file's bytes, and a sixty-fourth of one conversion.
 * The last moments of the file, some intervals, wait for the next call.  A file that is finished, or that does not grow by checkpoints, is
 * converted as by conv_run(), and what the database had before is gone.
 * PR_CUT: the file is not finished; ret->delivered says whether there is a
 * database.  Other codes as conv_run(). */
pr_code conv_grow(const char *input, const char *output, const conv_opts *opts,
                  conv_growth *growth, conv_report *ret, pr_err *err);

/* Bring the database at `path` up to date with a folder's profiles, its files
 * that end in .bin, and open it as it is then: a file that is new or changed
 * is converted, the profile of a file that is gone leaves the database
 * (spec/schema.md, "Archives").  The database is made, with permissions 0600,
 * if there is none.  Several processes may do so at once; they share the
 * work.  The caller asks *ret, which sees no later change, and closes it.
 * Codes as conv_run(), PR_CUT and PR_DAMAGED with *ret; PR_NAME: the folder
 * has no profile. */
pr_code conv_archive_open(const char *folder, const char *path,
                          const conv_opts *opts, struct sqlite3 **ret,
                          pr_err *err);

#ifdef __cplusplus
}
#endif
#endif
