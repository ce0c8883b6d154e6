/*
 * pages.c - leaves as the rows come, the pages above them at the end.
 */
#include "converter/tables/pages.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a page is made of (fileformat2.html 1.6 and 2.1) ---- */

enum {
    FILE_HEADER = 100, /* at the beginning of the first page */
    PAGE_SIZE = 16,    /* places in it */
    RESERVED = 20,
    CHANGES = 24,
    PAGES = 28,
    CHANGES_OF_PAGES = 92, /* PAGES counts if this is CHANGES */

    LEAF = 13, /* kinds of a page, and how long its header is */
    INNER = 5,
    LEAF_HEADER = 8,
    INNER_HEADER = 12,

    VARINT_MAX = 9,
    INNER_CELL_MAX = 4 + VARINT_MAX,
    /* length, id, then a record: length of its header, types, values */
    CELL_MAX = 2 * VARINT_MAX + 1 + 9 * CONV_ROWS_COLUMNS
};

/* No page lies where SQLite locks the file. */
#define LOCK_BYTE UINT32_C(0x40000000)

static void
put_big(uint8_t *p, uint64_t value, unsigned size)
{
    for (unsigned i = size; i-- > 0; value >>= 8)
        p[i] = (uint8_t)value;
}

static uint32_t
get_big(const uint8_t *p, unsigned size)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | p[i];
    return value;
}

/* Groups of 7 bits, the most significant first; a ninth byte has 8. */
static size_t
put_varint(uint8_t *p, uint64_t value)
{
    size_t n = 1;
    if (value >> 56) {
        p[8] = (uint8_t)value;
        value >>= 8;
        for (size_t i = 8; i-- > 0; value >>= 7)
            p[i] = (uint8_t)(value | 0x80);
        return VARINT_MAX;
    }
    while (value >> 7 * n)
        n++;
    for (size_t i = n; i-- > 0; value >>= 7)
        p[i] = (uint8_t)((value & 0x7f) | (i + 1 < n ? 0x80 : 0));
    return n;
}

/* The types 0 to 6 are NULL and integers by size, 8 and 9 are 0 and 1. */
static uint8_t
type_of(int64_t value)
{
    if (value == CONV_NULL)
        return 0;
    if (value == 0 || value == 1)
        return value ? 9 : 8;
    uint64_t bits = (uint64_t)(value < 0 ? ~value : value);
    return bits >> 7 == 0    ? 1
           : bits >> 15 == 0 ? 2
           : bits >> 23 == 0 ? 3
           : bits >> 31 == 0 ? 4
           : bits >> 47 == 0 ? 5
                             : 6;
}

/* Writes 8 bytes, of which those of the type count. */
static size_t
put_value(uint8_t *p, int64_t value, uint8_t type)
{
    static const uint8_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 0, 0, 0};
    unsigned size = sizes[type];
    uint64_t top = size ? (uint64_t)value << (64 - 8 * size) : 0;
    for (unsigned i = 0; i < 8; i++)
        p[i] = (uint8_t)(top >> (56 - 8 * i));
    return size;
}

/* A row as a leaf holds it; the id stands before the record, in which its
 * column is NULL. */
static size_t
make_cell(uint8_t *cell, const int64_t *row, int columns)
{
    uint8_t value[9 * CONV_ROWS_COLUMNS], type[CONV_ROWS_COLUMNS] = {0};
    size_t n_value = 0, n_type = (size_t)columns;
    for (int i = 1; i < columns; i++) {
        type[i] = type_of(row[i]);
        n_value += put_value(value + n_value, row[i], type[i]);
    }
    size_t n = put_varint(cell, 1 + n_type + n_value);
    n += put_varint(cell + n, (uint64_t)row[0]);
    cell[n++] = (uint8_t)(1 + n_type);
    memcpy(cell + n, type, n_type);
    memcpy(cell + n + n_type, value, n_value);
    return n + n_type + n_value;
}

/* ---- a page that is being filled ---- */

typedef struct page {
    uint8_t *at;
    size_t header, cells, content; /* cells grow down from the end */
} page;

static page
begin_page(uint8_t *at, size_t size, size_t usable, uint8_t kind)
{
    memset(at, 0, size);
    at[0] = kind;
    return (page){at, kind == LEAF ? LEAF_HEADER : INNER_HEADER, 0, usable};
}

