/*
 * place.h - what the path of a source file says about it.
 *
 * Judged by the path alone, as it was on the machine of the target.
 */
#ifndef CONVERTER_PLACE_H
#define CONVERTER_PLACE_H

#include "converter/intern.h"
#include "converter/text.h"

typedef enum conv_place_class {
    CONV_PLACE_PROJECT,
    CONV_PLACE_STDLIB, /* below lib/pythonX.Y/ */
    CONV_PLACE_SITE,   /* below site-packages/ or dist-packages/ */
    CONV_PLACE_FROZEN, /* <frozen ...> */
    CONV_PLACE_SPECIAL /* no file: <string>, ~, <task> */
} conv_place_class;

conv_place_class conv_place_of(conv_bytes path);
const char *conv_place_name(conv_place_class place);

/* The part after the last slash. */
conv_bytes conv_place_base(conv_bytes path);

/* The path below the library it belongs to; a project's path is whole. */
conv_bytes conv_place_short(conv_bytes path);

/* Append the dotted name under which it was probably imported ("json.decoder",
 * of a project's file its last part); nothing for special ones. */
void conv_place_module(conv_text *text, conv_bytes path);

#endif
