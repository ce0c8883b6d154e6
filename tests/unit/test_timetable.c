/*
 * test_timetable.c - a day of recordings on a schedule, in a made-up time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/retention.h"
#include "recorder/timetable.h"

#define S INT64_C(1000000000)

enum {
    DAY_S = 86400,
    EVERY_S = 600,
    FOR_S = 10,
    WINDOWS = DAY_S / EVERY_S,
    PROCESSES = 24,
    AT_ONCE = 4,
    PRUNE_EVERY_S = 60, /* pyrec sleeps no longer */
    FILES = 8192
};

/* A multiple of EVERY_S: 2023-11-14, 22:10. */
static const uint64_t begin = 1699999800 * (uint64_t)S;

static uint64_t random_state;

static uint64_t
random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

/* ---- a day ---- */

typedef struct life {
    pid_t pid;
    uint64_t born_ns, dies_ns; /* of the present life */
    uint64_t recording_until;  /* 0: it is not recorded */
    size_t in_window;          /* that recording began */
    unsigned recorded[WINDOWS];
    bool disturbed[WINDOWS]; /* a life or the recorder was cut in it */
} life;

typedef struct day {
    life process[PROCESSES];
    bool down[WINDOWS]; /* the recorder was, at some time */
    rec_timetable table;
    bool up; /* the recorder runs */
    uint64_t up_at_ns;
    rec_kept file[FILES];
    size_t n_files;
    rec_retention bounds;
    rec_folder_state folder;
    unsigned most_at_once, restarts, deaths, recordings;
} day;

static size_t
window_of(uint64_t now)
{
    return (size_t)((now - begin) / S / EVERY_S);
}

/* The present window is cut, and the recording that is being made. */
static void
disturb(life *p, uint64_t now)
{
    p->disturbed[window_of(now)] = true;
    if (p->recording_until)
        p->disturbed[p->in_window] = true;
    p->recording_until = 0;
}

static void
bear(life *p, uint64_t now)
{
    p->pid = (pid_t)(100 + random_below(1000000));
    p->born_ns = now;
    p->dies_ns = now + (uint64_t)S * (600 + random_below(8 * 3600));
    p->recording_until = 0;
    p->disturbed[window_of(now)] = true;
}

static void
prune(day *d, uint64_t now)
{
    size_t kept = 0;
    rec_retention_choose(&d->bounds, d->file, d->n_files, now,
                         d->folder.largest * (d->table.running + 1),
                         &d->folder);
    for (size_t i = 0; i < d->n_files; i++) {
        if (!d->file[i].removed)
            d->file[kept++] = d->file[i];
        else
            free(d->file[i].name);
    }
    d->n_files = kept;
    assert_int_equal(d->folder.files, kept);
}

static void
add_file(day *d, uint64_t now)
{
    char name[32];
    assert_true(d->n_files < FILES);
    snprintf(name, sizeof name, "pyrec-%u.bin", d->recordings++);
    d->file[d->n_files++] = (rec_kept){.name = strdup(name),
                                       .time_ns = now,
                                       .bytes = 1000 + random_below(90000)};
}

static void
check_bounds(const day *d, uint64_t now)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < d->n_files; i++) {
        assert_true(now - d->file[i].time_ns <=
                    d->bounds.keep_ns + PRUNE_EVERY_S * S);
        bytes += d->file[i].bytes;
    }
    assert_true(bytes <= d->bounds.max_bytes);
    assert_true(d->table.running <= AT_ONCE);
}

static void
end_recordings(day *d, uint64_t now)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        life *p = &d->process[i];
        if (!p->recording_until || p->recording_until > now)
            continue;
        p->recording_until = 0;
        rec_timetable_ended(&d->table, p->pid);
        p->recorded[p->in_window]++;
        add_file(d, now);
        prune(d, now);
    }
}

/* NULL: it died since the window began. */
static life *
find_process(day *d, pid_t pid)
{
    for (size_t i = 0; i < PROCESSES; i++)
        if (d->process[i].pid == pid)
            return &d->process[i];
    return NULL;
}

static void
start_recordings(day *d, uint64_t now)
{
    rec_candidate next;
    while (rec_timetable_take(&d->table, now, &next)) {
        life *p = find_process(d, next.pid);
        if (!p) {
            rec_timetable_ended(&d->table, next.pid);
            continue;
        }
        assert_int_equal(p->recording_until, 0);
        p->recording_until = now + (uint64_t)FOR_S * S;
        p->in_window = window_of(now);
    }
    if (d->table.running > d->most_at_once)
        d->most_at_once = d->table.running;
}

static void
run_recorder(day *d, uint64_t now)
{
    rec_candidate alive[PROCESSES];
    pr_err err = PR_ERR_INIT;
    if (rec_timetable_wants_processes(&d->table, now)) {
        for (size_t i = 0; i < PROCESSES; i++)
            alive[i] =
                (rec_candidate){d->process[i].pid, d->process[i].born_ns};
        assert_int_equal(
            rec_timetable_begin_window(&d->table, alive, PROCESSES, now, &err),
            PR_OK);
    }
    if ((now - begin) / S % PRUNE_EVERY_S == 0)
        prune(d, now);
    start_recordings(d, now);
}

