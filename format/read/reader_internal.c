/*
 * reader_internal.c - the state that all parts of a reader share: the header,
 * the fault, the losses of a file.
 */
#include "format/read/reader_internal.h"

#include <stdarg.h>
#include <stdio.h>

void
pf_fault_add(pf_reader *r, pr_code code, uint64_t offset, const char *format,
             ...)
{
    if (r->fault.code == PR_DAMAGED || r->fault.code == code)
        return;
    char text[sizeof r->fault.what];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pr_err_clear(&r->fault);
    pr_err_set(&r->fault, code, 0, offset, "%s", text);
    r->info.state = code == PR_CUT ? PF_CUT : PF_DAMAGED;
}

pr_code
pf_gap_add(pf_reader *r, const pf_gap *gap, pr_err *err)
{
    pr_code code = pf_budget_grow(&r->budget, &r->gap, &r->gap_cap,
                                  r->n_gaps + 1, sizeof *r->gap, err);
    if (code == PR_OK)
        r->gap[r->n_gaps++] = *gap;
    return code;
}

bool
pf_gaps_sum(const pf_reader *r, uint64_t *ret)
{
    bool counted = true;
    *ret = 0;
    for (size_t i = 0; i < r->n_gaps; i++) {
        *ret += r->gap[i].samples;
        counted &= r->gap[i].counted;
    }
    return counted;
}

void
pf_header_parse(pf_reader *r, const uint8_t *p)
{
    bool swapped = r->swapped;
    pf_header h = {
        .version = pf_load_u32(p + PF_HEADER_VERSION, swapped),
        .start_us = pf_load_u64(p + PF_HEADER_START, swapped),
        .interval_us = pf_load_u64(p + PF_HEADER_INTERVAL, swapped),
        .samples = pf_load_u64(p + PF_HEADER_SAMPLES, swapped),
        .threads = pf_load_u32(p + PF_HEADER_THREADS, swapped),
        .string_table = pf_load_u64(p + PF_HEADER_STRINGS, swapped),
        .frame_table = pf_load_u64(p + PF_HEADER_FRAMES, swapped),
        .compression = pf_load_u32(p + PF_HEADER_COMPRESSION, swapped),
        .capture = pf_load_u32(p + PF_HEADER_CAPTURE, swapped),
    };
    memcpy(h.python, p + PF_HEADER_PYTHON, sizeof h.python);
    memcpy(h.bytes, p, PF_HEADER_SIZE);
    r->header = h;
}

pr_code
pf_fail_as(pr_err *err, const pr_err *why, uint64_t at)
{
    if (!err || err->code != PR_OK)
        return why->code;
    *err = *why;
    if (err->offset == PR_NO_OFFSET)
        err->offset = at;
    return why->code;
}

bool
pf_is_hard(pr_code code)
{
    return code != PR_OK && code != PR_DAMAGED && code != PR_FOREIGN &&
           code != PR_CUT && code != PR_END;
}
