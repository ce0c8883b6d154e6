/*
 * outfile.h - an output that appears whole or not at all.
 *
 * A regular file has no name until commit.  If the file system needs a name, or
 * a library writes the file by path, it has a temporary name beside its final
 * one: a killed process leaves no more than that file.  An output that cannot
 * be replaced (stdout, a pipe, a device) gets the bytes at once.
 */
#ifndef CONVERTER_ENCODE_OUTFILE_H
#define CONVERTER_ENCODE_OUTFILE_H

#include <pyrec/convert.h>
#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct conv_outfile conv_outfile;

/* The place of the next bytes: the first member of an output, so that small
 * writes need no call. */
typedef struct conv_out_room {
    char *at, *end;
} conv_out_room;

/* The most bytes that conv_out_reserve() gives. */
enum { CONV_OUT_RESERVE = 4096 };

/* Open the output `path`; "-" is stdout.  whole: the caller writes by path, not
 * by conv_out_write(), so it must be a regular file (PR_USAGE if not).
 * unfinished (may be NULL) gets a temporary name before the file is made.
 * mode: the permissions of a new file, less the umask.
 * PR_EXISTS unless force; PR_IO. */
pr_code conv_out_open(const char *path, bool force, bool whole, unsigned mode,
                      const conv_unfinished *unfinished, conv_outfile **ret,
                      pr_err *err);

/* Let a thread besides the caller's write the output, or up to `jobs` threads
 * compress and write it; 0, the default: the caller's.  Before the first
 * write. */
void conv_out_use_threads(conv_outfile *out, int jobs);

/* Make the output one gzip member.  Before the first write. */
void conv_out_compress(conv_outfile *out);

/* Write no more than `bytes` from here on, before compression; beyond them the
 * commit fails with PR_LIMIT.  0: no limit. */
void conv_out_limit(conv_outfile *out, uint64_t bytes);

/* The temporary name, for a caller that writes by path. */
const char *conv_out_path(const conv_outfile *out);

/* Write, through a buffer.  The output keeps the first failure, and commit
 * returns it. */
static inline void conv_out_write(conv_outfile *out, const void *bytes,
                                  size_t len);
void conv_out_puts(conv_outfile *out, const char *string);

/* Room for n bytes that the caller writes itself; conv_out_advance() takes
 * their end. */
static inline char *conv_out_reserve(conv_outfile *out, size_t n);
static inline void conv_out_advance(conv_outfile *out, char *end);

/* False after a write has failed: a long output can stop early. */
bool conv_out_good(const conv_outfile *out);

/* End the output.  A commit that fails aborts it.  PR_EXISTS if another process
 * made the file meanwhile, without force. */
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
