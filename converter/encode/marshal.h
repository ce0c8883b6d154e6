/*
 * marshal.h - the part of Python's marshal that a pstats file needs.
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

/* Begin a dict: key, value, key, value, ... and conv_marshal_dict_end()
 * follow. */
void conv_marshal_dict(conv_marshal *marshal);
void conv_marshal_dict_end(conv_marshal *marshal);
/* Begin a tuple: n objects follow.  referred: returns its number for
 * conv_marshal_ref(). */
uint32_t conv_marshal_tuple(conv_marshal *marshal, uint8_t n, bool referred);
void conv_marshal_ref(conv_marshal *marshal, uint32_t ref);
/* surrogates: keep lone surrogates, as Python's str does.  U+FFFD replaces all
 * other bytes that are not UTF-8. */
void conv_marshal_string(conv_marshal *marshal, const char *at, size_t len,
                         bool surrogates);
void conv_marshal_u64(conv_marshal *marshal, uint64_t value);
void conv_marshal_double(conv_marshal *marshal, double value);
void conv_marshal_true(conv_marshal *marshal);
void conv_marshal_release(conv_marshal *marshal);

#endif