/* False: it has no room. */
static bool
add_cell(page *p, const uint8_t *cell, size_t n)
{
    size_t begin = p->header + 2 * p->cells;
    if (begin + 2 + n > p->content)
        return false;
    p->content -= n;
    memcpy(p->at + p->content, cell, n);
    put_big(p->at + begin, p->content, 2);
    p->cells++;
    return true;
}

static void
end_page(const page *p)
{
    put_big(p->at + 3, p->cells, 2);
    put_big(p->at + 5, p->content, 2);
}

/* ---- the file ---- */

/* A page of a level, and the greatest id at or below it. */
typedef struct child {
    uint32_t number;
    int64_t last;
} child;

enum { PIECE = 64 }; /* leaves that are written together */

typedef struct tree {
    uint8_t *piece;       /* PIECE pages */
    int64_t last[PIECE];  /* of its complete leaves */
    size_t n;             /* complete leaves in it */
    page leaf;            /* the one after them */
    int64_t last_of_leaf; /* the id of its last row */
    child *child;         /* leaves in the file */
    size_t n_child, cap_child;
} tree;

struct conv_pages {
    sqlite3 *database;
    sqlite3_file *file; /* SQLite's own */
    const conv_pages_table *table;
    size_t n;
    tree *tree;               /* [n] */
    size_t page_size, usable; /* bytes; the end of a page may be reserved */
    uint32_t n_pages;         /* of the file, while it is written to */
};

static pr_code
read_file(const conv_pages *p, void *at, int n, sqlite3_int64 offset,
          pr_err *err)
{
    int rc = p->file->pMethods->xRead(p->file, at, n, offset);
    return rc == SQLITE_OK ? PR_OK : conv_sqlite_fail_file(rc, err);
}

/* SQLite's own writes are pages: the method for Unix takes less than 128 KiB
 * (SQLite 3.40 os_unix.c, seekAndWriteFd). */
static pr_code
write_file(const conv_pages *p, const uint8_t *at, size_t n,
           sqlite3_int64 offset, pr_err *err)
{
    const size_t most = 65536;
    int rc = SQLITE_OK;
    for (size_t done = 0, part; done < n && rc == SQLITE_OK; done += part) {
        part = n - done < most ? n - done : most;
        rc = p->file->pMethods->xWrite(p->file, at + done, (int)part,
                                       offset + (sqlite3_int64)done);
    }
    return rc == SQLITE_OK ? PR_OK : conv_sqlite_fail_file(rc, err);
}

static sqlite3_int64
place_of(const conv_pages *p, uint32_t number)
{
    return (sqlite3_int64)(number - 1) * (sqlite3_int64)p->page_size;
}

/* SQLite has written all that it has. */
static pr_code
begin_writing(conv_pages *p, pr_err *err)
{
    uint8_t header[FILE_HEADER];
    sqlite3_int64 size;
    pr_code rc = read_file(p, header, sizeof header, 0, err);
    if (rc != PR_OK)
        return rc;
    p->page_size = get_big(header + PAGE_SIZE, 2);
    if (p->page_size == 1) /* stands for 2^16 */
        p->page_size = 65536;
    p->usable = p->page_size - header[RESERVED];
    int code = p->file->pMethods->xFileSize(p->file, &size);
    if (code != SQLITE_OK)
        return conv_sqlite_fail_file(code, err);
    p->n_pages = (uint32_t)(size / (sqlite3_int64)p->page_size);
    return PR_OK;
}

/* SQLite drops what it remembers of a file with another counter of changes,
 * and adds pages after the number of pages in the header. */
static pr_code
end_writing(conv_pages *p, pr_err *err)
{
    uint8_t header[FILE_HEADER];
    pr_code rc = read_file(p, header, sizeof header, 0, err);
    if (rc != PR_OK)
        return rc;
    uint32_t changes = get_big(header + CHANGES, 4) + 1;
    put_big(header + CHANGES, changes, 4);
    put_big(header + CHANGES_OF_PAGES, changes, 4);
    put_big(header + PAGES, p->n_pages, 4);
    return write_file(p, header, sizeof header, 0, err);
}

/* Write n pages to the end of the file; *ret_number becomes the number of the
 * first one and *ret_n how many were written: none lies at the lock. */
