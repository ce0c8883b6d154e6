/*
 * foreign.h - what a file is that is no profile, for the message about it.
 */
#ifndef FORMAT_READ_FOREIGN_H
#define FORMAT_READ_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A noun with its article ("a gzip file") from the first n bytes. */
const char *pf_foreign_name(const uint8_t *start, size_t n);

/* Do the bytes begin as a file of a known other kind does? */
bool pf_foreign_is_known(const uint8_t *start, size_t n);

#endif
