/*
 * offsets_3_12.c - CPython 3.12, which publishes no table: offsetof() over the
 * headers that offsets_3_11.c names, of 3.12.1.
 */
#include "recorder/cpython/offsets.h"

static void
complete(rec_layout *l)
{
    l->runtime.interpreters_head = 40;
    l->interp.id = 8;
    l->interp.next = 0;
    l->interp.threads_head = 72;
    l->interp.ceval_gil = 384;
    l->interp.gc = 112;
    l->interp.modules = 944; /* imports.modules */
    l->interp.sysdict = 352;
    l->gil.holder = 8;
    l->gil.locked = 16;
    l->gil.switch_number = 24;
    l->tstate.size = 288;
    l->tstate.prev = 0;
    l->tstate.next = 8;
    l->tstate.interp = 16;
    l->tstate.cframe = 56;
    l->tstate.thread_id = 136;
    l->tstate.native_thread_id = 144;
    l->tstate.datastack_chunk = 232;
    l->tstate.datastack_top = 240;
    l->tstate.status = 24;
    l->tstate.status_active = 1 << 4;
    l->tstate.status_over = 1 << 6 | 1 << 7;
    l->tstate.current_exception = 96;
    l->tstate.exc_info = 104;
    l->tstate.exc_state = 256;
    l->cframe.current_frame = 0;
    l->cframe.previous = 8;
    l->exc.exc_value = 0;
    l->exc.previous_item = 8;
    l->exc.may_be_none = true;
    l->frame.size = 80;
    l->frame.executable = 0;
    l->frame.previous = 8;
    l->frame.instr_ptr = 56; /* prev_instr */
    l->frame.localsplus = 72;
    l->frame.owner = 70;
    l->frame.owner_thread = 0;
    l->frame.owner_generator = 1;
    l->frame.owner_shim = 3; /* FRAME_OWNED_BY_CSTACK */
    l->code.size = 200;
    l->code.filename = 112;
    l->code.qualname = 128;
    l->code.linetable = 136;
    l->code.firstlineno = 68;
    l->code.framesize = 76;
    l->code.n_units = 16;
    l->code.code_adaptive = 192;
    l->object.size = 16;
    l->object.ob_type = 8;
    l->object.type_name = 24;
    l->object.type_flags = 168;
    l->object.type_basicsize = 32;
    l->object.type_dictoffset = 288;
    l->object.type_cached_keys = 880;
    l->object.unicode_state = 32;
    l->object.unicode_length = 16;
    l->object.ascii_data = 40;
    l->object.compact_data = 56;
    l->object.unicode_kind_shift = 2;
    l->object.unicode_compact_bit = 5;
    l->object.unicode_ascii_bit = 6;
    l->object.bytes_size = 16;
    l->object.bytes_data = 32;
    l->object.long_tag = 16;
    l->object.long_digit = 24;
    l->object.dict_keys = 32;
    l->object.dict_values = 40;
    l->object.module_dict = 16;
    l->keys.values = 0;
    l->attributes.form = REC_ATTRIBUTES_TAGGED;
    l->attributes.dict_before = 24;
}

const rec_offsets rec_offsets_3_12 = {.minor = 12, .complete = complete};
