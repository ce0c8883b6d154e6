/*
 * eventually.h - wait for an act of another process or thread.
 */
#ifndef TESTS_UNIT_EVENTUALLY_H
#define TESTS_UNIT_EVENTUALLY_H

#include <sched.h>
#include <time.h>

/* A condition with a deadline: not a wait for time to pass. */
#define EVENTUALLY(condition)                     \
    do {                                          \
        time_t end_ = time(NULL) + 60;            \
        while (!(condition) && time(NULL) < end_) \
            sched_yield();                        \
        assert_true(condition);                   \
    } while (0)

#endif
