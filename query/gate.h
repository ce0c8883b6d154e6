/*
 * gate.h - the verb check as a program: outputs, and a second stage.
 */
#ifndef QUERY_GATE_H
#define QUERY_GATE_H

#include "query/command_line.h"
#include "query/render/render.h"

/* A call with the database of the next questions; NULL: none is open. */
typedef void (*q_gate_opened)(q_database *database);

/* Check, write the table to `out` and the reports to their files.  If more
 * runs are needed and the command line has a command for them, run it, open
 * the files again (*database becomes another) and check again.  PR_REGRESSION
 * and PR_INCOMPARABLE are outcomes. */
pr_code q_gate(q_database **database, const q_command *command,
               const q_render_opts *opts, FILE *out, q_gate_opened opened,
               pr_err *err);

#endif
