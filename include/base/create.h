/*
 * create.h - making and filling the files that a user names.
 */
#ifndef BASE_CREATE_H
#define BASE_CREATE_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* PR_EXISTS: the name is taken and no option replaces it. */
pr_code pr_refuse_existing(const char *path, pr_err *err);

/* PR_USAGE: a profile cannot replace the file of this name, of which lstat()
 * gave `st`: a link, a pipe, a device or a folder.  PR_OK: it is a regular file. */
pr_code pr_refuse_irregular(const char *path, const struct stat *st,
                            pr_err *err);

/* Does `path` lead to the file that `st` describes? */
bool pr_is_same_file(const char *path, const struct stat *st);

/* The descriptor of this process that a link such as /dev/stdout stands for; -1:
 * the path is another file.  A file that is open there is written to, never
 * replaced. */
int pr_descriptor_of(const char *path);

/* The part of a path after its last slash, and the folder before it, "." if
 * there is none; the caller frees the folder, NULL: out of memory. */
const char *pr_path_name(const char *path);
char *pr_path_folder(const char *path);

/* The hint for a file system without room, if the errno `sys` is of one. */
void pr_hint_room(int sys, pr_err *err);

/* The name of an unfinished file: the path with this end.  A name that would be
 * too long for a file system lacks characters before the end.  The caller frees
 * it; NULL: out of memory. */
char *pr_unfinished_name(const char *path, const char *end);

/* Write all bytes, whatever part of them one write() takes.  0 or an errno. */
int pr_write_whole(int fd, const void *bytes, size_t n);

/* PR_IO: a file cannot be created, with the errno `sys` and what may help. */
pr_code pr_fail_to_create(const char *path, int sys, pr_err *err);

#endif
