/*
 * page.h - a profile as one HTML file that needs nothing else.
 *
 * The file holds the sources of this folder (page.html, page.css, *.js), the
 * profile as columns of numbers, and a content security policy that allows
 * these scripts and this style sheet and forbids all else.
 */
#ifndef CONVERTER_PAGE_PAGE_H
#define CONVERTER_PAGE_PAGE_H

#include "converter/encode/outfile.h"
#include "converter/model/model.h"

typedef struct conv_page {
    const conv_model *model;   /* of whole frames or lines */
    const char *source;        /* name of the input, for the heading */
    const char *base;          /* name of the base of a comparison, or NULL */
    uint32_t n_base;           /* the base's processes come first; 0: none */
    const char *source_folder; /* see page_sources.h; NULL: no sources */
    conv_outfile *out;
    uint64_t names_changed; /* the page adds to it */
} conv_page;

/* Write the page.  PR_NOMEM; page->out keeps failures of the output. */
pr_code conv_page_write(conv_page *page, pr_err *err);

#endif
