/*
 * label.c - names for readers.
 */
#include "converter/model/label.h"

#include "converter/model/source_path.h"

#include <base/buffer.h>
#include <base/quote.h>

void
conv_label_frame(pr_buffer *text, pr_quote rule, const conv_model *model,
                 uint32_t id)
{
    const conv_frame *frame = conv_model_frame(model, id);
    const conv_function *f = conv_model_function(model, frame->function);
    pr_bytes name = pr_strings_get(&model->strings, f->name);
    pr_bytes path = pr_strings_get(&model->strings, f->file);
    pr_quote_name(text, rule, name.at, name.len);
    if (conv_model_is_synthetic(model, frame->function) ||
        conv_model_is_task(model, frame->function))
        return;
    path = conv_path_short(path);
    pr_buffer_puts(text, " (");
    pr_quote_name(text, rule, path.at, path.len);
    int32_t line =
        model->opts.level == CONV_LEVEL_FUNCTION ? f->first_line : frame->line;
    if (line > 0) {
        pr_buffer_puts(text, ":");
        pr_buffer_i64(text, line);
    }
    pr_buffer_puts(text, ")");
}

void
conv_label_thread(pr_buffer *text, pr_quote rule, const conv_model *model,
                  uint32_t id)
{
    const conv_thread *thread = &model->threads[id];
    if (thread->named) {
        pr_bytes name = pr_strings_get(&model->strings, thread->name);
        pr_quote_name(text, rule, name.at, name.len);
    } else {
        pr_buffer_puts(text, thread->is_main ? "MainThread" : "thread");
    }
    pr_buffer_puts(text, " (");
    pr_buffer_u64(text, thread->tid);
    if (thread->interp) {
        pr_buffer_puts(text, ", interpreter ");
        pr_buffer_u64(text, thread->interp);
    }
    pr_buffer_puts(text, ")");
}
