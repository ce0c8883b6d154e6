/*
 * stock.c - open a file of CPython 3.15, which has no checkpoints: only the
 * tables after the samples have its names.
 */
#include "format/read/stock.h"

#include <inttypes.h>
#include <stdlib.h>

/* Before 3.15.0 the header had a sample count of 4 bytes, all later fields were
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
        PR_FAIL_AT(err, PR_FOREIGN, PF_HEADER_SAMPLES,
                   "a profile of a pre-release of CPython 3.15, whose header "
                   "is another one");
        pr_err_hint(err, "replay it with the Python that wrote it");
        return PR_FOREIGN;
    }
    if (strings == 0)
        return PR_FAIL_AT(err, PR_CUT, r->in.size,
                          "the recording is not finished and has no whole "
                          "checkpoint: nothing in it can be read");
    if (strings <= frames && frames > r->in.size) {
        PR_FAIL_AT(err, PR_CUT, r->in.size,
                   "the file ends before its tables of names at %" PRIu64
                   " and has no whole checkpoint",
                   strings > r->in.size ? strings : frames);
        pr_err_hint(err, "without names nothing in it can be read");
        return PR_CUT;
    }
    return PR_FAIL_AT(err, PR_DAMAGED, PF_HEADER_STRINGS,
                      "the header's offsets of the tables are impossible");
}

/* The most appended bytes after a footer that are searched. */
enum { APPENDED_MAX = 64 << 10 };

/* Find the last footer, by the place of its end, which a footer holds.
 * *ret_end is that place; 0: the file has no footer. */
static pr_code
find_footer(const pf_reader *r, uint64_t *ret_end, pr_err *err)
{
    uint64_t least = r->header.frame_table + PF_FOOTER_SIZE;
    *ret_end = 0;
    if (r->in.size < least)
        return PR_OK;
    uint64_t from = r->header.frame_table;
    if (r->in.size - from > APPENDED_MAX)
        from = r->in.size - APPENDED_MAX;
    size_t n = (size_t)(r->in.size - from);
    uint8_t *p = malloc(n);
    if (!p)
        return pr_no_memory(err);
    pr_code code = pf_input_read(&r->in, from, p, n, err);
    for (size_t at = n; code == PR_OK && at >= PF_FOOTER_SIZE; at--) {
        const uint8_t *footer = p + at - PF_FOOTER_SIZE;
        if (pf_load_u64(footer + PF_FOOTER_FILE_SIZE, r->swapped) != from + at)
            continue;
        *ret_end = from + at;
        break;
    }
    free(p);
    return code;
}

static pr_code
read_footer(pf_reader *r, pr_err *err)
{
    uint64_t end;
    pr_code code = find_footer(r, &end, err);
    if (code != PR_OK)
        return code;
    if (end == 0) {
        PR_FAIL_AT(err, PR_CUT, r->in.size,
                   "a profile of CPython without its end");
        pr_err_hint(err, "CPython writes the number of names last: nothing in "
                         "a file without its end can be read");
        return PR_CUT;
    }
    if (end < r->in.size)
        pf_fault_add(r, PR_DAMAGED, end,
                     "%" PRIu64 " bytes follow the end of the profile",
                     r->in.size - end);
    code = pf_footer_read(&r->in, end, r->swapped, &r->footer, err);
    if (code == PR_OK && r->header.frame_table > r->footer.at)
        code = PR_FAIL_AT(err, PR_DAMAGED, PF_HEADER_FRAMES,
                          "the frame table lies in the footer");
    return code;
}

static pr_code
read_tables(pf_reader *r, pr_err *err)
{
    uint64_t strings = r->header.string_table, frames = r->header.frame_table;
    size_t n = (size_t)(r->footer.at - strings);
    size_t n_strings = (size_t)(frames - strings);
    uint8_t *p = malloc(n + 1);
    if (!p)
        return pr_no_memory(err);
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
        return PR_FAIL_AT(err, PR_NEWER, PF_HEADER_COMPRESSION,
                          "compression %" PRIu32 " is not known",
                          r->header.compression);
    pr_code code = read_footer(r, err);
    if (code == PR_OK)
        code = read_tables(r, err);
    r->region_end = r->header.string_table;
    return code;
}
