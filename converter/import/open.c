/*
 * open.c - the import of a file, and its bytes in memory.
 */
#include "converter/import/open.h"

#include "converter/import/imports.h"

#include <base/readable.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const conv_import *const imports[] = {
#define IMPORT(name) &conv_import_##name,
    CONV_IMPORTS(IMPORT)
#undef IMPORT
};

enum { N_IMPORTS = sizeof imports / sizeof *imports };

static const size_t file_max = (size_t)1 << 30;

enum { EXPANSION = 256, EXPANDED_LEAST = 1 << 24 };

const conv_import_info *
conv_import_get(size_t i)
{
    return i < N_IMPORTS ? &imports[i]->info : NULL;
}

/* ---- bytes ---- */

typedef struct bytes {
    uint8_t *at;
    size_t n;
} bytes;

/* The first `most` bytes of a regular file.  *ret_size: of all of it. */
static pr_code
read_file(const char *path, size_t most, bytes *ret, uint64_t *ret_size,
          pr_err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot open '%s'", path);
    pr_code rc = fstat(fd, &st) == 0
                     ? pr_refuse_stream(path, &st, err)
                     : PR_FAIL_SYS(err, PR_IO, errno, "cannot stat '%s'", path);
    if (rc != PR_OK) {
        close(fd);
        return rc;
    }
    size_t size = (uint64_t)st.st_size < most ? (size_t)st.st_size : most;
    uint8_t *at = malloc(size + 1);
    size_t n = 0;
    ssize_t got = at ? 1 : 0;
    while (got > 0 && n < size) {
        got = read(fd, at + n, size - n);
        n += got > 0 ? (size_t)got : 0;
    }
    int failed = errno;
    close(fd);
    if (!at || got < 0) {
        free(at);
        return at ? PR_FAIL_SYS(err, PR_IO, failed, "cannot read '%s'", path)
                  : pr_no_memory(err);
    }
    *ret = (bytes){at, n};
    *ret_size = (uint64_t)st.st_size;
    return PR_OK;
}

static bool
is_gzip(const bytes *b)
{
    return b->n >= 2 && b->at[0] == 0x1f && b->at[1] == 0x8b;
}

/* All members of a gzip file up to `most` bytes.  *ret_rc: how it ended,
 * Z_STREAM_END: whole, Z_BUF_ERROR: there is more, or the file is cut. */
static pr_code
expand(const bytes *packed, size_t most, bytes *ret, int *ret_rc, pr_err *err)
{
    z_stream z = {.next_in = packed->at, .avail_in = (uInt)packed->n};
    size_t cap = most < 65536 ? most : 65536, n = 0;
    uint8_t *at = malloc(cap);
    int rc = at ? inflateInit2(&z, 16 + MAX_WBITS) : Z_MEM_ERROR;
    while (rc == Z_OK) {
        z.next_out = at + n;
        z.avail_out = (uInt)(cap - n);
        rc = inflate(&z, Z_NO_FLUSH);
        n = cap - z.avail_out;
        if (rc == Z_STREAM_END && z.avail_in)
            rc = inflateReset(&z);
        if (rc == Z_BUF_ERROR && z.avail_in && n == cap && cap < most)
            rc = Z_OK;
        if (rc != Z_OK || n < cap)
            continue;
        if (cap == most) {
            rc = Z_BUF_ERROR;
            continue;
        }
        cap = cap < most / 2 ? cap * 2 : most;
        uint8_t *grown = realloc(at, cap);
        rc = grown ? Z_OK : Z_MEM_ERROR;
        at = grown ? grown : at;
    }
    inflateEnd(&z);
    if (rc == Z_MEM_ERROR) {
        free(at);
        return pr_no_memory(err);
    }
    *ret = (bytes){at, n};
    *ret_rc = rc;
    return PR_OK;
}