static pr_code
append(conv_pages *p, const uint8_t *at, size_t n, uint32_t *ret_number,
       size_t *ret_n, pr_err *err)
{
    uint32_t lock = LOCK_BYTE / (uint32_t)p->page_size + 1;
    if (p->n_pages + 1 == lock)
        p->n_pages++;
    if (p->n_pages < lock && n > lock - 1 - p->n_pages)
        n = lock - 1 - p->n_pages;
    if (n > UINT32_MAX - 1 - p->n_pages)
        return PR_FAIL(err, PR_LIMIT, "the database has too many pages");
    *ret_number = p->n_pages + 1;
    *ret_n = n;
    pr_code rc =
        write_file(p, at, n * p->page_size, place_of(p, *ret_number), err);
    p->n_pages += (uint32_t)n;
    return rc;
}

/* ---- leaves ---- */

static void
begin_leaf(const conv_pages *p, tree *t)
{
    t->leaf = begin_page(t->piece + t->n * p->page_size, p->page_size,
                         p->usable, LEAF);
}

static void
end_leaf(tree *t)
{
    if (t->leaf.cells == 0)
        return;
    end_page(&t->leaf);
    t->last[t->n++] = t->last_of_leaf;
}

static pr_code
append_leaves(conv_pages *p, tree *t, pr_err *err)
{
    uint32_t number;
    size_t n;
    if (!pr_grow(&t->child, &t->cap_child, t->n_child + t->n, sizeof *t->child))
        return pr_no_memory(err);
    for (size_t done = 0; done < t->n; done += n) {
        pr_code rc = append(p, t->piece + done * p->page_size, t->n - done,
                            &number, &n, err);
        if (rc != PR_OK)
            return rc;
        for (size_t i = 0; i < n; i++)
            t->child[t->n_child++] =
                (child){number + (uint32_t)i, t->last[done + i]};
    }
    t->n = 0;
    return PR_OK;
}

static pr_code
execute(const conv_pages *p, const char *sql, pr_err *err)
{
    return sqlite3_exec(p->database, sql, NULL, NULL, NULL) == SQLITE_OK
               ? PR_OK
               : conv_sqlite_fail(p->database, err);
}

static pr_code
write_leaves(conv_pages *p, tree *t, pr_err *err)
{
    pr_code rc = execute(p, "COMMIT", err);
    if (rc == PR_OK)
        rc = begin_writing(p, err);
    if (rc == PR_OK)
        rc = append_leaves(p, t, err);
    if (rc == PR_OK)
        rc = end_writing(p, err);
    return rc == PR_OK ? execute(p, "BEGIN IMMEDIATE", err) : rc;
}

/* The leaf is complete; the next one begins. */
static pr_code
next_leaf(conv_pages *p, tree *t, pr_err *err)
{
    end_leaf(t);
    pr_code rc = t->n == PIECE ? write_leaves(p, t, err) : PR_OK;
    if (rc == PR_OK)
        begin_leaf(p, t);
    return rc;
}

pr_code
conv_pages_add(conv_pages *p, size_t i, conv_rows_next next, void *context,
               pr_err *err)
{
    tree *t = &p->tree[i];
    int columns = p->table[i].columns;
    int64_t row[CONV_ROWS_COLUMNS];
    uint8_t cell[CELL_MAX];
    pr_code rc = PR_OK;
    while (rc == PR_OK && next(context, row)) {
        size_t n = make_cell(cell, row, columns);
        if (!add_cell(&t->leaf, cell, n)) {
            rc = next_leaf(p, t, err);
            if (rc == PR_OK)
                add_cell(&t->leaf, cell, n);
        }
        t->last_of_leaf = row[0];
    }
    return rc;
}

/* ---- inner pages ---- */

/* The last child has no cell: all greater ids are below it. */
static void
make_inner(const conv_pages *p, uint8_t *at, const child *children, size_t n)
{
    page inner = begin_page(at, p->page_size, p->usable, INNER);
    for (size_t i = 0; i + 1 < n; i++) {
        uint8_t cell[INNER_CELL_MAX];
        put_big(cell, children[i].number, 4);
        add_cell(&inner, cell,
                 4 + put_varint(cell + 4, (uint64_t)children[i].last));
    }
    put_big(at + 8, children[n - 1].number, 4);
    end_page(&inner);
}

static size_t
most_children(const conv_pages *p)
{
    return (p->usable - INNER_HEADER) / (2 + INNER_CELL_MAX) + 1;
}

