/*
 * opts.h - options of a caller that was built against another version.
 */
#ifndef BASE_OPTS_H
#define BASE_OPTS_H

#include <pyrec/error.h>
#include <stddef.h>

/* Take a caller's options.  *to, of `size` bytes, holds the defaults; both begin
 * with a size_t that is the size of the struct, and `from` may be that of an
 * older or a newer version.  Fields that `from` lacks keep their defaults; what
 * it has beyond `size` must be zero.  `from` may be NULL.  PR_USAGE. */
pr_code pr_opts_take(void *to, size_t size, const void *from, pr_err *err);

#endif
