/*
 * frame_cache.c - the one write into a target (frame_cache.h).
 */
#include "recorder/sample/frame_cache.h"

#include <sys/uio.h>

uint64_t
rec_frame_cache_get(const rec_thread *t, const rec_layout *l,
                    const uint8_t *tstate)
{
    if (!t->anchor || !t->known)
        return 0;
    uint64_t now = rec_u64(tstate + l->tstate.last_profiled_frame);
    bool left =
        rec_u64(tstate + l->tstate.last_profiled_frame_seq) != t->anchor_seq;
    /* the target left that frame and another one came to its place, or another
     * profiler wrote */
    if ((now == t->anchor) == left)
        return 0;
    return now;
}

bool
rec_frame_cache_set(rec_thread *t, const rec_layout *l, pid_t pid,
                    const uint8_t *tstate)
{
    uint64_t frame = rec_u64(tstate + l->tstate.current_frame);
    uint64_t at = t->tstate + l->tstate.last_profiled_frame;
    t->anchor_seq = rec_u64(tstate + l->tstate.last_profiled_frame_seq);
    struct iovec local = {&frame, sizeof frame};
    struct iovec remote = {.iov_len = sizeof frame};
    /* an address of the other process: never followed here */
    memcpy(&remote.iov_base, &at, sizeof at);
    if (rec_u64(tstate + l->tstate.last_profiled_frame) != frame &&
        process_vm_writev(pid, &local, 1, &remote, 1, 0) != sizeof frame) {
        rec_frame_cache_drop(t);
        return false;
    }
    t->anchor = frame;
    /* outer chunks need not be read ahead */
    t->source.first = t->source.n_live ? t->source.n_live - 1 : 0;
    return true;
}

void
rec_frame_cache_drop(rec_thread *t)
{
    t->anchor = 0;
    t->source.first = 0;
}
