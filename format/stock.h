/*
 * stock.h - the parts of a file of CPython.
 */
#ifndef FORMAT_STOCK_H
#define FORMAT_STOCK_H

#include "format/file.h"

pr_code pf_open_stock(pf_reader *r, pr_err *err);

#endif
