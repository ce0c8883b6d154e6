/*
 * own_switches.h - getrusage() as the test wants it: a loaded machine switches
 * the test out when it pleases, and a proof rests on whether it did.
 *
 * A test that includes this is linked with --wrap=getrusage (Makefile).
 */
#ifndef TESTS_UNIT_OWN_SWITCHES_H
#define TESTS_UNIT_OWN_SWITCHES_H

#include <stdbool.h>
#include <sys/resource.h>

static long own_switches;        /* of the calling thread, involuntary */
static bool own_switches_hidden; /* the kernel refuses to say */

int __wrap_getrusage(int who, struct rusage *ret);

int
__wrap_getrusage(int who, struct rusage *ret)
{
    (void)who;
    if (own_switches_hidden)
        return -1;
    *ret = (struct rusage){.ru_nivcsw = own_switches};
    return 0;
}

#endif
