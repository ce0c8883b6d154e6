/*
 * version.h - the one place of the version number; the Makefile and --version
 * read it.
 */
#ifndef PYREC_VERSION_H
#define PYREC_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the headers that a caller was compiled with. */
#define PYREC_VERSION "0.1.0"

/* The version of the library that a caller is linked with:
 * "MAJOR.MINOR.PATCH", static.  Thread-safe. */
const char *pr_version(void);

#ifdef __cplusplus
}
#endif
#endif
