/*
 * offsets.h - the form of an offsets file, and the list of these files.
 */
#ifndef RECORDER_CPYTHON_OFFSETS_H
#define RECORDER_CPYTHON_OFFSETS_H

#include "recorder/cpython/layout.h"

/* The supported versions, oldest first.  A new version is one line here and
 * one file that defines rec_offsets_NN. */
#define REC_VERSIONS(X) X(3_11) X(3_12) X(3_13) X(3_14) X(3_15)

/* Structs whose size the table publishes: name, and the largest size that is
 * accepted. */
#define REC_SIZES(X)                    \
    X(runtime_state, 4 << 20)           \
    X(interpreter_state, 4 << 20)       \
    X(thread_state, REC_CAP_TSTATE)     \
    X(interpreter_frame, REC_CAP_FRAME) \
    X(code_object, REC_CAP_CODE)        \
    X(pyobject, REC_CAP_OBJECT)         \
    X(type_object, REC_CAP_CODE)        \
    X(set_object, REC_CAP_OBJECT)       \
    X(dict_object, REC_CAP_OBJECT)      \
    X(long_object, REC_CAP_OBJECT)      \
    X(bytes_object, REC_CAP_OBJECT)     \
    X(unicode_object, REC_CAP_OBJECT)   \
    X(gc, REC_CAP_TSTATE)               \
    X(gen_object, REC_CAP_OBJECT)

/* Offsets that the table publishes: name there, place in rec_layout, the
 * struct that holds the field, its width in bytes, and whether the value 0
 * says that this build has no such field. */
#define REC_WORDS(X)                                                           \
    X(runtime_state_interpreters_head, runtime.interpreters_head,              \
      runtime_state, 8, 0)                                                     \
    X(interpreter_state_id, interp.id, interpreter_state, 8, 0)                \
    X(interpreter_state_next, interp.next, interpreter_state, 8, 0)            \
    X(interpreter_state_threads_head, interp.threads_head, interpreter_state,  \
      8, 0)                                                                    \
    X(interpreter_state_threads_main, interp.threads_main, interpreter_state,  \
      8, 0)                                                                    \
    X(interpreter_state_gc, interp.gc, interpreter_state, 8, 0)                \
    X(interpreter_state_imports_modules, interp.modules, interpreter_state, 8, \
      0)                                                                       \
    X(interpreter_state_sysdict, interp.sysdict, interpreter_state, 8, 0)      \
    X(interpreter_state_ceval_gil, interp.ceval_gil, interpreter_state, 8, 0)  \
    X(interpreter_state_code_object_generation, interp.code_generation,        \
      interpreter_state, 8, 0)                                                 \
    X(thread_state_prev, tstate.prev, thread_state, 8, 0)                      \
    X(thread_state_next, tstate.next, thread_state, 8, 0)                      \
    X(thread_state_interp, tstate.interp, thread_state, 8, 0)                  \
    X(thread_state_current_frame, tstate.current_frame, thread_state, 8, 0)    \
    X(thread_state_base_frame, tstate.base_frame, thread_state, 8, 0)          \
    X(thread_state_last_profiled_frame, tstate.last_profiled_frame,            \
      thread_state, 8, 0)                                                      \
    X(thread_state_last_profiled_frame_seq, tstate.last_profiled_frame_seq,    \
      thread_state, 8, 0)                                                      \
    X(thread_state_thread_id, tstate.thread_id, thread_state, 8, 0)            \
    X(thread_state_native_thread_id, tstate.native_thread_id, thread_state, 8, \
      0)                                                                       \
    X(thread_state_datastack_chunk, tstate.datastack_chunk, thread_state, 8,   \
      0)                                                                       \
    X(thread_state_status, tstate.status, thread_state, 4, 0)                  \
    X(thread_state_gil_requested, tstate.gil_requested, thread_state, 4, 0)    \
    X(thread_state_current_exception, tstate.current_exception, thread_state,  \
      8, 0)                                                                    \
    X(thread_state_exc_state, tstate.exc_state, thread_state, 16, 0)           \
    X(interpreter_frame_previous, frame.previous, interpreter_frame, 8, 0)     \
    X(interpreter_frame_executable, frame.executable, interpreter_frame, 8, 0) \
    X(interpreter_frame_instr_ptr, frame.instr_ptr, interpreter_frame, 8, 0)   \
    X(interpreter_frame_localsplus, frame.localsplus, interpreter_frame, 8, 0) \
    X(interpreter_frame_owner, frame.owner, interpreter_frame, 1, 0)           \
    X(interpreter_frame_stackpointer, frame.stackpointer, interpreter_frame,   \
      8, 0)                                                                    \
    X(code_object_filename, code.filename, code_object, 8, 0)                  \
    X(code_object_qualname, code.qualname, code_object, 8, 0)                  \
    X(code_object_linetable, code.linetable, code_object, 8, 0)                \
    X(code_object_firstlineno, code.firstlineno, code_object, 4, 0)            \
    X(code_object_co_code_adaptive, code.code_adaptive, code_object, 1, 0)     \
    X(code_object_co_tlbc, code.tlbc, code_object, 8, 1)                       \
    X(pyobject_ob_type, object.ob_type, pyobject, 8, 0)                        \
    X(type_object_tp_name, object.type_name, type_object, 8, 0)                \
    X(type_object_tp_flags, object.type_flags, type_object, 8, 0)              \
    X(set_object_used, object.set_used, set_object, 8, 0)                      \
    X(set_object_table, object.set_table, set_object, 8, 0)                    \
    X(set_object_mask, object.set_mask, set_object, 8, 0)                      \
    X(dict_object_ma_keys, object.dict_keys, dict_object, 8, 0)                \
    X(dict_object_ma_values, object.dict_values, dict_object, 8, 0)            \
    X(long_object_lv_tag, object.long_tag, long_object, 8, 0)                  \
    X(long_object_ob_digit, object.long_digit, long_object, 4, 0)              \
    X(bytes_object_ob_size, object.bytes_size, bytes_object, 8, 0)             \
    X(bytes_object_ob_sval, object.bytes_data, bytes_object, 1, 0)             \
    X(unicode_object_state, object.unicode_state, unicode_object, 4, 0)        \
    X(unicode_object_length, object.unicode_length, unicode_object, 8, 0)      \
    X(unicode_object_asciiobject_size, object.ascii_data, unicode_object, 1,   \
      0)                                                                       \
    X(gc_collecting, gc.collecting, gc, 4, 0)                                  \
    X(gc_frame, gc.frame, gc, 8, 0)                                            \
    X(gc_generation_stats, gc.stats, gc, 8, 0)                                 \
    X(gen_object_gi_iframe, gen.iframe, gen_object, 8, 0)                      \
    X(gen_object_gi_frame_state, gen.state, gen_object, 1, 0)

