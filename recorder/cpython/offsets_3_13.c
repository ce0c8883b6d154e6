/*
 * offsets_3_13.c - CPython 3.13 (3.13.5, 3.13.18): where struct
 * _Py_DebugOffsets has each word (Include/internal/pycore_debug_offsets.h), and
 * the fields that it leaves out.
 */
#include "recorder/cpython/offsets.h"

static const rec_published published = {
    .size =
        {
            [REC_SIZE_runtime_state] = 24,
            [REC_SIZE_interpreter_state] = 48,
            [REC_SIZE_thread_state] = 152,
            [REC_SIZE_interpreter_frame] = 224,
            [REC_SIZE_code_object] = 272,
            [REC_SIZE_pyobject] = 352,
            [REC_SIZE_type_object] = 368,
            [REC_SIZE_dict_object] = 448,
            [REC_SIZE_long_object] = 488,
            [REC_SIZE_bytes_object] = 512,
            [REC_SIZE_unicode_object] = 536,
            [REC_SIZE_gc] = 568,
        },
    .word =
        {
            [REC_AT_runtime_state_interpreters_head] = 40,
            [REC_AT_interpreter_state_id] = 56,
            [REC_AT_interpreter_state_next] = 64,
            [REC_AT_interpreter_state_threads_head] = 72,
            [REC_AT_interpreter_state_gc] = 80,
            [REC_AT_interpreter_state_imports_modules] = 88,
            [REC_AT_interpreter_state_sysdict] = 96,
            [REC_AT_interpreter_state_ceval_gil] = 112,
            [REC_AT_thread_state_prev] = 160,
            [REC_AT_thread_state_next] = 168,
            [REC_AT_thread_state_interp] = 176,
            [REC_AT_thread_state_current_frame] = 184,
            [REC_AT_thread_state_thread_id] = 192,
            [REC_AT_thread_state_native_thread_id] = 200,
            [REC_AT_thread_state_datastack_chunk] = 208,
            [REC_AT_thread_state_status] = 216,
            [REC_AT_interpreter_frame_previous] = 232,
            [REC_AT_interpreter_frame_executable] = 240,
            [REC_AT_interpreter_frame_instr_ptr] = 248,
            [REC_AT_interpreter_frame_localsplus] = 256,
            [REC_AT_interpreter_frame_owner] = 264,
            [REC_AT_code_object_filename] = 280,
            [REC_AT_code_object_qualname] = 296,
            [REC_AT_code_object_linetable] = 304,
            [REC_AT_code_object_firstlineno] = 312,
            [REC_AT_code_object_co_code_adaptive] = 344,
            [REC_AT_pyobject_ob_type] = 360,
            [REC_AT_type_object_tp_name] = 376,
            [REC_AT_type_object_tp_flags] = 392,
            [REC_AT_dict_object_ma_keys] = 456,
            [REC_AT_dict_object_ma_values] = 464,
            [REC_AT_long_object_lv_tag] = 496,
            [REC_AT_long_object_ob_digit] = 504,
            [REC_AT_bytes_object_ob_size] = 520,
            [REC_AT_bytes_object_ob_sval] = 528,
            [REC_AT_unicode_object_state] = 544,
            [REC_AT_unicode_object_length] = 552,
            [REC_AT_unicode_object_asciiobject_size] = 560,
            [REC_AT_gc_collecting] = 576,
        },
    .gil = 120,
    .gil_locked = 136,
    .gil_holder = 144,
};

static void
complete(rec_layout *l)
{
    rec_offsets_complete_common(l);
    l->exc.may_be_none = true;
    l->frame.tag_mask = 1; /* a borrowed pointer */
    l->gen.cleared = 4;
    l->gen.yield_from = l->gen.yield_from_locked = -1;
}

const rec_offsets rec_offsets_3_13 = {
    .minor = 13, .published = &published, .complete = complete};
