/*
 * enum_names.h - the names of the numbers in a profile; all texts are static.
 */
#ifndef CONVERTER_MODEL_ENUM_NAMES_H
#define CONVERTER_MODEL_ENUM_NAMES_H

#include <pyrec/profile.h>

const char *conv_mode_name(pr_mode mode);

/* The name of a counter ("lost_torn"); NULL for kinds without one. */
const char *conv_count_name(uint32_t kind);

/* The name of a mark ("gap"); "mark" for kinds without one. */
const char *conv_mark_name(uint32_t kind);

/* The kinds of frames besides those of Python, separated by spaces and
 * NUL-terminated. */
enum { CONV_CAPTURE_MAX = 64 };
void conv_capture_names(char text[CONV_CAPTURE_MAX], uint32_t capture);

#endif
