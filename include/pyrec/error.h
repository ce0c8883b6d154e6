/*
 * error.h - the codes and the record of a failure, in all parts of the project.
 *
 * A function that can fail returns a pr_code and, if the caller gave a
 * record, fills it: what failed, on what, where, and what to do about it.
 * The first failure wins: a filled record is never overwritten.  Library code
 * never prints and never exits; the three programs print the record and exit
 * with pr_exit_status().
 *
 * Ownership  a record lives on the caller's stack and owns nothing.
 * Outputs    parameters named ret_... are untouched on failure, unless the
 *            function says otherwise.
 * Threads    functions change the record alone: each thread has its own.
 */
#ifndef PYREC_ERROR_H
#define PYREC_ERROR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, value, sentence, exit status (as in README.md) */
#define PR_CODE_MAP(X)                                        \
    X(OK, 0, "no error", 0)                                   \
    X(END, -1, "end of data", 0)                              \
    X(NOMEM, -2, "out of memory", 1)                          \
    X(IO, -3, "input/output error", 1)                        \
    X(INTERNAL, -4, "internal error", 1)                      \
    X(USAGE, -5, "wrong use", 2)                              \
    X(FOREIGN, -6, "not a profile", 1)                        \
    X(NEWER, -7, "made by a newer version", 1)                \
    X(CUT, -8, "file ends too early", 3)                      \
    X(DAMAGED, -9, "file is damaged", 3)                      \
    X(LIMIT, -10, "value exceeds a limit", 1)                 \
    X(EXISTS, -11, "output exists", 1)                        \
    X(NAME, -12, "name unknown or ambiguous", 4)              \
    X(REGRESSION, -13, "regression found", 5)                 \
    X(INCOMPARABLE, -14, "profiles cannot be compared", 6)    \
    X(NO_PROCESS, -15, "no such process", 7)                  \
    X(NOT_PYTHON, -16, "not a CPython this program knows", 8) \
    X(DENIED, -17, "not permitted", 9)                        \
    X(TORN, -18, "target memory is inconsistent", 1)          \
    X(UNSUPPORTED, -19, "not supported by this CPython", 8)

typedef enum pr_code {
#define PR_CODE_ENUM(name, value, text, status) PR_##name = value,
    PR_CODE_MAP(PR_CODE_ENUM)
#undef PR_CODE_ENUM
} pr_code;

#define PR_NO_OFFSET UINT64_MAX

typedef struct pr_err {
    pr_code code;    /* PR_OK until something fails */
    int sys;         /* errno at the point of failure, or 0 */
    uint64_t offset; /* byte in the input, or PR_NO_OFFSET */
    char what[256];  /* what failed on what: no newline, no full stop */
    char hint[256];  /* what to do about it, or empty */
} pr_err;

#define PR_ERR_INIT                    \
    {                                  \
        PR_OK, 0, PR_NO_OFFSET, "", "" \
    }

/* Fill *err unless it is NULL or already filled.  sys is an errno or 0, offset
 * a byte position or PR_NO_OFFSET.  Bytes that a terminal must not get (control
 * characters, characters that change the direction of writing, malformed UTF-8)
 * become escapes as \n, \x1b and \u202e.  A text that does not fit is cut at a
 * whole character. */
void pr_err_set(pr_err *err, pr_code code, int sys, uint64_t offset,
                const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 5, 6)))
#endif
    ;

/* Add the remedy to a filled record; the first hint wins. */
void pr_err_hint(pr_err *err, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* Put the text and ": " in front of the text of a filled record: the outer
 * cause of a chain ("failed to read interpreter state: read of 512 bytes at
 * 0x..."). */
void pr_err_wrap(pr_err *err, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* Make the record empty, as PR_ERR_INIT does.  Takes NULL. */
void pr_err_clear(pr_err *err);

/* Record and return in one expression:  return PR_FAIL(err, PR_IO, ...);
 * _SYS adds an errno, _AT the byte position of the fault in the input. */
#define PR_FAIL(err, code, ...) \
    PR_FAIL_SYS_AT(err, code, 0, PR_NO_OFFSET, __VA_ARGS__)
#define PR_FAIL_SYS(err, code, sys, ...) \
    PR_FAIL_SYS_AT(err, code, sys, PR_NO_OFFSET, __VA_ARGS__)
#define PR_FAIL_AT(err, code, offset, ...) \
    PR_FAIL_SYS_AT(err, code, 0, offset, __VA_ARGS__)
#define PR_FAIL_SYS_AT(err, code, sys, offset, ...)           \
    (pr_err_set((err), (code), (sys), (offset), __VA_ARGS__), \
     pr_same_code(code))

/* Return the code.  A statement may ignore the value of a call without a
 * warning, but not that of the comma operator in PR_FAIL(). */
static inline pr_code
pr_same_code(pr_code code)
{
    return code;
}

/* PR_NOMEM, recorded: an allocation failed. */
static inline pr_code
pr_no_memory(pr_err *err)
{
    return PR_FAIL(err, PR_NOMEM, "out of memory");
}

/* The stable name of a code ("DAMAGED"), its sentence, both static, and the
 * exit status of the programs. */
const char *pr_code_name(pr_code code);
const char *pr_code_text(pr_code code);
int pr_exit_status(pr_code code);

/* Write "what (at byte N): strerror; hint" to buf, in one line without a
 * newline.  Returns the length of the whole text, as snprintf() does. */
int pr_err_format(const pr_err *err, char *buf, size_t size);

#ifdef __cplusplus
}
#endif
#endif
