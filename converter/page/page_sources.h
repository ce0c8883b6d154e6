/*
 * page_sources.h - the sources of the files in a profile, as far as a folder
 * has them.
 *
 * The profile's paths are hostile: one may name any file of this machine, and
 * the page goes to other people.  So sources are read only if the user names a
 * folder; a file must be a regular one below it, also after symbolic links, its
 * name must end as Python's sources do, and it must have all lines that ran.
 * Each file and all together are bounded.
 */
#ifndef CONVERTER_PAGE_PAGE_SOURCES_H
#define CONVERTER_PAGE_PAGE_SOURCES_H

#include "converter/model/model.h"

#include <base/buffer.h>

/* Append ,"sources":{"texts":[[file, text], ...],"missing":,"other":,
 * "large":}: the files with most time first, then the numbers of files that
 * were not found, that lack lines which ran, and that were too large.
 * file[n_files] are string ids, and a file's number is its place there.
 * PR_IO: the folder cannot be read. */
pr_code conv_page_sources_put(const conv_model *model, const char *folder,
                              const uint32_t *file, size_t n_files,
                              pr_buffer *json, pr_err *err);

#endif
