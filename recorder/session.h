/*
 * session.h - one run of pyrec that records: signals, the command, descendants
 * and recordings are events of one loop.
 */
#ifndef RECORDER_SESSION_H
#define RECORDER_SESSION_H

#include "recorder/options.h"

/* Record by the options; print the summary and errors.  Returns the exit status
 * of pyrec. */
int rec_session_run(const rec_options *options);

#endif
