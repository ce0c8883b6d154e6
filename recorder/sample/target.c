/*
 * target.c - the kind of a process, before or without a recording (unwinder.h).
 */
#include "recorder/sample/unwinder_internal.h"

#include <assert.h>

void
rec_target_fill(pid_t pid, const rec_runtime *runtime, rec_target *ret)
{
    uint32_t version = runtime->layout.version;
    *ret = (rec_target){.pid = pid,
                        .python = {(uint8_t)(version >> 24),
                                   (uint8_t)(version >> 16),
                                   (uint8_t)(version >> 8)},
                        .free_threaded = runtime->layout.free_threaded,
                        .shows_gc = runtime->layout.gc.frame != REC_ABSENT,
                        .runtime = runtime->address};
    static_assert(sizeof ret->runtime_path == sizeof runtime->path,
                  "a path fits");
    memcpy(ret->runtime_path, runtime->path, sizeof ret->runtime_path);
    ret->runtime_path[sizeof ret->runtime_path - 1] = '\0';
}

pr_code
rec_target_identify(pid_t pid, rec_target *ret, pr_err *err)
{
    rec_process process;
    rec_memory memory;
    rec_runtime runtime;
    pr_code code = rec_process_open(pid, &process, err);
    if (code != PR_OK)
        return code;
    rec_memory_init(&memory, pid);
    code = rec_runtime_find(&process, &memory, &runtime, err);
    rec_memory_release(&memory);
    rec_process_release(&process);
    if (code != PR_OK)
        return code;
    rec_target_fill(pid, &runtime, ret);
    return PR_OK;
}

pr_code
rec_target_children(pid_t pid, int recursive, pid_t **ret, size_t *ret_n,
                    pr_err *err)
{
    return rec_process_children(pid, recursive != 0, ret, ret_n, err);
}
