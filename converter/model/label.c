/*
 * label.c - names for readers.
 */
#include "converter/model/label.h"

#include "converter/model/source_path.h"

void
conv_label_frame(conv_text *text, conv_text_rule rule, const conv_model *model,
                 uint32_t id)
{
    const conv_frame *frame = conv_model_frame(model, id);
    const conv_function *f = conv_model_function(model, frame->function);
    pr_bytes name = pr_strings_get(&model->strings, f->name);
    pr_bytes path = pr_strings_get(&model->strings, f->file);
    conv_text_name(text, rule, name.at, name.len);
    if (conv_model_is_synthetic(model, frame->function) ||
        conv_model_is_task(model, frame->function))
        return;
    path = conv_path_short(path);
    conv_text_puts(text, " (");
    conv_text_name(text, rule, path.at, path.len);
    int32_t line =
        model->opts.level == CONV_LEVEL_FUNCTION ? f->first_line : frame->line;
    if (line > 0) {
        conv_text_puts(text, ":");
        conv_text_i64(text, line);
    }
    conv_text_puts(text, ")");
}

void
conv_label_thread(conv_text *text, conv_text_rule rule, const conv_model *model,
                  uint32_t id)
{
    const conv_thread *thread = &model->threads[id];
    if (thread->named) {
        pr_bytes name = pr_strings_get(&model->strings, thread->name);
        conv_text_name(text, rule, name.at, name.len);
    } else {
        conv_text_puts(text, thread->is_main ? "MainThread" : "thread");
    }
    conv_text_puts(text, " (");
    conv_text_u64(text, thread->tid);
    if (thread->interp) {
        conv_text_puts(text, ", interpreter ");
        conv_text_u64(text, thread->interp);
    }
    conv_text_puts(text, ")");
}
