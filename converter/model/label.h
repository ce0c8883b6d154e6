/*
 * label.h - the names of frames and threads in outputs for people.
 *
 *   frame     qualname (file), qualname (file:line); a synthetic one: its name
 *   process   COMMAND (pid PID)
 *   thread    NAME (tid), NAME (tid, interpreter N) if it is not the main one
 *
 * The file is the path below the library that it belongs to (source_path.h).
 */
#ifndef CONVERTER_MODEL_LABEL_H
#define CONVERTER_MODEL_LABEL_H

#include "converter/model/model.h"

#include <base/buffer.h>
#include <base/quote.h>

/* Append the name of a frame: with its line, or with the first line of its
 * function if the model is of functions. */
void conv_label_frame(pr_buffer *text, pr_quote rule, const conv_model *model,
                      uint32_t frame);
void conv_label_thread(pr_buffer *text, pr_quote rule, const conv_model *model,
                       uint32_t thread);
void conv_label_process(pr_buffer *text, pr_quote rule, const conv_model *model,
                        uint32_t process);

/* Append a thread; in a profile of several processes after its process and the
 * separator. */
void conv_label_owner(pr_buffer *text, pr_quote rule, const conv_model *model,
                      uint32_t thread, const char *separator);

#endif
