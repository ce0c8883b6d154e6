/*
 * archive.c - a folder and its database are compared name by name; what
 * differs is done in batches, each one transaction.
 */
#include "converter/archive/records.h"
#include "converter/job/job.h"
#include "converter/tables/row.h"

#include <base/opts.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 600000, /* another process may be at a batch */
    AGAIN_MS = 10,        /* between two requests */
    BATCH_FILES = 256,
    BATCH_BYTES = 64 * 1024 * 1024
};

typedef struct archive {
    const char *folder;
    sqlite3 *database;
    conv_job job;
    conv_tables tables;
    conv_files seen; /* in the folder */
    conv_files kept; /* in the database */
    int64_t profile; /* that write_profile() added or found */
    bool gone;       /* profiles are gone, and maybe the last use of names */
    char *done;      /* name of the last file that was done; NULL: none */
} archive;

/* A place in both lists of files. */
typedef struct place {
    size_t seen, kept;
} place;

/* ---- one file ---- */

static pr_code
write_profile(conv_job *job, pr_err *err)
{
    archive *a = job->state;
    const conv_tables before = a->tables;
    bool added;
    pr_code rc = conv_tables_add(&a->tables, job->model, job->source,
                                 &a->profile, &added, &job->names_changed, err);
    return rc == PR_OK && added
               ? conv_records_own(a->profile, &before, &a->tables, err)
               : rc;
}

static const conv_target into_archive = {
    .info = {"archive", "", "", ""},
    .level = CONV_LEVEL_DEFAULT,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .of_totals = true,
    .write = write_profile,
};

static char *
path_of(const archive *a, const char *name)
{
    size_t n = strlen(a->folder) + strlen(name) + 2;
    char *path = malloc(n);
    if (path)
        snprintf(path, n, "%s/%s", a->folder, name);
    return path;
}

/* A file that is not a profile, or only a part of one, is one problem among
 * many files; a fault of the database or of this process ends all of it. */
static bool
is_problem(pr_code rc)
{
    return rc == PR_CUT || rc == PR_DAMAGED || rc == PR_FOREIGN ||
           rc == PR_NEWER || rc == PR_LIMIT;
}

static pr_code
release(archive *a, int64_t profile, pr_err *err)
{
    bool gone = false;
    pr_code rc =
        profile ? conv_records_release(&a->tables, profile, &gone, err) : PR_OK;
    a->gone |= gone;
    return rc;
}

static pr_code
remove_file(archive *a, const char *name, int64_t profile, pr_err *err)
{
    pr_code rc = conv_records_drop(a->database, name, err);
    return rc == PR_OK ? release(a, profile, err) : rc;
}

static bool
name_is_gone(const char *path)
{
    struct stat st;
    return lstat(path, &st) != 0 && errno == ENOENT;
}

/* Files go while the folder is read, some this user may not read, and some are
 * links to nothing. */
static pr_code
convert_file(archive *a, conv_file *file, bool *ret_gone, pr_err *err)
{
    conv_report report = {.delivered = 0};
    char *path = path_of(a, file->name);
    if (!path)
        return pr_no_memory(err);
    a->profile = 0;
    a->job.source = file->name;
    pr_code rc = conv_job_add(path, &into_archive, &a->job, &report, err);
    if (rc == PR_IO && access(path, R_OK) != 0) {
        *ret_gone = name_is_gone(path);
        file->mark.size = -1; /* to be tried again */
        rc = PR_DAMAGED;
    }
    free(path);
    file->profile = a->profile;
    return rc;
}

static pr_code
add_file(archive *a, const conv_file *file, int64_t old, pr_err *err)
{
    conv_file made = *file;
    pr_err problem = PR_ERR_INIT;
    bool gone = false;
    pr_code rc = convert_file(a, &made, &gone, &problem);
    if (gone)
        return remove_file(a, file->name, old, err);
    if (rc != PR_OK && !is_problem(rc)) {
        if (err)
            *err = problem;
        return rc;
    }
    rc = conv_records_put(a->database, &made, rc == PR_OK ? NULL : &problem,
                          err);
    return rc == PR_OK && old != made.profile ? release(a, old, err) : rc;
}

