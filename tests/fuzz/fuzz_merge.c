/*
 * fuzz_merge.c - any bytes as several files that become one profile.
 *
 * Input: u8 how (bit 0: the output knows threads by their ids alone, bit 1: the
 * first file is the base of a comparison), u8 number of files, then for each
 * file HEAD_SIZE bytes and the bytes of story_delta_of() for each delta.
 *
 * All files are read whole.  If they can be merged, each of their samples
 * arrives once, no name and no frame arrives twice, and the calls keep the
 * promises of sink.h.
 */
#define STORY_TRAPS
#include "converter/input/source.h"
#include "format/bytes.h"
#include "tests/unit/story.h"

#include <pyrec/writer.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES_MAX = 6, THREADS = 4, FRAMES = 9 };

/* One file's head. */
enum {
    HEAD_PID = 0,    /* % 4; 0: not known */
    HEAD_START = 1,  /* of the recording, in units of 50 ms */
    HEAD_WALL = 2,   /* of the recording, in units of 50 ms; 0: not known */
    HEAD_BORN = 3,   /* wall clock of the process, % 4; 0: not known */
    HEAD_MODE = 4,   /* % 4 is 0: the mode of CPU time */
    HEAD_RATE = 5,   /* % 2: 500 Hz */
    HEAD_NAMES = 6,  /* the first of its names, frames and thread ids */
    HEAD_DELTAS = 7, /* their number */
    HEAD_SIZE = 8
};
#define WALL_US UINT64_C(1700000000000000)

/* ---- the files ---- */

static void
put_start(const uint8_t *head, pr_sink *sink)
{
    pr_start start = {
        .start_us = 50000u * head[HEAD_START],
        .wall_us = head[HEAD_WALL] ? WALL_US + 50000u * head[HEAD_WALL] : 0,
        .interval_us = head[HEAD_RATE] % 2 ? 2000 : 1000,
        .python = {3, 14, 1},
        .mode = head[HEAD_MODE] % 4 ? PR_MODE_ALL : PR_MODE_CPU,
    };
    pr_process process = {
        .pid = head[HEAD_PID] % 4,
        .start_us = head[HEAD_BORN] % 4 ? WALL_US + head[HEAD_BORN] % 4 : 0,
    };
    assert_int_equal(PR_SINK_CALL(sink, start, &start, NULL), PR_OK);
    assert_int_equal(PR_SINK_CALL(sink, process, &process, NULL), PR_OK);
}

/* Files with other first names number equal names and threads otherwise. */
static void
put_names(const uint8_t *head, pr_sink *sink)
{
    char name[16];
    for (uint32_t i = 0; i < FRAMES; i++) {
        uint32_t k = (head[HEAD_NAMES] + i) % (2 * FRAMES);
        size_t len = (size_t)snprintf(name, sizeof name, "f%u", k);
        pr_frame f = {i, i, (int32_t)k, (int32_t)k, 1, 2, 0, PR_NO_OPCODE};
        assert_int_equal(PR_SINK_CALL(sink, string, name, len, NULL), PR_OK);
        assert_int_equal(PR_SINK_CALL(sink, frame, &f, NULL), PR_OK);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        uint32_t k = (head[HEAD_NAMES] + i) % (THREADS + 2);
        pr_thread t = {1000 + k / 2, k % 2, k == 0, "", 0, 0};
        assert_int_equal(PR_SINK_CALL(sink, thread, &t, NULL), PR_OK);
    }
}

/* Returns the number of its samples. */
static uint64_t
write_file(const char *path, const uint8_t *head, pf_cur *c)
{
    story_lane lanes[THREADS] = {{0}};
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    uint64_t samples = 0;
    pr_sink *writer;
    opts.level = 1; /* for speed */
    assert_int_equal(pf_writer_open(path, &opts, &writer, NULL), PR_OK);
    put_start(head, writer);
    put_names(head, writer);
    for (uint32_t i = 0; i < head[HEAD_DELTAS] && pf_left(c) >= STORY_OP; i++) {
        const uint8_t *op = pf_get_bytes(c, STORY_OP);
        pr_delta delta = story_delta_of(lanes, THREADS, FRAMES, op);
        assert_int_equal(PR_SINK_CALL(writer, delta, &delta, NULL), PR_OK);
        samples += delta.n;
    }
    assert_int_equal(writer->ops->finish(writer, NULL), PR_OK);
    return samples;
}

typedef struct files {
    char path[FILES_MAX][80];
    const char *list[FILES_MAX];
    size_t n;
    uint64_t samples;
} files;

static void
write_files(const scratch *s, unsigned n, pf_cur *c, files *f)
{
    *f = (files){.n = 0};
    while (f->n < n && pf_left(c) >= HEAD_SIZE) {
        char *path = f->path[f->n];
        snprintf(path, sizeof f->path[0], "%s/%zu.bin", s->folder, f->n);
        f->samples += write_file(path, pf_get_bytes(c, HEAD_SIZE), c);
        f->list[f->n++] = path;
    }
}

static void
remove_files(const files *f)
{
    for (size_t i = 0; i < f->n; i++)
        unlink(f->path[i]);
}

/* ---- their merge ---- */

static pr_code
end_well(pr_sink *sink, pr_err *err)
{
    (void)err;
    story *s = (story *)sink;
    assert_true(s->started && !s->stopped);
    s->stopped = true;
    return PR_OK;
}

static void
end_badly(pr_sink *sink)
{
    story *s = (story *)sink;
    assert_false(s->stopped);
    s->stopped = true;
}

static bool
differ(const uint64_t *hash, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (hash[i] == hash[j])
                return false;
    return true;
}

static void
feed(conv_sources *sources, bool one_namespace, const files *f)
{
    pr_sink_ops ops = story_ops;
    conv_opts opts = CONV_OPTS_INIT;
    pr_err err = PR_ERR_INIT;
    story merged;
    uint64_t samples = 0;
    ops.finish = end_well;
    ops.abort = end_badly;
    story_begin(&merged);
    merged.sink.ops = &ops;
    pr_code code = conv_sources_feed(sources, &opts, &merged.sink,
                                     one_namespace, &samples, &err);
    assert_true(code == err.code && merged.stopped);
    assert_true(code == PR_OK || code == PR_INCOMPARABLE);
    if (code == PR_OK) {
        assert_true(samples == f->samples && merged.samples == f->samples);
        assert_true(differ(merged.string, merged.n_strings));
        assert_true(differ(merged.frame, merged.n_frames));
    }
    story_end(&merged);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pf_cur c = pf_cur_of(data, size, false);
    const uint8_t *how = pf_get_bytes(&c, 2);
    conv_sources *sources = NULL;
    pr_err err = PR_ERR_INIT;
    uint32_t n_base;
    scratch s;
    files f;
    if (!how)
        return 0;
    scratch_begin(&s);
    write_files(&s, 1 + how[1] % FILES_MAX, &c, &f);
    pr_code code =
        how[0] & 2 ? conv_sources_open_base(f.list, f.n, NULL, 0, &sources,
                                            &n_base, &err)
                   : conv_sources_open(f.list, f.n, NULL, 0, &sources, &err);
    assert_true(code == err.code && (code == PR_OK) == (sources != NULL));
    assert_true(code == PR_OK || code == PR_INCOMPARABLE || f.n == 0);
    if (sources)
        feed(sources, how[0] & 1, &f);
    conv_sources_free(sources);
    remove_files(&f);
    scratch_end(&s);
    return 0;
}
