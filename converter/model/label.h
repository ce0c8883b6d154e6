/*
 * label.h - how a frame and a thread are called in outputs made to be read.
 *
 *   frame     qualname (file), qualname (file:line); a synthetic one: its name
 *   thread    NAME (tid), with "interpreter N" behind if it is not the main one
 *
 * The file is the path below the library it belongs to (place.h).  Names go in
 * as they are; who writes them applies his own rule.
 */
#ifndef CONVERTER_MODEL_LABEL_H
#define CONVERTER_MODEL_LABEL_H

#include "converter/encode/text.h"
#include "converter/model/model.h"

/* The line of a frame of lines; of a function its first line, if known. */
void conv_label_frame(conv_text *text, conv_text_rule rule,
                      const conv_model *model, uint32_t frame);
void conv_label_thread(conv_text *text, conv_text_rule rule,
                       const conv_model *model, uint32_t thread);

#endif
