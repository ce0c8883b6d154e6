/*
 * gcdump.h - the last collections of a process (CPython 3.15), printed.
 */
#ifndef RECORDER_GCDUMP_H
#define RECORDER_GCDUMP_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Write the collections in the rings of all interpreters, as a table or one
 * line of JSON each.  every_ns > 0: write the new ones at this interval, until
 * the process ends; after collections were overwritten unread, a line has their
 * number so far ({"lost":N}).  Codes as
 * rec_unwinder_open(). */
pr_code rec_gcdump_process(pid_t pid, FILE *to, bool json, uint64_t every_ns,
                           pr_err *err);

#endif
