/*
 * verbs.c - the table.
 */
#include "query/language/verbs.h"

#include <stddef.h>

#define BY      Q_CLAUSE_BY
#define PARTS   (Q_CLAUSE_PER | Q_PER_AN_OWNER | Q_PER_A_SPAN)
#define PER     (PARTS | Q_PER_A_UNIT)
#define SPANS   (Q_CLAUSE_PER | Q_PER_A_SPAN)
#define BUILDS  (Q_CLAUSE_PER | Q_PER_A_BUILD)
#define IN      Q_CLAUSE_IN
#define DEPTH   Q_CLAUSE_DEPTH
#define ABOVE   Q_CLAUSE_ABOVE
#define SAMPLES Q_CLAUSES_SAMPLES
#define FRAMES  Q_CLAUSES_FRAMES
#define STACKS  Q_AS_STACKS
#define CHART   Q_AS_CHART

static const q_verb_info verbs[] = {
    {"summary", Q_SUMMARY, Q_FUNCTION, Q_BY_DEFAULT, 0, NULL, false, 0,
     "the profile, how far to trust it, and its main functions", "summary"},
    {"top", Q_TOP, Q_FUNCTION, Q_BY_DEFAULT, 20, NULL, false,
     BY | PER | IN | FRAMES | STACKS, "functions by the time they took",
     "top 20 by self"},
    {"lines", Q_TOP, Q_LINE, Q_BY_DEFAULT, 20, NULL, false,
     BY | PER | IN | FRAMES, "the same by line", "lines 10 in shop.py"},
    {"files", Q_TOP, Q_FILE, Q_BY_DEFAULT, 20, NULL, false,
     BY | PER | IN | FRAMES, "by file", "files by total"},
    {"modules", Q_TOP, Q_MODULE, Q_BY_DEFAULT, 20, NULL, false,
     BY | PER | IN | FRAMES, "by module", "modules only project"},
    {"opcodes", Q_TOP, Q_OPCODE, Q_BY_SELF, 20, NULL, false, BY | PER | SAMPLES,
     "by bytecode instruction", "opcodes where function = parse"},
    {"callers", Q_CALLERS, Q_FUNCTION, Q_BY_TOTAL, 20, "of", true,
     BY | PARTS | IN | FRAMES, "the functions that called one",
     "callers of json.dumps"},
    {"callees", Q_CALLEES, Q_FUNCTION, Q_BY_TOTAL, 20, "of", true,
     BY | PARTS | IN | FRAMES, "the functions that one called",
     "callees of main where gil"},
    {"tree", Q_TREE, Q_FUNCTION, Q_BY_TOTAL, 0, "from", false,
     DEPTH | ABOVE | FRAMES | STACKS,
     "calls from the roots, or from one function", "tree from main above 5%"},
    {"bottomup", Q_BOTTOMUP, Q_FUNCTION, Q_BY_TOTAL, 0, "of", false,
     DEPTH | ABOVE | FRAMES, "calls from where the time went, upwards",
     "bottomup of load depth 3"},
    {"paths", Q_PATHS, Q_FUNCTION, Q_BY_TOTAL, 20, "to", true, FRAMES | STACKS,
     "the ways that led to a function", "paths to load"},
    {"stacks", Q_STACKS, Q_FUNCTION, Q_BY_SELF, 20, NULL, false,
     FRAMES | STACKS, "whole stacks by the time they took", "stacks 5"},
    {"source", Q_SOURCE, Q_LINE, Q_BY_NAME, 0, "", true, SAMPLES,
     "the source of a function with the share of each line", "source load"},
    {"timeline", Q_TIMELINE, Q_FUNCTION, Q_BY_DEFAULT, 0, NULL, false,
     SPANS | SAMPLES, "how busy the process was, over time",
     "timeline per 100ms"},
    {"hottest", Q_HOTTEST, Q_FUNCTION, Q_BY_DEFAULT, 10, NULL, false,
     SPANS | FRAMES, "the seconds in which most ran, and what ran",
     "hottest 3 per 10ms"},
    {"longest", Q_LONGEST, Q_FUNCTION, Q_BY_DEFAULT, 10, NULL, false, SAMPLES,
     "the longest times in one stack", "longest 5"},
    {"waits", Q_WAITS, Q_FUNCTION, Q_BY_DEFAULT, 20, NULL, false, FRAMES,
     "where threads did not run, and what for", "waits 10"},
    {"tasks", Q_TASKS, Q_TASK, Q_BY_DEFAULT, 20, NULL, false,
     BY | PER | SAMPLES, "asyncio tasks: how long each ran and waited",
     "tasks 10"},
    {"threads", Q_THREADS, Q_FUNCTION, Q_BY_DEFAULT, 0, NULL, false, SAMPLES,
     "threads: which compute, and which wait for what", "threads"},
    {"processes", Q_PROCESSES, Q_FUNCTION, Q_BY_DEFAULT, 0, NULL, false,
     SAMPLES, "the same by process", "processes"},
    {"profiles", Q_PROFILES, Q_FUNCTION, Q_BY_DEFAULT, 0, NULL, false, 0,
     "the profiles of the database, with their labels", "profiles"},
    {"gc", Q_GC, Q_FUNCTION, Q_BY_DEFAULT, 20, NULL, false, 0,
     "garbage collections, the longest first", "gc 5"},
    {"gaps", Q_GAPS, Q_FUNCTION, Q_BY_DEFAULT, 20, NULL, false, 0,
     "times in which nothing could be sampled", "gaps"},
    {"events", Q_EVENTS, Q_FUNCTION, Q_BY_DEFAULT, 50, NULL, false, 0,
     "marks of the recording in order of time", "events"},
    {"losses", Q_LOSSES, Q_FUNCTION, Q_BY_DEFAULT, 0, NULL, false, 0,
     "samples that were lost, by reason", "losses"},
    {"diff", Q_DIFF, Q_FUNCTION, Q_BY_SELF, 20, "...", false,
     BY | IN | Q_CLAUSES_SIDES,
     "functions that are slower or faster than in other profiles",
     "diff old.bin"},
    {"check", Q_CHECK, Q_FUNCTION, Q_BY_SELF, 0, "...", false, Q_CLAUSES_SIDES,
     "whether rules for a comparison hold, for CI", "check old.bin"},
    {"history", Q_HISTORY, Q_FUNCTION, Q_BY_SELF, 20, "", false,
     BY | BUILDS | IN | Q_CLAUSES_FRAMES | Q_CLAUSE_SCALE | CHART,
     "functions over many builds, and the builds that changed them",
     "history self(load)"},
    {"help", Q_HELP, Q_FUNCTION, Q_BY_DEFAULT, 0, "", false, 0,
     "the verbs, or what one verb takes", "help top"},
};

const q_verb_info *
q_verb_get(size_t i)
{
    return i < sizeof verbs / sizeof *verbs ? &verbs[i] : NULL;
}

bool
q_is_comparison(q_verb verb)
{
    return verb == Q_DIFF || verb == Q_CHECK || verb == Q_HISTORY;
}
