/*
 * offsets_3_11.c - CPython 3.11, which publishes no table: offsetof() over
 * Include/cpython/{pystate,code,unicodeobject,object}.h and
 * Include/internal/pycore_{runtime,interp,gil,frame,dict}.h of 3.11.2 and
 * 3.11.7.  Releases of one minor version keep them.
 */
#include "recorder/cpython/offsets.h"

static void
complete(rec_layout *l)
{
    l->runtime.interpreters_head = 40;
    l->runtime.gil = 360; /* ceval.gil: one for all interpreters */
    l->interp.id = 48;
    l->interp.next = 0;
    l->interp.threads_head = 16;
    l->interp.gc = 648;
    l->interp.modules = 888;
    l->interp.sysdict = 904;
    l->gil.holder = 8;
    l->gil.locked = 16;
    l->gil.switch_number = 24;
    l->tstate.size = 360;
    l->tstate.prev = 0;
    l->tstate.next = 8;
    l->tstate.interp = 16;
    l->tstate.cframe = 56;
    l->tstate.thread_id = 152;
    l->tstate.native_thread_id = 160;
    l->tstate.datastack_chunk = 296;
    l->tstate.datastack_top = 304;
    l->tstate.current_exception = 96; /* curexc_type */
    l->tstate.exc_info = 120;
    l->tstate.exc_state = 320;
    l->cframe.current_frame = 8;
    l->cframe.previous = 16;
    l->exc.exc_value = 0;
    l->exc.previous_item = 8;
    l->exc.may_be_none = true;
    l->frame.size = 80;
    l->frame.executable = 32;
    l->frame.previous = 48;
    l->frame.instr_ptr = 56; /* prev_instr */
    l->frame.localsplus = 72;
    l->frame.owner = 69;
    l->frame.owner_thread = 0;
    l->frame.owner_generator = 1;
    l->frame.owner_shim = 255;
    l->code.size = 192;
    l->code.filename = 112;
    l->code.qualname = 128;
    l->code.linetable = 136;
    l->code.firstlineno = 72;
    l->code.stacksize = 68;
    l->code.nlocalsplus = 76;
    l->code.frame_specials = 9; /* FRAME_SPECIALS_SIZE */
    l->code.n_units = 16;
    l->code.code_adaptive = 184;
    l->object.size = 16;
    l->object.ob_type = 8;
    l->object.type_name = 24;
    l->object.type_flags = 168;
    l->object.type_basicsize = 32;
    l->object.type_dictoffset = 288;
    l->object.type_cached_keys = 872;
    l->object.unicode_state = 32;
    l->object.unicode_length = 16;
    l->object.ascii_data = 48;
    l->object.compact_data = 72;
    l->object.unicode_kind_shift = 2;
    l->object.unicode_compact_bit = 5;
    l->object.unicode_ascii_bit = 6;
    l->object.bytes_size = 16;
    l->object.bytes_data = 32;
    l->object.long_size = 16;
    l->object.long_digit = 24;
    l->object.dict_keys = 32;
    l->object.dict_values = 40;
    l->object.module_dict = 16;
    l->keys.values = 0;
    l->attributes.form = REC_ATTRIBUTES_POINTER;
    l->attributes.dict_before = 24;
}

const rec_offsets rec_offsets_3_11 = {.minor = 11, .complete = complete};
