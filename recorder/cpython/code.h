/*
 * code.h - code objects of the target: names, lines, sizes; read once.
 *
 * The cache turns (code object, instruction) into a frame id of the sink and
 * emits new strings and frames.  A frame bears the name of the code that ran:
 * either the batch that holds the stack also holds the words that identify each
 * code object, and the cache compares them, or the interpreter's count of freed
 * code objects shows that it is the same one; see code.c.
 */
#ifndef RECORDER_CPYTHON_CODE_H
#define RECORDER_CPYTHON_CODE_H

#include "recorder/cpython/code_set.h"
#include "recorder/cpython/name_table.h"

typedef struct rec_codes rec_codes; /* opaque */

/* The facts of a code object that a stack walk needs. */
typedef struct rec_code {
    uint64_t address;
    uint64_t code_adaptive; /* address of the first instruction */
    uint32_t n_units;       /* instructions of 2 bytes */
    uint32_t frame_words;   /* co_framesize: the size of a frame on the data
                             * stack, in 8-byte words */
    uint32_t index;         /* in the cache */
} rec_code;

/* New names go to `names`, which outlives the cache: ids of the sink last
 * longer than a program. */
pr_code rec_codes_new(const rec_layout *layout, rec_name_table *names,
                      bool opcodes, rec_codes **ret, pr_err *err);
void rec_codes_free(rec_codes *codes); /* takes NULL */

/* Begin with the stack of a thread of the interpreter at address `interp`.
 * `generation` is its count of freed code objects, read in the same batch as
 * the stack; NULL on versions without one, or if it was not read. */
void rec_codes_begin(rec_codes *codes, uint64_t interp,
                     const uint64_t *generation);

/* Is the object at this address known to be the one in the cache?  O(1), reads
 * nothing. */
bool rec_codes_is_verified(const rec_codes *codes, uint64_t address);

/* Add to the batch the words that identify the object. */
void rec_codes_ask(rec_codes *codes, rec_batch *batch, uint64_t address);

/* Add to the set the words that identify the object. */
void rec_codes_note(const rec_codes *codes, rec_code_set *set,
                    uint64_t address);

/* The code object at `address`, as in the batch: the known object, or one that
 * is read now.  A frame of the present stack must refer to it: memory that was
 * freed may still show the object that it held, and another one may come to lie
 * there without a change of the generation.  Bytes that the batch lacks are
 * read now; batch->calls shows whether there were any.  PR_TORN if it is not a
 * code object.  Names or lines that cannot be read in two windows cost the
 * frame its name, not the sample; in the first window they are PR_TORN, because
 * the object may have been freed while they were read.  The pointer is valid
 * until the next call. */
pr_code rec_codes_get(rec_codes *codes, rec_batch *batch, uint64_t address,
                      const rec_code **ret, pr_err *err);

/* The conditions under which verified code objects stay verified.  Until the
 * epoch changes, no known address was found to hold another object. */
typedef struct rec_code_stamp {
    uint64_t epoch;
    uint64_t interp, generation;
    bool counted; /* the generation is known */
} rec_code_stamp;

/* The stamp of the present stack. */
rec_code_stamp rec_codes_stamp(const rec_codes *codes);

/* Has the interpreter freed no code object since? */
bool rec_codes_hold(const rec_codes *codes, const rec_code_stamp *stamp);

/* Frame id for an instruction of a known code object; emits a new frame (and
 * strings) the first time.  instr_ptr may be one unit before the first
 * instruction (just entered: the line of `def`).  On free-threaded builds it
 * may lie in a thread's own copy of the instructions.  opcode is the byte at
 * instr_ptr or PR_NO_OPCODE.  PR_TORN if instr_ptr lies outside: the object is
 * then read again at its next use. */
pr_code rec_codes_frame(rec_codes *codes, const rec_code *code,
                        uint64_t instr_ptr, uint8_t opcode, uint32_t *ret,
                        pr_err *err);

/* Frame ids of synthetic frames: "<native>", "<GC>", "<N frames omitted>",
 * "<task>" names: file and function as given, no line. */
pr_code rec_codes_synthetic(rec_codes *codes, const char *file,
                            const char *func, size_t func_len, uint32_t *ret,
                            pr_err *err);

/* Frames that were emitted without their name, or with the line of `def` only,
 * because the target's memory did not show more.  Such a code object is read
 * again with the next stack. */
uint64_t rec_codes_degraded(const rec_codes *codes);

void rec_codes_counts(const rec_codes *codes, uint64_t *ret_hits,
                      uint64_t *ret_misses, uint64_t *ret_invalidations);

#endif
