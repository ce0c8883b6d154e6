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
    rec_offsets_complete_unpublished(l);
    l->runtime.gil = 360; /* ceval.gil: one for all interpreters */
    l->interp.id = 48;
    l->interp.threads_head = 16;
    l->interp.gc = 648;
    l->interp.modules = 888;
    l->interp.sysdict = 904;
    l->tstate.size = 360;
    l->tstate.thread_id = 152;
    l->tstate.native_thread_id = 160;
    l->tstate.datastack_chunk = 296;
    l->tstate.datastack_top = 304;
    l->tstate.exc_info = 120;
    l->tstate.exc_state = 320;
    l->cframe.current_frame = 8;
    l->cframe.previous = 16;
    l->frame.executable = 32;
    l->frame.previous = 48;
    l->frame.owner = 69;
    l->frame.owner_shim = 255;
    l->code.size = 192;
    l->code.firstlineno = 72;
    l->code.stacksize = 68;
    l->code.nlocalsplus = 76;
    l->code.frame_specials = 9; /* FRAME_SPECIALS_SIZE */
    l->code.code_adaptive = 184;
    l->object.type_cached_keys = 872;
    l->object.ascii_data = 48;
    l->object.compact_data = 72;
    l->object.long_size = 16;
    l->attributes.form = REC_ATTRIBUTES_POINTER;
}

const rec_offsets rec_offsets_3_11 = {.minor = 11, .complete = complete};
