/*
 * opts.c - the size that a struct of options begins with.
 */
#include <base/opts.h>

#include <string.h>

pr_code
pr_opts_take(void *to, size_t size, const void *from, pr_err *err)
{
    size_t given;
    if (!from)
        return PR_OK;
    memcpy(&given, from, sizeof given);
    if (given <= sizeof given)
        return PR_FAIL(err, PR_USAGE, "the size of the options is not set");
    const uint8_t *bytes = from;
    for (size_t i = size; i < given; i++)
        if (bytes[i])
            return PR_FAIL(err, PR_USAGE,
                           "an option that this version does not know");
    memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof size);
    return PR_OK;
}
