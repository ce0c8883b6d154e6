/*
 * fuzz_target.c - the recorder over a target whose memory is the input.
 *
 * The first byte chooses the version; the rest repeats without end from a
 * fixed address on, so that nearly every pointer leads somewhere: loops, wild
 * lengths and types that point to themselves come by themselves.  Input that
 * begins like an ELF file is read as one.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/debug_offsets.h"
#include "recorder/cpython/asyncio_tasks.h"
#include "recorder/cpython/code.h"
#include "recorder/cpython/dict.h"
#include "recorder/cpython/gc_ring.h"
#include "recorder/cpython/object.h"
#include "recorder/cpython/stack.h"
#include "recorder/cpython/thread_list.h"
#include "recorder/linux/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BASE = 0x10000, NAME_MAX_POINTS = 4096, READS_MAX = 1 << 22 };

typedef struct target {
    const uint8_t *bytes;
    size_t size;
    uint64_t reads;
} target;

/* Memory without end; a hole now and then. */
static ssize_t
target_read(void *context, const struct iovec *local,
            const struct iovec *remote, size_t n)
{
    target *t = context;
    ssize_t arrived = 0;
    if (t->reads++ > READS_MAX)
        abort(); /* the recorder walks in circles */
    for (size_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)(uintptr_t)remote[i].iov_base;
        if (at < BASE || at >> 47 || at % 4096 == 4088)
            return arrived ? arrived : -EFAULT;
        uint8_t *to = local[i].iov_base;
        for (size_t k = 0; k < local[i].iov_len; k++)
            to[k] = t->bytes[(at - BASE + k) % t->size];
        arrived += (ssize_t)local[i].iov_len;
    }
    return arrived;
}

/* ---- versions ---- */

static bool
load_layout(uint8_t choice, rec_layout *ret)
{
    static const uint32_t hint[] = {0x030b07f0, 0x030c01f0, 0, 0, 0, 0, 0, 0};
    static const struct {
        const uint64_t *words;
        size_t size;
    } tables[8] = {[2] = {table_3_13, sizeof table_3_13},
                   [3] = {table_3_13t, sizeof table_3_13t},
                   [4] = {table_3_14, sizeof table_3_14},
                   [5] = {table_3_15, sizeof table_3_15},
                   [6] = {table_3_14, sizeof table_3_14},
                   [7] = {table_3_15, sizeof table_3_15}};
    uint8_t table[REC_TABLE_BYTES] = {0};
    choice %= 8;
    if (tables[choice].size)
        memcpy(table, tables[choice].words, tables[choice].size);
    if (choice >= 6)
        table[16] = 1; /* as if it were free-threaded */
    if (rec_layout_load(table, hint[choice], ret, NULL) != PR_OK)
        return false;
    if (choice >= 6)
        ret->code.tlbc = ret->code.size - 8;
    return true;
}

/* The input itself as a table: an accepted table must fit its structs. */
static void
try_table(const uint8_t *data, size_t size)
{
    uint8_t table[REC_TABLE_BYTES] = {0};
    rec_layout layout;
    memcpy(table, data, size < sizeof table ? size : sizeof table);
    if (rec_layout_load(table, 0, &layout, NULL) == PR_OK &&
        (layout.tstate.datastack_top + 8 > REC_CAP_TSTATE ||
         layout.code.framesize + 4 > REC_CAP_CODE ||
         layout.frame.localsplus + 8 > REC_CAP_FRAME))
        abort();
}

/* ---- what is read ---- */

static const pr_sink_ops no_ops;

static uint64_t
some_address(const target *t, size_t i)
{
    uint64_t v = 0;
    for (size_t k = 0; k < 6; k++)
        v = v << 8 | t->bytes[(i * 7 + k) % t->size];
    return BASE + v % (1 << 20) * 8;
}

static void
read_objects(const rec_layout *l, rec_memory *m, const target *t)
{
    for (size_t i = 0; i < 8; i++) {
        uint64_t at = some_address(t, i), type, flags, *keys = NULL;
        char *text = NULL;
        uint8_t *bytes = NULL;
        size_t len;
        int64_t number;
        rec_object_str(l, m, at, NAME_MAX_POINTS, &text, &len, NULL);
        rec_object_bytes(l, m, at, 1 << 16, &bytes, &len, NULL);
        rec_object_type(l, m, at, &type, &flags, NULL);
        if (l->object.set_used != REC_ABSENT) {
            rec_object_int(l, m, at, &number, NULL);
            rec_object_set(l, m, at, 1000, &keys, &len, NULL);
        }
        free(text);
        free(bytes);
        free(keys);
    }
}

static void
read_codes(rec_codes *codes, rec_batch *batch, const target *t)
{
    for (size_t i = 0; i < 16; i++) {
        uint64_t at = some_address(t, i);
        const rec_code *code;
        uint32_t id;
        uint64_t generation = i / 8;
        rec_batch_reset(batch);
        rec_codes_begin(codes, 1, i % 3 ? &generation : NULL);
        if (rec_codes_get(codes, batch, at, &code, NULL) == PR_OK)
            rec_codes_frame(codes, code, code->code_adaptive + 2 * i, 0, &id,
                            NULL);
    }
}

