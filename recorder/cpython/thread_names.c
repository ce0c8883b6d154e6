/*
 * thread_names.c - sys.modules["threading"]._active, read with every type
 * checked.
 */
#include "recorder/cpython/thread_names.h"

#include "recorder/cpython/dict.h"
#include "recorder/cpython/object.h"
#include "recorder/cpython/read_batch.h"
#include "recorder/linux/clock.h"
#include <stdlib.h>

enum { NAME_MAX_POINTS = 4096 };

typedef struct rec_named {
    uint64_t ident, thread; /* address of the Thread object */
} rec_named;

void
rec_thread_names_release(rec_thread_names *names)
{
    free(names->v);
    *names = (rec_thread_names){0};
}

/* sys.modules may hold any object: only a module has a module's dict. */
static pr_code
dict_of_module(const rec_layout *l, rec_memory *memory, uint64_t module,
               uint64_t *ret, pr_err *err)
{
    static const char wanted[] = "module";
    uint64_t type, flags, name;
    char text[sizeof wanted] = "";
    pr_code code = rec_object_type(l, memory, module, &type, &flags, err);
    if (code == PR_OK)
        code = rec_memory_read_word(memory, type + l->object.type_name, &name,
                                    err);
    if (code == PR_OK)
        code = rec_memory_read(memory, name, text, sizeof text, err);
    if (code == PR_OK &&
        ((flags & REC_TYPE_HEAP) || memcmp(text, wanted, sizeof wanted) != 0))
        return PR_FAIL(err, PR_NAME, "threading is not a module");
    return code == PR_OK ? rec_memory_read_word(
                               memory, module + l->object.module_dict, ret, err)
                         : code;
}

/* The items of threading._active. */
static pr_code
read_active(const rec_layout *l, rec_memory *memory, uint64_t interp,
            rec_item **ret, size_t *ret_n, pr_err *err)
{
    uint64_t modules, module, dict, active;
    pr_code code =
        rec_memory_read_word(memory, interp + l->interp.modules, &modules, err);
    if (code == PR_OK)
        code = rec_dict_get(l, memory, modules, "threading", &module, err);
    if (code == PR_OK)
        code = dict_of_module(l, memory, module, &dict, err);
    if (code == PR_OK)
        code = rec_dict_get(l, memory, dict, "_active", &active, err);
    return code == PR_OK ? rec_dict_items(l, memory, active, REC_THREADS_MAX,
                                          ret, ret_n, err)
                         : code;
}

static int
compare_idents(const void *a, const void *b)
{
    uint64_t x = ((const rec_named *)a)->ident;
    uint64_t y = ((const rec_named *)b)->ident;
    return (x > y) - (x < y);
}

/* The idents of all items in one batch; an item whose key is not a small int
 * is left out. */
static pr_code
read_idents(rec_thread_names *names, const rec_layout *l, rec_memory *memory,
            const rec_item *items, size_t n, pr_err *err)
{
    rec_batch batch;
    pr_code code = rec_batch_init(&batch, memory, err);
    if (code != PR_OK)
        return code;
    for (size_t i = 0; i < n; i++)
        rec_batch_add(&batch, items[i].key, rec_object_int_bytes(l));
    code = rec_batch_read(&batch, err);
    for (size_t i = 0; i < n && code == PR_OK; i++) {
        int64_t ident;
        const uint8_t *p = rec_batch_bytes(&batch, i);
        if (p && rec_object_parse_int(l, p, &ident) && ident > 0)
            names->v[names->n++] = (rec_named){(uint64_t)ident, items[i].value};
    }
    rec_batch_release(&batch);
    return code;
}

pr_code
rec_thread_names_load(rec_thread_names *names, const rec_layout *l,
                      rec_memory *memory, uint64_t interp, pr_err *err)
{
    rec_item *items = NULL;
    size_t n = 0;
    rec_thread_names_release(names);
    names->interp = interp;
    names->loaded_ns = rec_now_ns();
    pr_code code = read_active(l, memory, interp, &items, &n, err);
    if (code == PR_OK && n) {
        names->v = malloc(n * sizeof *names->v);
        code = names->v ? read_idents(names, l, memory, items, n, err)
                        : pr_no_memory(err);
    }
    free(items);
    if (names->n)
        qsort(names->v, names->n, sizeof *names->v, compare_idents);
    return code;
}

pr_code
rec_thread_names_get(const rec_thread_names *names, const rec_layout *l,
                     rec_memory *memory, uint64_t pthread, char **ret,
                     size_t *ret_len, pr_err *err)
{
    rec_named key = {pthread, 0};
    const rec_named *found =
        names->n ? bsearch(&key, names->v, names->n, sizeof key, compare_idents)
                 : NULL;
    if (!found)
        return PR_FAIL(err, PR_NAME, "threading does not know the thread");
    uint64_t name, type, flags;
    pr_code code =
        rec_instance_get(l, memory, found->thread, "_name", &name, err);
    if (code == PR_OK)
        code = rec_object_type(l, memory, name, &type, &flags, err);
    if (code == PR_OK && !(flags & REC_TYPE_STR))
        return PR_FAIL(err, PR_NAME, "the name of a thread is not a str");
    return code == PR_OK ? rec_object_str(l, memory, name, NAME_MAX_POINTS, ret,
                                          ret_len, err)
                         : code;
}
