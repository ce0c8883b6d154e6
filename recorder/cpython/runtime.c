/*
 * runtime.c - find the one _PyRuntime that is alive.
 *
 * A process may have several (a second libpython that something loaded), a
 * file may be mapped more than once or in part (ctypes, symbolizers), and its
 * name says nothing (embedding, renamed, deleted files).  So each mapping of
 * each file gives an address to try, and the memory there decides.
 */
#include "recorder/cpython/runtime.h"

#include "recorder/cpython/dict.h"
#include "recorder/cpython/object.h"
#include "recorder/linux/elf.h"
#include "recorder/linux/procfs.h"
#include <base/create.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CHILDREN_MAX = 256, /* read for a message */
    TRIES = 4,          /* the list of interpreters may change during a read */
    SCAN_MAX = 64 << 20,
    SCAN_PIECE = 1 << 20
};

typedef struct search {
    const rec_process *process;
    rec_memory *memory;
    rec_maps maps;
    bool *tried;    /* mappings whose file was searched */
    pr_err because; /* why the best candidate so far failed */
} search;

/* ---- one candidate ---- */

/* The first thread in its list points back to the interpreter; *idle: the list
 * is empty, as in an interpreter that was made and is not in use. */
static pr_code
check_interpreter(rec_memory *memory, const rec_layout *l, uint64_t interp,
                  bool *idle, pr_err *err)
{
    uint64_t tstate = 0, owner = 0;
    pr_code code = PR_OK;
    if (rec_plausible(interp))
        code = rec_memory_read_word(memory, interp + l->interp.threads_head,
                                    &tstate, err);
    *idle = code == PR_OK && rec_plausible(interp) && !tstate;
    if (code == PR_OK && rec_plausible(tstate))
        code = rec_memory_read_word(memory, tstate + l->tstate.interp, &owner,
                                    err);
    if (code == PR_OK && owner != interp && !*idle)
        code = PR_FAIL(err, PR_TORN,
                       "no interpreter of CPython 3.%u at 0x%" PRIx64, l->minor,
                       interp);
    return code;
}

/* At least one interpreter, from the newest on, has a thread. */
static pr_code
check_interpreters(rec_memory *memory, const rec_layout *l, uint64_t runtime,
                   pr_err *err)
{
    uint64_t interp = 0;
    pr_code code = rec_memory_read_word(
        memory, runtime + l->runtime.interpreters_head, &interp, err);
    if (code == PR_OK && !interp)
        return PR_FAIL(err, PR_NOT_PYTHON,
                       "CPython 3.%u is loaded, but no interpreter runs",
                       l->minor);
    bool idle = true;
    for (int i = 0; code == PR_OK && idle; i++) {
        if (!interp || i == REC_INTERPS_MAX)
            return PR_FAIL(err, PR_TORN,
                           "no interpreter of CPython 3.%u has a thread",
                           l->minor);
        code = check_interpreter(memory, l, interp, &idle, err);
        if (code == PR_OK && idle)
            code = rec_memory_read_word(memory, interp + l->interp.next,
                                        &interp, err);
    }
    return code;
}

static pr_code
try_runtime(search *s, uint64_t address, uint32_t version, rec_layout *ret,
            pr_err *err)
{
    uint8_t table[REC_TABLE_BYTES];
    rec_layout layout;
    pr_code code =
        rec_memory_read(s->memory, address, table, sizeof table, err);
    if (code == PR_OK)
        code = rec_layout_load(table, version, &layout, err);
    if (code != PR_OK)
        return code;
    for (int i = 0; i < TRIES; i++) {
        pr_err_clear(err);
        code = check_interpreters(s->memory, &layout, address, err);
        if (code != PR_TORN)
            break;
    }
    if (code == PR_OK)
        *ret = layout;
    return code;
}

/* "/usr/lib/libpython3.11.so.1.0", "python2.7": major and minor version as
 * Py_Version has them, or 0. */
