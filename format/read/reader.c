/*
 * reader.c - open a profile file and answer questions about it.
 */
#include "format/read/foreign.h"
#include "format/read/reader_internal.h"
#include "format/read/segments.h"
#include "format/read/stock.h"

#include <base/opts.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- the kind of a file ---- */

static pr_code
refuse_foreign(const uint8_t *start, size_t n, pr_err *err)
{
    PR_FAIL(err, PR_FOREIGN, "not a profile: it is %s",
            pf_foreign_name(start, n));
    pr_err_hint(err, "profiles are written by pyrec, or by python3.15 -m "
                     "profiling.sampling with --binary");
    return PR_FOREIGN;
}

static pr_code
refuse_version(const pf_reader *r, pr_err *err)
{
    const pf_header *h = &r->header;
    if (h->version < PF_VERSION)
        return PR_FAIL_AT(err, PR_DAMAGED, PF_HEADER_VERSION,
                          "the header has version 0");
    return PR_FAIL_AT(err, PR_NEWER, PF_HEADER_VERSION,
                      "a profile of version %" PRIu32
                      " (of CPython %u.%u.%u), this reader knows version %u",
                      h->version, h->python[0], h->python[1], h->python[2],
                      PF_VERSION);
}

/* One try with one byte order. */
static pr_code
open_in_order(pf_reader *r, const uint8_t *start, bool swapped, pr_err *err)
{
    pf_index_release(&r->index);
    r->index_known = false;
    pr_err_clear(&r->fault);
    r->swapped = swapped;
    pf_header_parse(r, start);
    return pf_open_segments(r, err);
}

/* The header's magic is gone: if the file has checkpoints, they have the byte
 * order and a copy of the header. */
static pr_code
open_without_magic(pf_reader *r, const uint8_t *start, size_t n, pr_err *err)
{
    pr_code code = n < PF_HEADER_SIZE || pf_foreign_is_known(start, n)
                       ? PR_END
                       : open_in_order(r, start, false, err);
    if (code == PR_END && n == PF_HEADER_SIZE)
        code = open_in_order(r, start, true, err);
    return code == PR_END ? refuse_foreign(start, n, err) : code;
}

/* A header that is right, or its copy, decides which reader the file needs. */
static pr_code
check_header(pf_reader *r, pr_err *err)
{
    if (!r->header_known)
        return PR_OK;
    if (r->header.version != PF_VERSION)
        return refuse_version(r, err);
    if (r->header.compression > 1)
        return PR_FAIL_AT(err, PR_NEWER, PF_HEADER_COMPRESSION,
                          "compression %" PRIu32 " is not known",
                          r->header.compression);
    return PR_OK;
}

static pr_code
open_parts(pf_reader *r, pr_err *err)
{
    uint8_t start[PF_HEADER_SIZE];
    size_t n = r->in.size < sizeof start ? (size_t)r->in.size : sizeof start;
    pr_code code = pf_input_read(&r->in, 0, start, n, err);
    if (code != PR_OK)
        return code;
    uint32_t magic = n >= 4 ? pf_load_u32(start, false) : 0;
    if (magic != PF_MAGIC && magic != PF_HCAM)
        return open_without_magic(r, start, n, err);
    if (n < PF_HEADER_SIZE)
        return PR_FAIL_AT(err, PR_CUT, r->in.size,
                          "the file ends in its header: it holds no sample");
    code = open_in_order(r, start, magic == PF_HCAM, err);
    if (code == PR_OK)
        return check_header(r, err);
    if (code != PR_END)
        return code;
    r->header_known = true; /* nothing contradicts it */
    code = check_header(r, err);
    return code == PR_OK ? pf_open_stock(r, err) : code;
}

/* ---- facts about a file ---- */

static pr_mode
mode_of(uint32_t capture)
{
    uint32_t mode = capture & PF_CAPTURE_MODE_MASK;
    return mode == 0 || mode > PR_MODE_EXCEPTION + 1 ? PR_MODE_UNKNOWN
                                                     : (pr_mode)(mode - 1);
}

static pr_text
text_of_meta(const pf_reader *r, const char *key)
{
    const pf_meta *meta = pf_metadata_find(&r->names.metadata, key);
    return meta ? (pr_text){meta->value, meta->value_len} : (pr_text){"", 0};
}

/* A file of one process describes it by its metadata (5.5). */
static void
describe_process(pf_reader *r)
{
    pf_process *first = &r->names.processes.at[0];
    if (first->recorded)
        return;
    first->described = (pr_process){
        .pid = pf_metadata_number(&r->names.metadata, "pid"),
        .parent = pf_metadata_number(&r->names.metadata, "process.parent"),
        .start_us = pf_metadata_number(&r->names.metadata, "process.start_us"),
        .end_us = pf_metadata_number(&r->names.metadata, "process.end_us"),
        .command = text_of_meta(r, "command"),
        .host = text_of_meta(r, "host"),
        .scope = text_of_meta(r, "process.scope"),
    };
    memcpy(first->described.python, r->header.python,
           sizeof first->described.python);
}

static pr_start
start_of(const pf_reader *r)
{
    const pf_header *h = &r->header;
    pr_start start = {
        .start_us = h->start_us,
        .wall_us = pf_metadata_number(&r->names.metadata, PF_META_WALL),
        /* an interval of 0 means nothing, and must not be a divisor */
        .interval_us = h->interval_us ? h->interval_us : 1,
        .mode = mode_of(h->capture),
        .capture = h->capture & ~PF_CAPTURE_MODE_MASK,
    };
    memcpy(start.python, h->python, sizeof start.python);
    return start;
}