static void
walk_thread(rec_thread *thread, const rec_runtime *runtime, rec_batch *window,
            rec_walker *walker)
{
    const rec_layout *l = &runtime->layout;
    rec_shot shot;
    rec_stack fresh = {0};
    uint32_t keep, omitted;
    rec_batch_reset(window);
    rec_codes_begin(walker->codes, 1, NULL);
    rec_stack_ask(walker, &thread->codes, window);
    if (!rec_data_stack_add(&thread->source, l, window, true, &shot) ||
        rec_batch_read(window, NULL) != PR_OK ||
        rec_data_stack_follow(&thread->source, l, window, &shot, NULL) != PR_OK)
        return;
    rec_walk walk = {.start = shot.current_frame,
                     .must_pass = shot.outer_frame};
    if (rec_stack_walk(walker, window, &thread->source, &walk, NULL) == PR_OK)
        rec_stack_decode(walker, window, &thread->source, &thread->codes,
                         &thread->stack, &fresh, &keep, &omitted, NULL);
    rec_stack_release(&fresh);
}

static void
read_tasks(const rec_threads_table *table)
{
    /* asyncio's offsets of CPython 3.15.2 */
    rec_asyncio asyncio = {.task = {168, 136, 96, 108, 109, 128, 152},
                           .interp = {10856},
                           .thread = {1024, 1032, 1048}};
    rec_tasks tasks = {0};
    if (table->runtime->layout.gen.iframe == REC_ABSENT)
        return;
    for (int running = 0; running < 2; running++)
        rec_tasks_read(&asyncio, table, running, &tasks, NULL);
    rec_tasks_release(&tasks);
}

static void
read_names(rec_threads_table *table)
{
    for (size_t i = 0; i < table->n_live && i < 16; i++) {
        char *name;
        size_t len;
        if (rec_threads_name(table, table->live[i], &name, &len))
            free(name);
    }
}

static void
read_dicts(const rec_layout *l, rec_memory *m, const target *t)
{
    for (size_t i = 0; i < 8; i++) {
        uint64_t at = some_address(t, i), value;
        rec_item *items;
        size_t n;
        rec_dict_get(l, m, at, "name", &value, NULL);
        rec_instance_get(l, m, at, "name", &value, NULL);
        if (rec_dict_items(l, m, at, 64, &items, &n, NULL) == PR_OK)
            free(items);
    }
}

static void
read_threads(const rec_runtime *runtime, rec_memory *m, rec_codes *codes)
{
    rec_process process = {.pid = getpid(), .pidfd = -1};
    rec_threads_table table;
    rec_batch window;
    rec_walker walker = {.layout = &runtime->layout,
                         .codes = codes,
                         .max_depth = 100,
                         .native = true,
                         .opcodes = true};
    if (rec_threads_init(&table, &process, runtime, m, NULL) != PR_OK)
        return;
    if (rec_batch_init(&window, m, NULL) == PR_OK) {
        if (rec_threads_list(&table, NULL) == PR_OK)
            for (size_t i = 0; i < table.n_live && i < 16; i++)
                walk_thread(table.live[i], runtime, &window, &walker);
        read_names(&table);
        read_tasks(&table);
        rec_batch_release(&window);
    }
    rec_walker_release(&walker);
    rec_threads_release(&table);
}

static pr_code
take_event(void *context, const pr_gc_event *event, pr_err *err)
{
    (void)context;
    (void)event;
    (void)err;
    return PR_OK;
}

static void
read_collections(const rec_runtime *runtime, rec_memory *m)
{
    rec_gc gc = {0};
    if (rec_gc_check(&runtime->layout, NULL) == PR_OK)
        rec_gc_poll(&gc, &runtime->layout, m, BASE, 0, take_event, NULL, NULL);
}

/* ---- files ---- */

static void
read_elf(const uint8_t *data, size_t size)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, data, size) != (ssize_t)size) {
        close(fd);
        return;
    }
    rec_elf *elf = rec_elf_open(fd);
    uint64_t address, bytes, bias;
    if (!elf)
        return;
    rec_elf_section(elf, ".PyRuntime", &address, &bytes);
    rec_elf_symbol(elf, "_PyRuntime", &address);
    for (size_t i = 0; i < 4; i++)
        rec_elf_bias(elf, BASE, i * 4096, i, &bias);
    rec_elf_close(elf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 16)
        return 0;
    if (memcmp(data, "\177ELF", 4) == 0) {
        read_elf(data, size);
        return 0;
    }
    try_table(data, size);
    rec_runtime runtime = {.address = BASE};
    if (!load_layout(data[0], &runtime.layout))
        return 0;
    target t = {data + 1, size - 1, 0};
    rec_memory memory;
    rec_memory_init(&memory, getpid());
    memory.read = target_read;
    memory.context = &t;
    pr_sink sink = {&no_ops};
    rec_name_table names;
    rec_name_table_init(&names, &sink);
    rec_codes *codes;
    if (rec_codes_new(&runtime.layout, &names, true, &codes, NULL) != PR_OK)
        return 0;
    read_objects(&runtime.layout, &memory, &t);
    rec_batch batch;
    if (rec_batch_init(&batch, &memory, NULL) == PR_OK)
        read_codes(codes, &batch, &t);
    rec_batch_release(&batch);
    read_threads(&runtime, &memory, codes);
    read_collections(&runtime, &memory);
    read_dicts(&runtime.layout, &memory, &t);
    rec_codes_free(codes);
    rec_name_table_release(&names);
    return 0;
}
