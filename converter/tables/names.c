/*
 * names.c - a new name becomes a row, a known one keeps its id.
 */
#include "converter/tables/names.h"

#include "converter/model/source_path.h"
#include "converter/tables/row.h"

#include <base/buffer.h>
#include <base/hash.h>
#include <sqlite3.h>
#include <string.h>

/* ---- what the database has ---- */

static pr_code
damaged(const char *table, pr_err *err)
{
    return PR_FAIL(err, PR_DAMAGED,
                   "the database has an impossible row in '%s'", table);
}

/* The key of a row whose first column is the id. */
typedef bool (*read_key)(sqlite3_stmt *stmt, void *key);

static bool
read_hash(sqlite3_stmt *stmt, void *key)
{
    const uint8_t *bytes = sqlite3_column_blob(stmt, 1);
    uint64_t hash = 0;
    if (!bytes || sqlite3_column_bytes(stmt, 1) != 8)
        return false;
    for (int i = 0; i < 8; i++)
        hash = hash << 8 | bytes[i];
    memcpy(key, &hash, sizeof hash);
    return true;
}

static int32_t
read_line(sqlite3_stmt *stmt, int column)
{
    if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
        return PR_NO_LINE;
    return sqlite3_column_int(stmt, column);
}

static bool
read_frame(sqlite3_stmt *stmt, void *key)
{
    const conv_frame frame = {(uint32_t)sqlite3_column_int64(stmt, 1),
                              read_line(stmt, 2),
                              read_line(stmt, 3),
                              read_line(stmt, 4),
                              read_line(stmt, 5),
                              sqlite3_column_type(stmt, 6) == SQLITE_NULL
                                  ? PR_NO_OPCODE
                                  : (uint32_t)sqlite3_column_int(stmt, 6)};
    memcpy(key, &frame, sizeof frame);
    return true;
}

/* One row into the set; equal keys keep the first id. */
static pr_code
load_row(sqlite3_stmt *stmt, read_key read, const char *table, pr_set *set,
         pr_list *ids, pr_err *err)
{
    union {
        uint64_t hash;
        conv_frame frame;
    } key;
    int64_t id = sqlite3_column_int64(stmt, 0);
    uint32_t at;
    if (id < 1 || id > UINT32_MAX || !read(stmt, &key))
        return damaged(table, err);
    pr_code rc = pr_set_add(set, &key, &at, err);
    if (rc == PR_OK && at == ids->n)
        rc = pr_list_add(ids, (uint32_t)id, err);
    return rc;
}

static pr_code
load_table(sqlite3 *database, const char *sql, const char *table, read_key read,
           pr_set *set, pr_list *ids, pr_err *err)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(database, sql, -1, &stmt, NULL) != SQLITE_OK)
        return conv_sqlite_fail(database, err);
    pr_code rc = PR_OK;
    int step;
    while (rc == PR_OK && (step = sqlite3_step(stmt)) != SQLITE_DONE)
        rc = step == SQLITE_ROW ? load_row(stmt, read, table, set, ids, err)
                                : conv_sqlite_fail(database, err);
    sqlite3_finalize(stmt);
    return rc;
}

pr_code
conv_names_load(sqlite3 *database, conv_names *names, pr_err *err)
{
    *names = (conv_names){.files.size = sizeof(uint64_t),
                          .functions.size = sizeof(uint64_t),
                          .frames.size = sizeof(conv_frame)};
    pr_code rc =
        load_table(database, "SELECT id, hash FROM file ORDER BY id", "file",
                   read_hash, &names->files, &names->file_id, err);
    if (rc == PR_OK)
        rc = load_table(database, "SELECT id, hash FROM function ORDER BY id",
                        "function", read_hash, &names->functions,
                        &names->function_id, err);
    if (rc == PR_OK)
        rc = load_table(database,
                        "SELECT id, function_id, line, end_line, col, end_col,"
                        " opcode FROM frame ORDER BY id",
                        "frame", read_frame, &names->frames, &names->frame_id,
                        err);
    return rc;
}

void
conv_names_release(conv_names *names)
{
    pr_set_release(&names->files);
    pr_set_release(&names->functions);
    pr_set_release(&names->frames);
    pr_list_release(&names->file_id);
    pr_list_release(&names->function_id);
    pr_list_release(&names->frame_id);
}

/* ---- what the model adds ---- */

typedef struct adder {
    const conv_model *model;
    conv_names *names;
    conv_row file, function, frame;
} adder;

/* The id of a key; *ret_new: it had none and got the next one. */
static pr_code
find_id(pr_set *set, pr_list *ids, const void *key, uint32_t *ret_id,
        bool *ret_new, pr_err *err)
{
    uint32_t at;
    pr_code rc = pr_set_add(set, key, &at, err);
    *ret_new = rc == PR_OK && at == ids->n;
    if (*ret_new) { /* ids ascend, and the last one is the greatest */
        uint32_t last = ids->n ? ids->at[ids->n - 1] : 0;
        if (last == UINT32_MAX)
            return PR_FAIL(err, PR_LIMIT, "the database has no ids left");
        rc = pr_list_add(ids, last + 1, err);
    }
    if (rc == PR_OK)
        *ret_id = ids->at[at];
    return rc;
}

static pr_code
put_file(adder *a, uint32_t id, pr_bytes path, uint64_t hash, pr_err *err)
{
    conv_row *row = &a->file;
    conv_row_integer(row, id);
    conv_row_name(row, path);
    conv_row_name(row, conv_path_base(path));
    pr_buffer_reset(&row->text);
    conv_path_module(&row->text, path);
    if (row->text.len)
        conv_row_text(row, &row->text);
    else
        conv_row_integer(row, CONV_NULL);
    conv_row_string(row, conv_path_name(conv_path_of(path)));
    conv_row_hash(row, hash);
    return conv_row_put(row, err);
}

