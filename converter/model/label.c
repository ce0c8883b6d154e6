/*
 * label.c - names for readers.
 */
#include "converter/model/label.h"

#include "converter/model/source_path.h"

#include <base/buffer.h>
#include <base/quote.h>
#include <string.h>

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

/* The script among the arguments, or else the program. */
static pr_bytes
short_command(pr_bytes command)
{
    pr_bytes found = {command.at, 0};
    for (size_t i = 0; i < command.len;) {
        size_t n = 0;
        while (i + n < command.len && command.at[i + n] != ' ')
            n++;
        const pr_bytes word = {command.at + i, n};
        bool script = n > 3 && memcmp(word.at + n - 3, ".py", 3) == 0;
        if (found.len == 0 || script)
            found = word;
        if (script)
            break;
        i += n + 1;
    }
    return conv_path_base(found);
}

void
conv_label_process(pr_buffer *text, pr_quote rule, const conv_model *model,
                   uint32_t id)
{
    const conv_process *process = &model->processes[id];
    pr_bytes command = pr_strings_get(&model->strings, process->command);
    command = short_command(command);
    if (command.len)
        pr_quote_name(text, rule, command.at, command.len);
    else
        pr_buffer_puts(text, "process");
    pr_buffer_puts(text, process->pid ? " (pid " : " (no. ");
    pr_buffer_u64(text, process->pid ? process->pid : (uint64_t)id + 1);
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

void
conv_label_owner(pr_buffer *text, pr_quote rule, const conv_model *model,
                 uint32_t thread, const char *separator)
{
    if (model->n_processes > 1) {
        conv_label_process(text, rule, model, model->threads[thread].process);
        pr_buffer_puts(text, separator);
    }
    conv_label_thread(text, rule, model, thread);
}