static uint32_t
version_of_path(const char *path)
{
    uint32_t found = 0;
    for (const char *p = path; (p = strstr(p, "python")) != NULL;) {
        char *end;
        p += strlen("python");
        unsigned long major = strtoul(p, &end, 10);
        unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 256;
        if (end > p && major > 0 && major < 256 && minor < 256)
            found = (uint32_t)(major << 24 | minor << 16);
    }
    return found;
}

/* Where there is no table, sys.hexversion holds the version; its high half must
 * be that of the layout by which it was found. */
static pr_code
read_hexversion(search *s, uint64_t runtime, rec_layout *l, pr_err *err)
{
    uint64_t interp = 0, dict = 0, object = 0;
    int64_t version = 0;
    pr_code code = rec_memory_read_word(
        s->memory, runtime + l->runtime.interpreters_head, &interp, err);
    if (code == PR_OK)
        code = rec_memory_read_word(s->memory, interp + l->interp.sysdict,
                                    &dict, err);
    if (code == PR_OK)
        code = rec_dict_get(l, s->memory, dict, "hexversion", &object, err);
    if (code == PR_OK)
        code = rec_object_int(l, s->memory, object, &version, err);
    if (code == PR_OK && version >> 16 != (l->version >> 16))
        return PR_FAIL(err, PR_TORN, "sys.hexversion is %" PRId64, version);
    if (code == PR_OK)
        l->version = (uint32_t)version;
    return code;
}

/* The layouts of all versions without a table are tried in turn: the list of
 * interpreters and sys.hexversion decide.  The version in the path of the file
 * serves for a message only. */
static pr_code
try_layouts(search *s, const rec_mapping *m, uint64_t address, rec_layout *ret,
            pr_err *err)
{
    uint32_t version, named = version_of_path(m->path);
    for (size_t i = 0; (version = rec_layout_without_table(i)) != 0; i++) {
        pr_err why = PR_ERR_INIT;
        pr_code code = try_runtime(s, address, version, ret, &why);
        if (code == PR_OK)
            code = read_hexversion(s, address, ret, &why);
        if (code == PR_OK)
            return PR_OK;
        if (code == PR_NOT_PYTHON) { /* loaded, but no interpreter runs */
            if (err)
                *err = why;
            return code;
        }
    }
    pr_code code = named ? rec_layout_check_version(named, err) : PR_OK;
    return code == PR_OK
               ? PR_FAIL(err, PR_NOT_PYTHON, "its version is not known")
               : code;
}

/* version: the value of Py_Version, or 0. */
static pr_code
try_address(search *s, const rec_mapping *m, uint64_t address, uint32_t version,
            rec_layout *ret, pr_err *err)
{
    uint8_t cookie[8];
    pr_code code =
        rec_memory_read(s->memory, address, cookie, sizeof cookie, err);
    if (code != PR_OK)
        return code;
    if (!version && !rec_layout_has_cookie(cookie))
        return try_layouts(s, m, address, ret, err);
    return try_runtime(s, address, version, ret, err);
}

/* Does this result end the whole search? */
static bool
ends_search(pr_code code)
{
    return code != PR_TORN && code != PR_NOT_PYTHON && code != PR_NAME;
}

static pr_code
try_candidate(search *s, const rec_mapping *m, uint64_t address,
              uint32_t version, rec_runtime *ret, pr_err *err)
{
    pr_err why = PR_ERR_INIT;
    rec_layout layout;
    pr_code code = try_address(s, m, address, version, &layout, &why);
    if (code == PR_OK) {
        *ret = (rec_runtime){.address = address, .layout = layout};
        snprintf(ret->path, sizeof ret->path, "%s", m->path);
    } else if (ends_search(code)) {
        if (err)
            *err = why;
    } else if (s->because.code != PR_NOT_PYTHON) {
        s->because = why;
    }
    return code;
}

/* ---- files ---- */

static bool
same_file(const rec_mapping *a, const rec_mapping *b)
{
    return a->inode == b->inode && a->device == b->device &&
           strcmp(a->path, b->path) == 0;
}

