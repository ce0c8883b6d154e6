/*
 * fuzz_roundtrip.c - any bytes as the calls of a producer: the reader makes
 * the calls that the writer got.
 *
 * Input: u8 size of segments / 64, u8 flags (bit 0: a plain file), then the
 * bytes of story_delta_of() for each delta.
 */
#define STORY_TRAPS
#include "format/bytes.h"
#include "tests/unit/story.h"

#include <pyrec/reader.h>
#include <pyrec/writer.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { THREADS = 8, FRAMES = 40 };

static void
emit(pf_cur *c, pr_sink *a, pr_sink *b)
{
    story_lane lanes[THREADS] = {{0}};
    plot names = {.threads = THREADS, .frames = FRAMES, .events = true};
    story_emit_names(&names, a);
    story_emit_names(&names, b);
    for (const uint8_t *op; (op = pf_get_bytes(c, STORY_OP));) {
        pr_delta delta = story_delta_of(lanes, THREADS, FRAMES, op);
        assert_int_equal(PR_SINK_CALL(a, delta, &delta, NULL), PR_OK);
        assert_int_equal(PR_SINK_CALL(b, delta, &delta, NULL), PR_OK);
        if (op[1] % 16 == 7) {
            uint64_t time_us = lanes[delta.thread].time_us;
            story_emit_event(a, &names, time_us, op[3]);
            story_emit_event(b, &names, time_us, op[3]);
        }
    }
}

static void
read_back(const char *path, bool plain, story *taken)
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
    taken->stats = read.stats;
    assert_true(plain ? story_same_samples(taken, &read)
                      : story_same(taken, &read));
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
    story taken;
    if (!head)
        return 0;
    opts.segment_bytes = 64 + 64u * head[0];
    opts.compression = head[1] & 1 ? PF_COMPRESSION_NONE : PF_COMPRESSION_ZSTD;
    scratch_begin(&s);
    story_begin(&taken);
    assert_int_equal(pf_writer_open(s.path, &opts, &writer, NULL), PR_OK);
    emit(&c, &taken.sink, writer);
    assert_int_equal(writer->ops->finish(writer, NULL), PR_OK);
    read_back(s.path, head[1] & 1, &taken);
    story_end(&taken);
    scratch_end(&s);
    return 0;
}
