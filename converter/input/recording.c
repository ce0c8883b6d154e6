/*
 * recording.c - a reader, or the stacks of an import.
 */
#include "converter/input/recording.h"

#include "converter/import/open.h"

#include <pyrec/convert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of the two. */
struct conv_recording {
    pf_reader *reader;
    conv_stacks *stacks;
    pr_err cut; /* code PR_CUT: the file of the stacks ends too early */
};

/* The reader's hint names its own kind of file; more could stand here. */
static void
hint_kinds(pr_err *err)
{
    char kinds[128] = "";
    size_t n = 0;
    const conv_import_info *kind;
    for (size_t i = 0; (kind = conv_import_get(i)) && n < sizeof kinds; i++)
        n += (size_t)snprintf(kinds + n, sizeof kinds - n, "%s%s",
                              i ? ", " : "", kind->name);
    err->hint[0] = '\0';
    pr_err_hint(err,
                "profiles by pyrec, by python3.15, or as %s can be read; "
                "'pyconv --from KIND' says what is wrong in one",
                kinds);
}

/* An import that finds nothing leaves the file to the reader, whose message
 * names its kind. */
static pr_code
open_file(conv_recording *r, const char *path, const char *from,
          uint64_t memory, pr_err *err)
{
    pf_reader_opts budget = PF_READER_OPTS_INIT;
    bool is_profile = from && strcmp(from, "bin") == 0;
    if (!is_profile) {
        pr_err seen = PR_ERR_INIT;
        pr_code rc = conv_import_open(path, from, &r->stacks, &seen);
        if (r->stacks) {
            r->cut = seen;
            return PR_OK;
        }
        if (rc != PR_OK) {
            if (err)
                *err = seen;
            return rc;
        }
    }
    budget.memory = memory;
    pr_code rc = pf_reader_open(path, &budget, &r->reader, err);
    if (rc == PR_FOREIGN && !is_profile && err)
        hint_kinds(err);
    return rc;
}

pr_code
conv_recording_open(const char *path, const char *from, uint64_t memory,
                    conv_recording **ret, pr_err *err)
{
    conv_recording *r = calloc(1, sizeof *r);
    if (!r)
        return pr_no_memory(err);
    pr_code rc = open_file(r, path, from, memory, err);
    if (rc == PR_OK)
        *ret = r;
    else
        conv_recording_free(r);
    return rc;
}

void
conv_recording_free(conv_recording *r)
{
    if (!r)
        return;
    pf_reader_free(r->reader);
    conv_stacks_free(r->stacks);
    free(r);
}

const pr_start *
conv_recording_start(const conv_recording *r)
{
    return r->reader ? &pf_reader_info(r->reader)->start
                     : conv_stacks_start(r->stacks);
}

const pr_process *
conv_recording_process(const conv_recording *r, size_t i)
{
    return r->reader ? pf_reader_process(r->reader, i)
                     : conv_stacks_process(r->stacks, i);
}

uint64_t
conv_recording_samples(const conv_recording *r)
{
    return r->reader ? pf_reader_info(r->reader)->samples
                     : conv_stacks_samples(r->stacks);
}

uint64_t
conv_recording_length_us(const conv_recording *r)
{
    if (!r->reader)
        return conv_stacks_length_us(r->stacks);
    const pf_info *info = pf_reader_info(r->reader);
    double stated = info->stats.duration_s * 1e6;
    bool known = (info->stats.known & PR_STATS_PRESENT) && stated < 9e18;
    uint64_t length = known && stated > 0 ? (uint64_t)stated : 0;
    return info->last_us > length ? info->last_us : length;
}

const pf_info *
conv_recording_info(const conv_recording *r)
{
    return r->reader ? pf_reader_info(r->reader) : NULL;
}

bool
conv_recording_is_totals(const conv_recording *r)
{
    return r->stacks && conv_stacks_is_totals(r->stacks);
}

pr_code
conv_recording_replay(conv_recording *r, const pf_replay_opts *opts,
                      pr_sink *sink, uint64_t *ret_samples, pr_err *err)
{
    if (r->reader)
        return pf_reader_replay(r->reader, opts, sink, ret_samples, err);
    const conv_stacks_opts stacks = {.from_us = opts->from_us,
                                     .to_us = opts->to_us,
                                     .with_next = opts->with_next != 0,
                                     .progress = opts->progress};
    pr_code rc = conv_stacks_replay(r->stacks, &stacks, sink, ret_samples, err);
    if (rc != PR_OK || r->cut.code == PR_OK)
        return rc;
    if (err)
        *err = r->cut;
    return r->cut.code;
}
