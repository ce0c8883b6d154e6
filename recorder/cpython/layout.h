/*
 * layout.h - where CPython keeps things: one struct of offsets for every
 * version.  The only file, with layout.c, that knows CPython's layouts.
 *
 * 3.13+ publishes most of them at the start of _PyRuntime (struct
 * _Py_DebugOffsets, Include/internal/pycore_debug_offsets.h); the rest, and
 * all of 3.11 and 3.12, are tables here.
 *
 * Validated once, in rec_layout_load(): every offset that is used lies, with
 * its width, inside the size given for its struct, and every size is under
 * the caps below.  Code that has read size bytes of a struct may use any
 * offset of it without a further check.
 */
#ifndef RECORDER_CPYTHON_LAYOUT_H
#define RECORDER_CPYTHON_LAYOUT_H

#include "recorder/linux/memory.h"

#define REC_ABSENT UINT32_MAX /* this version has no such field */

/* Caps on the reported sizes: local buffers have these. */
#define REC_CAP_TSTATE 8192
#define REC_CAP_FRAME  256
#define REC_CAP_CODE   1024
#define REC_CAP_OBJECT 512 /* str, bytes, int, set */

typedef struct rec_layout {
    uint32_t version; /* PY_VERSION_HEX */
    uint8_t minor;    /* 11 .. 15 */
    bool free_threaded;

    struct {
        uint32_t interpreters_head, finalizing;
        uint32_t gil_holder, gil_locked, gil_switch; /* 3.11: the GIL is here */
    } runtime;
    struct {
        uint32_t size, id, next, threads_head, threads_main;
        uint32_t ceval_gil; /* pointer to struct _gil_runtime_state */
        uint32_t code_generation, tlbc_generation;
        uint32_t gc;                 /* of struct gc inside the interpreter */
        uint32_t asyncio_tasks_head; /* filled by task.c when it is known */
    } interp;
    struct { /* inside struct _gil_runtime_state */
        uint32_t holder, locked, switch_number;
    } gil;
    struct {
        uint32_t size, prev, next, interp;
        uint32_t current_frame; /* 3.13+; REC_ABSENT before */
        uint32_t cframe;        /* 3.11, 3.12; REC_ABSENT after */
        uint32_t base_frame, last_profiled_frame, last_profiled_frame_seq;
        uint32_t thread_id, native_thread_id, datastack_chunk;
        uint32_t datastack_top, status, holds_gil, gil_requested;
        uint32_t current_exception, exc_info, exc_state;
        uint32_t running_loop, running_task, tasks_head;
    } tstate;
    struct {
        uint32_t current_frame, previous; /* _PyCFrame, 3.11 and 3.12 */
    } cframe;
    struct {
        uint32_t exc_value, previous_item; /* _PyErr_StackItem */
    } exc;
    struct {
        uint32_t size, executable, previous, instr_ptr, localsplus;
        uint32_t owner, stackpointer, tlbc_index;
        uint8_t owner_thread, owner_generator; /* their values */
        uint8_t owner_shim; /* owners >= this are not Python frames; 255 none */
        uint64_t tag_mask;  /* bits of `executable` to clear */
    } frame;
    struct {
        uint32_t size, filename, name, qualname, linetable, firstlineno;
        uint32_t framesize; /* int, in words; REC_ABSENT on 3.11, where */
        uint32_t stacksize, nlocalsplus; /* a frame is their sum and */
        uint32_t frame_specials;         /* this many words */
        uint32_t n_units;                /* ob_size: instructions of 2 bytes */
        uint32_t code_adaptive, tlbc;
    } code;
    struct {
        uint32_t ob_type, type_name, type_flags;
        uint32_t unicode_state, unicode_length, ascii_data, compact_data;
        uint32_t unicode_kind_shift, unicode_compact_bit, unicode_ascii_bit;
        uint32_t bytes_size, bytes_data;
        uint32_t long_tag, long_digit;
        uint32_t set_used, set_mask, set_table;
    } object;
    struct {
        uint32_t size, collecting, frame, stats, stats_size;
    } gc;
    struct {
        uint32_t size, iframe, state;
        int8_t cleared, yield_from, yield_from_locked; /* values of state */
    } gen;
} rec_layout;

/* Does a table of offsets (3.13+) begin here? */
bool rec_layout_has_cookie(const uint8_t *table);

/* Identify the version and fill *ret.  `table` are the first bytes of
 * _PyRuntime (REC_TABLE_BYTES, zero-padded if the section is shorter).
 * version_hint stands for the version where there is no table: the value of
 * Py_Version or, from a file's name, 0x030b00f0; 0 if neither is known.
 * PR_NOT_PYTHON says what was found. */
#define REC_TABLE_BYTES 1024
pr_code rec_layout_load(const uint8_t *table, uint32_t version_hint,
                        rec_layout *ret, pr_err *err);

#endif
