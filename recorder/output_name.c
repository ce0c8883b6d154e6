/*
 * output_name.c - names from pids, and the files that have such names already.
 */
#include "recorder/output_name.h"

#include "recorder/linux/procfs.h"
#include <base/create.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMMAND_BYTES = 4096 };

/* ---- the default ---- */

/* The i-th of n bytes of arguments, each terminated; NULL past the end. */
static const char *
argument(const char *text, size_t n, size_t i)
{
    const char *p = text, *end = text + n;
    for (; i > 0 && p < end; i--)
        p += strlen(p) + 1;
    return p < end && *p ? p : NULL;
}

/* Which argument is the program: the one that a loader runs, if argument 0 is
 * a loader (ld.so(8): its options but one have a value). */
static size_t
program_of(const char *text, size_t n)
{
    const char *word = argument(text, n, 0);
    if (!word || strncmp(pr_path_name(word), "ld-", 3) != 0)
        return 0;
    size_t i = 1;
    while ((word = argument(text, n, i)) && word[0] == '-')
        i += strcmp(word, "--inhibit-cache") == 0 ? 1 : 2;
    return word ? i : 0;
}

/* The script or module that an interpreter runs, or NULL; its own arguments
 * begin with the i-th. */
static const char *
script_of(const char *text, size_t n, size_t i)
{
    const char *word;
    for (; (word = argument(text, n, i)); i++) {
        if (strcmp(word, "-m") == 0)
            return argument(text, n, i + 1);
        if (strcmp(word, "-W") == 0 || strcmp(word, "-X") == 0)
            i++;
        else if (word[0] != '-')
            return word;
        else if (word[1] == 'c')
            return NULL;
    }
    return NULL;
}

/* Letters that need no quoting, without a suffix ".py". */
static void
plain_name(const char *from, char to[REC_NAME_MOST + 1])
{
    size_t n = strlen(from), kept = 0;
    if (n > 3 && strcmp(from + n - 3, ".py") == 0)
        n -= 3;
    for (size_t i = 0; i < n && kept < REC_NAME_MOST; i++) {
        unsigned char c = (unsigned char)from[i];
        bool plain = isalnum(c) || (kept && (c == '_' || c == '.' || c == '-'));
        if (plain)
            to[kept++] = (char)c;
    }
    to[kept] = '\0';
}

void
rec_output_name_of(pid_t pid, char to[REC_NAME_MOST + 1])
{
    char text[COMMAND_BYTES] = "";
    size_t n = 0;
    rec_procfs_of(pid, "cmdline", text, sizeof text, &n);
    size_t i = program_of(text, n);
    const char *program = argument(text, n, i), *name = NULL;
    if (program && strncmp(pr_path_name(program), "python", 6) == 0)
        name = script_of(text, n, i + 1);
    if (!name)
        name = program;
    plain_name(name ? pr_path_name(name) : "", to);
    if (!to[0])
        snprintf(to, REC_NAME_MOST + 1, "process");
}

char *
rec_output_default(pid_t pid, time_t now)
{
    char name[REC_NAME_MOST + 1], when[32] = "", *output = NULL;
    struct tm local;
    rec_output_name_of(pid, name);
    if (localtime_r(&now, &local))
        strftime(when, sizeof when, "%Y%m%d-%H%M%S", &local);
    int n = asprintf(&output, "pyrec-%s-%d-%s.bin", name, (int)pid, when);
    return n < 0 ? NULL : output;
}

/* ---- those of descendants ---- */

/* Where the suffix begins: ".bin" of "a.b/run.bin", the end of "a.b/run". */
static size_t
stem_of(const char *output)
{
    const char *base = pr_path_name(output), *dot = strrchr(base, '.');
    return dot && dot != base ? (size_t)(dot - output) : strlen(output);
}

