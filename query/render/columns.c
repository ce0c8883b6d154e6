/*
 * columns.c - the table of columns, in the order in which they are shown.
 */
#include "query/render/columns.h"

#include <string.h>

/* Names first, then what was done, then what was waited for, then where. */
static const struct shown {
    const char *name, *title;
    q_role role;
    bool may_be_missing;
    int rank; /* 0: never left out; the highest goes first */
} shown[] = {
    {"what", "what", Q_ROLE_TEXT, false, 0},
    {"verb", "verb", Q_ROLE_TEXT, false, 0},
    {"topic", "topic", Q_ROLE_TEXT, false, 0},
    {"answers_with", "answers with", Q_ROLE_TEXT, false, 0},
    {"value", "value", Q_ROLE_TEXT, false, 0},
    {"step", "step", Q_ROLE_TEXT, false, 0},
    {"time_s", "time", Q_ROLE_SECONDS, false, 0},
    {"label", "label", Q_ROLE_TEXT, false, 0},
    {"profile_id", "id", Q_ROLE_COUNT, false, 2},
    {"profile", "profile", Q_ROLE_PROFILE, false, 0},
    {"thread", "thread", Q_ROLE_TEXT, true, 0},
    {"tid", "tid", Q_ROLE_COUNT, false, 7},
    {"pid", "pid", Q_ROLE_COUNT, true, 6},
    {"kind", "kind", Q_ROLE_TEXT, false, 0},
    {"reason", "reason", Q_ROLE_TEXT, false, 0},
    {"ran_pct", "ran", Q_ROLE_PERCENT, true, 1},
    {"function", "function", Q_ROLE_FUNCTION, false, 0},
    {"build", "build", Q_ROLE_TEXT, false, 0},
    {"n_runs", "runs", Q_ROLE_COUNT, false, 5},
    {"build_s", "seconds", Q_ROLE_SECONDS, false, 0},
    {"first_build_s", "first s", Q_ROLE_SECONDS, false, 4},
    {"last_build_s", "last s", Q_ROLE_SECONDS, false, 3},
    {"level_pct", "level", Q_ROLE_CHANGE, false, 4},
    {"point", "change of level", Q_ROLE_TEXT, true, 0},
    {"changes", "changes", Q_ROLE_TEXT, true, 0},
    {"newest_text", "newest builds", Q_ROLE_TEXT, true, 5},
    {"trend", "trend", Q_ROLE_TEXT, false, 3},
    {"outcome", "rule", Q_ROLE_TEXT, false, 0},
    {"rule", "", Q_ROLE_TEXT, false, 0},
    {"why", "why", Q_ROLE_TEXT, false, 0},
    {"finding", "verdict", Q_ROLE_TEXT, false, 0},
    {"base_s", "base s", Q_ROLE_SECONDS, false, 3},
    {"new_s", "new s", Q_ROLE_SECONDS, false, 3},
    {"change_pct", "change", Q_ROLE_CHANGE, true, 0},
    {"interval", "95% interval", Q_ROLE_TEXT, true, 5},
    {"raw_pct", "raw", Q_ROLE_CHANGE, true, 4},
    {"sd_pct", "sd", Q_ROLE_PERCENT, true, 8},
    {"adjusted_p", "p", Q_ROLE_CHANCE, true, 7},
    {"detectable_pct", "detects", Q_ROLE_CHANGE, true, 6},
    {"note", "note", Q_ROLE_TEXT, true, 6},
    {"runs", "runs", Q_ROLE_TEXT, true, 7},
    {"task", "task", Q_ROLE_TEXT, false, 0},
    {"module", "module", Q_ROLE_TEXT, false, 0},
    {"opcode", "opcode", Q_ROLE_TEXT, false, 0},
    {"caller", "caller", Q_ROLE_FUNCTION, false, 0},
    {"callee", "callee", Q_ROLE_FUNCTION, false, 0},
    {"self_ran_pct", "ran", Q_ROLE_PERCENT, true, 1},
    {"self_pct", "self", Q_ROLE_PERCENT, false, 2},
    {"total_pct", "total", Q_ROLE_PERCENT, false, 3},
    {"pct", "share", Q_ROLE_PERCENT, false, 2},
    {"gil_pct", "GIL", Q_ROLE_PERCENT, true, 2},
    {"cpu_pct", "CPU", Q_ROLE_PERCENT, true, 4},
    {"waiting_pct", "GIL wait", Q_ROLE_PERCENT, true, 3},
    {"idle_pct", "idle", Q_ROLE_PERCENT, true, 3},
    {"self_s", "self s", Q_ROLE_SECONDS, false, 5},
    {"total_s", "total s", Q_ROLE_SECONDS, false, 5},
    {"function_pct", "its share", Q_ROLE_PERCENT, false, 3},
    {"function_s", "its s", Q_ROLE_SECONDS, false, 3},
    {"first_s", "from s", Q_ROLE_SECONDS, true, 4},
    {"last_s", "to s", Q_ROLE_SECONDS, true, 6},
    {"seconds", "seconds", Q_ROLE_SECONDS, false, 1},
    {"samples", "samples", Q_ROLE_COUNT, false, 5},
    {"calls", "calls", Q_ROLE_COUNT, true, 4},
    {"generation", "generation", Q_ROLE_COUNT, false, 3},
    {"collected", "collected", Q_ROLE_COUNT, false, 5},
    {"uncollectable", "uncollectable", Q_ROLE_COUNT, false, 8},
    {"status", "state", Q_ROLE_TEXT, true, 3},
    {"cpu_s", "CPU s", Q_ROLE_SECONDS, true, 8},
    {"cpu_wait_s", "CPU wait s", Q_ROLE_SECONDS, true, 5},
    {"gil_wait_s", "GIL wait s", Q_ROLE_SECONDS, true, 6},
    {"throttled_s", "throttled", Q_ROLE_SECONDS, true, 5},
    {"lost", "lost", Q_ROLE_COUNT, true, 4},
    {"left_out", "left out", Q_ROLE_COUNT, true, 6},
    {"events", "events", Q_ROLE_TEXT, true, 3},
    {"line", "line", Q_ROLE_COUNT, false, 0},
    {"source", "source", Q_ROLE_SOURCE, false, 0},
    {"file", "where", Q_ROLE_PATH, false, 4},
    {"class", "class", Q_ROLE_TEXT, false, 5},
    {"started", "started", Q_ROLE_TEXT, true, 6},
    {"labels", "labels", Q_ROLE_TEXT, true, 3},
    {"host", "host", Q_ROLE_TEXT, true, 7},
    {"command", "command", Q_ROLE_TEXT, true, 4},
    {"detail", "detail", Q_ROLE_TEXT, true, 2},
    {"text", "", Q_ROLE_TEXT, false, 0},
    {"sql", "sql", Q_ROLE_STACK, false, 0},
    {"stack", "stack", Q_ROLE_STACK, false, 0},
    {"example", "example", Q_ROLE_TEXT, false, 6},
};