static void
sum_segments(pf_reader *r)
{
    pf_info *info = &r->info;
    info->has_checkpoints = 1;
    info->compressed = 1;
    info->segments = r->n_segments;
    info->samples = 0;
    info->first_us = UINT64_MAX;
    for (size_t i = 0; i < r->n_segments; i++) {
        const pf_segment *s = &r->segment[i];
        if (s->lost)
            continue;
        info->good_bytes = s->data_at + s->data_size + s->checkpoint_size;
        info->samples += s->samples;
        info->bytes_compressed += s->data_size;
        info->bytes_records += s->record_bytes;
        if (s->samples && s->first_us < info->first_us)
            info->first_us = s->first_us;
        if (s->samples && s->last_us > info->last_us)
            info->last_us = s->last_us;
    }
    if (info->first_us == UINT64_MAX)
        info->first_us = 0;
    info->threads = (uint32_t)r->names.n_sampled;
}

static void
sum_stock(pf_reader *r)
{
    pf_info *info = &r->info;
    info->samples = r->header.samples;
    info->threads = r->header.threads;
    info->compressed = r->header.compression == 1;
    info->bytes_compressed = r->region_end - PF_HEADER_SIZE;
    if (!info->compressed)
        info->bytes_records = info->bytes_compressed;
}

static void
fill_info(pf_reader *r)
{
    pf_info *info = &r->info;
    info->start = start_of(r);
    describe_process(r);
    info->stats = r->footer.stats;
    info->file_bytes = r->in.size;
    info->swapped = r->swapped;
    info->lost_is_known = pf_gaps_sum(r, &info->samples_lost);
    info->strings = r->names.symbols.n_strings;
    info->frames = r->names.symbols.n_frames;
    if (r->region_end)
        sum_stock(r);
    else
        sum_segments(r);
    if (info->state == PF_FINISHED)
        info->good_bytes = r->in.size;
}

/* Add the losses to the counter of lost samples, which may hold those that an
 * earlier reader found. */
static pr_code
count_losses(pf_reader *r, pr_err *err)
{
    uint64_t lost;
    pf_gaps_sum(r, &lost);
    if (lost == 0)
        return PR_OK;
    pr_count count = {.thread = PR_NO_THREAD,
                      .kind = PR_COUNT_LOST_FILE,
                      .value = lost,
                      .time_us = r->info.last_us};
    pf_ref first = pf_ref_of_process(0);
    const pr_count *before = pf_names_find_count(&r->names, &count);
    if (before)
        count.value += before->value;
    return pf_names_count(&r->names, first, &count, err);
}

/* ---- the interface ---- */

static pr_code
open_file(pf_reader *r, const char *path, const pf_reader_opts *opts,
          pr_err *err)
{
    pf_reader_opts known = PF_READER_OPTS_INIT;
    pr_code code = pr_opts_take(&known, sizeof known, opts, err);
    if (code == PR_OK)
        code = pf_input_open(path, &r->in, err);
    if (code != PR_OK)
        return code;
    pf_budget_init(&r->budget, &known, r->in.size);
    code = pf_names_init(&r->names, &r->budget, err);
    if (code == PR_OK)
        code = open_parts(r, err);
    if (code != PR_OK && code != PR_IO) /* which names the file itself */
        pr_err_wrap(err, "'%s'", path);
    return code;
}

pr_code
pf_reader_open(const char *path, const pf_reader_opts *opts, pf_reader **ret,
               pr_err *err)
{
    pf_reader *r = calloc(1, sizeof *r);
    if (!r)
        return pr_no_memory(err);
    r->in.fd = -1;
    pr_code code = open_file(r, path, opts, err);
    if (code == PR_OK) {
        pf_metadata_sort(&r->names.metadata);
        fill_info(r);
        code = count_losses(r, err);
    }
    if (code != PR_OK) {
        pf_reader_free(r);
        return code;
    }
    *ret = r;
    return PR_OK;
}

void
pf_reader_free(pf_reader *r)
{
    if (!r)
        return;
    pf_input_close(&r->in);
    pf_names_release(&r->names);
    pf_index_release(&r->index);
    free(r->segment);
    free(r->kept.p);
    free(r->gap);
    free(r);
}

const pf_info *
pf_reader_info(const pf_reader *r)
{
    return &r->info;
}

const char *
pf_reader_meta(const pf_reader *r, size_t i, const char **ret_value,
               size_t *ret_len)
{
    const pf_metadata *m = &r->names.metadata;
    if (i >= m->n)
        return NULL;
    *ret_value = m->pair[i].value;
    *ret_len = m->pair[i].value_len;
    return m->pair[i].key;
}

const pr_process *
pf_reader_process(const pf_reader *r, size_t i)
{
    const pf_processes *processes = &r->names.processes;
    return i < processes->n ? &processes->at[i].described : NULL;
}

const pr_count *
pf_reader_count(const pf_reader *r, size_t i)
{
    return i < r->names.n_counts ? &r->names.count[i] : NULL;
}

void
pf_reader_get_stats(const pf_reader *r, pf_reader_stats *ret)
{
    *ret = r->stats;
}
