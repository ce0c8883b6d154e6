/*
 * option.c - the rows as getopt_long() wants them (option.h).
 */
#include <base/option.h>

#include <getopt.h>
#include <string.h>

enum { FIRST_LONG = 256 }; /* getopt_long() returns it for the first row */

typedef struct tables {
    struct option longs[PR_OPTIONS_MAX + 1];
    char shorts[2 * PR_OPTIONS_MAX + 3];
} tables;

static int
kind_of(const pr_option *o)
{
    return !o->argument            ? no_argument
           : o->argument[0] == '[' ? optional_argument
                                   : required_argument;
}

static void
fill(const pr_options *options, tables *t)
{
    size_t n = 0;
    if (options->in_order)
        t->shorts[n++] = '+';
    t->shorts[n++] = ':'; /* a missing value is not '?' */
    for (size_t i = 0; i < PR_OPTIONS_MAX && options->option[i].name; i++) {
        const pr_option *o = &options->option[i];
        t->longs[i] =
            (struct option){o->name, kind_of(o), NULL, (int)i + FIRST_LONG};
        if (!o->letter)
            continue;
        t->shorts[n++] = (char)o->letter;
        if (o->argument)
            t->shorts[n++] = ':';
    }
}

static const pr_option *
row_of(const pr_options *options, int found)
{
    const pr_option *o = options->option;
    if (found >= FIRST_LONG)
        return &o[found - FIRST_LONG];
    while (o->name && o->letter != found)
        o++;
    return o->name ? o : NULL;
}

/* '?' (no such option) or ':' (its value is missing) */
static pr_code
refuse_option(const char *program, int found, const char *option, pr_err *err)
{
    if (found == ':')
        PR_FAIL(err, PR_USAGE, "option '%s' needs a value", option);
    else
        PR_FAIL(err, PR_USAGE, "unknown option '%s'", option);
    pr_err_hint(err, "try '%s --help'", program);
    return PR_USAGE;
}

static void
mark_given(const pr_options *options, const pr_option *row, void *to)
{
    if (options->given)
        *(uint64_t *)((char *)to + options->given) |=
            UINT64_C(1) << (row - options->option);
}

pr_code
pr_options_read(const pr_options *options, int argc, char **argv, void *to,
                pr_err *err)
{
    tables t = {0};
    pr_code rc = PR_OK;
    fill(options, &t);
    optind = 1;
    opterr = 0;
    for (int found;
         rc == PR_OK &&
         (found = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1;) {
        const pr_option *o = row_of(options, found);
        if (o)
            mark_given(options, o, to);
        rc = o ? o->take(o, optarg, (char *)to + o->place, err)
               : refuse_option(options->program, found, argv[optind - 1], err);
    }
    return rc;
}

/* ---- values ---- */

pr_code
pr_take_byte(const pr_option *option, const char *value, void *at, pr_err *err)
{
    (void)value;
    (void)err;
    *(unsigned char *)at = (unsigned char)option->set;
    return PR_OK;
}

pr_code
pr_take_int(const pr_option *option, const char *value, void *at, pr_err *err)
{
    (void)value;
    (void)err;
    *(int *)at = option->set;
    return PR_OK;
}

pr_code
pr_take_text(const pr_option *option, const char *value, void *at, pr_err *err)
{
    (void)option;
    (void)err;
    *(const char **)at = value;
    return PR_OK;
}

static pr_code
refuse_value(const pr_option *option, const char *value, pr_err *err)
{
    return PR_FAIL(err, PR_USAGE, "'%s' is not a value of --%s", value,
                   option->name);
}

pr_code
pr_take_word(const pr_option *option, const char *value, void *at, pr_err *err)
{
    char all[128] = "";
    for (const pr_word *w = option->words; w->name; w++) {
        if (strcmp(value, w->name) == 0) {
            *(int *)at = w->value;
            return PR_OK;
        }
        strncat(all, all[0] ? ", " : "", sizeof all - strlen(all) - 1);
        strncat(all, w->name, sizeof all - strlen(all) - 1);
    }
    refuse_value(option, value, err);
    pr_err_hint(err, "one of %s", all);
    return PR_USAGE;
}

pr_code
pr_option_refuse(const pr_option *option, const char *value, pr_err *err)
{
    refuse_value(option, value, err);
    pr_err_hint(err, "--%s %s: %s", option->name, option->argument,
                option->help);
    return PR_USAGE;
}
