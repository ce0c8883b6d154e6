/*
 * outfile.h - an output that appears whole or not at all.
 *
 * A regular file has no name until commit, or, where the file system wants
 * one and where others write it by path, a temporary one beside its final one:
 * that is all that a killed process may leave.  An output that cannot be
 * replaced (stdout, a pipe, a device) is written as it comes.
 */
#ifndef CONVERTER_ENCODE_OUTFILE_H
#define CONVERTER_ENCODE_OUTFILE_H

#include <pyrec/convert.h>
#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct conv_outfile conv_outfile;

/* `path` "-" is stdout.  whole: the output is made by path, not by
 * conv_out_write(), so it must be a regular file (PR_USAGE if not).
 * unfinished (may be NULL) gets a temporary name before the file is made.
 * mode: the permissions of a new file, from which the umask is taken.
 * PR_EXISTS unless force; PR_IO. */
pr_code conv_out_open(const char *path, bool force, bool whole, unsigned mode,
                      const conv_unfinished *unfinished, conv_outfile **ret,
                      pr_err *err);

/* From here on the output is one gzip member, compressed by `jobs` threads
 * besides the caller's.  Before the first write. */
pr_code conv_out_compress(conv_outfile *out, int jobs, pr_err *err);

/* From here on no more than `bytes` are written, before compression: commit
 * fails with PR_LIMIT.  0: no limit. */
void conv_out_limit(conv_outfile *out, uint64_t bytes);

/* The temporary name, for those that write by path. */
const char *conv_out_path(const conv_outfile *out);

/* Buffered.  The first failure sticks, and commit returns it. */
void conv_out_write(conv_outfile *out, const void *bytes, size_t len);
void conv_out_puts(conv_outfile *out, const char *string);
/* False once a write has failed: a long output can stop early. */
bool conv_out_good(const conv_outfile *out);

/* Either ends the output; commit that fails has aborted it.  PR_EXISTS if
 * another process made the file meanwhile and force was not given. */
pr_code conv_out_commit(conv_outfile *out, pr_err *err);
void conv_out_abort(conv_outfile *out); /* takes NULL */

#endif
