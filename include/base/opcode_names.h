/*
 * opcode_names.h - names of CPython's opcodes.
 */
#ifndef BASE_OPCODE_NAMES_H
#define BASE_OPCODE_NAMES_H

#include <stdint.h>

/* The name of an opcode of CPython 3.`minor`, as dis shows it with adaptive
 * code: "LOAD_FAST", "CALL_PY_EXACT_ARGS", "INSTRUMENTED_CALL".  NULL: the
 * version is not known here, or it has no such opcode.  Static. */
const char *pr_opcode_name(unsigned minor, uint8_t opcode);

#endif
