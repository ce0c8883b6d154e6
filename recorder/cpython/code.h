/*
 * code.h - code objects of the target: names, lines, sizes; read once.
 *
 * The cache turns (code object, instruction) into a frame id of the sink and
 * tells the sink new strings and frames.  It is emptied when the generation
 * counter of an interpreter moves (3.14+).  3.11 to 3.13 have no counter: an
 * object is then read again at its first use after some ticks; see code.c for
 * the rule and its limits.
 */
#ifndef RECORDER_CPYTHON_CODE_H
#define RECORDER_CPYTHON_CODE_H

#include "recorder/cpython/layout.h"
#include "recorder/cpython/name_table.h"

typedef struct rec_codes rec_codes; /* opaque */

/* What a stack walk needs of a code object. */
typedef struct rec_code {
    uint64_t address;
    uint64_t code_adaptive; /* address of the first instruction */
    uint32_t n_units;       /* instructions of 2 bytes */
    uint32_t frame_words;   /* co_framesize: the size of a frame on the data
                             * stack, in 8-byte words */
    uint32_t index;         /* in the cache */
} rec_code;

/* New names go to `names`, which outlives the cache: ids of the sink last longer
 * than a program. */
pr_code rec_codes_new(const rec_layout *layout, rec_name_table *names,
                      bool opcodes, rec_codes **ret, pr_err *err);
void rec_codes_free(rec_codes *codes); /* takes NULL */

/* Known code object at this address, or NULL: it is new, or it is time to read
 * it again.  O(1), reads nothing. */
const rec_code *rec_codes_find(rec_codes *codes, uint64_t address);

/* Read and keep it.  PR_TORN if what lies there is no code object.  Names or
 * lines that cannot be read cost the frame its name, not the sample.  The
 * pointer is valid until the next rec_codes_read() or _reset(). */
pr_code rec_codes_read(rec_codes *codes, rec_memory *memory, uint64_t address,
                       const rec_code **ret, pr_err *err);

/* Frame id for an instruction of a known code object; tells the sink a new
 * frame (and strings) the first time.  instr_ptr may be one unit before the
 * first instruction (just entered: the line of `def`).  On free-threaded
 * builds it may lie in a thread's own copy of the instructions.  opcode is the
 * byte at instr_ptr or PR_NO_OPCODE.  PR_TORN if instr_ptr lies outside: the
 * object is then read again at its next use. */
pr_code rec_codes_frame(rec_codes *codes, const rec_code *code,
                        uint64_t instr_ptr, uint8_t opcode, uint32_t *ret,
                        pr_err *err);

/* Frame ids of synthetic frames: "<native>", "<GC>", "<N frames omitted>",
 * "<task>" names: file and function as given, no line. */
pr_code rec_codes_synthetic(rec_codes *codes, const char *file,
                            const char *func, size_t func_len, uint32_t *ret,
                            pr_err *err);

/* Begin a tick: `generation` of the interpreters summed (0 on versions
 * without).  Empties the cache when it moved. */
void rec_codes_tick(rec_codes *codes, uint64_t generation);

/* Frames that were told without their name, or with the line of `def` only,
 * because the target's memory did not show more.  Such a code object is read
 * again in the next tick. */
uint64_t rec_codes_degraded(const rec_codes *codes);

void rec_codes_reset(rec_codes *codes);
void rec_codes_counts(const rec_codes *codes, uint64_t *ret_hits,
                      uint64_t *ret_misses, uint64_t *ret_invalidations);

#endif
