/*
 * marshal_types.h - the bytes that begin an object of Python's marshal, for its
 * reader and writer.
 *
 * Source  CPython 3.15 Python/marshal.c, TYPE_* and FLAG_REF; types of which no
 *         pstats file has an object are left out.
 */
#ifndef BASE_MARSHAL_TYPES_H
#define BASE_MARSHAL_TYPES_H

enum {
    PR_MARSHAL_DICT = '{',
    PR_MARSHAL_NULL = '0', /* ends a dict */
    PR_MARSHAL_TUPLE = '(',
    PR_MARSHAL_SMALL_TUPLE = ')',
    PR_MARSHAL_TRUE = 'T',
    PR_MARSHAL_INT = 'i',
    PR_MARSHAL_INT64 = 'I',
    PR_MARSHAL_LONG = 'l', /* in digits of 15 bits */
    PR_MARSHAL_FLOAT = 'f',
    PR_MARSHAL_BINARY_FLOAT = 'g',
    PR_MARSHAL_UNICODE = 'u',
    PR_MARSHAL_INTERNED = 't',
    PR_MARSHAL_ASCII = 'a',
    PR_MARSHAL_ASCII_INTERNED = 'A',
    PR_MARSHAL_SHORT_ASCII = 'z',
    PR_MARSHAL_SHORT_ASCII_INTERNED = 'Z',
    PR_MARSHAL_REF = 'r',
    PR_MARSHAL_FLAG_REF = 0x80
};

#endif
