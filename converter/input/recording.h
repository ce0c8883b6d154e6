/*
 * recording.h - one input: a profile file, or a file of another profiler.
 */
#ifndef CONVERTER_INPUT_RECORDING_H
#define CONVERTER_INPUT_RECORDING_H

#include <pyrec/reader.h>
#include <stdbool.h>

typedef struct conv_recording conv_recording;

/* from: the name of an import, "bin" for a profile, NULL: by the content.
 * memory: the budget of a profile (pf_reader_opts).
 * Codes of pf_reader_open() and conv_import_open(). */
pr_code conv_recording_open(const char *path, const char *from, uint64_t memory,
                            conv_recording **ret, pr_err *err);
void conv_recording_free(conv_recording *recording); /* takes NULL */

/* The results of these functions live as long as the recording. */
const pr_start *conv_recording_start(const conv_recording *recording);
const pr_process *conv_recording_process(const conv_recording *recording,
                                         size_t i); /* NULL past the end */
uint64_t conv_recording_samples(const conv_recording *recording);
/* The length of the recording, as far as the file has it. */
uint64_t conv_recording_length_us(const conv_recording *recording);
/* The facts about a profile file; NULL: it is an import. */
const pf_info *conv_recording_info(const conv_recording *recording);

/* Does it have sums of functions in place of stacks (pr_total)? */
bool conv_recording_is_totals(const conv_recording *recording);

/* As pf_reader_replay(). */
pr_code conv_recording_replay(conv_recording *recording,
                              const pf_replay_opts *opts, pr_sink *sink,
                              uint64_t *ret_samples, pr_err *err);

#endif
