/*
 * screen.c - messages and the status line (screen.h).
 */
#include "recorder/screen.h"

#include <base/message.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

rec_screen
rec_screen_make(bool quiet, bool debug, bool command)
{
    return (rec_screen){.quiet = quiet,
                        .debug = debug,
                        .status = !quiet && !command && isatty(STDERR_FILENO)};
}

void
rec_screen_clear(rec_screen *screen)
{
    if (screen->showing)
        fputs("\r\033[K", stderr);
    screen->showing = false;
}

void
rec_screen_error(rec_screen *screen, const pr_err *err)
{
    rec_screen_clear(screen);
    pr_message_error(stderr, "pyrec", err);
    if (!screen->debug)
        return;
    fprintf(stderr, "pyrec: debug: %s (%s), errno %d", pr_code_name(err->code),
            pr_code_text(err->code), err->sys);
    if (err->offset != PR_NO_OFFSET)
        fprintf(stderr, ", address 0x%" PRIx64, err->offset);
    fputs("\n", stderr);
}

void
rec_screen_status(rec_screen *screen, size_t processes, uint64_t seconds)
{
    if (!screen->status)
        return;
    rec_screen_clear(screen);
    fprintf(stderr, "pyrec: recording %zu process%s, %" PRIu64 ":%02" PRIu64,
            processes, processes == 1 ? "" : "es", seconds / 60, seconds % 60);
    screen->showing = true;
}
