/*
 * stock.c - open a file of CPython 3.15: it has no checkpoints, so its names
 * are in the tables behind the samples or nowhere.
 */
#include "format/file.h"

#include <inttypes.h>
#include <stdlib.h>

/* Before 3.15.0 the header had a sample count of 4 bytes, all behind it stood
 * 4 bytes lower, and the version was 1 already (CPython commit 0890c1a4,
 * Modules/_remote_debugging/binary_io.h HDR_OFF_...). */
enum {
    EARLY_STRINGS = PF_HEADER_STRINGS - 4,
    EARLY_FRAMES = PF_HEADER_FRAMES - 4,
    EARLY_COMPRESSION = PF_HEADER_COMPRESSION - 4
};

static bool
tables_fit(const pf_reader *r, uint64_t strings, uint64_t frames)
{
    return strings >= PF_HEADER_SIZE && strings <= frames &&
           frames <= r->in.size;
}

static bool
is_early_layout(const pf_reader *r)
{
    const uint8_t *p = r->header.bytes;
    return tables_fit(r, pf_load_u64(p + EARLY_STRINGS, r->swapped),
                      pf_load_u64(p + EARLY_FRAMES, r->swapped)) &&
           pf_load_u32(p + EARLY_COMPRESSION, r->swapped) <= 1;
}

static pr_code
refuse_offsets(const pf_reader *r, pr_err *err)
{
    uint64_t strings = r->header.string_table, frames = r->header.frame_table;
    if (is_early_layout(r)) {
        pr_err_set(err, PR_FOREIGN, 0, PF_HEADER_SAMPLES,
                   "a profile of a pre-release of CPython 3.15, whose header "
                   "is another one");
        pr_err_hint(err, "replay it with the Python that wrote it");
        return PR_FOREIGN;
    }
    if (strings == 0)
        return PR_FAIL(err, PR_CUT, 0, r->in.size,
                       "the recording was not finished and has no whole "
                       "checkpoint: nothing can be had from it");
    if (strings <= frames && frames > r->in.size) {
        pr_err_set(err, PR_CUT, 0, r->in.size,
                   "a profile of CPython that ends before its tables of names "
                   "at %" PRIu64,
                   strings > r->in.size ? strings : frames);
        pr_err_hint(err, "CPython writes the names last: nothing can be had "
                         "from a file without its end");
        return PR_CUT;
    }
    return PR_FAIL(err, PR_DAMAGED, 0, PF_HEADER_STRINGS,
                   "the header's offsets of the tables are impossible");
}

static pr_code
check_footer(const pf_reader *r, pr_err *err)
{
    uint64_t said = r->footer.file_size;
    if (said > r->in.size)
        return PR_FAIL(err, PR_CUT, 0, r->in.size,
                       "a profile of CPython without its end, which counts "
                       "its names");
    if (said < r->in.size)
        return PR_FAIL(err, PR_DAMAGED, 0, r->in.size - PF_FOOTER_SIZE,
                       "the footer tells of %" PRIu64 " bytes, the file has "
                       "%" PRIu64,
                       said, r->in.size);
    if (r->header.frame_table > r->footer.at)
        return PR_FAIL(err, PR_DAMAGED, 0, PF_HEADER_FRAMES,
                       "the frame table lies in the footer");
    return PR_OK;
}

static pr_code
read_tables(pf_reader *r, pr_err *err)
{
    uint64_t strings = r->header.string_table, frames = r->header.frame_table;
    size_t n = (size_t)(r->footer.at - strings);
    size_t n_strings = (size_t)(frames - strings);
    uint8_t *p = malloc(n + 1);
    if (!p)
        return PR_FAIL(err, PR_NOMEM, 0, PR_NO_OFFSET,
                       "no memory for the tables of names");
    pr_code code = pf_input_read(&r->in, strings, p, n, err);
    if (code == PR_OK)
        code = pf_symbols_from_tables(
            &r->names.symbols, pf_cur_of(p, n_strings, r->swapped),
            r->footer.strings,
            pf_cur_of(p + n_strings, n - n_strings, r->swapped),
            r->footer.frames, err);
    free(p);
    return code;
}

pr_code
pf_open_stock(pf_reader *r, pr_err *err)
{
    if (!tables_fit(r, r->header.string_table, r->header.frame_table))
        return refuse_offsets(r, err);
    if (r->header.compression > 1)
        return PR_FAIL(err, PR_NEWER, 0, PF_HEADER_COMPRESSION,
                       "compression %" PRIu32 " is not known",
                       r->header.compression);
    pr_code code =
        pf_footer_read(&r->in, r->in.size, r->swapped, &r->footer, err);
    if (code == PR_OK)
        code = check_footer(r, err);
    if (code == PR_OK)
        code = read_tables(r, err);
    r->region_end = r->header.string_table;
    return code;
}
