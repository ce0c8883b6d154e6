/*
 * elf.c - libelf reads the headers; a file whose section headers were cut off
 * is read by its dynamic segment.
 */
#include "recorder/linux/elf.h"

#include <elf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TABLE_MAX = 64 << 20, /* bytes of a symbol or string table */
    SEGMENTS_MAX = 256,
    DYNAMIC_MAX = 4096 /* entries */
};

struct rec_elf {
    int fd;
    Elf *elf;
    GElf_Phdr segment[SEGMENTS_MAX];
    size_t n_segments;
};

static void
load_segments(rec_elf *e)
{
    size_t n;
    if (elf_getphdrnum(e->elf, &n) != 0)
        return;
    for (size_t i = 0; i < n && e->n_segments < SEGMENTS_MAX; i++)
        if (gelf_getphdr(e->elf, (int)i, &e->segment[e->n_segments]))
            e->n_segments++;
}

/* Is it for this program's byte order and word size? */
static bool
is_ours(Elf *elf)
{
    size_t size;
    const char *ident = elf_getident(elf, &size);
    const uint16_t one = 1;
    bool little = *(const uint8_t *)&one == 1;
    return elf_kind(elf) == ELF_K_ELF && ident && size > EI_DATA &&
           ident[EI_CLASS] == ELFCLASS64 &&
           ident[EI_DATA] == (little ? ELFDATA2LSB : ELFDATA2MSB);
}

rec_elf *
rec_elf_open(int fd)
{
    rec_elf *e = calloc(1, sizeof *e);
    if (!e) {
        close(fd);
        return NULL;
    }
    e->fd = fd;
    if (elf_version(EV_CURRENT) != EV_NONE)
        e->elf = elf_begin(fd, ELF_C_READ, NULL);
    if (!e->elf || !is_ours(e->elf)) {
        rec_elf_close(e);
        return NULL;
    }
    load_segments(e);
    return e;
}

void
rec_elf_close(rec_elf *e)
{
    if (!e)
        return;
    elf_end(e->elf);
    close(e->fd);
    free(e);
}

bool
rec_elf_section(const rec_elf *e, const char *name, uint64_t *ret_address,
                uint64_t *ret_size)
{
    size_t names;
    if (elf_getshdrstrndx(e->elf, &names) != 0)
        return false;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(e->elf, s));) {
        GElf_Shdr head;
        if (!gelf_getshdr(s, &head) || !(head.sh_flags & SHF_ALLOC))
            continue;
        const char *this = elf_strptr(e->elf, names, head.sh_name);
        if (this && strcmp(this, name) == 0) {
            *ret_address = head.sh_addr;
            *ret_size = head.sh_size;
            return true;
        }
    }
    return false;
}

/* An extension module names symbols of the interpreter without having them. */
static bool
is_defined(uint16_t section, uint64_t value)
{
    return section != SHN_UNDEF && value != 0;
}

static bool
symbol_of_section(Elf *elf, Elf_Scn *section, const GElf_Shdr *head,
                  const char *name, uint64_t *ret)
{
    if (head->sh_size > TABLE_MAX || !head->sh_entsize)
        return false;
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data)
        return false;
    int n = (int)(head->sh_size / sizeof(Elf64_Sym));
    for (int i = 0; i < n; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, i, &symbol))
            return false;
        if (!is_defined(symbol.st_shndx, symbol.st_value))
            continue;
        const char *this = elf_strptr(elf, head->sh_link, symbol.st_name);
        if (this && strcmp(this, name) == 0) {
            *ret = symbol.st_value;
            return true;
        }
    }
    return false;
}

/* ---- without section headers ---- */

