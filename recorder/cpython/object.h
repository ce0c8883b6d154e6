/*
 * object.h - small Python objects of the target: str, bytes, int, set, llist.
 */
#ifndef RECORDER_CPYTHON_OBJECT_H
#define RECORDER_CPYTHON_OBJECT_H

#include "recorder/cpython/layout.h"

/* A str as UTF-8 with surrogates kept.  A longer one than max_points code
 * points is cut there and ends in an ellipsis.  The caller frees *ret; it is
 * also terminated. */
pr_code rec_object_str(const rec_layout *layout, rec_memory *memory,
                       uint64_t address, size_t max_points, char **ret,
                       size_t *ret_len, pr_err *err);

/* A bytes object of at most max_len bytes; the caller frees *ret. */
pr_code rec_object_bytes(const rec_layout *layout, rec_memory *memory,
                         uint64_t address, size_t max_len, uint8_t **ret,
                         size_t *ret_len, pr_err *err);

/* Bytes that hold an int of at most two digits, and the int in them.  False:
 * it has more. */
size_t rec_object_int_bytes(const rec_layout *layout);
bool rec_object_parse_int(const rec_layout *layout, const uint8_t *bytes,
                          int64_t *ret);

/* An int of at most two digits (60 bits). */
pr_code rec_object_int(const rec_layout *layout, rec_memory *memory,
                       uint64_t address, int64_t *ret, pr_err *err);

/* Address and flags (tp_flags) of an object's type. */
pr_code rec_object_type(const rec_layout *layout, rec_memory *memory,
                        uint64_t address, uint64_t *ret_type,
                        uint64_t *ret_flags, pr_err *err);

/* Live keys of a set (3.14 on), at most max; the caller frees *ret, which is
 * NULL for an empty one. */
pr_code rec_object_set(const rec_layout *layout, rec_memory *memory,
                       uint64_t address, size_t max, uint64_t **ret,
                       size_t *ret_n, pr_err *err);

#endif
