/*
 * metadata.c - from /proc and the options into the file (metadata.h).
 */
#include "recorder/metadata.h"

#include "recorder/linux/clock.h"
#include "recorder/linux/process.h"
#include "recorder/linux/procfs.h"
#include <base/hash.h>
#include <pyrec/version.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { COMMAND_BYTES = 4096 };

rec_recording_id
rec_recording_id_make(void)
{
    uint64_t word[2];
    rec_recording_id id;
    if (getrandom(word, sizeof word, 0) != (ssize_t)sizeof word) {
        word[0] = pr_mix64(rec_clock_ns(CLOCK_REALTIME));
        word[1] = pr_mix64(rec_now_ns() ^ (uint64_t)getpid() << 32);
    }
    snprintf(id.text, sizeof id.text, "%016" PRIx64 "%016" PRIx64, word[0],
             word[1]);
    return id;
}

pr_code
rec_metadata_text(pr_sink *sink, const char *key, const char *value,
                  pr_err *err)
{
    return PR_SINK_CALL(sink, meta, key, value, strlen(value), err);
}

pr_code
rec_metadata_number(pr_sink *sink, const char *key, uint64_t value, pr_err *err)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return rec_metadata_text(sink, key, text, err);
}

/* Arguments separated by spaces. */
static pr_code
emit_command(pid_t pid, pr_sink *sink, pr_err *err)
{
    char text[COMMAND_BYTES];
    size_t n = 0;
    rec_procfs_of(rec_process_task(pid), "cmdline", text, sizeof text, &n);
    while (n > 0 && text[n - 1] == '\0')
        n--;
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return PR_SINK_CALL(sink, meta, "command", text, n, err);
}

/* Unknown facts are left out. */
static pr_code
emit_process(pid_t pid, pr_sink *sink, pr_err *err)
{
    rec_process_facts p;
    rec_process_facts_read(pid, &p);
    pr_code code = rec_metadata_number(sink, "pid", p.inner_pid, err);
    if (code == PR_OK && p.inner_parent)
        code = rec_metadata_number(sink, "process.parent", p.inner_parent, err);
    if (code == PR_OK && p.start_us)
        code = rec_metadata_number(sink, "process.start_us", p.start_us, err);
    if (code == PR_OK && p.scope[0])
        code = rec_metadata_text(sink, "process.scope", p.scope, err);
    return code;
}

static pr_code
emit_labels(const rec_metadata *m, pr_sink *sink, pr_err *err)
{
    pr_code code = PR_OK;
    for (size_t i = 0; code == PR_OK && i < m->n_labels; i++) {
        const rec_label *l = &m->label[i];
        char key[256];
        snprintf(key, sizeof key, "label.%.*s", (int)l->key_len, l->key);
        code = rec_metadata_text(sink, key, l->value, err);
    }
    return code;
}

static pr_code
emit_python(const rec_target *t, pr_sink *sink, pr_err *err)
{
    char text[400];
    snprintf(text, sizeof text, "CPython %u.%u.%u%s (%s)", t->python[0],
             t->python[1], t->python[2],
             t->free_threaded ? " free-threaded" : "", t->runtime_path);
    return rec_metadata_text(sink, "python.build", text, err);
}

static pr_code
emit_recorder(const rec_metadata *m, pr_sink *sink, pr_err *err)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    pr_code code =
        rec_metadata_text(sink, "recording.id", m->recording_id, err);
    if (code == PR_OK)
        code = rec_metadata_text(sink, "host", host, err);
    if (code == PR_OK)
        code = rec_metadata_text(sink, "recorder", "pyrec " PYREC_VERSION, err);
    if (code == PR_OK && m->command_lines)
        code = rec_metadata_text(sink, "recorder.options", m->options, err);
    return code;
}

pr_code
rec_metadata_emit(const rec_metadata *m, const rec_target *target,
                  pr_sink *sink, pr_err *err)
{
    pr_code code = emit_recorder(m, sink, err);
    if (code == PR_OK)
        code = emit_process(target->pid, sink, err);
    if (code == PR_OK && m->command_lines)
        code = emit_command(target->pid, sink, err);
    if (code == PR_OK)
        code = emit_python(target, sink, err);
    if (code == PR_OK)
        code = emit_labels(m, sink, err);
    return code;
}
