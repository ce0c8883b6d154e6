/*
 * marshal.c - type byte, then little-endian content (CPython 3.15
 * Python/marshal.c: TYPE_* and w_object).
 */
#include "converter/encode/marshal.h"

#include <base/buffer.h>
#include <base/marshal_types.h>
#include <base/quote.h>
#include <string.h>

static void
put_byte(conv_marshal *marshal, unsigned byte)
{
    uint8_t b = (uint8_t)byte;
    conv_out_write(marshal->out, &b, 1);
}

static void
put_little(conv_marshal *marshal, uint64_t value, unsigned bytes)
{
    uint8_t b[8];
    for (unsigned i = 0; i < bytes; i++)
        b[i] = (uint8_t)(value >> (8 * i));
    conv_out_write(marshal->out, b, bytes);
}

void
conv_marshal_dict(conv_marshal *marshal)
{
    put_byte(marshal, PR_MARSHAL_DICT);
}

void
conv_marshal_dict_end(conv_marshal *marshal)
{
    put_byte(marshal, PR_MARSHAL_NULL);
}

uint32_t
conv_marshal_tuple(conv_marshal *marshal, uint8_t n, bool referred)
{
    put_byte(marshal,
             PR_MARSHAL_SMALL_TUPLE | (referred ? PR_MARSHAL_FLAG_REF : 0u));
    put_byte(marshal, n);
    return referred ? marshal->n_refs++ : 0;
}

void
conv_marshal_ref(conv_marshal *marshal, uint32_t ref)
{
    put_byte(marshal, PR_MARSHAL_REF);
    put_little(marshal, ref, 4);
}

void
conv_marshal_string(conv_marshal *marshal, const char *at, size_t len,
                    bool surrogates)
{
    pr_buffer *text = &marshal->text;
    pr_buffer_reset(text);
    pr_quote_name(text, surrogates ? PR_QUOTE_SURROGATES : PR_QUOTE_UTF8, at,
                  len);
    if (text->failed || text->len > INT32_MAX) {
        marshal->failed = true;
        return;
    }
    put_byte(marshal, PR_MARSHAL_UNICODE);
    put_little(marshal, text->len, 4);
    conv_out_write(marshal->out, text->at, text->len);
}

void
conv_marshal_u64(conv_marshal *marshal, uint64_t value)
{
    if (value <= INT32_MAX) {
        put_byte(marshal, PR_MARSHAL_INT);
        put_little(marshal, value, 4);
        return;
    }
    uint32_t digits = 0;
    for (uint64_t rest = value; rest; rest >>= 15)
        digits++;
    put_byte(marshal, PR_MARSHAL_LONG);
    put_little(marshal, digits, 4);
    for (; value; value >>= 15)
        put_little(marshal, value & 0x7fff, 2);
}

void
conv_marshal_double(conv_marshal *marshal, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_byte(marshal, PR_MARSHAL_BINARY_FLOAT);
    put_little(marshal, bits, 8);
}

void
conv_marshal_true(conv_marshal *marshal)
{
    put_byte(marshal, PR_MARSHAL_TRUE);
}

void
conv_marshal_release(conv_marshal *marshal)
{
    pr_buffer_release(&marshal->text);
}