/* ---- all files ---- */

static int
compare_names(const char *a, const char *b)
{
    return !a ? 1 : !b ? -1 : strcmp(a, b);
}

static const char *
name_at(const conv_files *files, size_t i)
{
    return i < files->n ? files->at[i].name : NULL;
}

/* How many names are at most this one. */
static size_t
count_up_to(const conv_files *files, const char *name)
{
    size_t n = 0;
    while (n < files->n && strcmp(files->at[n].name, name) <= 0)
        n++;
    return n;
}

/* Past the names that this process has done, for files that changed just now
 * differ always. */
static place
find_place(const archive *a)
{
    place at = {0, 0};
    if (a->done) {
        at.seen = count_up_to(&a->seen, a->done);
        at.kept = count_up_to(&a->kept, a->done);
    }
    return at;
}

/* The next name at which folder and database differ: the file as it is, or
 * NULL, and as it was. */
static bool
next_difference(const archive *a, place *at, const conv_file **ret_seen,
                const conv_file **ret_kept)
{
    while (at->seen < a->seen.n || at->kept < a->kept.n) {
        int order = compare_names(name_at(&a->seen, at->seen),
                                  name_at(&a->kept, at->kept));
        *ret_seen = order <= 0 ? &a->seen.at[at->seen++] : NULL;
        *ret_kept = order >= 0 ? &a->kept.at[at->kept++] : NULL;
        if (order != 0 || !conv_mark_is(&(*ret_seen)->mark, &(*ret_kept)->mark))
            return true;
    }
    return false;
}

/* Later batches begin after this file. */
static pr_code
note_done(archive *a, const char *name, pr_err *err)
{
    free(a->done);
    a->done = strdup(name);
    return a->done ? PR_OK : pr_no_memory(err);
}

static pr_code
change_files(archive *a, pr_err *err)
{
    place at = find_place(a);
    int64_t files = 0, bytes = 0;
    const conv_file *seen, *kept;
    pr_code rc = PR_OK;
    while (rc == PR_OK && files < BATCH_FILES && bytes < BATCH_BYTES &&
           next_difference(a, &at, &seen, &kept)) {
        rc = seen ? add_file(a, seen, kept ? kept->profile : 0, err)
                  : remove_file(a, kept->name, kept->profile, err);
        if (rc == PR_OK)
            rc = note_done(a, seen ? seen->name : kept->name, err);
        bytes += seen ? seen->mark.size : 0;
        files++;
    }
    return rc;
}

static pr_code
load(archive *a, pr_err *err)
{
    conv_files_release(&a->kept);
    return conv_records_load(a->database, &a->kept, err);
}

/* One transaction.  Another process may have been faster since the last
 * comparison, so the files are compared again. */
static pr_code
run_batch(archive *a, pr_err *err)
{
    a->gone = false;
    pr_code rc = conv_tables_begin(a->database, &a->tables, err);
    if (rc != PR_OK)
        return rc;
    rc = conv_records_create(a->database, err);
    if (rc == PR_OK)
        rc = load(a, err);
    if (rc == PR_OK)
        rc = change_files(a, err);
    if (rc == PR_OK && a->gone)
        rc = conv_records_prune(&a->tables, err);
    pr_code ended =
        conv_tables_end(&a->tables, rc == PR_OK, rc == PR_OK ? err : NULL);
    return rc == PR_OK ? ended : rc;
}

static pr_code
update(archive *a, pr_err *err)
{
    for (;;) {
        const conv_file *seen, *kept;
        pr_code rc = load(a, err);
        place at = find_place(a);
        if (rc != PR_OK || !next_difference(a, &at, &seen, &kept))
            return rc;
        rc = run_batch(a, err);
        if (rc != PR_OK)
            return rc;
    }
}

/* ---- the database ---- */

/* Only its owner may read what others recorded; SQLite gives the files beside
 * it the same permissions. */