/* The content of the file, without a gzip layer.  PR_CUT with what there is. */
static pr_code
load(const char *path, bytes *ret, pr_err *err)
{
    bytes file;
    uint64_t size;
    int ended;
    pr_code rc = read_file(path, file_max, &file, &size, err);
    if (rc != PR_OK)
        return rc;
    if (size > file.n) {
        free(file.at);
        return PR_FAIL(err, PR_LIMIT, "'%s' is larger than 1 GiB", path);
    }
    if (!is_gzip(&file)) {
        *ret = file;
        return PR_OK;
    }
    size_t most = file.n < file_max / EXPANSION ? file.n * EXPANSION : file_max;
    most = most < EXPANDED_LEAST ? EXPANDED_LEAST : most;
    rc = expand(&file, most, ret, &ended, err);
    free(file.at);
    if (rc != PR_OK || ended == Z_STREAM_END)
        return rc;
    if (ended == Z_BUF_ERROR && ret->n < most)
        return PR_FAIL(err, PR_CUT, "the gzip layer of '%s' ends too early",
                       path);
    free(ret->at);
    if (ended == Z_BUF_ERROR)
        return PR_FAIL(err, PR_LIMIT,
                       "'%s' holds more than 1 GiB, or 256 times its size",
                       path);
    return PR_FAIL(err, PR_DAMAGED, "the gzip layer of '%s' is damaged", path);
}

/* ---- which import ---- */

static const conv_import *
recognise(const char *path)
{
    bytes file, plain;
    uint64_t size;
    int ended = Z_OK;
    if (read_file(path, CONV_IMPORT_HEAD, &file, &size, NULL) != PR_OK)
        return NULL;
    bool whole = size == file.n;
    if (is_gzip(&file)) {
        pr_code rc = expand(&file, CONV_IMPORT_HEAD, &plain, &ended, NULL);
        free(file.at);
        if (rc != PR_OK)
            return NULL;
        file = plain;
        whole = whole && ended == Z_STREAM_END;
    }
    const conv_content head = {file.at, file.n};
    const conv_import *found = NULL;
    for (size_t i = 0; i < N_IMPORTS && !found; i++)
        if (imports[i]->matches(head, whole))
            found = imports[i];
    free(file.at);
    return found;
}

static pr_code
find_import(const char *name, const conv_import **ret, pr_err *err)
{
    for (size_t i = 0; i < N_IMPORTS; i++)
        if (strcmp(imports[i]->info.name, name) == 0) {
            *ret = imports[i];
            return PR_OK;
        }
    PR_FAIL(err, PR_USAGE, "there is no import '%s'", name);
    pr_err_hint(err, "'pyconv --list' names them");
    return PR_USAGE;
}

/* ---- reading ---- */

static bool
has_rest(pr_code rc)
{
    return rc == PR_OK || rc == PR_CUT;
}

static pr_code
read_content(const conv_import *import, const bytes *file, conv_stacks **ret,
             pr_err *err)
{
    conv_stacks *stacks;
    conv_stacks_facts facts = {.mode = PR_MODE_UNKNOWN};
    pr_code rc = conv_stacks_new(import->info.name, file->n, &stacks, err);
    if (rc != PR_OK)
        return rc;
    rc = import->read((conv_content){file->at, file->n}, stacks, &facts, err);
    pr_code ended = has_rest(rc) ? conv_stacks_finish(stacks, &facts, err) : rc;
    if (ended != PR_OK) {
        conv_stacks_free(stacks);
        return ended;
    }
    *ret = stacks;
    return rc;
}

pr_code
conv_import_open(const char *path, const char *from, conv_stacks **ret,
                 pr_err *err)
{
    const conv_import *import = NULL;
    bytes file;
    pr_err seen = PR_ERR_INIT;
    *ret = NULL;
    pr_code rc = from ? find_import(from, &import, err) : PR_OK;
    if (rc != PR_OK)
        return rc;
    if (!import)
        import = recognise(path);
    if (!import)
        return PR_OK;
    rc = load(path, &file, &seen);
    if (has_rest(rc)) {
        pr_err later = PR_ERR_INIT;
        pr_code read = read_content(import, &file, ret, &later);
        free(file.at);
        if (read != PR_OK) {
            rc = read;
            seen = later;
            pr_err_wrap(&seen, "'%s', read as %s", path, import->info.name);
        }
    }
    if (rc != PR_OK && err && err->code == PR_OK)
        *err = seen;
    return rc;
}
