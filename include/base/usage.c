/*
 * usage.c - the messages, and the hint at --help.
 */
#include <base/usage.h>

pr_code
pr_usage_option(const char *program, int found, const char *option, pr_err *err)
{
    if (found == ':')
        PR_FAIL(err, PR_USAGE, "option '%s' needs a value", option);
    else
        PR_FAIL(err, PR_USAGE, "unknown option '%s'", option);
    pr_err_hint(err, "try '%s --help'", program);
    return PR_USAGE;
}

pr_code
pr_usage_value(const char *option, const char *value, pr_err *err)
{
    return PR_FAIL(err, PR_USAGE, "'%s' is not a value of --%s", value, option);
}