static pr_code
add_file(adder *a, uint32_t string, uint32_t *ret_id, pr_err *err)
{
    pr_bytes path = pr_strings_get(&a->model->strings, string);
    uint64_t hash = pr_hash_bytes(path.at, path.len);
    bool is_new;
    pr_code rc = find_id(&a->names->files, &a->names->file_id, &hash, ret_id,
                         &is_new, err);
    return rc == PR_OK && is_new ? put_file(a, *ret_id, path, hash, err) : rc;
}

static bool
is(pr_bytes bytes, const char *string)
{
    return bytes.len == strlen(string) &&
           memcmp(bytes.at, string, bytes.len) == 0;
}

static const char *
kind_of(const conv_model *model, uint32_t function, pr_bytes qualname)
{
    if (conv_model_is_task(model, function))
        return "task";
    if (!conv_model_is_synthetic(model, function))
        return "py";
    if (is(qualname, PR_NATIVE_FUNC))
        return "native";
    return is(qualname, PR_GC_FUNC) ? "gc" : "special";
}

/* The part after the last dot. */
static pr_bytes
last_part(pr_bytes qualname)
{
    size_t i = qualname.len;
    while (i > 0 && qualname.at[i - 1] != '.')
        i--;
    return (pr_bytes){qualname.at + i, qualname.len - i};
}

static pr_code
put_function(adder *a, uint32_t id, uint32_t i, uint64_t hash, pr_err *err)
{
    const conv_function *function = conv_model_function(a->model, i);
    pr_bytes qualname = pr_strings_get(&a->model->strings, function->name);
    uint32_t file;
    pr_code rc = add_file(a, function->file, &file, err);
    if (rc != PR_OK)
        return rc;
    conv_row *row = &a->function;
    conv_row_integer(row, id);
    conv_row_integer(row, file);
    conv_row_name(row, qualname);
    conv_row_name(row, last_part(qualname));
    conv_row_integer(row, function->first_line > 0 ? function->first_line
                                                   : CONV_NULL);
    conv_row_string(row, kind_of(a->model, i, qualname));
    conv_row_hash(row, hash);
    return conv_row_put(row, err);
}

static pr_code
add_function(adder *a, uint32_t i, uint32_t *ret_id, pr_err *err)
{
    uint64_t hash = conv_model_function_hash(a->model, i);
    bool is_new;
    pr_code rc = find_id(&a->names->functions, &a->names->function_id, &hash,
                         ret_id, &is_new, err);
    return rc == PR_OK && is_new ? put_function(a, *ret_id, i, hash, err) : rc;
}

static int64_t
line_or_null(int32_t line)
{
    return line < 0 ? CONV_NULL : line;
}

static pr_code
put_frame(adder *a, uint32_t id, const conv_frame *frame, pr_err *err)
{
    conv_row *row = &a->frame;
    conv_row_integer(row, id);
    conv_row_integer(row, frame->function);
    conv_row_integer(row, line_or_null(frame->line));
    conv_row_integer(row, line_or_null(frame->end_line));
    conv_row_integer(row, line_or_null(frame->column));
    conv_row_integer(row, line_or_null(frame->end_column));
    conv_row_integer(row,
                     frame->opcode == PR_NO_OPCODE ? CONV_NULL : frame->opcode);
    return conv_row_put(row, err);
}

static pr_code
add_frame(adder *a, conv_frame frame, const pr_list *functions,
          uint32_t *ret_id, pr_err *err)
{
    bool is_new;
    frame.function = functions->at[frame.function];
    pr_code rc = find_id(&a->names->frames, &a->names->frame_id, &frame, ret_id,
                         &is_new, err);
    return rc == PR_OK && is_new ? put_frame(a, *ret_id, &frame, err) : rc;
}

static pr_code
add_all(adder *a, pr_list *ret_function, pr_list *ret_frame, pr_err *err)
{
    uint32_t id;
    pr_code rc = PR_OK;
    for (uint32_t i = 0; i < a->model->functions.n && rc == PR_OK; i++) {
        rc = add_function(a, i, &id, err);
        if (rc == PR_OK)
            rc = pr_list_add(ret_function, id, err);
    }
    for (uint32_t i = 0; i < a->model->frames.n && rc == PR_OK; i++) {
        rc = add_frame(a, *conv_model_frame(a->model, i), ret_function, &id,
                       err);
        if (rc == PR_OK)
            rc = pr_list_add(ret_frame, id, err);
    }
    return rc;
}

pr_code
conv_names_add(sqlite3 *database, conv_names *names, const conv_model *model,
               pr_list *ret_function, pr_list *ret_frame,
               uint64_t *names_changed, pr_err *err)
{
    adder a = {.model = model, .names = names};
    pr_code rc = conv_row_open(&a.file, database, "file", 6, err);
    if (rc == PR_OK)
        rc = conv_row_open(&a.function, database, "function", 7, err);
    if (rc == PR_OK)
        rc = conv_row_open(&a.frame, database, "frame", 7, err);
    if (rc == PR_OK)
        rc = add_all(&a, ret_function, ret_frame, err);
    *names_changed += a.file.text.changed + a.function.text.changed;
    conv_row_close(&a.file);
    conv_row_close(&a.function);
    conv_row_close(&a.frame);
    return rc;
}
