/*
 * version.h - the one home of the version; Makefile and --version read it.
 */
#ifndef PYREC_VERSION_H
#define PYREC_VERSION_H

#define PYREC_VERSION "0.1.0"

#endif
