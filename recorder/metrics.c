/*
 * metrics.c - one line of help, one of type and the values (metrics.h).
 */
#include "recorder/metrics.h"

#include <base/create.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void
put_head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP pyrec_%s %s\n# TYPE pyrec_%s %s\n", name, help, name,
            type);
}

static void
put_number(FILE *out, const char *name, const char *type, const char *help,
           double value)
{
    put_head(out, name, type, help);
    fprintf(out, "pyrec_%s %.17g\n", name, value);
}

static void
put_recordings(FILE *out, const rec_metrics *m)
{
    put_head(out, "recordings_total", "counter",
             "Recordings that were due, by their result.");
    fprintf(out,
            "pyrec_recordings_total{result=\"recorded\"} %" PRIu64
            "\npyrec_recordings_total{result=\"failed\"} %" PRIu64
            "\npyrec_recordings_total{result=\"missed\"} %" PRIu64 "\n",
            m->recorded, m->failed, m->missed);
}

static void
put_folder(FILE *out, const rec_folder_state *f)
{
    put_number(out, "files", "gauge", "Recordings in the folder.",
               (double)f->files);
    put_number(out, "bytes", "gauge", "Size of the recordings in the folder.",
               (double)f->bytes);
    put_head(out, "removed_total", "counter",
             "Recordings that were removed, by the bound that excluded them.");
    fprintf(out,
            "pyrec_removed_total{bound=\"age\"} %" PRIu64
            "\npyrec_removed_total{bound=\"size\"} %" PRIu64 "\n",
            f->removed_age, f->removed_size);
}

static void
put_all(FILE *out, const rec_metrics *m)
{
    put_recordings(out, m);
    put_number(out, "recordings_running", "gauge",
               "Recordings that are being made.", (double)m->running);
    put_number(out, "targets", "gauge",
               "Processes that the present window records.",
               (double)m->targets);
    put_number(out, "start_time_seconds", "gauge",
               "When this recorder was started.", m->started_s);
    put_number(out, "last_recording_time_seconds", "gauge",
               "When the last recording was completed; 0: none so far.",
               m->last_s);
    put_number(out, "cpu_seconds_total", "counter",
               "CPU time of the recorder and its recordings.", m->cpu_s);
    put_folder(out, &m->folder);
}

static pr_code
write_file(const rec_metrics *m, const char *path, pr_err *err)
{
    int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return pr_fail_to_create(path, errno, err);
    FILE *out = fdopen(fd, "w");
    if (!out) {
        close(fd);
        return pr_no_memory(err);
    }
    put_all(out, m);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot write '%s'", path);
    return PR_OK;
}

/* The name of the unfinished file does not end in ".prom". */
pr_code
rec_metrics_write(const rec_metrics *metrics, const char *path, pr_err *err)
{
    char end[32];
    snprintf(end, sizeof end, ".%ld.part", (long)getpid());
    char *part = pr_unfinished_name(path, end);
    if (!part)
        return pr_no_memory(err);
    pr_code rc = write_file(metrics, part, err);
    if (rc == PR_OK && rename(part, path) != 0)
        rc = PR_FAIL_SYS(err, PR_IO, errno, "cannot make '%s'", path);
    if (rc != PR_OK)
        unlink(part);
    free(part);
    return rc;
}
