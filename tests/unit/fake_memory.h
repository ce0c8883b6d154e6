/*
 * fake_memory.h - a made-up target: one stretch of memory at a fixed address,
 * and CPython objects to put into it.
 */
#ifndef TESTS_UNIT_FAKE_MEMORY_H
#define TESTS_UNIT_FAKE_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>

#include "recorder/cpython/layout.h"

enum { FAKE_BASE = 0x10000 };

typedef struct fake_memory {
    uint8_t *bytes;
    size_t size, used;
    rec_memory memory;
} fake_memory;

static inline ssize_t
fake_read(void *context, const struct iovec *local, const struct iovec *remote,
          size_t n)
{
    const fake_memory *f = context;
    ssize_t arrived = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)(uintptr_t)remote[i].iov_base - FAKE_BASE;
        if (at > f->size || remote[i].iov_len > f->size - at)
            return arrived ? arrived : -EFAULT;
        memcpy(local[i].iov_base, f->bytes + at, remote[i].iov_len);
        arrived += (ssize_t)remote[i].iov_len;
    }
    return arrived;
}

static inline void
fake_begin(fake_memory *f, size_t size)
{
    *f = (fake_memory){.bytes = calloc(1, size), .size = size};
    assert_non_null(f->bytes);
    rec_memory_init(&f->memory, 1);
    f->memory.read = fake_read;
    f->memory.context = f;
}

static inline void
fake_end(fake_memory *f)
{
    free(f->bytes);
    f->bytes = NULL;
}

/* An address with room for `len` bytes. */
static inline uint64_t
fake_alloc(fake_memory *f, size_t len)
{
    size_t at = (f->used + 15) & ~(size_t)15;
    assert_true(at + len <= f->size);
    f->used = at + len;
    return FAKE_BASE + at;
}

static inline void
fake_put(fake_memory *f, uint64_t address, const void *bytes, size_t len)
{
    assert_true(address >= FAKE_BASE && address + len <= FAKE_BASE + f->size);
    if (len)
        memcpy(f->bytes + (address - FAKE_BASE), bytes, len);
}

static inline void
fake_put64(fake_memory *f, uint64_t address, uint64_t value)
{
    fake_put(f, address, &value, sizeof value);
}

static inline void
fake_put32(fake_memory *f, uint64_t address, uint32_t value)
{
    fake_put(f, address, &value, sizeof value);
}

/* A str of n code points of `kind` bytes each. */
static inline uint64_t
fake_str(fake_memory *f, const rec_layout *l, const void *points, size_t n,
         uint32_t kind, bool ascii)
{
    uint32_t data = ascii ? l->object.ascii_data : l->object.compact_data;
    uint64_t at = fake_alloc(f, data + n * kind + 4);
    fake_put64(f, at + l->object.unicode_length, n);
    fake_put32(f, at + l->object.unicode_state,
               kind << l->object.unicode_kind_shift |
                   1u << l->object.unicode_compact_bit |
                   (uint32_t)ascii << l->object.unicode_ascii_bit);
    fake_put(f, at + data, points, n * kind);
    return at;
}

static inline uint64_t
fake_ascii(fake_memory *f, const rec_layout *l, const char *text)
{
    return fake_str(f, l, text, strlen(text), 1, true);
}

static inline uint64_t
fake_bytes(fake_memory *f, const rec_layout *l, const void *bytes, size_t len)
{
    uint64_t at = fake_alloc(f, l->object.bytes_data + len + 1);
    fake_put64(f, at + l->object.bytes_size, len);
    fake_put(f, at + l->object.bytes_data, bytes, len);
    return at;
}

/* A type object that is called `name`. */
static inline uint64_t
fake_type(fake_memory *f, const rec_layout *l, const char *name, uint64_t flags)
{
    uint64_t text = fake_alloc(f, strlen(name) + 1);
    fake_put(f, text, name, strlen(name) + 1);
    uint64_t at = fake_alloc(f, l->object.type_flags + 8);
    fake_put64(f, at + l->object.type_name, text);
    fake_put64(f, at + l->object.type_flags, flags);
    return at;
}

#endif
