/*
 * layout.h - the layout of CPython's structures: one struct of offsets and
 * constants for all versions.
 *
 * 3.13 and later publish most offsets at the start of _PyRuntime (struct
 * _Py_DebugOffsets, Include/internal/pycore_debug_offsets.h).  One file a
 * version, offsets_3_NN.c, has the place of each field in that table, and the
 * offsets that the table leaves out: those of 3.11 and 3.12 are all in their
 * files.  No
 * other file knows a layout: to support a new version, write its offsets file
 * and add its line to the list in offsets.h.
 *
 * rec_layout_load() validates once: every offset lies, with the width of its
 * field, inside the size of its struct, and every size is under the caps
 * below.  Code that has read `size` bytes of a struct may use any offset of it
 * without a further check.
 */
#ifndef RECORDER_CPYTHON_LAYOUT_H
#define RECORDER_CPYTHON_LAYOUT_H

#include "recorder/linux/memory.h"

#define REC_ABSENT UINT32_MAX /* this version has no such field */

/* Caps on the published sizes: local buffers have these. */
enum {
    REC_CAP_TSTATE = 8192,
    REC_CAP_FRAME = 256,
    REC_CAP_CODE = 1024,
    REC_CAP_OBJECT = 512, /* str, bytes, int, set, dict, generator */
    REC_CAP_GIL = 64      /* bytes read of struct _gil_runtime_state */
};

/* Bounds on lists in the target. */
enum { REC_INTERPS_MAX = 256, REC_THREADS_MAX = 8192 };

/* tp_flags, the same in 3.11 to 3.15 (Include/object.h). */
enum {
    REC_TYPE_BUILTIN = 1 << 1,       /* 3.12 on: a static type of the core */
    REC_TYPE_INLINE_VALUES = 1 << 2, /* 3.13 on */
    REC_TYPE_MANAGED_DICT = 1 << 4,
    REC_TYPE_HEAP = 1 << 9,
    REC_TYPE_INT = 1 << 24,
    REC_TYPE_STR = 1 << 28,
    REC_TYPE_DICT = 1 << 29,
    REC_TYPE_EXCEPTION = 1 << 30
};

/* The place of an instance's attributes. */
typedef enum rec_attributes {
    REC_ATTRIBUTES_POINTER, /* 3.11: values pointer before the dict pointer */
    REC_ATTRIBUTES_TAGGED,  /* 3.12: values address - 1, or the dict pointer */
    REC_ATTRIBUTES_INLINE   /* 3.13 on: values after the object */
} rec_attributes;

/* Members of type uint32_t are byte offsets, REC_ABSENT if this version has no
 * such field; the others are values. */
