/*
 * host.c - a program that is not a Python and has one inside.
 *
 * host LIBRARY... -- PROGRAM [argument ...]: load each libpython by itself,
 * start Python in the last one only, and let it run the program.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int
main(int argc, char **argv)
{
    int i = 1;
    void *library = NULL;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        int last = i + 1 < argc && strcmp(argv[i + 1], "--") == 0;
        library = dlopen(argv[i], RTLD_NOW | (last ? RTLD_GLOBAL : RTLD_LOCAL));
        if (!library) {
            fprintf(stderr, "host: %s\n", dlerror());
            return 1;
        }
    }
    int (*run)(int, char **) =
        library ? (int (*)(int, char **))dlsym(library, "Py_BytesMain") : NULL;
    if (!run)
        return 1;
    argv[i] = argv[0]; /* what Python takes for its own name */
    return run(argc - i, argv + i);
}
