/*
 * amounts.h - the sums of samples in the tables of totals.
 */
#ifndef CONVERTER_TABLES_AMOUNTS_H
#define CONVERTER_TABLES_AMOUNTS_H

#include "converter/tables/row.h"

/* Samples and their time; ran_...: of samples whose thread held the GIL or was
 * on a CPU. */
typedef struct conv_amount {
    uint64_t n, us, ran_n, ran_us;
} conv_amount;

typedef struct conv_sums {
    conv_amount self, total;
} conv_sums;

static inline void
conv_amount_add(conv_amount *to, const conv_amount *what)
{
    to->n += what->n;
    to->us += what->us;
    to->ran_n += what->ran_n;
    to->ran_us += what->ran_us;
}

/* The columns: the four fields of self, then those of total. */
enum { CONV_SUMS_COLUMNS = 8 };

static inline void
conv_sums_fill(const conv_sums *sums, int64_t *row)
{
    const conv_amount *const amounts[] = {&sums->self, &sums->total};
    for (size_t i = 0; i < 2; i++, row += 4) {
        row[0] = conv_row_limit(amounts[i]->n);
        row[1] = conv_row_limit(amounts[i]->us);
        row[2] = conv_row_limit(amounts[i]->ran_n);
        row[3] = conv_row_limit(amounts[i]->ran_us);
    }
}

static inline void
conv_sums_put(conv_row *row, const conv_sums *sums)
{
    int64_t value[CONV_SUMS_COLUMNS];
    conv_sums_fill(sums, value);
    for (size_t i = 0; i < CONV_SUMS_COLUMNS; i++)
        conv_row_integer(row, value[i]);
}

#endif
