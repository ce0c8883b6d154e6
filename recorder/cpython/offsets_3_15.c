/*
 * offsets_3_15.c - CPython 3.15 (3.15.2): where struct _Py_DebugOffsets has
 * each word (Include/internal/pycore_debug_offsets.h), and the fields that it
 * leaves out.
 */
#include "recorder/cpython/offsets.h"

static const rec_published published = {
    .size =
        {
            [REC_SIZE_runtime_state] = 24,
            [REC_SIZE_interpreter_state] = 48,
            [REC_SIZE_thread_state] = 176,
            [REC_SIZE_interpreter_frame] = 312,
            [REC_SIZE_code_object] = 376,
            [REC_SIZE_pyobject] = 464,
            [REC_SIZE_type_object] = 480,
            [REC_SIZE_set_object] = 592,
            [REC_SIZE_dict_object] = 624,
            [REC_SIZE_long_object] = 664,
            [REC_SIZE_bytes_object] = 688,
            [REC_SIZE_unicode_object] = 712,
            [REC_SIZE_gc] = 752,
            [REC_SIZE_gen_object] = 792,
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
            [REC_AT_thread_state_base_frame] = 216,
            [REC_AT_thread_state_last_profiled_frame] = 224,
            [REC_AT_thread_state_last_profiled_frame_seq] = 232,
            [REC_AT_thread_state_thread_id] = 240,
            [REC_AT_thread_state_native_thread_id] = 248,
            [REC_AT_thread_state_datastack_chunk] = 256,
            [REC_AT_thread_state_status] = 264,
            [REC_AT_thread_state_gil_requested] = 280,
            [REC_AT_thread_state_current_exception] = 288,
            [REC_AT_thread_state_exc_state] = 296,
            [REC_AT_interpreter_frame_previous] = 320,
            [REC_AT_interpreter_frame_executable] = 328,
            [REC_AT_interpreter_frame_instr_ptr] = 336,
            [REC_AT_interpreter_frame_localsplus] = 344,
            [REC_AT_interpreter_frame_owner] = 352,
            [REC_AT_interpreter_frame_stackpointer] = 360,
            [REC_AT_code_object_filename] = 384,
            [REC_AT_code_object_qualname] = 400,
            [REC_AT_code_object_linetable] = 408,
            [REC_AT_code_object_firstlineno] = 416,
            [REC_AT_code_object_co_code_adaptive] = 448,
            [REC_AT_code_object_co_tlbc] = 456,
            [REC_AT_pyobject_ob_type] = 472,
            [REC_AT_type_object_tp_name] = 488,
            [REC_AT_type_object_tp_flags] = 504,
            [REC_AT_set_object_used] = 600,
            [REC_AT_set_object_table] = 608,
            [REC_AT_set_object_mask] = 616,
            [REC_AT_dict_object_ma_keys] = 632,
            [REC_AT_dict_object_ma_values] = 640,
            [REC_AT_long_object_lv_tag] = 672,
            [REC_AT_long_object_ob_digit] = 680,
            [REC_AT_bytes_object_ob_size] = 696,
            [REC_AT_bytes_object_ob_sval] = 704,
            [REC_AT_unicode_object_state] = 720,
            [REC_AT_unicode_object_length] = 728,
            [REC_AT_unicode_object_asciiobject_size] = 736,
            [REC_AT_gc_collecting] = 760,
            [REC_AT_gc_frame] = 768,
            [REC_AT_gc_generation_stats] = 784,
            [REC_AT_gen_object_gi_iframe] = 808,
            [REC_AT_gen_object_gi_frame_state] = 816,
        },
    .gil = 128,
    .gil_locked = 144,
    .gil_holder = 152,
    .gc_stats_size = 776,
};

/* struct gc_generation_stats, in rings of one size a generation (Include/
 * internal/pycore_interp_structs.h). */
static void
complete_gc_ring(rec_layout *l)
{
    l->gc_ring.entry_size = 64;
    l->gc_ring.start = 0; /* ns, CLOCK_MONOTONIC */
    l->gc_ring.stop = 8;
    l->gc_ring.collections = 16; /* cumulative from here on */
    l->gc_ring.collected = 24;
    l->gc_ring.uncollectable = 32;
    l->gc_ring.candidates = 40;
    l->gc_ring.duration = 48;  /* double, s */
    l->gc_ring.heap_size = 56; /* of this collection */
    l->gc_ring.entries[0] = l->free_threaded ? 1 : 11;
    l->gc_ring.entries[1] = l->free_threaded ? 1 : 3;
    l->gc_ring.entries[2] = l->free_threaded ? 1 : 3;
}

static void
complete(rec_layout *l)
{
    rec_offsets_complete_common(l);
    l->frame.cleared_on_pop = true;
    l->frame.tag_mask = 3; /* low bits of a _PyStackRef */
    /* below the NULL that 3.15 keeps with each iterator (bytecodes.c SEND) */
    l->gen.awaited_below_top = 16;
    l->gen.cleared = 5;
    l->gen.yield_from = 2;
    l->gen.yield_from_locked = 3;
    complete_gc_ring(l);
}

const rec_offsets rec_offsets_3_15 = {
    .minor = 15, .published = &published, .complete = complete};