typedef struct rec_layout {
    uint32_t version; /* PY_VERSION_HEX */
    uint8_t minor;    /* 11 .. 15 */
    bool free_threaded;

    struct {
        uint32_t interpreters_head;
        uint32_t gil; /* 3.11: struct _gil_runtime_state is here */
    } runtime;
    struct {
        uint32_t id, next, threads_head, threads_main;
        uint32_t ceval_gil; /* pointer to struct _gil_runtime_state */
        uint32_t code_generation;
        uint32_t gc;      /* of struct gc inside the interpreter */
        uint32_t modules; /* sys.modules */
        uint32_t sysdict; /* the dict of module sys */
    } interp;
    struct { /* inside struct _gil_runtime_state */
        uint32_t holder, locked, switch_number;
    } gil;
    struct {
        uint32_t size, prev, next, interp;
        uint32_t current_frame; /* 3.13 on */
        uint32_t cframe;        /* 3.11, 3.12 */
        uint32_t base_frame, last_profiled_frame, last_profiled_frame_seq;
        uint32_t thread_id, native_thread_id, datastack_chunk;
        uint32_t datastack_top, status, gil_requested;
        uint32_t current_exception, exc_info, exc_state;
        uint8_t status_active; /* bit of `status`: attached */
        uint8_t status_over;   /* bits of `status`: cleared or finalized */
    } tstate;
    struct { /* _PyCFrame, 3.11 and 3.12 */
        uint32_t current_frame, previous;
    } cframe;
    struct { /* _PyErr_StackItem */
        uint32_t exc_value, previous_item;
        bool may_be_none; /* exc_value is None instead of NULL (to 3.13) */
    } exc;
    struct { /* _PyStackChunk */
        uint32_t previous, size;
        uint32_t head;       /* bytes before the first frame */
        uint32_t usual_size; /* in bytes, with its head */
    } chunk;
    struct {
        uint32_t size, executable, previous, instr_ptr, localsplus;
        uint32_t owner, stackpointer;
        uint8_t owner_thread, owner_generator; /* their values */
        uint8_t owner_shim; /* owners >= this are not Python frames; 255 none */
        bool cleared_on_pop; /* a popped frame loses its code object */
        uint64_t tag_mask;   /* bits of `executable` to clear */
    } frame;
    struct {
        uint32_t size, filename, qualname, linetable, firstlineno;
        uint32_t framesize; /* int, in words; REC_ABSENT on 3.11, where */
        uint32_t stacksize, nlocalsplus; /* a frame is their sum and */
        uint32_t frame_specials;         /* this many words */
        uint32_t n_units;                /* ob_size: instructions of 2 bytes */
        uint32_t code_adaptive, tlbc;
    } code;
    struct {
        uint32_t size, ob_type; /* PyObject */
        uint32_t type_name, type_flags, type_basicsize, type_dictoffset;
        uint32_t type_cached_keys; /* of a heap type */
        uint32_t unicode_state, unicode_length, ascii_data, compact_data;
        uint32_t unicode_kind_shift, unicode_compact_bit, unicode_ascii_bit;
        uint32_t bytes_size, bytes_data;
        uint32_t long_tag;  /* 3.12 on */
        uint32_t long_size; /* 3.11: signed number of digits */
        uint32_t long_digit;
        uint32_t set_used, set_mask, set_table;
        uint32_t dict_keys, dict_values;
        uint32_t module_dict;
    } object;
    struct { /* PyDictKeysObject, and the values of a split table */
        uint32_t log2_index_bytes, kind, n_entries, indices;
        uint32_t values;       /* of struct _dictvalues: the first value */
        uint32_t values_valid; /* byte: the inline values are in use */
    } keys;
    struct {
        rec_attributes form;
        uint32_t dict_before; /* bytes from the dict pointer to the object */
    } attributes;
    struct { /* struct _gc_runtime_state */
        uint32_t collecting, frame, stats;
        uint32_t stats_size; /* bytes of the block that `stats` points to */
    } gc;
    struct { /* the rings that gc.stats points to; struct gc_generation_stats */
        uint32_t entry_size, start, stop, collections, collected;
        uint32_t uncollectable, candidates, duration, heap_size;
        uint8_t entries[3]; /* by generation */
    } gc_ring;
    struct { /* generator, coroutine and asynchronous generator */
        uint32_t size, iframe, state;
        uint32_t awaited_below_top; /* bytes from the stack pointer down */
        int8_t cleared, yield_from, yield_from_locked; /* values of state */
    } gen;
} rec_layout;

/* Does a table of offsets (3.13 on) begin here? */
bool rec_layout_has_cookie(const uint8_t *table);

/* May a _PyRuntime begin here, in the data of a program?  A table of offsets,
 * or, on versions without, the marks of a runtime that was initialized. */
enum { REC_SIGN_BYTES = 24 };
bool rec_layout_may_begin(const uint8_t *bytes);

/* Identify the version and fill *ret.  `table` holds the first bytes of
 * _PyRuntime (REC_TABLE_BYTES, zero-padded if the section is shorter).
 * version_hint stands for the version where there is no table: the value of
 * Py_Version or, from a file's name, 0x030b00f0; 0 if neither is known.
 * PR_NOT_PYTHON: the message says which version or which value was found. */
#define REC_TABLE_BYTES 1024
pr_code rec_layout_load(const uint8_t *table, uint32_t version_hint,
                        rec_layout *ret, pr_err *err);

/* The versions that have no table, oldest first: 0x030b00f0, ...; 0 after the
 * last one. */
uint32_t rec_layout_without_table(size_t i);

/* PR_NOT_PYTHON with the sentence for a CPython that is too old, too new or a
 * pre-release; PR_OK if `version` is supported: PY_VERSION_HEX, its low half 0
 * if only major and minor are known. */
pr_code rec_layout_check_version(uint32_t version, pr_err *err);

#endif