char *
rec_output_of_child(const char *output, pid_t pid, unsigned nth)
{
    char number[16] = "", *name = NULL;
    size_t stem = stem_of(output);
    if (nth > 1)
        snprintf(number, sizeof number, "-%u", nth);
    int n = asprintf(&name, "%.*s.%d%s%s", (int)stem, output, (int)pid, number,
                     output + stem);
    return n < 0 ? NULL : name;
}

char *
rec_output_pattern(const char *output)
{
    char *name = NULL;
    size_t stem = stem_of(output);
    int n = asprintf(&name, "%.*s.*%s", (int)stem, output, output + stem);
    return n < 0 ? NULL : name;
}

/* Is it "run.42.bin" or "run.42-2.bin", where the output is "run.bin"? */
static bool
is_of_child(const char *name, const char *base, size_t stem)
{
    if (strncmp(name, base, stem) != 0 || name[stem] != '.')
        return false;
    const char *p = name + stem + 1;
    size_t digits = strspn(p, "0123456789");
    p += digits;
    if (*p == '-')
        p += 1 + strspn(p + 1, "0123456789");
    return digits > 0 && strcmp(p, base + stem) == 0;
}

/* A regular file, not a link to one, that begins as a profile does in one of
 * the byte orders. */
static bool
is_profile(int folder, const char *name)
{
    char magic[4] = "";
    struct stat st;
    int fd =
        openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool ours = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                (st.st_size == 0 ||
                 (read(fd, magic, 4) == 4 && (memcmp(magic, "HCAT", 4) == 0 ||
                                              memcmp(magic, "TACH", 4) == 0)));
    if (fd >= 0)
        close(fd);
    return ours;
}

static pr_code
exists(const char *folder, const char *name, pr_err *err)
{
    char path[PATH_MAX + NAME_MAX];
    snprintf(path, sizeof path, "%s%s", folder, name);
    return pr_refuse_existing(path, err);
}

static pr_code
clear_folder(DIR *dir, const char *output, bool remove, pr_err *err)
{
    const char *base = pr_path_name(output);
    size_t stem = stem_of(base);
    pr_code code = PR_OK;
    for (struct dirent *e; code == PR_OK && (e = readdir(dir));) {
        if (!is_of_child(e->d_name, base, stem) ||
            !is_profile(dirfd(dir), e->d_name))
            continue;
        if (!remove) {
            char folder[256];
            snprintf(folder, sizeof folder, "%.*s", (int)(base - output),
                     output);
            code = exists(folder, e->d_name, err);
        } else if (unlinkat(dirfd(dir), e->d_name, 0) != 0) {
            code = PR_FAIL_SYS(err, PR_IO, errno, "cannot remove '%.*s%s'",
                               (int)(base - output), output, e->d_name);
        }
    }
    return code;
}

/* The folder of the output.  malloc'ed; NULL: out of memory. */
static char *
folder_of(const char *output)
{
    size_t n = (size_t)(pr_path_name(output) - output);
    return n ? strndup(output, n) : strdup(".");
}

pr_code
rec_output_check(const char *output, bool force, pr_err *err)
{
    struct stat st;
    if (lstat(output, &st) != 0)
        return PR_OK;
    return force ? pr_refuse_irregular(output, &st, err)
                 : exists("", output, err);
}

pr_code
rec_output_check_folder(const char *output, pr_err *err)
{
    char *folder = folder_of(output);
    if (!folder)
        return pr_no_memory(err);
    bool takes = faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0;
    int sys = errno;
    free(folder);
    return takes ? PR_OK : pr_fail_to_create(output, sys, err);
}

pr_code
rec_output_clear(const char *output, bool remove, pr_err *err)
{
    char *folder = folder_of(output);
    if (!folder)
        return pr_no_memory(err);
    DIR *dir = opendir(folder);
    free(folder);
    if (!dir) /* it takes files, but has no list of them */
        return PR_OK;
    pr_code code = clear_folder(dir, output, remove, err);
    closedir(dir);
    return code;
}