/* Called with each place where `address` of the file may lie in the target,
 * until it returns a code that ends the search, or PR_OK. */
typedef pr_code (*try_fn)(search *s, const rec_mapping *m, uint64_t bias,
                          void *context, pr_err *err);

static pr_code
try_biases(search *s, const rec_elf *elf, const rec_mapping *file, try_fn try,
           void *context, pr_err *err)
{
    uint64_t seen[64];
    size_t n_seen = 0;
    for (size_t i = 0; i < s->maps.n; i++) {
        const rec_mapping *m = &s->maps.v[i];
        uint64_t bias;
        if (!same_file(m, file))
            continue;
        for (size_t k = 0;
             rec_elf_bias(elf, m->start, m->offset, k, &bias) && n_seen < 64;
             k++) {
            size_t old = 0;
            while (old < n_seen && seen[old] != bias)
                old++;
            if (old < n_seen)
                continue;
            seen[n_seen++] = bias;
            pr_code code = try(s, file, bias, context, err);
            if (code == PR_OK || ends_search(code))
                return code;
        }
    }
    return PR_NAME;
}

/* Do something with a file; elf NULL: it cannot be opened. */
typedef pr_code (*file_fn)(search *s, const rec_mapping *m, rec_elf *elf,
                           void *context, pr_err *err);

/* Mark all mappings of a file as tried and open it by one that works. */
static rec_elf *
open_file(search *s, size_t first)
{
    rec_elf *elf = NULL;
    int fd = -1;
    for (size_t i = first; i < s->maps.n; i++) {
        if (s->tried[i] || !same_file(&s->maps.v[i], &s->maps.v[first]))
            continue;
        s->tried[i] = true;
        if (fd < 0 && (fd = rec_maps_open(s->process->pid, &s->maps.v[i])) >= 0)
            elf = rec_elf_open(fd);
    }
    return elf;
}

/* Each mapped file once, those whose path holds `word` ("": all the others). */
static pr_code
each_file(search *s, const char *word, file_fn use, void *context, pr_err *err)
{
    for (size_t i = 0; i < s->maps.n; i++) {
        const rec_mapping *m = &s->maps.v[i];
        if (s->tried[i] || !m->inode || !strstr(m->path, word))
            continue;
        rec_elf *elf = open_file(s, i);
        pr_code code = use(s, m, elf, context, err);
        rec_elf_close(elf);
        if (code == PR_OK || ends_search(code))
            return code;
    }
    return PR_NAME;
}

static pr_code
search_open(search *s, const rec_process *process, rec_memory *memory,
            pr_err *err)
{
    *s = (search){.process = process, .memory = memory, .because = PR_ERR_INIT};
    pr_code code = rec_maps_read(process->pid, &s->maps, err);
    if (code != PR_OK)
        return code;
    s->tried = calloc(s->maps.n + 1, sizeof *s->tried);
    if (s->tried)
        return PR_OK;
    rec_maps_release(&s->maps);
    return pr_no_memory(err);
}

static void
search_close(search *s)
{
    free(s->tried);
    rec_maps_release(&s->maps);
}

/* ---- _PyRuntime ---- */

typedef struct wanted {
    uint64_t runtime; /* addresses of the file */
    uint64_t version; /* Py_Version; 0: it has none */
    rec_runtime *ret;
} wanted;

static pr_code
try_bias(search *s, const rec_mapping *m, uint64_t bias, void *context,
         pr_err *err)
{
    wanted *w = context;
    uint64_t version = 0;
    if (w->version)
        (void)rec_memory_read_word(s->memory, w->version + bias, &version,
                                   NULL);
    /* unsigned long Py_Version (3.11+); a wrong bias reads anything */
    uint32_t hint = version >> 24 == 3 ? (uint32_t)version : 0;
    return try_candidate(s, m, w->runtime + bias, hint, w->ret, err);
}

/* ---- a scan of the data of files ---- */

