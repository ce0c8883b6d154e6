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
#include <string.h>

typedef struct conv_outfile conv_outfile;

/* Where the next bytes go: the first member of an output, so that small writes
 * need no call. */
typedef struct conv_out_room {
    char *at, *end;
} conv_out_room;

/* The most that conv_out_reserve() takes. */
enum { CONV_OUT_RESERVE = 4096 };

/* `path` "-" is stdout.  whole: the output is made by path, not by
 * conv_out_write(), so it must be a regular file (PR_USAGE if not).
 * unfinished (may be NULL) gets a temporary name before the file is made.
 * mode: the permissions of a new file, from which the umask is taken.
 * PR_EXISTS unless force; PR_IO. */
pr_code conv_out_open(const char *path, bool force, bool whole, unsigned mode,
                      const conv_unfinished *unfinished, conv_outfile **ret,
                      pr_err *err);

/* The output is written by a thread besides the caller's, or compressed and
 * written by up to `jobs`; 0, as it is at first: by the caller's.  Before the
 * first write. */
void conv_out_use_threads(conv_outfile *out, int jobs);

/* The output is one gzip member.  Before the first write. */
void conv_out_compress(conv_outfile *out);

/* From here on no more than `bytes` are written, before compression: commit
 * fails with PR_LIMIT.  0: no limit. */
void conv_out_limit(conv_outfile *out, uint64_t bytes);

/* The temporary name, for those that write by path. */
const char *conv_out_path(const conv_outfile *out);

/* Buffered.  The first failure sticks, and commit returns it. */
static inline void conv_out_write(conv_outfile *out, const void *bytes,
                                  size_t len);
void conv_out_puts(conv_outfile *out, const char *string);

/* Room for n bytes that the caller writes itself; conv_out_advance() says
 * where they end. */
static inline char *conv_out_reserve(conv_outfile *out, size_t n);
static inline void conv_out_advance(conv_outfile *out, char *end);

/* False once a write has failed: a long output can stop early. */
bool conv_out_good(const conv_outfile *out);

/* Either ends the output; commit that fails has aborted it.  PR_EXISTS if
 * another process made the file meanwhile and force was not given. */
pr_code conv_out_commit(conv_outfile *out, pr_err *err);
void conv_out_abort(conv_outfile *out); /* takes NULL */

/* ---- small writes ---- */

void conv_out_write_on(conv_outfile *out, const char *bytes, size_t len);
void conv_out_end_block(conv_outfile *out);

static inline conv_out_room *
conv_out_room_of(conv_outfile *out)
{
    return (conv_out_room *)out;
}

static inline void
conv_out_write(conv_outfile *out, const void *bytes, size_t len)
{
    conv_out_room *room = conv_out_room_of(out);
    if (len > (size_t)(room->end - room->at)) {
        conv_out_write_on(out, bytes, len);
    } else if (len) {
        memcpy(room->at, bytes, len);
        room->at += len;
    }
}

static inline char *
conv_out_reserve(conv_outfile *out, size_t n)
{
    conv_out_room *room = conv_out_room_of(out);
    if (n > (size_t)(room->end - room->at))
        conv_out_end_block(out);
    return room->at;
}

static inline void
conv_out_advance(conv_outfile *out, char *end)
{
    conv_out_room_of(out)->at = end;
}

#endif
