/*
 * foreign.h - the kind of a file that is not a profile, for the message.
 */
#ifndef FORMAT_READ_FOREIGN_H
#define FORMAT_READ_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A noun with its article ("a gzip file") from the first n bytes. */
const char *pf_foreign_name(const uint8_t *start, size_t n);

/* Do the bytes begin as a file of another known kind, and not as a profile that
 * has lost its header? */
bool pf_foreign_is_known(const uint8_t *start, size_t n);

#endif