/* In a stripped embedder nothing names _PyRuntime; a file that was replaced
 * cannot be opened without the right to map_files.  Then the mapped data of the
 * file is searched for its first bytes. */
static pr_code
scan_piece(search *s, const rec_mapping *m, uint64_t at, const uint8_t *bytes,
           size_t len, rec_runtime *ret, pr_err *err)
{
    pr_code code = PR_NAME;
    for (size_t i = 0; i + REC_SIGN_BYTES <= len; i += 8) {
        if (!rec_layout_may_begin(bytes + i))
            continue;
        code = try_candidate(s, m, at + i, 0, ret, err);
        if (code == PR_OK || ends_search(code))
            return code;
    }
    return PR_NAME;
}

static pr_code
scan_mapping(search *s, const rec_mapping *m, rec_runtime *ret, pr_err *err)
{
    if (!m->writable || m->end - m->start > SCAN_MAX)
        return PR_NAME;
    uint8_t *bytes = malloc(SCAN_PIECE + REC_SIGN_BYTES);
    if (!bytes)
        return pr_no_memory(err);
    pr_code code = PR_NAME;
    for (uint64_t at = m->start; at < m->end && code == PR_NAME;
         at += SCAN_PIECE) {
        /* pieces overlap by the bytes that identify a runtime */
        uint64_t left = m->end - at, most = SCAN_PIECE + REC_SIGN_BYTES;
        size_t len = (size_t)(left < most ? left : most);
        if (rec_memory_read(s->memory, at, bytes, len, NULL) == PR_OK)
            code = scan_piece(s, m, at, bytes, len, ret, err);
    }
    free(bytes);
    return code;
}

static pr_code
scan_file(search *s, const rec_mapping *file, rec_runtime *ret, pr_err *err)
{
    for (size_t i = 0; i < s->maps.n; i++) {
        if (!same_file(&s->maps.v[i], file))
            continue;
        pr_code code = scan_mapping(s, &s->maps.v[i], ret, err);
        if (code == PR_OK || ends_search(code))
            return code;
    }
    return PR_NAME;
}

/* For each_file(): a file whose tables name nothing. */
static pr_code
scan_opened(search *s, const rec_mapping *m, rec_elf *elf, void *context,
            pr_err *err)
{
    return elf ? scan_file(s, m, context, err) : PR_NAME;
}

/* Pythons before 3.7 have no _PyRuntime. */
static pr_code
note_old(search *s, const rec_mapping *m, const rec_elf *elf)
{
    uint64_t address;
    if (s->because.code != PR_NOT_PYTHON &&
        rec_elf_symbol(elf, "PyInterpreterState_Head", &address)) {
        uint32_t version = version_of_path(m->path);
        pr_err_clear(&s->because);
        if (version)
            rec_layout_check_version(version, &s->because);
        else
            PR_FAIL(&s->because, PR_NOT_PYTHON,
                    "CPython before 3.7 is too old");
    }
    return PR_NAME;
}

static pr_code
try_file(search *s, const rec_mapping *m, rec_elf *elf, void *context,
         pr_err *err)
{
    wanted w = {.ret = context};
    uint64_t size;
    if (!elf)
        return scan_file(s, m, w.ret, err);
    if (!rec_elf_section(elf, ".PyRuntime", &w.runtime, &size) &&
        !rec_elf_symbol(elf, "_PyRuntime", &w.runtime))
        return note_old(s, m, elf);
    if (!rec_elf_symbol(elf, "Py_Version", &w.version))
        w.version = 0;
    return try_biases(s, elf, m, try_bias, &w, err);
}

/* ---- rseq ---- */

/* The words of ld.so (glibc 2.35+) on the struct rseq of each thread. */
typedef struct rseq_want {
    uint64_t offset, size; /* addresses of the file: ptrdiff_t, unsigned int */
    int64_t *ret;
} rseq_want;

