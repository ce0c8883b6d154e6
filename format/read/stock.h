/*
 * stock.h - the parts of a file of CPython.
 */
#ifndef FORMAT_READ_STOCK_H
#define FORMAT_READ_STOCK_H

#include "format/read/reader_internal.h"

pr_code pf_open_stock(pf_reader *r, pr_err *err);

#endif
