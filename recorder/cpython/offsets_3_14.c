/*
 * offsets_3_14.c - CPython 3.14 (3.14.8, 3.14.10): where struct
 * _Py_DebugOffsets has each word (Include/internal/pycore_debug_offsets.h), and
 * the fields that it leaves out.
 */
#include "recorder/cpython/offsets.h"

static const rec_published published = {
    .size =
        {
            [REC_SIZE_runtime_state] = 24,
            [REC_SIZE_interpreter_state] = 48,
            [REC_SIZE_thread_state] = 176,
            [REC_SIZE_interpreter_frame] = 248,
            [REC_SIZE_code_object] = 312,
            [REC_SIZE_pyobject] = 400,
            [REC_SIZE_type_object] = 416,
            [REC_SIZE_set_object] = 496,
            [REC_SIZE_dict_object] = 528,
            [REC_SIZE_long_object] = 568,
            [REC_SIZE_bytes_object] = 592,
            [REC_SIZE_unicode_object] = 616,
            [REC_SIZE_gc] = 648,
            [REC_SIZE_gen_object] = 664,
        },
    .word =
        {
            [REC_AT_runtime_state_interpreters_head] = 40,
            [REC_AT_interpreter_state_id] = 56,
            [REC_AT_interpreter_state_next] = 64,
            [REC_AT_interpreter_state_threads_head] = 72,
            [REC_AT_interpreter_state_threads_main] = 80,
            [REC_AT_interpreter_state_gc] = 88,
            [REC_AT_interpreter_state_imports_modules] = 96,
            [REC_AT_interpreter_state_sysdict] = 104,
            [REC_AT_interpreter_state_ceval_gil] = 120,
            [REC_AT_interpreter_state_code_object_generation] = 160,
            [REC_AT_thread_state_prev] = 184,
            [REC_AT_thread_state_next] = 192,
            [REC_AT_thread_state_interp] = 200,
            [REC_AT_thread_state_current_frame] = 208,
            [REC_AT_thread_state_thread_id] = 216,
            [REC_AT_thread_state_native_thread_id] = 224,
            [REC_AT_thread_state_datastack_chunk] = 232,
            [REC_AT_thread_state_status] = 240,
            [REC_AT_interpreter_frame_previous] = 256,
            [REC_AT_interpreter_frame_executable] = 264,
            [REC_AT_interpreter_frame_instr_ptr] = 272,
            [REC_AT_interpreter_frame_localsplus] = 280,
            [REC_AT_interpreter_frame_owner] = 288,
            [REC_AT_interpreter_frame_stackpointer] = 296,
            [REC_AT_code_object_filename] = 320,
            [REC_AT_code_object_qualname] = 336,
            [REC_AT_code_object_linetable] = 344,
            [REC_AT_code_object_firstlineno] = 352,
            [REC_AT_code_object_co_code_adaptive] = 384,
            [REC_AT_code_object_co_tlbc] = 392,
            [REC_AT_pyobject_ob_type] = 408,
            [REC_AT_type_object_tp_name] = 424,
            [REC_AT_type_object_tp_flags] = 440,
            [REC_AT_set_object_used] = 504,
            [REC_AT_set_object_table] = 512,
            [REC_AT_set_object_mask] = 520,
            [REC_AT_dict_object_ma_keys] = 536,
            [REC_AT_dict_object_ma_values] = 544,
            [REC_AT_long_object_lv_tag] = 576,
            [REC_AT_long_object_ob_digit] = 584,
            [REC_AT_bytes_object_ob_size] = 600,
            [REC_AT_bytes_object_ob_sval] = 608,
            [REC_AT_unicode_object_state] = 624,
            [REC_AT_unicode_object_length] = 632,
            [REC_AT_unicode_object_asciiobject_size] = 640,
            [REC_AT_gc_collecting] = 656,
            [REC_AT_gen_object_gi_iframe] = 680,
            [REC_AT_gen_object_gi_frame_state] = 688,
        },
    .gil = 128,
    .gil_locked = 144,
    .gil_holder = 152,
};

static void
complete(rec_layout *l)
{
    rec_offsets_complete_common(l);
    l->frame.cleared_on_pop = true;
    l->frame.tag_mask = 3; /* low bits of a _PyStackRef */
    l->gen.awaited_below_top = 8;
    l->gen.cleared = 4;
    l->gen.yield_from = l->gen.yield_from_locked = -1;
}

const rec_offsets rec_offsets_3_14 = {
    .minor = 14, .published = &published, .complete = complete};