/* The recorder is killed, with the recordings that it makes, or started. */
static void
disturb_recorder(day *d, uint64_t now)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        disturb(&d->process[i], now);
    }
    if (d->up)
        rec_timetable_release(&d->table);
    else
        d->table = rec_timetable_make((uint64_t)EVERY_S * S,
                                      (uint64_t)FOR_S * S, AT_ONCE, 7, now);
    d->up = !d->up;
    d->restarts++;
    if (d->up)
        prune(d, now);
}

static void
live_and_die(day *d, uint64_t now)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        life *p = &d->process[i];
        if (now < p->dies_ns)
            continue;
        d->deaths++;
        if (p->recording_until)
            rec_timetable_ended(&d->table, p->pid);
        disturb(p, now);
        bear(p, now);
    }
}

static void
simulate(day *d, uint64_t seed)
{
    random_state = seed;
    d->bounds = (rec_retention){(uint64_t)6 * 3600 * S, 20 << 20};
    for (size_t i = 0; i < PROCESSES; i++)
        bear(&d->process[i], begin);
    disturb_recorder(d, begin);
    for (uint64_t s = 0; s < DAY_S; s++) {
        uint64_t now = begin + s * S;
        if (d->up)
            end_recordings(d, now);
        live_and_die(d, now);
        if (random_below(7200) == 0)
            disturb_recorder(d, now);
        d->down[window_of(now)] |= !d->up;
        if (d->up)
            run_recorder(d, now);
        if (d->up)
            check_bounds(d, now);
    }
}

static void
release(day *d)
{
    if (d->up)
        rec_timetable_release(&d->table);
    for (size_t i = 0; i < d->n_files; i++)
        free(d->file[i].name);
    free(d);
}

/* A process is recorded exactly once in each window that it and the recorder
 * live through. */
static void
a_day_records_each_process_once_a_window(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        day *d = calloc(1, sizeof *d);
        unsigned whole = 0;
        simulate(d, seed);
        for (size_t i = 0; i < PROCESSES; i++)
            for (size_t w = 0; w + 1 < WINDOWS; w++) {
                const life *p = &d->process[i];
                if (p->disturbed[w] || d->down[w])
                    continue;
                whole++;
                if (p->recorded[w] != 1)
                    fail_msg("seed %u: process %zu, window %zu: %u times",
                             (unsigned)seed, i, w, p->recorded[w]);
            }
        print_message("seed %u: %u restarts, %u deaths, %u recordings, %u "
                      "windows whole, %u at once, %u missed\n",
                      (unsigned)seed, d->restarts, d->deaths, d->recordings,
                      whole, d->most_at_once, (unsigned)d->table.missed);
        assert_true(whole > 1000);
        assert_true(d->restarts >= 4);
        assert_true(d->deaths >= PROCESSES);
        assert_true(d->folder.removed_age + d->folder.removed_size > 100);
        release(d);
    }
}

/* Without a disturbance no window is left out. */
static void
no_window_is_left_out(void **state)
{
    (void)state;
    rec_timetable t = rec_timetable_make(600 * S, 10 * S, 2, 99, begin);
    rec_candidate process[10];
    unsigned recorded[10] = {0};
    uint64_t until[10] = {0};
    pr_err err = PR_ERR_INIT;
    for (size_t i = 0; i < 10; i++)
        process[i] = (rec_candidate){(pid_t)(i + 1), i};
    for (uint64_t now = begin; now < begin + (uint64_t)DAY_S * S;) {
        rec_candidate next;
        for (size_t i = 0; i < 10; i++)
            if (until[i] && until[i] <= now) {
                until[i] = 0;
                recorded[i]++;
                rec_timetable_ended(&t, process[i].pid);
            }
        if (rec_timetable_wants_processes(&t, now))
            assert_int_equal(
                rec_timetable_begin_window(&t, process, 10, now, &err), PR_OK);
        while (rec_timetable_take(&t, now, &next))
            until[next.pid - 1] = now + 10 * S;
        uint64_t wake = rec_timetable_wake_ns(&t, now);
        for (size_t i = 0; i < 10; i++)
            if (until[i] && until[i] < wake)
                wake = until[i];
        assert_true(wake > now);
        now = wake;
    }
    for (size_t i = 0; i < 10; i++)
        assert_true(recorded[i] == WINDOWS || recorded[i] == WINDOWS - 1);
    assert_int_equal(t.missed, 0);
    rec_timetable_release(&t);
}

/* Machines with different seeds begin at different moments: in no tenth of the
 * window more than a tenth of 10,000, and a sixth of that.  The seeds are
 * fixed, and so is the answer. */
