/*
 * pyrec.c - record running CPythons into profiles: the program.
 */
#include "recorder/dump.h"
#include "recorder/gcdump.h"
#include "recorder/options.h"
#include "recorder/repeat.h"
#include "recorder/schedule.h"
#include "recorder/screen.h"
#include "recorder/session.h"
#include "recorder/taskdump.h"
#include "recorder/top.h"
#include <base/printed.h>
#include <base/terminal.h>
#include <pyrec/version.h>

#include <stdio.h>
#include <string.h>

static int
fail(const pr_err *err, const rec_options *options)
{
    rec_screen screen = rec_screen_make(true, options->debug, false);
    rec_screen_error(&screen, err);
    return pr_exit_status(err->code);
}

static int
check(const rec_options *options)
{
    pr_err err = PR_ERR_INIT;
    rec_target t;
    if (rec_target_identify(options->pid, &t, &err) != PR_OK)
        return fail(&err, options);
    printf("%d is CPython %u.%u.%u%s, ", (int)t.pid, t.python[0], t.python[1],
           t.python[2], t.free_threaded ? " (free-threaded)" : "");
    pr_print_terminal(stdout, t.runtime_path, strlen(t.runtime_path));
    putchar('\n');
    return 0;
}

static int
dump(const rec_options *options)
{
    pr_err err = PR_ERR_INIT;
    pr_code code = rec_dump_process(options->pid, &options->unwinder, stdout,
                                    options->json, &err);
    return code == PR_OK ? 0 : fail(&err, options);
}

static int
dump_tasks(const rec_options *options)
{
    pr_err err = PR_ERR_INIT;
    pr_code code =
        rec_taskdump_process(options->pid, stdout, options->json, &err);
    return code == PR_OK ? 0 : fail(&err, options);
}

static int
dump_collections(const rec_options *options)
{
    pr_err err = PR_ERR_INIT;
    pr_code code = rec_gcdump_process(options->pid, stdout, options->json,
                                      options->gc_every_ns, &err);
    return code == PR_OK ? 0 : fail(&err, options);
}

/* A target that cannot be recorded is named before the view covers it. */
static int
record_with_view(rec_options *options)
{
    pr_err err = PR_ERR_INIT;
    rec_target t;
    if (rec_target_identify(options->pid, &t, &err) != PR_OK ||
        rec_top_split(options, &err) != PR_OK)
        return fail(&err, options);
    return rec_session_run(options);
}

int
main(int argc, char **argv)
{
    rec_options options;
    pr_err err = PR_ERR_INIT;
    int status = 0;
    pr_hold_standard();
    pr_code code = rec_options_parse(argc, argv, &options, &err);
    if (code != PR_OK)
        status = fail(&err, &options);
    else if (options.action == REC_ACTION_HELP)
        fputs(rec_options_help(), stdout);
    else if (options.action == REC_ACTION_VERSION)
        puts("pyrec " PYREC_VERSION);
    else if (options.action == REC_ACTION_CHECK)
        status = check(&options);
    else if (options.action == REC_ACTION_DUMP)
        status = dump(&options);
    else if (options.action == REC_ACTION_TASKS)
        status = dump_tasks(&options);
    else if (options.action == REC_ACTION_GC)
        status = dump_collections(&options);
    else if (options.every_ns)
        status = rec_schedule_run(&options);
    else if (options.repeat)
        status = rec_repeat_run(&options);
    else if (options.top)
        status = record_with_view(&options);
    else
        status = rec_session_run(&options);
    rec_options_release(&options);
    return pr_finish_stdout("pyrec", status);
}
