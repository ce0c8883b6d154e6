/*
 * source_path.h - the class and module of a source file, by its path.
 *
 * The path alone decides, as it was on the machine of the target.
 */
#ifndef CONVERTER_MODEL_SOURCE_PATH_H
#define CONVERTER_MODEL_SOURCE_PATH_H

#include <base/buffer.h>
#include <base/intern.h>

typedef enum conv_path_class {
    CONV_PATH_PROJECT,
    CONV_PATH_STDLIB, /* below lib/pythonX.Y/ */
    CONV_PATH_SITE,   /* below site-packages/ or dist-packages/ */
    CONV_PATH_FROZEN, /* <frozen ...> */
    CONV_PATH_SPECIAL /* no file: <string>, ~, <task> */
} conv_path_class;

conv_path_class conv_path_of(pr_bytes path);
const char *conv_path_name(conv_path_class place);

/* The part after the last slash. */
pr_bytes conv_path_base(pr_bytes path);

/* The path below the library it belongs to; a project's path is whole. */
pr_bytes conv_path_short(pr_bytes path);

/* Append the dotted name of the module ("json.decoder"), as far as the path
 * shows it: of a project's file the last part, of a special path nothing. */
void conv_path_module(pr_buffer *text, pr_bytes path);

#endif
