/*
 * option.h - the options of a program: a row each, and their faults in the
 * same words in every program.
 */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value that is one of some words; the last one has the name NULL. */
typedef struct pr_word {
    const char *name;
    int value;
} pr_word;

typedef struct pr_option {
    const char *name;     /* --name */
    int letter;           /* -l; 0: none */
    const char *argument; /* as the help shows it; "[A]": may be left out, as in
                           * --name=A; NULL: the option takes none */
    /* Put the value, NULL if none is given, `at` its place.  PR_USAGE with the
     * fault; PR_END: nothing is left to do. */
    pr_code (*take)(const struct pr_option *option, const char *value, void *at,
                    pr_err *err);
    size_t place;         /* of `at` in the struct of the program's options */
    int set;              /* for pr_take_byte() and pr_take_int() */
    const pr_word *words; /* for pr_take_word() */
    const char *help;     /* one line; NULL: another text has it */
} pr_option;

/* The options of a program; the last one has the name NULL. */
typedef struct pr_options {
    const char *program;
    const pr_option *option;
    bool in_order; /* the first word that is not an option ends them */
    size_t given;  /* place of a uint64_t in the program's struct, whose bit i
                    * is set if row i was given; 0: none */
} pr_options;

enum { PR_OPTIONS_MAX = 64 };

/* Read the command line into the struct `to`; optind is then the first word
 * after the options.  Stops at the first result that is not PR_OK. */
pr_code pr_options_read(const pr_options *options, int argc, char **argv,
                        void *to, pr_err *err);

/* `set` into a bool or uint8_t, or into an int or an enum; the value into a
 * const char *; the value of one of `words` into an int or an enum. */
pr_code pr_take_byte(const pr_option *option, const char *value, void *at,
                     pr_err *err);
pr_code pr_take_int(const pr_option *option, const char *value, void *at,
                    pr_err *err);
pr_code pr_take_text(const pr_option *option, const char *value, void *at,
                     pr_err *err);
pr_code pr_take_word(const pr_option *option, const char *value, void *at,
                     pr_err *err);

/* PR_USAGE: the option does not take `value`; the hint is its line of help. */
pr_code pr_option_refuse(const pr_option *option, const char *value,
                         pr_err *err);

#endif
