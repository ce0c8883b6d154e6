/*
 * folder.h - the profiles of a folder, with the marks that show a change.
 */
#ifndef CONVERTER_ARCHIVE_FOLDER_H
#define CONVERTER_ARCHIVE_FOLDER_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>

/* A file that changes keeps its name and gets another mark. */
typedef struct conv_mark {
    int64_t size, mtime_ns, ctime_ns, inode;
} conv_mark;

typedef struct conv_file {
    char *name; /* in the folder; malloc() */
    conv_mark mark;
    int64_t profile; /* its row in the database; 0: none */
} conv_file;

/* In order of strcmp(name). */
typedef struct conv_files {
    conv_file *at;
    size_t n, cap;
} conv_files;

/* List the regular files of the folder that end in ".bin", and the links of such
 * a name that lead nowhere.  A file that changed just now gets a mark that equals no other, because the clock of the file
 * system may be too coarse to show its next change. */
pr_code conv_folder_scan(const char *folder, conv_files *ret, pr_err *err);

/* Takes over `name`. */
pr_code conv_files_add(conv_files *files, char *name, const conv_mark *mark,
                       int64_t profile, pr_err *err);
void conv_files_release(conv_files *files);

bool conv_mark_is(const conv_mark *a, const conv_mark *b);

#endif
