/*
 * stack.h - decode the bytes of one read into the frames of one stack.
 *
 * A walk follows the frames from the innermost outwards and trusts nothing:
 * owner, code object, instruction, the distance of neighbours on the data stack
 * and the place of the outermost frame must all fit, or the read is torn.
 * Decoding gives frame ids; frames that equal those of the last stack, counted
 * from the outermost frame, are not decoded again.
 */
#ifndef RECORDER_CPYTHON_STACK_H
#define RECORDER_CPYTHON_STACK_H

#include "recorder/cpython/code.h"
#include "recorder/cpython/data_stack.h"

/* Frames of an emitted stack when the options set no limit. */
enum { REC_DEPTH_DEFAULT = 4096 };

typedef struct rec_entry {
    uint64_t code, instr; /* 0, 0: a synthetic frame */
    uint64_t address;
    uint32_t words; /* size on the data stack */
    uint32_t id;    /* of the sink */
} rec_entry;

typedef struct rec_stack {
    rec_entry *v; /* outermost first */
    uint32_t n;
    size_t cap;
    rec_code_stamp stamp; /* when it was decoded */
} rec_stack;

void rec_stack_release(rec_stack *stack);

typedef struct rec_raw rec_raw;   /* a frame as walked */
typedef struct rec_seen rec_seen; /* a code object that was met */

typedef struct rec_walker {
    const rec_layout *layout;
    rec_codes *codes;
    uint32_t max_depth;
    bool native, opcodes;
    rec_raw *raw; /* innermost first */
    size_t n_raw, cap_raw;
    bool anchored;  /* the outer part is that of the last stack */
    rec_seen *seen; /* scratch: code objects met in one pass over frames */
    uint32_t round; /* of such passes */
    uint64_t *met;  /* scratch: those that are to be verified ... */
    size_t n_met, cap_met;
    uint64_t *missed; /* ... and those that the batch lacked */
    size_t n_missed, cap_missed;
} rec_walker;

/* Add to a batch the words that identify the code objects of the thread's
 * latest stacks, where they are needed, so that the batch reads them at the
 * same moment as the new stack. */
void rec_stack_ask(const rec_walker *walker, rec_code_set *codes,
                   rec_batch *batch);

void rec_walker_release(rec_walker *walker);

/* The start of a walk and the conditions that it checks. */
typedef struct rec_walk {
    uint64_t start;     /* 0: an empty stack */
    uint64_t base;      /* the outermost frame (3.15), or 0 */
    uint64_t must_pass; /* a frame that must be on the way, or 0 */
    uint64_t gc_frame;  /* <GC> runs inside this one, or 0 */
    uint64_t anchor;    /* the frames from here outwards are those of `last`,
                         * or 0 */
    const rec_stack *last;
} rec_walk;

/* Follow the frames.  PR_TORN, PR_LIMIT, or the reason why memory cannot be
 * read. */
pr_code rec_stack_walk(rec_walker *walker, rec_batch *batch,
                       rec_data_stack *source, const rec_walk *walk,
                       pr_err *err);

/* Decode the walked frames into *fresh.  Frames that equal those of `last` at
 * their place are taken from there, once the batch has shown that their code
 * objects are the same.  Code objects that the batch lacked are read now and go
 * into *codes, which the next batch reads. *ret_keep: how many outermost frames
 * `last` and *fresh share; *ret_omitted: frames that the limit of depth left
 * out. */
pr_code rec_stack_decode(rec_walker *walker, rec_batch *batch,
                         const rec_data_stack *source, rec_code_set *codes,
                         const rec_stack *last, rec_stack *fresh,
                         uint32_t *ret_keep, uint32_t *ret_omitted,
                         pr_err *err);

#endif
