/*
 * page_facts.h - the facts of the page: the recording, the names, the threads,
 * the events, the verdicts of a comparison.
 *
 * A JSON object (RFC 8259).  The profile's strings are in it as JSON strings;
 * lone surrogates are escaped.
 */
#ifndef CONVERTER_PAGE_PAGE_FACTS_H
#define CONVERTER_PAGE_PAGE_FACTS_H

#include "converter/page/page.h"
#include "converter/page/page_bins.h"

#include <base/buffer.h>

/* Append the object. */
pr_code conv_page_facts_put(const conv_page *page, const conv_page_tree *tree,
                            const conv_page_bins *bins, pr_buffer *json,
                            pr_err *err);

#endif
