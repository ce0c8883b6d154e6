/*
 * fuzz_roundtrip.c - any bytes as the calls of a producer: the reader makes
 * the calls that the writer got.
 *
 * Input: u8 size of segments / 64, u8 flags (bit 0: a plain file), then four
 * bytes a delta: thread, frames kept, frames pushed, samples and distance.
 */
#define STORY_TRAPS
#include "format/bytes.h"
#include "tests/unit/story.h"

#include <pyrec/reader.h>
#include <pyrec/writer.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { THREADS = 8, FRAMES = 40, RUN_MAX = 32 };

typedef struct lane {
    uint64_t time_us;
    uint32_t depth;
} lane;

/* One delta from four bytes; to both sinks. */
static void
tell_delta(lane *lanes, const uint8_t *op, pr_sink *a, pr_sink *b)
{
    uint32_t push[256], thread = op[0] % THREADS;
    uint64_t time_us[RUN_MAX];
    uint8_t status[RUN_MAX];
    lane *l = &lanes[thread];
    uint32_t keep = l->depth - op[1] % (l->depth + 1);
    uint32_t n = 1 + op[3] % RUN_MAX;
    for (uint32_t i = 0; i < op[2]; i++)
        push[i] = (op[0] + op[2] + i * op[1]) % FRAMES;
    for (uint32_t i = 0; i < n; i++) {
        l->time_us += (uint64_t)op[3] * op[3] >> 2 << (op[0] >> 4);
        time_us[i] = l->time_us;
        status[i] = (uint8_t)(op[0] + (op[3] & 64 ? i : 0));
    }
    pr_delta delta = {thread, keep, op[2], n, push, time_us, status};
    assert_int_equal(PR_SINK_CALL(a, delta, &delta, NULL), PR_OK);
    assert_int_equal(PR_SINK_CALL(b, delta, &delta, NULL), PR_OK);
    l->depth = keep + op[2];
}

static void
tell(pf_cur *c, pr_sink *a, pr_sink *b)
{
    lane lanes[THREADS] = {{0, 0}};
    plot names = {.threads = THREADS, .frames = FRAMES, .events = true};
    story_tell_names(&names, a);
    story_tell_names(&names, b);
    for (const uint8_t *op; (op = pf_get_bytes(c, 4));) {
        tell_delta(lanes, op, a, b);
        if (op[1] % 16 == 7) {
            uint64_t time_us = lanes[op[0] % THREADS].time_us;
            story_tell_event(a, &names, time_us, op[3]);
            story_tell_event(b, &names, time_us, op[3]);
        }
    }
}

static void
read_back(const char *path, bool plain, story *told)
{
    pf_reader *reader = NULL;
    pr_err err = PR_ERR_INIT;
    story read;
    assert_int_equal(pf_reader_open(path, NULL, &reader, &err), PR_OK);
    story_begin(&read);
    assert_int_equal(pf_reader_replay(reader, NULL, &read.sink, NULL, &err),
                     PR_OK);
    assert_int_equal(pf_reader_verify(reader, NULL, &err), PR_OK);
    pf_reader_free(reader);
    told->stats = read.stats;
    assert_true(plain ? story_same_samples(told, &read)
                      : story_same(told, &read));
    story_end(&read);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pf_cur c = pf_cur_of(data, size, false);
    const uint8_t *head = pf_get_bytes(&c, 2);
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *writer;
    scratch s;
    story told;
    if (!head)
        return 0;
    opts.segment_bytes = 64 + 64u * head[0];
    opts.compression = head[1] & 1 ? PF_COMPRESSION_NONE : PF_COMPRESSION_ZSTD;
    scratch_begin(&s);
    story_begin(&told);
    assert_int_equal(pf_writer_open(s.path, &opts, &writer, NULL), PR_OK);
    tell(&c, &told.sink, writer);
    assert_int_equal(writer->ops->finish(writer, NULL), PR_OK);
    read_back(s.path, head[1] & 1, &told);
    story_end(&told);
    scratch_end(&s);
    return 0;
}
