/*
 * protobuf.h - write the wire format of Protocol Buffers: varints, and fields
 * of the types 0 (varint) and 2 (length and bytes).
 */
#ifndef CONVERTER_ENCODE_PROTOBUF_H
#define CONVERTER_ENCODE_PROTOBUF_H

#include <base/buffer.h>

enum { CONV_PB_VARINT_MAX = 10, CONV_PB_VARINT = 0, CONV_PB_BYTES = 2 };

/* Put a varint at p; returns its end. */
static inline uint8_t *
conv_pb_put(uint8_t *p, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *p++ = (uint8_t)(value | 0x80);
    *p++ = (uint8_t)value;
    return p;
}

static inline void
conv_pb_varint(pr_buffer *message, uint64_t value)
{
    uint8_t bytes[CONV_PB_VARINT_MAX];
    uint8_t *end = conv_pb_put(bytes, value);
    pr_buffer_append(message, (const char *)bytes, (size_t)(end - bytes));
}

/* A field with a number; 0 is the default and is left out. */
static inline void
conv_pb_uint(pr_buffer *message, uint32_t field, uint64_t value)
{
    if (value == 0)
        return;
    conv_pb_varint(message, (uint64_t)field << 3 | CONV_PB_VARINT);
    conv_pb_varint(message, value);
}

/* A field with a text, packed numbers or a message. */
static inline void
conv_pb_bytes(pr_buffer *message, uint32_t field, const char *at, size_t len)
{
    conv_pb_varint(message, (uint64_t)field << 3 | CONV_PB_BYTES);
    conv_pb_varint(message, len);
    pr_buffer_append(message, at, len);
}

#endif
