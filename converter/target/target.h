/*
 * target.h - a target for the converter, and a job for a target.
 *
 * A target is one file with one conv_target, and one line of table.h.  It
 * writes an output from a finished model, or it is a sink for the profile.
 */
#ifndef CONVERTER_TARGET_TARGET_H
#define CONVERTER_TARGET_TARGET_H

#include "converter/encode/outfile.h"
#include "converter/model/model.h"

/* A target writes CONV_STYLE_OWN without --style. */
typedef enum conv_style {
    CONV_STYLE_OWN,
    CONV_STYLE_STOCK, /* byte by byte as CPython 3.15 */
    CONV_STYLE_PYSPY, /* as py-spy */
    CONV_STYLE_PLAIN, /* names of functions alone */
    CONV_STYLES
} conv_style;

/* One conversion.  Level and time are decided: never the default. */
typedef struct conv_job {
    const conv_model *model; /* NULL for a target that is a sink */
    const conv_opts *opts;
    const char *source; /* name of the (first) input */
    size_t n_inputs;
    uint32_t n_base; /* processes of the base of a comparison; 0: none */
    void *state;     /* of a target with begin */
    struct sqlite3 **memory; /* not NULL: where sqlite leaves its database,
                              * which is in memory and not a file */
    const char *into;        /* not NULL: the output to add to, or the address
                              * of the server */
    uint64_t there;          /* inputs that this output had already */
    unsigned mode;           /* permissions of new files */
    conv_style style;
    conv_level level;
    conv_time time;
    conv_outfile *out;
    bool has_output;        /* the output has at least a part */
    uint64_t names_changed; /* for the report; the target adds to it */
} conv_job;

/* Options that only some targets have. */
enum {
    CONV_TAKES_LEVEL = 1,       /* --lines, --functions */
    CONV_TAKES_COMPRESSION = 2, /* --level, --compression */
    CONV_TAKES_BASE = 4,        /* --diff */
    CONV_TAKES_ADD = 8,         /* --into */
    CONV_TAKES_SOURCE = 16      /* --source */
};

#define CONV_TIMES_ALL \
    (1u << CONV_TIME_REAL | 1u << CONV_TIME_NOMINAL | 1u << CONV_TIME_SAMPLES)
#define CONV_TIMES_OF_CLOCK (1u << CONV_TIME_REAL | 1u << CONV_TIME_NOMINAL)

typedef struct conv_target {
    conv_target_info info;
    conv_level level;   /* its default */
    conv_time time;     /* its default */
    unsigned times;     /* bits 1 << conv_time that --time may choose */
    unsigned styles;    /* bits 1 << conv_style that --style may choose */
    unsigned takes;     /* CONV_TAKES_* */
    uint32_t max_depth; /* its viewers fail on deeper stacks; 0: they do not */
    bool used_order;    /* it needs conv_model.used */
    bool stock_names;   /* functions by file and name alone, as CPython */
    bool of_totals;     /* it writes models of totals, too */
    bool is_gzip;       /* always compressed, not only by a name in .gz */
    bool by_path;       /* the output is made by path: no stream */
    bool (*is_address)(const char *output); /* of its server; NULL: it writes
                                             * files */
    bool is_profile; /* a profile again: one namespace of threads, and a
                         * newer version may have forbidden to rewrite it */
    /* A target has one of the two.  write() reads the model of the job. */
    pr_code (*write)(conv_job *job, pr_err *err);
    pr_code (*open)(conv_job *job, pr_sink **ret, pr_err *err);
    /* NULL, or the inputs are not merged: the converter calls begin(), write()
     * with the model of each input, and end(), which drops the output if `keep`
     * is false. */
    pr_code (*begin)(conv_job *job, pr_err *err);
    pr_code (*end)(conv_job *job, bool keep, pr_err *err);
} conv_target;

#endif
