/*
 * fuzz_trailer.c - any bytes as the end of a finished file: tables, index,
 * statistics and footer, whose checksums are right.  A fuzzer of whole files
 * never gets there.
 *
 * Input: u8 GIVEN_*: the parts that the input has, in this order, each as u16
 * size (big-endian) and bytes; the others are the writer's.  u8 WRONG_*: the
 * fields that do not fit the parts.
 *
 * The segments before the end are whole, so each of their samples is emitted.
 */
#define STORY_TRAPS
#include "format/bytes.h"
#include "tests/unit/story.h"

#include <pyrec/reader.h>
#include <pyrec/writer.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    GIVEN_STRINGS = 1,
    GIVEN_FRAMES = 2,
    GIVEN_VERSIONS = 4, /* of the index, with its reserved bytes */
    GIVEN_ROWS = 8,     /* of the index, with their number */
    GIVEN_STATS = 16,
    GIVEN_COUNTS = 32 /* of the footer */
};
enum {
    WRONG_INDEX = 1, /* checksums */
    WRONG_HEADER = 2,
    WRONG_TABLES = 4,
    WRONG_END = 8,
    WRONG_SIZE = 16,   /* the footer's file size */
    WRONG_PLACES = 32, /* the header's offsets of the tables */
    CUT = 64,          /* the last byte is missing */
    LONGER = 128       /* a byte follows */
};
enum { COUNTS_SIZE = PF_FOOTER_FILE_SIZE, VERSIONS_SIZE = 4 };

/* A part of the file that the writer made. */
typedef struct part {
    const uint8_t *p;
    size_t n;
} part;

/* The writer's file, made once. */
static struct {
    part segments, strings, frames, versions, rows, stats, counts;
    story story;
} good;

/* ---- the writer's file ---- */

static void
find_parts(const uint8_t *p, size_t n)
{
    const uint8_t *footer = p + n - PF_FOOTER_SIZE;
    const uint8_t *stats = footer - PF_STATS_SIZE;
    const uint8_t *tail = stats - PF_INDEX_TAIL_SIZE;
    const uint8_t *index =
        stats - pf_load_u64(tail + PF_INDEX_TAIL_LENGTH, false);
    const uint8_t *strings = p + pf_load_u64(p + PF_HEADER_STRINGS, false);
    const uint8_t *frames = p + pf_load_u64(p + PF_HEADER_FRAMES, false);
    const uint8_t *rows = index + PF_INDEX_SIZE;
    good.segments = (part){p, (size_t)(strings - p)};
    good.strings = (part){strings, (size_t)(frames - strings)};
    good.frames = (part){frames, (size_t)(index - frames)};
    good.versions = (part){index + PF_INDEX_READ, VERSIONS_SIZE};
    good.rows = (part){rows, (size_t)(tail - rows)};
    good.stats = (part){stats, PF_STATS_SIZE};
    good.counts = (part){footer, COUNTS_SIZE};
    assert_true(memcmp(index, PF_INDEX_MAGIC, 4) == 0);
}

static void
make_good(void)
{
    const plot names = {.seed = 1,
                        .threads = 3,
                        .frames = 12,
                        .max_depth = 6,
                        .deltas = 60,
                        .max_run = 5,
                        .events = true};
    const pr_stats stats = {.duration_s = 1, .known = PR_STATS_PRESENT};
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *writer;
    scratch s;
    size_t n = 0;
    opts.segment_bytes = 512;
    scratch_begin(&s);
    story_begin(&good.story);
    story_emit(&names, &good.story.sink);
    assert_int_equal(pf_writer_open(s.path, &opts, &writer, NULL), PR_OK);
    story_emit(&names, writer);
    assert_int_equal(PR_SINK_CALL(writer, stats, &stats, NULL), PR_OK);
    assert_int_equal(writer->ops->finish(writer, NULL), PR_OK);
    const uint8_t *file = scratch_read(&s, &n); /* kept by `good` */
    find_parts(file, n);
    scratch_end(&s);
}

/* ---- the input's file ---- */

/* The next part of the input if it gives this one, or else the writer's. */
static part
choose(pf_cur *c, bool given, part made)
{
    const uint8_t *size = given ? pf_get_bytes(c, 2) : NULL;
    if (!size)
        return made;
    size_t n = (size_t)size[0] << 8 | size[1];
    n = n < pf_left(c) ? n : pf_left(c);
    return (part){pf_get_bytes(c, n), n};
}

/* A part of fixed size. */
static part
choose_fixed(pf_cur *c, bool given, part made)
{
    const uint8_t *p = given ? pf_get_bytes(c, made.n) : NULL;
    return p ? (part){p, made.n} : made;
}

static void
put_part(pf_buf *file, part p)
{
    pf_buf_bytes(file, p.p, p.n);
}

static void
put_u64(pf_buf *file, uint64_t v)
{
    uint8_t bytes[8];
    pf_put_u64(bytes, v);
    pf_buf_bytes(file, bytes, sizeof bytes);
}

