/*
 * offsets_3_12.c - CPython 3.12, which publishes no table: offsetof() over the
 * headers that offsets_3_11.c names, of 3.12.1.
 */
#include "recorder/cpython/offsets.h"

static void
complete(rec_layout *l)
{
    rec_offsets_complete_unpublished(l);
    l->interp.id = 8;
    l->interp.threads_head = 72;
    l->interp.ceval_gil = 384;
    l->interp.gc = 112;
    l->interp.modules = 944; /* imports.modules */
    l->interp.sysdict = 352;
    l->tstate.size = 288;
    l->tstate.thread_id = 136;
    l->tstate.native_thread_id = 144;
    l->tstate.datastack_chunk = 232;
    l->tstate.datastack_top = 240;
    l->tstate.status = 24;
    l->tstate.status_active = 1 << 4;
    l->tstate.status_over = 1 << 6 | 1 << 7;
    l->tstate.exc_info = 104;
    l->tstate.exc_state = 256;
    l->cframe.current_frame = 0;
    l->cframe.previous = 8;
    l->frame.executable = 0;
    l->frame.previous = 8;
    l->frame.owner = 70;
    l->frame.owner_shim = 3; /* FRAME_OWNED_BY_CSTACK */
    l->code.size = 200;
    l->code.firstlineno = 68;
    l->code.framesize = 76;
    l->code.code_adaptive = 192;
    l->object.type_cached_keys = 880;
    l->object.ascii_data = 40;
    l->object.compact_data = 56;
    l->object.long_tag = 16;
    l->attributes.form = REC_ATTRIBUTES_TAGGED;
}

const rec_offsets rec_offsets_3_12 = {.minor = 12, .complete = complete};