/* Pages over the children, as many on each as on any other: SQLite takes an
 * inner page without a cell for damage. */
static pr_code
append_level(conv_pages *p, tree *t, pr_err *err)
{
    size_t n = t->n_child, most = most_children(p);
    size_t n_pages = (n + most - 1) / most, written;
    pr_code rc = PR_OK;
    for (size_t i = 0; i < n_pages && rc == PR_OK; i++) {
        size_t from = i * n / n_pages, to = (i + 1) * n / n_pages;
        child above = {0, t->child[to - 1].last};
        make_inner(p, t->piece, t->child + from, to - from);
        rc = append(p, t->piece, 1, &above.number, &written, err);
        t->child[i] = above;
    }
    t->n_child = n_pages;
    return rc;
}

static pr_code
find_root(const conv_pages *p, const char *table, uint32_t *ret, pr_err *err)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(p->database,
                           "SELECT rootpage FROM main.sqlite_schema"
                           " WHERE name = ? AND type = 'table'",
                           -1, &stmt, NULL) != SQLITE_OK)
        return conv_sqlite_fail(p->database, err);
    sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    pr_code rc = PR_OK;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        *ret = (uint32_t)sqlite3_column_int64(stmt, 0);
    else
        rc = conv_sqlite_fail(p->database, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* The root is the page that SQLite gave the empty table: the only leaf, or
 * the page over all others. */
static pr_code
finish_tree(conv_pages *p, size_t i, uint32_t root, pr_err *err)
{
    tree *t = &p->tree[i];
    pr_code rc = PR_OK;
    end_leaf(t);
    if (t->n_child + t->n == 0)
        return PR_OK;
    if (t->n_child + t->n > 1) {
        rc = append_leaves(p, t, err);
        while (rc == PR_OK && t->n_child > most_children(p))
            rc = append_level(p, t, err);
        if (rc == PR_OK)
            make_inner(p, t->piece, t->child, t->n_child);
    }
    return rc == PR_OK
               ? write_file(p, t->piece, p->page_size, place_of(p, root), err)
               : rc;
}

pr_code
conv_pages_finish(conv_pages *p, pr_err *err)
{
    uint32_t *root = calloc(p->n, sizeof *root);
    if (!root)
        return pr_no_memory(err);
    pr_code rc = PR_OK;
    for (size_t i = 0; i < p->n && rc == PR_OK; i++)
        rc = find_root(p, p->table[i].name, &root[i], err);
    if (rc == PR_OK)
        rc = begin_writing(p, err);
    for (size_t i = 0; i < p->n && rc == PR_OK; i++)
        rc = finish_tree(p, i, root[i], err);
    if (rc == PR_OK)
        rc = end_writing(p, err);
    free(root);
    return rc;
}

/* ---- life ---- */

static pr_code
open_pages(conv_pages *p, pr_err *err)
{
    int rc = sqlite3_file_control(p->database, "main",
                                  SQLITE_FCNTL_FILE_POINTER, &p->file);
    if (rc != SQLITE_OK)
        return conv_sqlite_fail(p->database, err);
    pr_code code = execute(p, "COMMIT", err);
    if (code == PR_OK)
        code = begin_writing(p, err);
    if (code == PR_OK)
        code = execute(p, "BEGIN IMMEDIATE", err);
    for (size_t i = 0; i < p->n && code == PR_OK; i++) {
        p->tree[i].piece = malloc(PIECE * p->page_size);
        if (!p->tree[i].piece)
            return pr_no_memory(err);
        begin_leaf(p, &p->tree[i]);
    }
    return code;
}

pr_code
conv_pages_new(sqlite3 *database, const conv_pages_table *table, size_t n,
               conv_pages **ret, pr_err *err)
{
    conv_pages *p = calloc(1, sizeof *p);
    if (!p)
        return pr_no_memory(err);
    *p = (conv_pages){.database = database,
                      .table = table,
                      .n = n,
                      .tree = calloc(n, sizeof *p->tree)};
    pr_code rc = p->tree ? open_pages(p, err) : pr_no_memory(err);
    if (rc == PR_OK)
        *ret = p;
    else
        conv_pages_free(p);
    return rc;
}

void
conv_pages_free(conv_pages *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n && p->tree; i++) {
        free(p->tree[i].piece);
        free(p->tree[i].child);
    }
    free(p->tree);
    free(p);
}
