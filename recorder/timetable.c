/*
 * timetable.c - windows and slots (timetable.h).
 */
#include "recorder/timetable.h"

#include <base/array.h>
#include <base/hash.h>
#include <stdlib.h>

rec_timetable
rec_timetable_make(uint64_t every_ns, uint64_t for_ns, unsigned at_once,
                   uint64_t seed, uint64_t now_ns)
{
    return (rec_timetable){.every_ns = every_ns,
                           .for_ns = for_ns,
                           .seed = seed,
                           .at_once = at_once,
                           .started_ns = now_ns};
}

void
rec_timetable_release(rec_timetable *s)
{
    free(s->slot);
    s->slot = NULL;
    s->n = s->cap = 0;
}

static uint64_t
window_of(const rec_timetable *s, uint64_t now_ns)
{
    return now_ns / s->every_ns;
}

bool
rec_timetable_wants_processes(const rec_timetable *s, uint64_t now_ns)
{
    return !s->has_window || window_of(s, now_ns) != s->window;
}

/* A recording ends within the window that it begins in. */
static uint64_t
due_ns(const rec_timetable *s, const rec_candidate *process)
{
    const uint64_t key[] = {(uint64_t)process->pid, process->start, s->window};
    uint64_t hash = pr_hash_seeded(key, sizeof key, s->seed);
    return s->window * s->every_ns + hash % (s->every_ns - s->for_ns);
}

/* Recordings that run go on; those that did not begin in time are missed. */
static void
end_window(rec_timetable *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->missed += s->slot[i].state == REC_SLOT_WAITS;
        if (s->slot[i].state == REC_SLOT_RUNS)
            s->slot[kept++] = s->slot[i];
    }
    s->n = kept;
}

pr_code
rec_timetable_begin_window(rec_timetable *s, const rec_candidate *process,
                           size_t n, uint64_t now_ns, pr_err *err)
{
    end_window(s);
    if (now_ns < s->started_ns) /* the clock was set back */
        s->started_ns = now_ns;
    s->window = window_of(s, now_ns);
    s->has_window = true;
    if (!pr_grow(&s->slot, &s->cap, s->n + n, sizeof *s->slot))
        return pr_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        uint64_t due = due_ns(s, &process[i]);
        bool past = due < s->started_ns;
        s->slot[s->n++] =
            (rec_slot){process[i], due, past ? REC_SLOT_DONE : REC_SLOT_WAITS};
    }
    return PR_OK;
}

static bool
is_running(const rec_timetable *s, pid_t pid)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->slot[i].state == REC_SLOT_RUNS && s->slot[i].process.pid == pid)
            return true;
    return false;
}

/* The slot that waits for the earliest moment and whose process is not being
 * recorded; NULL: none. */
static rec_slot *
first_waiting(const rec_timetable *s)
{
    rec_slot *first = NULL;
    for (size_t i = 0; i < s->n; i++) {
        rec_slot *slot = &s->slot[i];
        if (slot->state == REC_SLOT_WAITS &&
            (!first || slot->due_ns < first->due_ns) &&
            !is_running(s, slot->process.pid))
            first = slot;
    }
    return first;
}

bool
rec_timetable_take(rec_timetable *s, uint64_t now_ns, rec_candidate *ret)
{
    rec_slot *slot = s->running < s->at_once ? first_waiting(s) : NULL;
    if (!slot || slot->due_ns > now_ns)
        return false;
    slot->state = REC_SLOT_RUNS;
    s->running++;
    *ret = slot->process;
    return true;
}

void
rec_timetable_ended(rec_timetable *s, pid_t pid)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->slot[i].state == REC_SLOT_RUNS &&
            s->slot[i].process.pid == pid) {
            s->slot[i].state = REC_SLOT_DONE;
            s->running--;
        }
}

uint64_t
rec_timetable_wake_ns(const rec_timetable *s, uint64_t now_ns)
{
    if (rec_timetable_wants_processes(s, now_ns))
        return now_ns;
    uint64_t wake = (s->window + 1) * s->every_ns;
    const rec_slot *slot = s->running < s->at_once ? first_waiting(s) : NULL;
    if (slot && slot->due_ns < wake)
        wake = slot->due_ns;
    return wake > now_ns ? wake : now_ns;
}
