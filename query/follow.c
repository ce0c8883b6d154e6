/*
 * follow.c - the file is converted again when it grew: the recording so
 * far is a profile that was cut short.
 */
#include "query/follow.h"

#include "query/live/live.h"
#include "query/render/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef struct follower {
    const char *path;
    q_database *database; /* of the file as it last was, or NULL */
    off_t size;
    bool ended;
} follower;

static double
age_s(const struct stat *st)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double age = (double)(now.tv_sec - st->st_mtim.tv_sec) +
                 (double)(now.tv_nsec - st->st_mtim.tv_nsec) / 1e9;
    return age > 0 ? age : 0;
}

/* A file that cannot be read so far is one that has no samples so far. */
static void
open_again(follower *f, off_t size)
{
    q_database *database = NULL;
    pr_err err = PR_ERR_INIT;
    pr_code rc = q_open(f->path, &database, &err);
    f->size = size;
    if (!database)
        return;
    q_close(f->database);
    f->database = database;
    f->ended = rc == PR_OK;
}

static pr_code
renew(void *context, q_news *ret, pr_err *err)
{
    follower *f = context;
    struct stat st;
    if (stat(f->path, &st) != 0) {
        if (errno != ENOENT)
            return PR_FAIL_SYS(err, PR_IO, errno, "cannot read '%s'", f->path);
        *ret = (q_news){f->database != NULL, f->ended, 0};
        return PR_OK;
    }
    if (st.st_size != f->size)
        open_again(f, st.st_size);
    *ret = (q_news){f->database != NULL, f->ended, age_s(&st)};
    return PR_OK;
}

static pr_code
answer(void *context, const char *query, size_t width, char **ret, pr_err *err)
{
    follower *f = context;
    q_result *result;
    pr_code rc = q_run(f->database, query, &result, err);
    if (rc != PR_OK)
        return rc;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    const q_render_opts opts = {.format = Q_TABLE, .width = width};
    rc = out ? q_render(result, &opts, out, err) : pr_no_memory(err);
    q_result_free(result);
    if (out && fclose(out) != 0 && rc == PR_OK)
        rc = pr_no_memory(err);
    if (rc == PR_OK)
        *ret = text;
    else
        free(text);
    return rc;
}

pr_code
q_follow(const char *path, const char *title, const char *query, pr_err *err)
{
    follower f = {.path = path, .size = -1};
    const q_live_source source = {&f, renew, answer};
    pr_code rc = q_live_run(&source, title, query, err);
    q_close(f.database);
    return rc;
}