#define REC_NAME_SIZE(name, cap)                  REC_SIZE_##name,
#define REC_NAME_WORD(name, to, in, width, maybe) REC_AT_##name,
enum { REC_SIZES(REC_NAME_SIZE) REC_N_SIZES };
enum { REC_WORDS(REC_NAME_WORD) REC_N_WORDS };
#undef REC_NAME_SIZE
#undef REC_NAME_WORD

/* The place of each word in struct _Py_DebugOffsets of one version, in bytes
 * from its start; 0: that version does not publish it. */
typedef struct rec_published {
    uint16_t size[REC_N_SIZES];
    uint16_t word[REC_N_WORDS];
    /* inside the interpreter: the struct of the GIL and two of its words */
    uint16_t gil, gil_locked, gil_holder;
    uint16_t gc_stats_size;
} rec_published;

typedef struct rec_offsets {
    uint8_t minor;
    const rec_published *published; /* NULL: the version has no table */
    /* Set the offsets and values that are not published; `l` holds REC_ABSENT
     * in every other offset and 0 in every other value. */
    void (*complete)(rec_layout *l);
} rec_offsets;

#define REC_DECLARE(version) extern const rec_offsets rec_offsets_##version;
REC_VERSIONS(REC_DECLARE)
#undef REC_DECLARE

/* Set the fields of 3.13 and later that are not in their table: those whose
 * place follows from that of a published neighbour, and values. */
void rec_offsets_complete_common(rec_layout *l);

/* Set the fields that 3.11 and 3.12, which publish no table, share. */
void rec_offsets_complete_unpublished(rec_layout *l);

#endif
