/*
 * count.c - the samples of a profile, by the installed library.
 */
#include <pyrec/reader.h>
#include <pyrec/version.h>
#include <stdio.h>

static unsigned long long samples;

static pr_code
delta(pr_sink *sink, const pr_delta *d, pr_err *err)
{
    (void)sink, (void)err;
    samples += d->n;
    return PR_OK;
}

int
main(int argc, char **argv)
{
    static const pr_sink_ops ops = {.delta = delta};
    pr_sink counter = {&ops};
    pf_replay_opts opts = PF_REPLAY_OPTS_INIT;
    pr_err err = PR_ERR_INIT;
    pf_reader *reader;
    if (argc != 2 || pf_reader_open(argv[1], NULL, &reader, &err) != PR_OK ||
        pf_reader_replay(reader, &opts, &counter, NULL, &err) != PR_OK)
        return fprintf(stderr, "%s\n", err.what), pr_exit_status(err.code);
    pf_reader_free(reader);
    printf("%s %llu\n", pr_version(), samples);
    return 0;
}
