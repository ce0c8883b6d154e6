/*
 * engine.c - the engines: one line each.
 */
#include "query/remote/engine.h"

#include <string.h>

static const q_engine *const engines[] = {&q_clickhouse, &q_postgres};

static bool
has_scheme(const char *address, const char *scheme)
{
    size_t n = scheme ? strlen(scheme) : 0;
    return n && strncmp(address, scheme, n) == 0 &&
           strncmp(address + n, "://", 3) == 0;
}

const q_engine *
q_engine_of(const char *address)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (has_scheme(address, engines[i]->scheme) ||
            has_scheme(address, engines[i]->other_scheme))
            return engines[i];
    return NULL;
}
