/*
 * create.c - whole writes, and the hints when they fail.
 */
#include <base/create.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pr_code
pr_fail_to_create(const char *path, int sys, pr_err *err)
{
    PR_FAIL_SYS(err, PR_IO, sys, "cannot create '%s'", path);
    if (sys == ENOENT)
        pr_err_hint(err, "does its folder exist?");
    return PR_IO;
}

pr_code
pr_refuse_existing(const char *path, pr_err *err)
{
    PR_FAIL(err, PR_EXISTS, "'%s' exists", path);
    pr_err_hint(err, "choose another name or replace it with --force");
    return PR_EXISTS;
}

bool
pr_is_same_file(const char *path, const struct stat *st)
{
    struct stat there;
    return stat(path, &there) == 0 && there.st_dev == st->st_dev &&
           there.st_ino == st->st_ino;
}

int
pr_descriptor_of(const char *path)
{
    static const char folder[] = "/proc/self/fd/";
    enum { PREFIX = sizeof folder - 1 };
    char link[PREFIX + 16], *end;
    ssize_t n = readlink(path, link, sizeof link - 1);
    if (n <= PREFIX || memcmp(link, folder, PREFIX) != 0)
        return -1;
    link[n] = '\0';
    long fd = strtol(link + PREFIX, &end, 10);
    return *end || fd < 0 || fd > INT_MAX ? -1 : (int)fd;
}

/* Nothing is done through a symbolic link, so that a user who can make one
 * cannot choose the file that is lost (and /dev/stdout stays). */
pr_code
pr_refuse_irregular(const char *path, const struct stat *st, pr_err *err)
{
    if (S_ISREG(st->st_mode))
        return PR_OK;
    if (S_ISLNK(st->st_mode)) {
        PR_FAIL(err, PR_USAGE, "'%s' is a symbolic link", path);
        pr_err_hint(err, "remove it, or name the file that it leads to");
        return PR_USAGE;
    }
    PR_FAIL(err, PR_USAGE, "'%s' is not a regular file", path);
    pr_err_hint(err, "a profile is completed at its beginning when it ends: "
                     "write it to a file, then convert that");
    return PR_USAGE;
}

void
pr_hint_room(int sys, pr_err *err)
{
    if (sys == ENOSPC || sys == EDQUOT || sys == EFBIG)
        pr_err_hint(err, "make room, or write to another file system");
}

const char *
pr_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *
pr_path_folder(const char *path)
{
    size_t n = (size_t)(pr_path_name(path) - path);
    return n ? strndup(path, n) : strdup(".");
}

char *
pr_unfinished_name(const char *path, const char *end)
{
    size_t name = (size_t)(pr_path_name(path) - path);
    size_t n = strlen(path), size = strlen(end) + 1;
    if (n - name > NAME_MAX + 1 - size) {
        n = name + NAME_MAX + 1 - size;
        while (n > name && ((unsigned char)path[n] & 0xc0) == 0x80)
            n--; /* to the beginning of a character */
    }
    char *whole = malloc(n + size);
    if (!whole)
        return NULL;
    memcpy(whole, path, n);
    memcpy(whole + n, end, size);
    return whole;
}

int
pr_write_whole(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;
    for (size_t done = 0; done < n;) {
        ssize_t got = write(fd, at + done, n - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : ENOSPC;
        done += (size_t)got;
    }
    return 0;
}
