/*
 * columns.c - the table of columns, in the order in which they are shown.
 */
#include "query/columns.h"

#include <string.h>

/* Names first, then what was done, then what was waited for, then where. */
static const struct shown {
    const char *name, *title;
    q_role role;
    bool may_be_missing;
} shown[] = {
    {"what", "what", Q_ROLE_TEXT, false},
    {"verb", "verb", Q_ROLE_TEXT, false},
    {"topic", "topic", Q_ROLE_TEXT, false},
    {"answers_with", "answers with", Q_ROLE_TEXT, false},
    {"value", "value", Q_ROLE_TEXT, false},
    {"step", "step", Q_ROLE_TEXT, false},
    {"time_s", "time", Q_ROLE_SECONDS, false},
    {"label", "label", Q_ROLE_TEXT, false},
    {"profile_id", "id", Q_ROLE_COUNT, false},
    {"profile", "profile", Q_ROLE_PATH, false},
    {"thread", "thread", Q_ROLE_TEXT, true},
    {"tid", "tid", Q_ROLE_COUNT, false},
    {"pid", "pid", Q_ROLE_COUNT, true},
    {"kind", "kind", Q_ROLE_TEXT, false},
    {"reason", "reason", Q_ROLE_TEXT, false},
    {"function", "function", Q_ROLE_FUNCTION, false},
    {"build", "build", Q_ROLE_TEXT, false},
    {"n_runs", "runs", Q_ROLE_COUNT, false},
    {"build_s", "seconds", Q_ROLE_SECONDS, false},
    {"first_build_s", "first s", Q_ROLE_SECONDS, false},
    {"last_build_s", "last s", Q_ROLE_SECONDS, false},
    {"level_pct", "level", Q_ROLE_CHANGE, false},
    {"point", "change of level", Q_ROLE_TEXT, true},
    {"changes", "changes", Q_ROLE_TEXT, true},
    {"newest_text", "newest builds", Q_ROLE_TEXT, true},
    {"trend", "trend", Q_ROLE_TEXT, false},
    {"outcome", "rule", Q_ROLE_TEXT, false},
    {"rule", "", Q_ROLE_TEXT, false},
    {"why", "why", Q_ROLE_TEXT, false},
    {"finding", "verdict", Q_ROLE_TEXT, false},
    {"base_s", "base s", Q_ROLE_SECONDS, false},
    {"new_s", "new s", Q_ROLE_SECONDS, false},
    {"change_pct", "change", Q_ROLE_CHANGE, true},
    {"interval", "95% interval", Q_ROLE_TEXT, true},
    {"raw_pct", "raw", Q_ROLE_CHANGE, true},
    {"sd_pct", "sd", Q_ROLE_PERCENT, true},
    {"adjusted_p", "p", Q_ROLE_CHANCE, true},
    {"detectable_pct", "detects", Q_ROLE_CHANGE, true},
    {"note", "note", Q_ROLE_TEXT, true},
    {"runs", "runs", Q_ROLE_TEXT, true},
    {"task", "task", Q_ROLE_TEXT, false},
    {"module", "module", Q_ROLE_TEXT, false},
    {"opcode", "opcode", Q_ROLE_TEXT, false},
    {"caller", "caller", Q_ROLE_FUNCTION, false},
    {"callee", "callee", Q_ROLE_FUNCTION, false},
    {"self_ran_pct", "ran", Q_ROLE_PERCENT, true},
    {"ran_pct", "ran", Q_ROLE_PERCENT, true},
    {"self_pct", "self", Q_ROLE_PERCENT, false},
    {"total_pct", "total", Q_ROLE_PERCENT, false},
    {"pct", "share", Q_ROLE_PERCENT, false},
    {"gil_pct", "GIL", Q_ROLE_PERCENT, false},
    {"cpu_pct", "CPU", Q_ROLE_PERCENT, false},
    {"waiting_pct", "waits", Q_ROLE_PERCENT, false},
    {"idle_pct", "idle", Q_ROLE_PERCENT, false},
    {"self_s", "self s", Q_ROLE_SECONDS, false},
    {"total_s", "total s", Q_ROLE_SECONDS, false},
    {"function_s", "its s", Q_ROLE_SECONDS, false},
    {"first_s", "from s", Q_ROLE_SECONDS, true},
    {"last_s", "to s", Q_ROLE_SECONDS, true},
    {"seconds", "seconds", Q_ROLE_SECONDS, false},
    {"samples", "samples", Q_ROLE_COUNT, false},
    {"generation", "generation", Q_ROLE_COUNT, false},
    {"collected", "collected", Q_ROLE_COUNT, false},
    {"uncollectable", "uncollectable", Q_ROLE_COUNT, false},
    {"status", "state", Q_ROLE_TEXT, false},
    {"cpu_s", "CPU s", Q_ROLE_SECONDS, true},
    {"cpu_wait_s", "CPU wait", Q_ROLE_SECONDS, true},
    {"gil_wait_s", "GIL wait", Q_ROLE_SECONDS, true},
    {"throttled_s", "throttled", Q_ROLE_SECONDS, true},
    {"lost", "lost", Q_ROLE_COUNT, true},
    {"left_out", "left out", Q_ROLE_COUNT, true},
    {"events", "events", Q_ROLE_TEXT, true},
    {"line", "line", Q_ROLE_COUNT, false},
    {"source", "source", Q_ROLE_SOURCE, false},
    {"file", "where", Q_ROLE_PATH, false},
    {"class", "class", Q_ROLE_TEXT, false},
    {"started", "started", Q_ROLE_TEXT, true},
    {"labels", "labels", Q_ROLE_TEXT, true},
    {"host", "host", Q_ROLE_TEXT, true},
    {"command", "command", Q_ROLE_TEXT, true},
    {"detail", "detail", Q_ROLE_TEXT, true},
    {"text", "", Q_ROLE_TEXT, false},
    {"sql", "sql", Q_ROLE_STACK, false},
    {"stack", "stack", Q_ROLE_STACK, false},
    {"example", "example", Q_ROLE_TEXT, false},
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

/* What the columns beside it say already. */
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
        ret[n++] = (q_column){q_result_name(result, i), Q_ROLE_TEXT, i, false};
    for (size_t i = 0; !as_it_is && n < cap && i < sizeof shown / sizeof *shown;
         i++) {
        size_t source = q_columns_find(result, shown[i].name);
        if (source < q_result_columns(result) &&
            !is_spare(result, shown[i].name))
            ret[n++] = (q_column){shown[i].title, shown[i].role, source,
                                  shown[i].may_be_missing};
    }
    return n;
}
