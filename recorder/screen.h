/*
 * screen.h - standard error: messages, and one status line to which no other
 * text is appended.
 */
#ifndef RECORDER_SCREEN_H
#define RECORDER_SCREEN_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rec_screen {
    bool quiet;   /* neither status line nor summary */
    bool debug;   /* errors with the details that the sentence leaves out */
    bool status;  /* a status line may be shown */
    bool showing; /* it is */
} rec_screen;

/* `command`: a command writes to the same terminal, so no status line is
 * shown. */
rec_screen rec_screen_make(bool quiet, bool debug, bool command);

void rec_screen_error(rec_screen *screen, const pr_err *err);
void rec_screen_status(rec_screen *screen, size_t processes, uint64_t seconds);

/* Before anything else is printed. */
void rec_screen_clear(rec_screen *screen);

#endif