static pr_code
try_rseq(search *s, const rec_mapping *m, uint64_t bias, void *context,
         pr_err *err)
{
    (void)m;
    const rseq_want *w = context;
    uint8_t size[4];
    uint64_t offset;
    pr_code code =
        rec_memory_read(s->memory, w->size + bias, size, sizeof size, err);
    /* 0: registering was turned off (glibc.pthread.rseq) */
    if (code == PR_OK && rec_u32(size) == 0)
        return PR_NAME;
    if (code == PR_OK)
        code = rec_memory_read_word(s->memory, w->offset + bias, &offset, err);
    if (code == PR_OK)
        memcpy(w->ret, &offset, sizeof offset);
    return code;
}

static pr_code
rseq_of_file(search *s, const rec_mapping *m, rec_elf *elf, void *context,
             pr_err *err)
{
    rseq_want w = {.ret = context};
    if (!elf || strncmp(pr_path_name(m->path), "ld", 2) != 0 ||
        !rec_elf_symbol(elf, "__rseq_offset", &w.offset) ||
        !rec_elf_symbol(elf, "__rseq_size", &w.size))
        return PR_NAME;
    return try_biases(s, elf, m, try_rseq, &w, err);
}

/* ---- struct pthread ---- */

/* glibc describes fields of struct pthread for debuggers as three uint32_t:
 * bits, elements, offset (nptl_db/db_info.c, DB_DESC_*). */
typedef struct field_want {
    uint64_t descriptor; /* address of the file */
    uint32_t *ret;
} field_want;

enum { FIELD_BITS = 32, PTHREAD_MAX = 8192 };

static pr_code
try_field(search *s, const rec_mapping *m, uint64_t bias, void *context,
          pr_err *err)
{
    (void)m;
    const field_want *w = context;
    uint8_t field[12];
    pr_code code = rec_memory_read(s->memory, w->descriptor + bias, field,
                                   sizeof field, err);
    if (code != PR_OK)
        return code;
    uint32_t offset = rec_u32(field + 8);
    if (rec_u32(field) != FIELD_BITS || offset % 4 || offset > PTHREAD_MAX)
        return PR_NAME;
    *w->ret = offset;
    return PR_OK;
}

static pr_code
pthread_of_file(search *s, const rec_mapping *m, rec_elf *elf, void *context,
                pr_err *err)
{
    field_want w = {.ret = context};
    if (!elf || strncmp(pr_path_name(m->path), "lib", 3) != 0 ||
        !rec_elf_symbol(elf, "_thread_db_pthread_tid", &w.descriptor))
        return PR_NAME;
    return try_biases(s, elf, m, try_field, &w, err);
}

/* The facts that the C library publishes about its threads. */
static void
find_thread_facts(search *s, rec_runtime *found)
{
    found->pthread_tid = REC_ABSENT;
    memset(s->tried, 0, s->maps.n * sizeof *s->tried);
    /* Elsewhere the kernel's write of cpu_id is not ordered before the thread's
     * own stores on its new CPU: it proves nothing there (spec/sampling.md,
     * "aarch64"). */
#if defined(__x86_64__)
    (void)each_file(s, "/ld", rseq_of_file, &found->rseq_offset, NULL);
#else
    (void)rseq_of_file;
#endif
    memset(s->tried, 0, s->maps.n * sizeof *s->tried);
    (void)each_file(s, "/libc", pthread_of_file, &found->pthread_tid, NULL);
    if (found->pthread_tid == REC_ABSENT) /* before glibc 2.34 */
        (void)each_file(s, "/libpthread", pthread_of_file, &found->pthread_tid,
                        NULL);
}

/* ---- the search ---- */

static pr_code
no_python(const search *s, pr_err *err)
{
    char name[64];
    rec_procfs_name(s->process->pid, name, sizeof name);
    if (s->because.code == PR_OK || s->because.code == PR_TORN)
        return PR_FAIL(err, PR_NOT_PYTHON, "process %d is %s, not a CPython",
                       (int)s->process->pid, name);
    return PR_FAIL(err, PR_NOT_PYTHON, "process %d (%s): %s",
                   (int)s->process->pid, name, s->because.what);
}