static void
a_fleet_does_not_pulse(void **state)
{
    (void)state;
    unsigned begun[10] = {0};
    const rec_candidate process = {1234, 5678};
    pr_err err = PR_ERR_INIT;
    for (uint64_t machine = 0; machine < 10000; machine++) {
        rec_timetable t =
            rec_timetable_make(600 * S, 10 * S, 1, machine * 77, begin);
        assert_int_equal(
            rec_timetable_begin_window(&t, &process, 1, begin, &err), PR_OK);
        uint64_t due = rec_timetable_wake_ns(&t, begin);
        assert_true(due >= begin && due < begin + 590 * S);
        begun[(due - begin) / (59 * S)]++;
        rec_timetable_release(&t);
    }
    for (size_t i = 0; i < 10; i++)
        if (begun[i] < 834 || begun[i] > 1166)
            fail_msg("tenth %zu: %u of 10000 begin", i, begun[i]);
}

/* A recorder that is started again in a window leaves alone what the one
 * before it has recorded. */
static void
a_restart_repeats_no_recording(void **state)
{
    (void)state;
    unsigned repeated = 0, later = 0;
    pr_err err = PR_ERR_INIT;
    for (uint64_t i = 0; i < 200; i++) {
        const rec_candidate process = {(pid_t)i + 1, i};
        rec_candidate next;
        rec_timetable first = rec_timetable_make(600 * S, 10 * S, 1, 5, begin);
        rec_timetable_begin_window(&first, &process, 1, begin, &err);
        uint64_t due = rec_timetable_wake_ns(&first, begin);
        uint64_t restart = begin + 300 * S;
        rec_timetable second =
            rec_timetable_make(600 * S, 10 * S, 1, 5, restart);
        rec_timetable_begin_window(&second, &process, 1, restart, &err);
        bool again = rec_timetable_take(&second, begin + 599 * S, &next);
        repeated += due < restart && again;
        later += due >= restart && again;
        assert_true(again == (due >= restart));
        rec_timetable_release(&first);
        rec_timetable_release(&second);
    }
    assert_int_equal(repeated, 0);
    assert_true(later > 60 && later < 140);
}

/* Whether the clock goes back or forward by a day, each later window has its
 * recording. */
static void
a_clock_that_is_set_loses_no_later_window(void **state)
{
    (void)state;
    const int64_t steps[] = {-DAY_S, -3600, 3600, DAY_S};
    const rec_candidate process = {1234, 5678};
    pr_err err = PR_ERR_INIT;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        rec_timetable t = rec_timetable_make(600 * S, 10 * S, 1, 5, begin);
        rec_candidate next;
        uint64_t window = begin + (uint64_t)(steps[i] * S);
        rec_timetable_begin_window(&t, &process, 1, begin, &err);
        for (unsigned w = 0; w < 5; w++, window += EVERY_S * S) {
            assert_true(rec_timetable_wants_processes(&t, window));
            rec_timetable_begin_window(&t, &process, 1, window, &err);
            assert_true(rec_timetable_take(&t, window + 599 * S, &next));
            rec_timetable_ended(&t, process.pid);
        }
        rec_timetable_release(&t);
    }
}

/* ---- bounds ---- */

static void
the_oldest_recordings_go(void **state)
{
    (void)state;
    char names[6][8];
    rec_kept file[6];
    rec_folder_state folder = {0};
    for (size_t i = 0; i < 6; i++) {
        snprintf(names[i], sizeof names[i], "f%zu", i);
        file[i] = (rec_kept){names[i], (uint64_t)(5 - i) * 10 * S, 100, false};
    }
    /* now 60 s: ages 10 to 60 s; of those up to 40 s, the newest 250 bytes */
    const rec_retention bounds = {40 * S, 300};
    rec_retention_choose(&bounds, file, 6, 60 * S, 50, &folder);
    for (size_t i = 0; i < 6; i++)
        assert_true(file[i].removed == (file[i].time_ns < 40 * S));
    assert_int_equal(folder.files, 2);
    assert_int_equal(folder.bytes, 200);
    assert_int_equal(folder.removed_age, 2);
    assert_int_equal(folder.removed_size, 2);
    assert_int_equal(folder.largest, 100);
}

static void
without_bounds_all_stay(void **state)
{
    (void)state;
    rec_kept file[] = {{(char[]){"a"}, 0, UINT64_C(1) << 50, false}};
    rec_folder_state folder = {0};
    const rec_retention none = {0, 0};
    rec_retention_choose(&none, file, 1, UINT64_MAX, UINT64_MAX / 2, &folder);
    assert_false(file[0].removed);
    rec_retention_choose(&none, file, 0, 1, 0, &folder);
    assert_int_equal(folder.files, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_records_each_process_once_a_window),
        cmocka_unit_test(no_window_is_left_out),
        cmocka_unit_test(a_fleet_does_not_pulse),
        cmocka_unit_test(a_restart_repeats_no_recording),
        cmocka_unit_test(a_clock_that_is_set_loses_no_later_window),
        cmocka_unit_test(the_oldest_recordings_go),
        cmocka_unit_test(without_bounds_all_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
