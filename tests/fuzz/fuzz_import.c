/*
 * fuzz_import.c - any bytes as a file of another profiler, read by each import.
 *
 * The stacks are replayed into a sink that checks the promises of sink.h; a
 * half of the time has no more samples than all of it.
 */
#define STORY_TRAPS
#include "tests/unit/story.h"

#include "converter/import/open.h"
#include <pyrec/convert.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REPLAYED_MAX = 1000000 };

static pr_code
replay(conv_stacks *stacks, uint64_t to_us, story *ret)
{
    const conv_stacks_opts opts = {.to_us = to_us};
    uint64_t samples;
    story_begin(ret);
    pr_code code =
        conv_stacks_replay(stacks, &opts, &ret->sink, &samples, NULL);
    if (code == PR_OK)
        assert_true(samples == ret->samples);
    return code;
}

static void
read_all(conv_stacks *stacks)
{
    story all, half;
    assert_true(replay(stacks, UINT64_MAX, &all) == PR_OK);
    assert_true(all.samples == conv_stacks_samples(stacks));
    replay(stacks, conv_stacks_length_us(stacks) / 2, &half);
    assert_true(half.samples <= all.samples);
    story_end(&half);
    story_end(&all);
}

static void
read_as(const char *path, const char *from)
{
    conv_stacks *stacks;
    pr_err err = PR_ERR_INIT;
    pr_code code = conv_import_open(path, from, &stacks, &err);
    assert_true(code == err.code);
    assert_true(code == PR_OK || code == PR_CUT || stacks == NULL);
    if (stacks && conv_stacks_samples(stacks) <= REPLAYED_MAX)
        read_all(stacks);
    conv_stacks_free(stacks);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const conv_import_info *import;
    char path[64];
    int fd = memfd_create("import", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_as(path, NULL);
    for (size_t i = 0; (import = conv_import_get(i)); i++)
        read_as(path, import->name);
    close(fd);
    return 0;
}
