/*
 * replay.c - runs a fuzz target over files, without a fuzzer.
 *
 * Arguments are files or folders of files (one level).  What a fuzzer once
 * found stays in tests/fuzz/corpus and is tried again by every `make check`.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The whole file, exactly as long as its allocation so that a sanitizer sees
 * a read past its end.  NULL: could not be read. */
static uint8_t *
read_file(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    uint8_t *data = NULL;

    if (file == NULL)
        return NULL;
    if (fstat(fileno(file), &st) == 0) {
        size_t size = (size_t)st.st_size;
        data = malloc(size ? size : 1);
        if (data != NULL && fread(data, 1, size, file) != size) {
            free(data);
            data = NULL;
        }
        *ret_size = size;
    }
    fclose(file);
    return data;
}

static int
replay_file(const char *path)
{
    size_t size = 0;
    uint8_t *data = read_file(path, &size);

    if (data == NULL) {
        printf("not ok %s: %s\n", path, strerror(errno));
        return 1;
    }
    /* printed before it runs: the last line of a crash names the file */
    printf("# %s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    printf("ok %s\n", path);
    free(data);
    return 0;
}

static int
replay_folder(const char *path, DIR *folder)
{
    int failed = 0;
    struct dirent *entry;

    while ((entry = readdir(folder)) != NULL) {
        char file[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        failed |= replay_file(file);
    }
    return failed;
}

int
main(int argc, char **argv)
{
    int failed = 0;

    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (folder == NULL) {
            failed |= replay_file(argv[i]);
            continue;
        }
        failed |= replay_folder(argv[i], folder);
        closedir(folder);
    }
    return failed;
}