/* Bytes of the file that are mapped at an address of the file. */
static bool
read_at(const rec_elf *e, uint64_t address, void *to, size_t len)
{
    for (size_t i = 0; i < e->n_segments; i++) {
        const GElf_Phdr *p = &e->segment[i];
        uint64_t from = address - p->p_vaddr;
        if (p->p_type != PT_LOAD || address < p->p_vaddr ||
            from > p->p_filesz || len > p->p_filesz - from)
            continue;
        return pread(e->fd, to, len, (off_t)(p->p_offset + from)) ==
               (ssize_t)len;
    }
    return false;
}

typedef struct dynamic {
    uint64_t symbols, strings, strings_size;
} dynamic;

static bool
load_dynamic(const rec_elf *e, dynamic *ret)
{
    dynamic d = {0};
    for (size_t i = 0; i < e->n_segments; i++) {
        if (e->segment[i].p_type != PT_DYNAMIC)
            continue;
        for (uint64_t k = 0; k < DYNAMIC_MAX; k++) {
            Elf64_Dyn entry;
            if (!read_at(e, e->segment[i].p_vaddr + k * sizeof entry, &entry,
                         sizeof entry) ||
                entry.d_tag == DT_NULL)
                break;
            if (entry.d_tag == DT_SYMTAB)
                d.symbols = entry.d_un.d_ptr;
            else if (entry.d_tag == DT_STRTAB)
                d.strings = entry.d_un.d_ptr;
            else if (entry.d_tag == DT_STRSZ)
                d.strings_size = entry.d_un.d_val;
        }
    }
    *ret = d;
    return d.symbols && d.strings > d.symbols && d.strings_size &&
           d.strings_size <= TABLE_MAX && d.strings - d.symbols <= TABLE_MAX;
}

/* The file does not say how many dynamic symbols it has; every linker puts
 * their strings right after them. */
static bool
symbol_of_segment(const rec_elf *e, const char *name, uint64_t *ret)
{
    dynamic d;
    if (!load_dynamic(e, &d))
        return false;
    size_t n = (size_t)(d.strings - d.symbols) / sizeof(Elf64_Sym);
    size_t len = strlen(name) + 1;
    Elf64_Sym *symbols = calloc(n ? n : 1, sizeof *symbols);
    char *strings = malloc(d.strings_size);
    bool found = false;
    if (symbols && strings &&
        read_at(e, d.symbols, symbols, n * sizeof *symbols) &&
        read_at(e, d.strings, strings, d.strings_size))
        for (size_t i = 0; i < n && !found; i++) {
            if (!is_defined(symbols[i].st_shndx, symbols[i].st_value) ||
                symbols[i].st_name > d.strings_size ||
                len > d.strings_size - symbols[i].st_name)
                continue;
            found = memcmp(strings + symbols[i].st_name, name, len) == 0;
            if (found)
                *ret = symbols[i].st_value;
        }
    free(symbols);
    free(strings);
    return found;
}

bool
rec_elf_symbol(const rec_elf *e, const char *name, uint64_t *ret_address)
{
    bool any = false;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(e->elf, s));) {
        GElf_Shdr head;
        if (!gelf_getshdr(s, &head) ||
            (head.sh_type != SHT_DYNSYM && head.sh_type != SHT_SYMTAB))
            continue;
        any = true;
        if (symbol_of_section(e->elf, s, &head, name, ret_address))
            return true;
    }
    return !any && symbol_of_segment(e, name, ret_address);
}

bool
rec_elf_bias(const rec_elf *e, uint64_t start, uint64_t offset, size_t i,
             uint64_t *ret)
{
    for (size_t k = 0; k < e->n_segments; k++) {
        const GElf_Phdr *p = &e->segment[k];
        uint64_t page = p->p_align > 1 ? p->p_align : 1;
        uint64_t from = p->p_offset - p->p_offset % page;
        if (p->p_type != PT_LOAD || offset < from ||
            offset >= p->p_offset + p->p_filesz || i-- > 0)
            continue;
        *ret = start - offset - (p->p_vaddr - p->p_offset);
        return true;
    }
    return false;
}
