/*
 * marshal.h - Python's marshal, the part that a pstats file needs.
 *
 * Dict, tuple, str, int, float, True and references; CPython's Python/marshal.c
 * reads this subset alike from 3.8 to 3.15 (marshal versions 4 to 6).
 */
#ifndef CONVERTER_ENCODE_MARSHAL_H
#define CONVERTER_ENCODE_MARSHAL_H

#include "converter/encode/outfile.h"

#include <base/buffer.h>

typedef struct conv_marshal {
    conv_outfile *out;
    pr_buffer text; /* scratch; its count of changed names is the emitter's */
    uint32_t n_refs;
    bool failed; /* a name too long for the format, or no memory */
} conv_marshal;

/* Key, value, key, value, ... follow, then the end. */
void conv_marshal_dict(conv_marshal *marshal);
void conv_marshal_dict_end(conv_marshal *marshal);
/* n objects follow; returns the number by which it can be referred to. */
uint32_t conv_marshal_tuple(conv_marshal *marshal, uint8_t n, bool referred);
void conv_marshal_ref(conv_marshal *marshal, uint32_t ref);
/* surrogates: keep lone ones, as Python's str does.  Otherwise, and for all
 * else that is not UTF-8, U+FFFD. */
void conv_marshal_string(conv_marshal *marshal, const char *at, size_t len,
                         bool surrogates);
void conv_marshal_u64(conv_marshal *marshal, uint64_t value);
void conv_marshal_double(conv_marshal *marshal, double value);
void conv_marshal_true(conv_marshal *marshal);
void conv_marshal_release(conv_marshal *marshal);

#endif
