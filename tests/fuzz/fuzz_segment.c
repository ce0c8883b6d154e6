/*
 * fuzz_segment.c - any bytes as the inside of segments whose checksums are
 * right: a fuzzer of whole files never gets there.
 *
 * Input: for each segment u16 size of the checkpoint's body, u16 size of its
 * records (big-endian), both; SPAN and HEADER are put in front of the body so
 * that the reader goes on with it.  Bit 7 of a size damages that frame.
 */
#define STORY_TRAPS
#include "format/bytes.h"
#include "tests/unit/story.h"

#include <pyrec/reader.h>
#include <sys/mman.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEGMENTS_MAX = 8 };

static void
put_header(pf_buf *file)
{
    uint8_t header[PF_HEADER_SIZE] = {0};
    pf_put_u32(header + PF_HEADER_MAGIC, PF_MAGIC);
    pf_put_u32(header + PF_HEADER_VERSION, PF_VERSION);
    pf_put_u64(header + PF_HEADER_INTERVAL, 1000);
    pf_put_u32(header + PF_HEADER_COMPRESSION, 1);
    pf_buf_bytes(file, header, sizeof header);
}

/* The body with the records that a reader requires of it. */
static void
put_body(pf_buf *body, const uint8_t *rest, size_t n, size_t record_bytes,
         const uint8_t *header)
{
    pf_buf span = {0};
    pf_buf_u8(body, PF_TYPE_HEADER);
    pf_buf_varint(body, PF_HEADER_SIZE);
    pf_buf_bytes(body, header, PF_HEADER_SIZE);
    for (int i = 0; i < 5; i++) /* times and counts that need not be right */
        pf_buf_varint(&span, i == 2 ? record_bytes / 20 : 0);
    pf_buf_varint(&span, record_bytes);
    pf_buf_u8(body, PF_TYPE_SPAN);
    pf_buf_varint(body, span.n);
    pf_buf_bytes(body, span.p, span.n);
    pf_buf_bytes(body, rest, n);
    free(span.p);
}

static void
put_checkpoint(pf_buf *file, const pf_buf *body, uint32_t number,
               size_t data_at, uint64_t *family)
{
    size_t at = file->n, size = PF_CHECKPOINT_SIZE + body->n;
    assert_true(pf_buf_reserve(file, size));
    uint8_t *p = file->p + at;
    memset(p, 0, PF_CHECKPOINT_SIZE);
    pf_put_le32(p, PF_CHECKPOINT_SKIP);
    pf_put_le32(p + PF_CHECKPOINT_LENGTH,
                (uint32_t)(size - PF_SKIP_HEADER_SIZE));
    memcpy(p + PF_CHECKPOINT_MAGIC_AT, PF_CHECKPOINT_MAGIC, 4);
    p[PF_CHECKPOINT_READ] = p[PF_CHECKPOINT_REWRITE] = PF_CHECKPOINT_VERSION;
    pf_put_u32(p + PF_CHECKPOINT_NUMBER, number);
    pf_put_u32(p + PF_CHECKPOINT_BODY_SIZE, (uint32_t)body->n);
    pf_put_u64(p + PF_CHECKPOINT_FIRST, number ? *family : 0);
    pf_put_u64(p + PF_CHECKPOINT_DATA_SIZE, at - data_at);
    pf_put_u64(p + PF_CHECKPOINT_DATA_CHECK,
               pr_hash_bytes(file->p + data_at, at - data_at));
    memcpy(p + PF_CHECKPOINT_SIZE, body->p, body->n);
    uint64_t check = pr_hash_bytes(p, size);
    pf_put_u64(p + PF_CHECKPOINT_CHECKSUM, check);
    if (number == 0)
        *family = check;
    file->n += size;
}

static void
put_data(pf_buf *file, const uint8_t *records, size_t n)
{
    assert_true(pf_buf_reserve(file, ZSTD_compressBound(n)));
    size_t size =
        ZSTD_compress(file->p + file->n, file->cap - file->n, records, n, 1);
    assert_true(!ZSTD_isError(size));
    file->n += size;
}

/* One segment from the front of the input. */
static bool
put_segment(pf_buf *file, pf_cur *c, uint32_t number, uint64_t *family)
{
    uint8_t size[4];
    pf_buf body = {0};
    size_t data_at = file->n;
    const uint8_t *head = pf_get_bytes(c, sizeof size);
    if (!head)
        return false;
    size_t n_body = (size_t)(head[0] & 0x7f) << 8 | head[1];
    size_t n_records = (size_t)(head[2] & 0x7f) << 8 | head[3];
    n_body = n_body < pf_left(c) ? n_body : pf_left(c);
    const uint8_t *rest = pf_get_bytes(c, n_body);
    n_records = n_records < pf_left(c) ? n_records : pf_left(c);
    const uint8_t *records = pf_get_bytes(c, n_records);
    put_body(&body, rest, n_body, n_records, file->p);
    put_data(file, records, n_records);
    size_t checkpoint_at = file->n;
    put_checkpoint(file, &body, number, data_at, family);
    if (head[0] & 0x80)
        file->p[file->n - 1] ^= 1;
    if (head[2] & 0x80)
        file->p[checkpoint_at - 1] ^= 1;
    free(body.p);
    return true;
}

static void
read_file(const pf_buf *file)
{
    char path[64];
    pf_reader *reader = NULL;
    story taken;
    int fd = memfd_create("profile", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(write(fd, file->p, file->n) == (ssize_t)file->n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    pr_code code = pf_reader_open(path, NULL, &reader, NULL);
    if (code == PR_OK) {
        story_begin(&taken);
        code = pf_reader_replay(reader, NULL, &taken.sink, NULL, NULL);
        assert_true(code != PR_OK); /* it was never finished */
        story_end(&taken);
        pf_reader_free(reader);
    }
    close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pf_buf file = {0};
    pf_cur c = pf_cur_of(data, size, false);
    put_header(&file);
    uint64_t family = 0;
    uint32_t n = 0;
    while (n < SEGMENTS_MAX && put_segment(&file, &c, n, &family))
        n++;
    read_file(&file);
    free(file.p);
    return 0;
}
