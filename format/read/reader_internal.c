/*
 * reader_internal.c - what all parts of reading a file share: its header, its fault.
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
    PR_FAIL_AT(&r->fault, code, offset, "%s", text);
    r->info.state = code == PR_CUT ? PF_CUT : PF_DAMAGED;
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
