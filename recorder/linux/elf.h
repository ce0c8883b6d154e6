/*
 * elf.h - sections and symbols of an ELF file.
 *
 * The file is hostile: pyrec reads it with pread(2), never maps it (it may
 * shrink), and bounds every size and count in it.
 */
#ifndef RECORDER_LINUX_ELF_H
#define RECORDER_LINUX_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rec_elf rec_elf; /* opaque */

/* NULL: not a 64-bit ELF file of this machine's byte order.  Takes ownership of
 * fd in either case. */
rec_elf *rec_elf_open(int fd);
void rec_elf_close(rec_elf *elf); /* takes NULL */

/* Addresses are those of the file; add the bias of where it is mapped. */
bool rec_elf_section(const rec_elf *elf, const char *name,
                     uint64_t *ret_address, uint64_t *ret_size);

/* A symbol that is defined here, of either symbol table. */
bool rec_elf_symbol(const rec_elf *elf, const char *name,
                    uint64_t *ret_address);

/* The number to add to an address of the file, if its byte at `offset` is
 * mapped at `start`, in the i-th segment that holds this byte; false: there is
 * no such segment. */
bool rec_elf_bias(const rec_elf *elf, uint64_t start, uint64_t offset, size_t i,
                  uint64_t *ret);

#endif