size_t
q_columns_find(const q_result *result, const char *name)
{
    size_t n = q_result_columns(result);
    for (size_t i = 0; i < n; i++)
        if (strcmp(q_result_name(result, i), name) == 0)
            return i;
    return n;
}

static bool
has(const q_result *result, const char *name)
{
    return q_columns_find(result, name) < q_result_columns(result);
}

/* Do the columns beside it say the same? */
static bool
is_spare(const q_result *result, const char *name)
{
    bool of_source = has(result, "source");
    if (strcmp(name, "line") == 0) /* stands after its file */
        return !of_source && has(result, "file");
    if (strcmp(name, "file") == 0)
        return of_source;
    if (strcmp(name, "total_s") == 0)
        return has(result, "self_s") && !has(result, "caller");
    if (strcmp(name, "self_s") == 0)
        return has(result, "caller") || has(result, "depth");
    if (strcmp(name, "self_pct") == 0)
        return has(result, "caller");
    if (strcmp(name, "function") == 0)
        return of_source;
    if (strcmp(name, "samples") == 0)
        return has(result, "gil_pct");
    if (strcmp(name, "last_s") == 0 || strcmp(name, "first_s") == 0)
        return has(result, "gil_pct");
    if (strcmp(name, "example") == 0) /* 'help VERB' shows it */
        return has(result, "answers_with");
    if (strcmp(name, "class") == 0)
        return has(result, "file") && has(result, "function");
    return false;
}

size_t
q_columns_choose(const q_result *result, q_column *ret, size_t cap)
{
    size_t n = 0;
    bool as_it_is = !q_result_title(result)[0];
    for (size_t i = 0; as_it_is && n < cap && i < q_result_columns(result); i++)
        ret[n++] =
            (q_column){q_result_name(result, i), Q_ROLE_TEXT, i, false, 0};
    for (size_t i = 0; !as_it_is && n < cap && i < sizeof shown / sizeof *shown;
         i++) {
        size_t source = q_columns_find(result, shown[i].name);
        if (source < q_result_columns(result) &&
            !is_spare(result, shown[i].name))
            ret[n++] = (q_column){shown[i].title, shown[i].role, source,
                                  shown[i].may_be_missing, shown[i].rank};
    }
    return n;
}
