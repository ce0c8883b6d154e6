/*
 * page_bins.h - the samples of a profile in bins of time.
 *
 * All bins are equally long, and as short as the number of cells allows.  A bin
 * of a thread is a list of cells: a stack, a status, and the samples and the
 * time that they stand for.  A run that crosses borders of bins is split in
 * proportion; the parts add up to the run.
 */
#ifndef CONVERTER_PAGE_PAGE_BINS_H
#define CONVERTER_PAGE_PAGE_BINS_H

#include "converter/page/page_tree.h"

typedef struct conv_page_cell {
    uint64_t weight_us, n;
    uint32_t node; /* of the page's tree */
    uint32_t next; /* 1 + the next cell of the same node in this bin; 0: none */
    uint8_t status;
} conv_page_cell;

/* The cells of one bin of one thread, by status and node. */
typedef struct conv_page_bin {
    uint32_t thread, bin;
    uint64_t runs_before; /* number of runs that the walk has passed */
    const conv_page_cell *cell;
    size_t n;
} conv_page_bin;

/* A call that takes a bin.  PR_LIMIT, without a message: too many cells. */
typedef pr_code (*conv_page_take)(void *context, const conv_page_bin *bin,
                                  pr_err *err);

typedef struct conv_page_bins {
    uint64_t bin_us;
    uint32_t n_bins;
} conv_page_bins;

/* The shortest bins of a page, and the most cells that it may have. */
conv_page_bins conv_page_bins_shortest(const conv_model *model);
uint64_t conv_page_cells_most(const conv_model *model);

/* Double the length of the bins; false: one bin holds all. */
bool conv_page_bins_double(conv_page_bins *bins);

/* Call take() with all bins, thread by thread and then in the order of time.
 * PR_LIMIT from take(); PR_NOMEM. */
pr_code conv_page_bins_walk(const conv_model *model, const conv_page_tree *tree,
                            const conv_page_bins *bins, conv_page_take take,
                            void *context, pr_err *err);

#endif
