/*
 * option.c - the rows as getopt_long() wants them (option.h).
 */
#include <base/option.h>

#include <base/utf8.h>

#include <getopt.h>
#include <string.h>
#include <unistd.h>

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

/* ---- refusals ---- */

/* ", WORD" into a list that ends where the room does */
static void
add_word(char *all, size_t size, const char *dashes, const char *word)
{
    const char *const parts[] = {all[0] ? ", " : "", dashes, word};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        strncat(all, parts[i], size - strlen(all) - 1);
}

/* The word whose option getopt_long() has just refused; optind was `before`
 * then.  It passes words that are not options, but of several letters in one
 * word ("-qy") only the last one moves it. */
static const char *
refused_word(char **argv, int before)
{
    const char *last = argv[optind - 1];
    bool passed = optind > before && last[0] == '-' && last[1];
    return passed ? last : argv[optind];
}

/* The options of which `word` is a beginning; how many? */
static size_t
list_begun(const pr_options *options, const char *word, size_t len, char *all,
           size_t size)
{
    size_t n = 0;
    for (const pr_option *o = options->option; o->name; o++)
        if (strncmp(word, o->name, len) == 0) {
            add_word(all, size, "--", o->name);
            n++;
        }
    return n;
}

static void
refuse_letter(int found, const char *word, pr_err *err)
{
    const char *at = strchr(word + 1, optopt);
    uint32_t len = at ? pr_utf8_next(at, strlen(at), false).len : 0;
    PR_FAIL(err, PR_USAGE,
            found == ':' ? "option '-%.*s' needs a value"
                         : "unknown option '-%.*s'",
            (int)len, at);
}

static void
refuse_value_of(int found, const pr_option *o, pr_err *err)
{
    PR_FAIL(err, PR_USAGE,
            found == ':' ? "option '--%s' needs a value"
                         : "option '--%s' takes no value",
            o->name);
}

static void
refuse_name(const pr_options *options, const char *word, pr_err *err)
{
    char all[160] = "";
    size_t len = strcspn(word, "=");
    if (list_begun(options, word + 2, len - 2, all, sizeof all) < 2) {
        PR_FAIL(err, PR_USAGE, "unknown option '%.*s'", (int)len, word);
        return;
    }
    PR_FAIL(err, PR_USAGE, "option '%.*s' is ambiguous", (int)len, word);
    pr_err_hint(err, "one of %s", all);
}

/* '?' or ':' (a value is missing): getopt_long() leaves in optopt a letter, the
 * row of a long option, or 0 if no row or several have the name. */
static pr_code
refuse_option(const pr_options *options, int found, const char *word,
              pr_err *err)
{
    if (optopt >= FIRST_LONG)
        refuse_value_of(found, &options->option[optopt - FIRST_LONG], err);
    else if (optopt)
        refuse_letter(found, word, err);
    else
        refuse_name(options, word, err);
    if (found == '?' && access(word, F_OK) == 0)
        pr_err_hint(err, "'./%s' is the file of that name", word);
    pr_err_hint(err, "try '%s --help'", options->program);
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
    optind = 0; /* getopt_long() forgets the words of an earlier call */
    opterr = 0;
    for (int found, before = 1;
         rc == PR_OK &&
         (found = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1;
         before = optind) {
        const pr_option *o = row_of(options, found);
        if (o)
            mark_given(options, o, to);
        rc = o ? o->take(o, optarg, (char *)to + o->place, err)
               : refuse_option(options, found, refused_word(argv, before), err);
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
        add_word(all, sizeof all, "", w->name);
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
