/*
 * thread_status.c - the status bits of a sample (thread_status.h).
 */
#include "recorder/sample/thread_status.h"

#include "recorder/cpython/object.h"

enum { EXC_ITEMS_MAX = 64 };

bool
rec_status_holds(const rec_unwinder *u, const rec_thread *t,
                 const uint8_t *tstate)
{
    const rec_layout *l = &u->program.runtime.layout;
    const rec_interp *in = &u->table.interp[t->interp];
    if (!l->free_threaded)
        return in->gil.locked && in->gil.holder == t->tstate;
    return l->tstate.status != REC_ABSENT &&
           (tstate[l->tstate.status] & l->tstate.status_active);
}

static bool
requests_gil(const rec_layout *l, const uint8_t *tstate)
{
    return l->tstate.gil_requested != REC_ABSENT &&
           rec_u32(tstate + l->tstate.gil_requested) != 0;
}

/* Up to 3.13 an exc_value may also be None (ceval.c POP_EXCEPT).  The first one
 * that is not an exception shows the address of None. */
static bool
is_exception(rec_unwinder *u, uint64_t value)
{
    if (!value || value == u->program.none)
        return false;
    if (u->program.none || !u->program.runtime.layout.exc.may_be_none)
        return true;
    uint64_t type, flags;
    if (rec_object_type(&u->program.runtime.layout, &u->program.memory, value,
                        &type, &flags, NULL) != PR_OK)
        return false;
    u->tick.batch->calls++;
    if (flags & REC_TYPE_EXCEPTION)
        return true;
    u->program.none = value;
    return false;
}

/* The value of an item of the chain that is not in the thread state: it lies
 * in a generator. */
static bool
read_item(rec_unwinder *u, rec_thread *t, uint64_t item, uint64_t *ret_value,
          uint64_t *ret_previous)
{
    const rec_layout *l = &u->program.runtime.layout;
    if (!rec_plausible(item))
        return false;
    const uint8_t *p = rec_batch_find(u->tick.batch, item, 16);
    if (!p) {
        size_t piece = rec_batch_add(u->tick.batch, item, 16);
        if (rec_batch_read(u->tick.batch, NULL) != PR_OK)
            return false;
        p = rec_batch_bytes(u->tick.batch, piece);
    }
    if (!p)
        return false;
    rec_data_stack_note_off(&t->source, item);
    *ret_value = rec_u64(p + l->exc.exc_value);
    *ret_previous = rec_u64(p + l->exc.previous_item);
    return true;
}

/* Raised and not caught yet, or being handled: then one of the linked
 * _PyErr_StackItem has a value. */
static bool
has_exception(rec_unwinder *u, rec_thread *t, size_t piece)
{
    const rec_layout *l = &u->program.runtime.layout;
    const uint8_t *tstate = rec_batch_bytes(u->tick.batch, piece);
    if (l->tstate.current_exception != REC_ABSENT &&
        rec_u64(tstate + l->tstate.current_exception))
        return true;
    if (l->tstate.exc_info == REC_ABSENT || l->tstate.exc_state == REC_ABSENT)
        return false;
    uint64_t own = rec_u64(tstate + l->tstate.exc_state + l->exc.exc_value);
    uint64_t item = rec_u64(tstate + l->tstate.exc_info);
    for (int i = 0; i < EXC_ITEMS_MAX && item; i++) {
        if (item == t->tstate + l->tstate.exc_state)
            return is_exception(u, own);
        uint64_t value;
        if (!read_item(u, t, item, &value, &item))
            return false;
        if (is_exception(u, value))
            return true;
    }
    return false;
}

uint8_t
rec_status_of(rec_unwinder *u, rec_thread *t, size_t piece)
{
    const uint8_t *tstate = rec_batch_bytes(u->tick.batch, piece);
    unsigned status = 0;
    if (rec_status_holds(u, t, tstate))
        status |= PR_HAS_GIL;
    else if (requests_gil(&u->program.runtime.layout, tstate))
        status |= PR_GIL_REQUESTED;
    if (t->is_main)
        status |= PR_MAIN_THREAD;
    if (has_exception(u, t, piece))
        status |= PR_HAS_EXCEPTION;
    return (uint8_t)status;
}

uint8_t
rec_status_now(rec_unwinder *u, rec_thread *t)
{
    rec_batch *batch = u->tick.batch;
    const rec_layout *l = &u->program.runtime.layout;
    rec_batch_reset(batch);
    size_t piece = rec_batch_add(batch, t->tstate, rec_tstate_bytes(l));
    const uint8_t *p = rec_batch_read(batch, NULL) == PR_OK
                           ? rec_batch_bytes(batch, piece)
                           : NULL;
    if (!p || !rec_thread_matches(t, l, p) ||
        !rec_sched_read(&t->sched, u->process.pid, t->host))
        return PR_CPU_UNKNOWN | (t->is_main ? PR_MAIN_THREAD : 0);
    uint8_t status = rec_status_of(u, t, piece);
    return t->sched.letter == 'R' ? status | PR_ON_CPU : status;
}

uint8_t
rec_status_again(rec_unwinder *u, const rec_thread *t, bool ran)
{
    unsigned status = t->status & ~(unsigned)PR_ON_CPU;
    if (t->sched.letter == 'R')
        status |= PR_ON_CPU;
    uint32_t offset = u->program.runtime.layout.tstate.gil_requested;
    uint32_t requested;
    if (!ran || offset == REC_ABSENT || (status & PR_HAS_GIL) ||
        rec_memory_read(&u->program.memory, t->tstate + offset, &requested,
                        sizeof requested, NULL) != PR_OK)
        return (uint8_t)status;
    status &= ~(unsigned)PR_GIL_REQUESTED;
    if (requested)
        status |= PR_GIL_REQUESTED;
    return (uint8_t)status;
}

bool
rec_status_matches(const rec_unwinder_opts *opts, uint8_t status)
{
    if (opts->keep_idle)
        return true;
    switch (opts->mode) {
    case PR_MODE_CPU:
        return status & PR_ON_CPU;
    case PR_MODE_GIL:
        return status & PR_HAS_GIL;
    case PR_MODE_EXCEPTION:
        return status & PR_HAS_EXCEPTION;
    case PR_MODE_WALL:
    case PR_MODE_ALL:
    case PR_MODE_UNKNOWN:
        break;
    }
    return true;
}