static pr_code
find_runtime(const rec_process *process, rec_memory *memory, rec_runtime *ret,
             pr_err *err)
{
    search s;
    rec_runtime found;
    pr_code code = search_open(&s, process, memory, err);
    if (code != PR_OK)
        return code;
    code = each_file(&s, "python", try_file, &found, err);
    if (code == PR_NAME)
        code = each_file(&s, "", try_file, &found, err);
    if (code == PR_NAME) {
        memset(s.tried, 0, s.maps.n * sizeof *s.tried);
        code = each_file(&s, "", scan_opened, &found, err);
    }
    if (code == PR_NAME)
        code = no_python(&s, err);
    if (code == PR_OK) {
        find_thread_facts(&s, &found);
        *ret = found;
    }
    search_close(&s);
    return code;
}

static bool
is_python(pid_t pid)
{
    rec_process process;
    rec_memory memory;
    rec_runtime runtime;
    if (rec_process_open(pid, &process, NULL) != PR_OK)
        return false;
    rec_memory_init(&memory, pid);
    pr_code code = find_runtime(&process, &memory, &runtime, NULL);
    rec_memory_release(&memory);
    rec_process_release(&process);
    return code == PR_OK;
}

/* "12, 14": the children that are Python. */
static void
name_children(pid_t pid, pr_err *err)
{
    pid_t *child;
    size_t n;
    char list[128];
    int len = 0;
    if (!err || rec_process_children(pid, true, &child, &n, NULL) != PR_OK)
        return;
    for (size_t i = 0; i < n && i < CHILDREN_MAX; i++) {
        if (!is_python(child[i]))
            continue;
        int more = snprintf(list + len, sizeof list - (size_t)len, "%s%d",
                            len ? ", " : "", (int)child[i]);
        if (more < 0 || (size_t)(len + more) >= sizeof list)
            break;
        len += more;
    }
    if (len)
        pr_err_hint(err, "its Python children: %.*s", len, list);
    free(child);
}

pr_code
rec_runtime_find(const rec_process *process, rec_memory *memory,
                 rec_runtime *ret, pr_err *err)
{
    pr_code code = find_runtime(process, memory, ret, err);
    if (code == PR_NOT_PYTHON)
        name_children(process->pid, err);
    return code;
}

/* ---- other sections ---- */

typedef struct section_want {
    const char *name;
    uint64_t address, size; /* of the file, then of the target */
} section_want;

static pr_code
try_section(search *s, const rec_mapping *m, uint64_t bias, void *context,
            pr_err *err)
{
    (void)m;
    section_want *w = context;
    uint8_t byte;
    pr_code code = rec_memory_read(s->memory, w->address + bias, &byte, 1, err);
    if (code == PR_OK)
        w->address += bias;
    return code;
}

static pr_code
section_of_file(search *s, const rec_mapping *m, rec_elf *elf, void *context,
                pr_err *err)
{
    section_want *w = context;
    if (!elf || !rec_elf_section(elf, w->name, &w->address, &w->size))
        return PR_NAME;
    return try_biases(s, elf, m, try_section, w, err);
}

pr_code
rec_runtime_section(const rec_process *process, const char *section,
                    uint64_t *ret_address, uint64_t *ret_size, pr_err *err)
{
    search s;
    rec_memory memory;
    section_want w = {.name = section};
    rec_memory_init(&memory, process->pid);
    pr_code code = search_open(&s, process, &memory, err);
    if (code != PR_OK)
        return code;
    code = each_file(&s, "python", section_of_file, &w, err);
    if (code == PR_NAME)
        code = each_file(&s, "", section_of_file, &w, err);
    if (code == PR_NAME)
        code = PR_FAIL(err, PR_NAME, "process %d has no section %s",
                       (int)process->pid, section);
    search_close(&s);
    rec_memory_release(&memory);
    if (code != PR_OK)
        return code;
    *ret_address = w.address;
    *ret_size = w.size;
    return PR_OK;
}
