/*
 * version.c - the version of the library (version.h).
 */
#include <pyrec/version.h>

const char *
pr_version(void)
{
    return PYREC_VERSION;
}