/* The file without the checksums of its end; returns where the index is. */
static size_t
put_parts(pf_buf *file, pf_cur *c, uint8_t given, size_t *ret_end)
{
    static const uint8_t zeros[32];
    put_part(file, good.segments);
    size_t strings = file->n;
    put_part(file, choose(c, given & GIVEN_STRINGS, good.strings));
    size_t frames = file->n;
    put_part(file, choose(c, given & GIVEN_FRAMES, good.frames));
    size_t index = file->n;
    pf_buf_bytes(file, PF_INDEX_MAGIC, 4);
    put_part(file, choose_fixed(c, given & GIVEN_VERSIONS, good.versions));
    pf_buf_bytes(file, zeros, PF_INDEX_SIZE - PF_INDEX_CHECKSUM);
    put_part(file, choose(c, given & GIVEN_ROWS, good.rows));
    put_u64(file, file->n - index + PF_INDEX_TAIL_SIZE);
    pf_buf_bytes(file, PF_INDEX_TAIL_MAGIC, 8);
    *ret_end = file->n;
    put_part(file, choose(c, given & GIVEN_STATS, good.stats));
    put_part(file, choose_fixed(c, given & GIVEN_COUNTS, good.counts));
    put_u64(file, file->n + PF_FOOTER_SIZE - COUNTS_SIZE);
    pf_buf_bytes(file, zeros, PF_FOOTER_SIZE - PF_FOOTER_ZERO);
    assert_false(file->failed);
    pf_put_u64(file->p + PF_HEADER_STRINGS, strings);
    pf_put_u64(file->p + PF_HEADER_FRAMES, frames);
    return index;
}

static void
put_checksums(pf_buf *file, size_t index, size_t end, uint8_t wrong)
{
    uint8_t *p = file->p + index;
    size_t tables = good.segments.n;
    if (wrong & WRONG_SIZE)
        file->p[file->n - PF_FOOTER_SIZE + PF_FOOTER_FILE_SIZE] ^= 1;
    if (wrong & WRONG_PLACES)
        file->p[PF_HEADER_STRINGS] ^= 1;
    pf_put_u64(p + PF_INDEX_HEADER_CHECK,
               pr_hash_bytes(file->p, PF_HEADER_SIZE));
    pf_put_u64(p + PF_INDEX_TABLES_CHECK,
               pr_hash_bytes(file->p + tables, index - tables));
    pf_put_u64(p + PF_INDEX_END_CHECK,
               pr_hash_bytes(file->p + end, file->n - end));
    p[PF_INDEX_HEADER_CHECK] ^= wrong & WRONG_HEADER ? 1 : 0;
    p[PF_INDEX_TABLES_CHECK] ^= wrong & WRONG_TABLES ? 1 : 0;
    p[PF_INDEX_END_CHECK] ^= wrong & WRONG_END ? 1 : 0;
    pf_put_u64(p + PF_INDEX_CHECKSUM, pr_hash_bytes(p, end - index));
    p[PF_INDEX_CHECKSUM] ^= wrong & WRONG_INDEX ? 1 : 0;
}

/* ---- the reader's answer ---- */

static bool
delivers(pr_code code)
{
    return code == PR_OK || code == PR_CUT || code == PR_DAMAGED;
}

static void
read_file(const scratch *s, bool untouched, bool wrong)
{
    pf_reader *reader = NULL;
    pr_err err = PR_ERR_INIT;
    story read;
    pr_code code = pf_reader_open(s->path, NULL, &reader, &err);
    assert_true(code == err.code && (code == PR_OK || code == PR_NEWER));
    if (code != PR_OK)
        return;
    story_begin(&read);
    code = pf_reader_replay(reader, NULL, &read.sink, NULL, &err);
    assert_true(delivers(code) && story_same_samples(&good.story, &read));
    assert_true(!untouched || code == PR_OK);
    assert_true(!wrong || code != PR_OK);
    assert_true(delivers(pf_reader_verify(reader, NULL, NULL)));
    pf_reader_free(reader);
    story_end(&read);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pf_cur c = pf_cur_of(data, size, false);
    const uint8_t *head = pf_get_bytes(&c, 2);
    pf_buf file = {0};
    size_t end;
    scratch s;
    if (!head)
        return 0;
    if (!good.segments.p)
        make_good();
    size_t index = put_parts(&file, &c, head[0], &end);
    put_checksums(&file, index, end, head[1]);
    if (head[1] & LONGER)
        pf_buf_u8(&file, 0);
    scratch_begin(&s);
    scratch_write(&s, file.p, file.n - (head[1] & CUT ? 1 : 0));
    read_file(&s, head[0] == 0 && head[1] == 0,
              head[1] && head[1] != (CUT | LONGER));
    scratch_end(&s);
    free(file.p);
    return 0;
}
