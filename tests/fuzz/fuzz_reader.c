/*
 * fuzz_reader.c - any bytes as a profile file.
 *
 * All calls must keep the promises of sink.h; a range of time has no more
 * samples than the whole, and several threads make the calls that one makes.
 */
#define STORY_TRAPS
#include "tests/unit/story.h"

#include <pyrec/reader.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
replay(pf_reader *reader, uint64_t from_us, uint64_t to_us, bool with_next,
       int jobs, story *ret)
{
    pf_replay_opts opts = PF_REPLAY_OPTS_INIT;
    pr_err err = PR_ERR_INIT;
    uint64_t samples;
    opts.from_us = from_us;
    opts.to_us = to_us;
    opts.with_next = with_next;
    opts.jobs = jobs;
    story_begin(ret);
    pr_code code = pf_reader_replay(reader, &opts, &ret->sink, &samples, &err);
    assert_true(code == err.code);
    assert_true(with_next ? samples <= ret->samples : samples == ret->samples);
}

static void
read_all(pf_reader *reader)
{
    story all, again, part, more;
    replay(reader, 0, UINT64_MAX, false, 1, &all);
    replay(reader, 0, UINT64_MAX, true, 3, &again);
    assert_true(all.calls == again.calls);
    uint64_t middle = pf_reader_info(reader)->last_us / 2;
    replay(reader, middle, middle + 5000, false, 1, &part);
    replay(reader, middle, middle + 5000, true, 1, &more);
    assert_true(part.samples <= more.samples && more.samples <= all.samples);
    story_end(&more);
    story_end(&part);
    story_end(&again);
    story_end(&all);
    pf_reader_verify(reader, NULL, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    pf_reader *reader = NULL;
    pr_err err = PR_ERR_INIT;
    int fd = memfd_create("profile", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    pr_code code = pf_reader_open(path, NULL, &reader, &err);
    assert_true(code == err.code && (code == PR_OK) == (reader != NULL));
    if (reader)
        read_all(reader);
    pf_reader_free(reader);
    close(fd);
    return 0;
}
