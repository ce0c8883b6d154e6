/*
 * message.c - the lines of an error, a warning, a note.
 */
#include <base/message.h>

#include <base/terminal.h>
#include <stdarg.h>
#include <string.h>

enum { LINE_MAX_BYTES = 2048 };

void
pr_message(FILE *to, const char *program, const char *kind, const char *format,
           ...)
{
    char line[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(to, "%s: %s%s", program, kind ? kind : "", kind ? ": " : "");
    pr_print_terminal(to, line, strlen(line));
    fputc('\n', to);
}

void
pr_message_next(FILE *to, const char *program, const pr_buffer *command)
{
    if (command->failed)
        return;
    fprintf(to, "%s: next: ", program);
    pr_print_terminal(to, pr_buffer_from(command, 0), command->len);
    fputc('\n', to);
}

static void
print_record(FILE *to, const char *program, const char *kind, const pr_err *err)
{
    char line[sizeof err->what + 128];
    pr_err failure = *err;
    failure.hint[0] = '\0';
    pr_err_format(&failure, line, sizeof line);
    pr_message(to, program, kind, "%s", line);
    if (err->hint[0])
        pr_message(to, program, "hint", "%s", err->hint);
}

void
pr_message_error(FILE *to, const char *program, const pr_err *err)
{
    print_record(to, program, "error", err);
}

void
pr_message_partial(FILE *to, const char *program, const pr_err *err)
{
    print_record(to, program,
                 err->code == PR_CUT       ? "note"
                 : err->code == PR_DAMAGED ? "warning"
                                           : "error",
                 err);
}