static pr_code
create_file(const char *path, pr_err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot open '%s'", path);
    close(fd);
    return PR_OK;
}

/* SQLite refuses the change to a log at once, without the patience set before,
 * while another connection makes it. */
static int
keep_a_log(sqlite3 *database)
{
    int rc = SQLITE_BUSY;
    for (int ms = 0; rc == SQLITE_BUSY && ms < PATIENCE_MS; ms += AGAIN_MS) {
        rc =
            sqlite3_exec(database, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
        if (rc == SQLITE_BUSY)
            sqlite3_sleep(AGAIN_MS);
    }
    return rc;
}

/* A log lets others read while one writes, and a reader sees one state. */
static pr_code
open_database(const char *path, sqlite3 **ret, pr_err *err)
{
    pr_code rc = path ? create_file(path, err) : PR_OK;
    if (rc != PR_OK)
        return rc;
    int opened = sqlite3_open_v2(path ? path : ":memory:", ret,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                                     SQLITE_OPEN_NOFOLLOW,
                                 NULL);
    if (opened == SQLITE_OK)
        opened = sqlite3_busy_timeout(*ret, PATIENCE_MS);
    if (opened == SQLITE_OK)
        opened = keep_a_log(*ret);
    if (opened == SQLITE_OK)
        opened =
            sqlite3_exec(*ret, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
    return opened == SQLITE_OK ? PR_OK : conv_sqlite_fail(*ret, err);
}

/* Later questions are about the database as it is now. */
static pr_code
begin_reading(sqlite3 *database, pr_err *err)
{
    return sqlite3_exec(database, "BEGIN;SELECT count(*) FROM sqlite_schema",
                        NULL, NULL, NULL) == SQLITE_OK
               ? PR_OK
               : conv_sqlite_fail(database, err);
}

/* The problems of the files, as one code and sentence. */
static pr_code
find_problems(const archive *a, pr_err *err)
{
    int64_t n = 0, profiles = 0;
    pr_err problem = PR_ERR_INIT;
    if (a->seen.n == 0) {
        PR_FAIL(err, PR_NAME, "the folder '%s' has no profile", a->folder);
        pr_err_hint(err, "profiles are files that end in .bin");
        return PR_NAME;
    }
    pr_code rc =
        conv_records_problems(a->database, &n, &profiles, &problem, err);
    if (rc != PR_OK)
        return rc;
    if (n > 1)
        pr_err_wrap(&problem,
                    "%lld files cannot be read, or only in part, the "
                    "first one",
                    (long long)n);
    /* the profiles that can be read are a part of the folder */
    if (profiles && problem.code != PR_OK && problem.code != PR_CUT)
        problem.code = PR_DAMAGED;
    if (err && n)
        *err = problem;
    return problem.code;
}

static pr_code
open_archive(archive *a, const char *path, pr_err *err)
{
    pr_code rc = conv_folder_scan(a->folder, &a->seen, err);
    if (rc == PR_OK)
        rc = open_database(path, &a->database, err);
    if (rc == PR_OK)
        rc = update(a, err);
    if (rc == PR_OK)
        rc = begin_reading(a->database, err);
    return rc == PR_OK ? find_problems(a, err) : rc;
}

pr_code
conv_archive_open(const char *folder, const char *path, const conv_opts *given,
                  sqlite3 **ret, pr_err *err)
{
    conv_opts opts = CONV_OPTS_INIT;
    archive a = {.folder = folder};
    pr_code rc = pr_opts_take(&opts, sizeof opts, given, err);
    if (rc == PR_OK)
        rc = conv_job_plan(&into_archive, &opts, folder, &a.job, err);
    a.job.state = &a;
    if (rc == PR_OK)
        rc = open_archive(&a, path, err);
    if (conv_job_delivered(rc))
        *ret = a.database;
    else
        sqlite3_close(a.database);
    conv_files_release(&a.seen);
    conv_files_release(&a.kept);
    free(a.done);
    return rc;
}
