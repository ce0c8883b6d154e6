/*
 * pprof_in.c - profile.proto of https://github.com/google/pprof.
 *
 * A sample has a value of time, a number of samples, or both; labels may name
 * its thread, process and state.  Samples have no order of time.
 */
#include "converter/import/frame_text.h"
#include "converter/import/imports.h"

#include <base/intern.h>
#include <base/pprof_fields.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the wire ---- */

typedef enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 } wire;

typedef struct message {
    const uint8_t *at, *end;
} message;

typedef struct field {
    uint32_t number;
    wire wire;
    uint64_t value; /* not of BYTES */
    message bytes;
} field;

static bool
take_varint(message *m, uint64_t *ret)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && m->at < m->end; shift += 7) {
        uint8_t byte = *m->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return false;
}

static bool
take_bytes(message *m, uint64_t n, message *ret)
{
    if (n > (uint64_t)(m->end - m->at))
        return false;
    *ret = (message){m->at, m->at + n};
    m->at += n;
    return true;
}

/* The next field; false: it is not one, or not whole.  Call while at < end. */
static bool
take_field(message *m, field *ret)
{
    uint64_t tag, n;
    if (!take_varint(m, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
        return false;
    *ret = (field){.number = (uint32_t)(tag >> 3), .wire = (wire)(tag & 7)};
    switch (ret->wire) {
    case VARINT:
        return take_varint(m, &ret->value);
    case FIXED64:
        return take_bytes(m, 8, &ret->bytes);
    case FIXED32:
        return take_bytes(m, 4, &ret->bytes);
    case BYTES:
        return take_varint(m, &n) && take_bytes(m, n, &ret->bytes);
    }
    return false;
}

/* ---- tables ---- */

typedef struct value_type {
    uint64_t type, unit; /* strings */
} value_type;

typedef struct function {
    uint64_t name, file; /* strings */
    uint64_t start_line;
} function;

typedef struct line {
    uint64_t function; /* id */
    uint64_t line, column;
} line;

typedef struct location {
    uint64_t address;
    size_t first, n; /* of its lines, from the innermost one */
} location;

typedef struct pprof {
    const uint8_t *begin;
    conv_stacks *stacks;
    conv_stacks_facts *facts;
    pr_text *strings;
    size_t n_strings, cap_strings;
    value_type *types;
    size_t n_types, cap_types;
    pr_set function_ids, location_ids; /* uint64_t */
    function *functions;               /* [function_ids.n] */
    size_t cap_functions;
    location *locations; /* [location_ids.n] */
    size_t cap_locations;
    line *lines;
    uint32_t *line_frame; /* [n_lines] */
    size_t n_lines, cap_lines;
    value_type period_type;
    uint64_t period, time_ns;
    size_t n_at, us_at; /* which values; SIZE_MAX: none */
    double us_a_unit;
    bool nominal; /* each time so far is that of its samples */
    /* scratch of a sample */
    uint64_t *ids, *values;
    size_t n_ids, cap_ids, n_values, cap_values;
} pprof;

static pr_code
broken(const pprof *p, const message *m, const char *what, pr_err *err)
{
    return PR_FAIL_AT(err, PR_DAMAGED, (uint64_t)(m->at - p->begin),
                      "%s is not whole", what);
}

static pr_text
string_at(const pprof *p, uint64_t i)
{
    static const pr_text none = {"", 0};
    return i < p->n_strings ? p->strings[i] : none;
}

static bool
is(pr_text text, const char *word)
{
    return text.len == strlen(word) && conv_frame_text_begins(text, word);
}

static pr_code
take_string(pprof *p, message bytes, pr_err *err)
{
    if (!pr_grow(&p->strings, &p->cap_strings, p->n_strings + 1,
                 sizeof *p->strings))
        return pr_no_memory(err);
    p->strings[p->n_strings++] =
        (pr_text){(const char *)bytes.at, (size_t)(bytes.end - bytes.at)};
    return PR_OK;
}

static bool
read_value_type(message m, value_type *ret)
{
    field f;
    *ret = (value_type){0, 0};
    while (m.at < m.end) {
        if (!take_field(&m, &f))
            return false;
        if (f.number == PR_VALUE_TYPE)
            ret->type = f.value;
        if (f.number == PR_VALUE_UNIT)
            ret->unit = f.value;
    }
    return true;
}

static pr_code
take_type(pprof *p, message m, pr_err *err)
{
    value_type type;
    if (!read_value_type(m, &type))
        return broken(p, &m, "a type of values", err);
    if (!pr_grow(&p->types, &p->cap_types, p->n_types + 1, sizeof *p->types))
        return pr_no_memory(err);
    p->types[p->n_types++] = type;
    return PR_OK;
}

static pr_code
take_function(pprof *p, message m, pr_err *err)
{
    uint64_t id = 0;
    uint32_t at;
    function new = {0};
    field f;
    while (m.at < m.end) {
        if (!take_field(&m, &f))
            return broken(p, &m, "a function", err);
        if (f.number == PR_FUNCTION_ID)
            id = f.value;
        else if (f.number == PR_FUNCTION_NAME)
            new.name = f.value;
        else if (f.number == PR_FUNCTION_FILENAME)
            new.file = f.value;
        else if (f.number == PR_FUNCTION_START_LINE)
            new.start_line = f.value;
    }
    pr_code rc = pr_set_add(&p->function_ids, &id, &at, err);
    if (rc == PR_OK && !pr_grow(&p->functions, &p->cap_functions,
                                p->function_ids.n, sizeof *p->functions))
        rc = pr_no_memory(err);
    if (rc == PR_OK)
        p->functions[at] = new;
    return rc;
}

static pr_code
take_line(pprof *p, message m, pr_err *err)
{
    line new = {0};
    field f;
    while (m.at < m.end) {
        if (!take_field(&m, &f))
            return broken(p, &m, "a line", err);
        if (f.number == PR_LINE_FUNCTION)
            new.function = f.value;
        else if (f.number == PR_LINE_LINE)
            new.line = f.value;
        else if (f.number == PR_LINE_COLUMN)
            new.column = f.value;
    }
    if (!pr_grow(&p->lines, &p->cap_lines, p->n_lines + 1, sizeof *p->lines))
        return pr_no_memory(err);
    p->lines[p->n_lines++] = new;
    return PR_OK;
}

static pr_code
take_location(pprof *p, message m, pr_err *err)
{
    uint64_t id = 0;
    uint32_t at;
    location new = {.first = p->n_lines};
    field f;
    pr_code rc = PR_OK;
    while (m.at < m.end && rc == PR_OK) {
        if (!take_field(&m, &f))
            return broken(p, &m, "a location", err);
        if (f.number == PR_LOCATION_ID)
            id = f.value;
        else if (f.number == PR_LOCATION_ADDRESS)
            new.address = f.value;
        else if (f.number == PR_LOCATION_LINE && f.wire == BYTES)
            rc = take_line(p, f.bytes, err);
    }
    if (rc == PR_OK && p->n_lines == new.first) /* only an address */
        rc = take_line(p, (message){m.end, m.end}, err);
    new.n = p->n_lines - new.first;
    if (rc == PR_OK)
        rc = pr_set_add(&p->location_ids, &id, &at, err);
    if (rc == PR_OK && !pr_grow(&p->locations, &p->cap_locations,
                                p->location_ids.n, sizeof *p->locations))
        rc = pr_no_memory(err);
    if (rc == PR_OK)
        p->locations[at] = new;
    return rc;
}

static pr_code
take_entry(pprof *p, const message *m, const field *f, pr_err *err)
{
    if (f->wire == BYTES) {
        switch (f->number) {
        case PR_PROFILE_SAMPLE_TYPE:
            return take_type(p, f->bytes, err);
        case PR_PROFILE_LOCATION:
            return take_location(p, f->bytes, err);
        case PR_PROFILE_FUNCTION:
            return take_function(p, f->bytes, err);
        case PR_PROFILE_STRING:
            return take_string(p, f->bytes, err);
        case PR_PROFILE_PERIOD_TYPE:
            return read_value_type(f->bytes, &p->period_type)
                       ? PR_OK
                       : broken(p, m, "the type of the period", err);
        default:
            return PR_OK;
        }
    }
    if (f->number == PR_PROFILE_TIME_NANOS)
        p->time_ns = f->value;
    if (f->number == PR_PROFILE_PERIOD)
        p->period = f->value;
    return PR_OK;
}

static pr_code
read_tables(pprof *p, message m, pr_err *err)
{
    pr_code rc = PR_OK;
    field f;
    while (m.at < m.end && rc == PR_OK) {
        message before = m;
        if (!take_field(&m, &f))
            return broken(p, &before, "a field", err);
        rc = take_entry(p, &before, &f, err);
    }
    return rc;
}

/* ---- frames ---- */

static int32_t
line_number(uint64_t value)
{
    return value < INT32_MAX ? (int32_t)value : 0;
}

static pr_code
make_frame(pprof *p, const location *l, const line *at, uint32_t *ret,
           pr_err *err)
{
    char address[24];
    uint32_t i = pr_set_find(&p->function_ids, &at->function);
    const function *f = i == PR_TABLE_NONE ? NULL : &p->functions[i];
    int n = snprintf(address, sizeof address, "0x%" PRIx64, l->address);
    pr_text name =
        f ? string_at(p, f->name) : (pr_text){address, n > 0 ? (size_t)n : 0};
    pr_text file = f ? string_at(p, f->file) : (pr_text){"", 0};
    conv_place place = conv_frame_text_name(name);
    if (file.len && !is(file, PR_SYNTHETIC_FILE)) {
        place.file = file;
        place.line = place.end_line = line_number(at->line);
        place.first_line = f ? line_number(f->start_line) : 0;
    }
    if (at->column && at->column < INT32_MAX) {
        place.column = (int32_t)at->column - 1; /* columns count from 1 */
        place.end_column = place.column;
    }
    return conv_stacks_frame(p->stacks, &place, ret, err);
}

static pr_code
make_frames(pprof *p, pr_err *err)
{
    p->line_frame = calloc(p->n_lines + 1, sizeof *p->line_frame);
    pr_code rc = p->line_frame ? PR_OK : pr_no_memory(err);
    for (size_t i = 0; i < p->location_ids.n && rc == PR_OK; i++) {
        const location *l = &p->locations[i];
        for (size_t k = l->first; k < l->first + l->n && rc == PR_OK; k++)
            rc = make_frame(p, l, &p->lines[k], &p->line_frame[k], err);
    }
    return rc;
}

/* ---- values ---- */

/* Microseconds of a unit of time; 0: it is another unit. */
static double
unit_us(pr_text unit)
{
    static const struct {
        const char *name;
        double us;
    } units[] = {{"nanoseconds", 1e-3},
                 {"microseconds", 1},
                 {"milliseconds", 1e3},
                 {"seconds", 1e6}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (is(unit, units[i].name))
            return units[i].us;
    return 0;
}

/* The last value of a unit of time, and that of samples. */
static pr_code
choose_values(pprof *p, pr_err *err)
{
    p->n_at = p->us_at = SIZE_MAX;
    for (size_t i = 0; i < p->n_types; i++) {
        pr_text unit = string_at(p, p->types[i].unit);
        if (unit_us(unit) > 0) {
            p->us_at = i;
            p->us_a_unit = unit_us(unit);
        } else if (is(unit, "count") &&
                   is(string_at(p, p->types[i].type), "samples")) {
            p->n_at = i;
        }
    }
    double period =
        unit_us(string_at(p, p->period_type.unit)) * (double)p->period;
    if (period >= 1 && period < 4e9)
        p->facts->interval_us = (uint64_t)(period + 0.5);
    if (p->n_at == SIZE_MAX && p->us_at == SIZE_MAX)
        return PR_FAIL(err, PR_USAGE, "it holds neither samples nor time");
    return PR_OK;
}

/* ---- samples ---- */

static bool
add_number(uint64_t **at, size_t *n, size_t *cap, uint64_t value)
{
    if (!pr_grow(at, cap, *n + 1, sizeof **at))
        return false;
    (*at)[(*n)++] = value;
    return true;
}

/* Numbers are packed into bytes or each a field. */
static pr_code
take_numbers(const pprof *p, const field *f, uint64_t **at, size_t *n,
             size_t *cap, pr_err *err)
{
    message m = f->bytes;
    uint64_t value = f->value;
    if (f->wire == VARINT)
        return add_number(at, n, cap, value) ? PR_OK : pr_no_memory(err);
    while (m.at < m.end) {
        if (!take_varint(&m, &value))
            return broken(p, &m, "a number", err);
        if (!add_number(at, n, cap, value))
            return pr_no_memory(err);
    }
    return PR_OK;
}

typedef struct labels {
    conv_owner owner;
    pr_text thread, process;
    uint8_t status;
} labels;

static void
set_label(labels *l, pr_text key, pr_text text, uint64_t number)
{
    static const struct {
        const char *name;
        uint8_t status;
    } states[] = {{"gil", PR_HAS_GIL | PR_CPU_UNKNOWN},
                  {"waiting", PR_GIL_REQUESTED | PR_CPU_UNKNOWN},
                  {"cpu", PR_ON_CPU},
                  {"idle", 0}};
    if (is(key, "tid") || is(key, "thread id") || is(key, "thread_id"))
        l->owner.tid = number;
    else if (is(key, "pid") || is(key, "process_id"))
        l->owner.pid = number;
    else if (is(key, "thread") || is(key, "thread name"))
        l->thread = text;
    else if (is(key, "process"))
        l->process = text;
    for (size_t i = 0; is(key, "state") && i < sizeof states / sizeof *states;
         i++)
        if (is(text, states[i].name))
            l->status = states[i].status;
}

static pr_code
take_label(const pprof *p, message m, labels *l, pr_err *err)
{
    uint64_t key = 0, text = 0, number = 0;
    field f;
    while (m.at < m.end) {
        if (!take_field(&m, &f))
            return broken(p, &m, "a label", err);
        if (f.number == PR_LABEL_KEY)
            key = f.value;
        else if (f.number == PR_LABEL_STR)
            text = f.value;
        else if (f.number == PR_LABEL_NUM)
            number = f.value;
    }
    set_label(l, string_at(p, key), string_at(p, text), number);
    return PR_OK;
}

/* pyconv's labels name the thread and the process with their numbers. */
static conv_owner
owner_of(const labels *l)
{
    conv_owner owner = l->owner, named = {0};
    owner.name = l->thread;
    if (conv_frame_text_thread(l->thread, &named) && named.tid == owner.tid) {
        owner.name = named.name;
        owner.interp = named.interp;
    }
    if (conv_frame_text_process(l->process, &named) && named.pid == owner.pid)
        owner.command = named.command;
    return owner;
}

/* From the outermost frame. */
static pr_code
make_stack(pprof *p, uint32_t *ret, pr_err *err)
{
    pr_code rc = PR_OK;
    *ret = 0;
    for (size_t i = p->n_ids; i-- > 0 && rc == PR_OK;) {
        uint32_t at = pr_set_find(&p->location_ids, &p->ids[i]);
        if (at == PR_TABLE_NONE)
            return PR_FAIL(err, PR_DAMAGED, "there is no location %" PRIu64,
                           p->ids[i]);
        const location *l = &p->locations[at];
        for (size_t k = l->first + l->n; k-- > l->first && rc == PR_OK;)
            rc = conv_stacks_child(p->stacks, *ret, p->line_frame[k], ret, err);
    }
    return rc;
}

static uint64_t
value_at(const pprof *p, size_t i)
{
    uint64_t value = i < p->n_values ? p->values[i] : 0;
    return value > INT64_MAX ? 0 : value; /* negative in a difference */
}

static pr_code
add_sample(pprof *p, const labels *l, pr_err *err)
{
    conv_owner owner = owner_of(l);
    conv_entry_value value = {
        .n = value_at(p, p->n_at),
        .us = (uint64_t)((double)value_at(p, p->us_at) * p->us_a_unit + 0.5),
        .status = l->status};
    uint32_t thread, stack;
    p->nominal &= value.us == value.n * p->facts->interval_us;
    pr_code rc = conv_stacks_thread(p->stacks, &owner, &thread, err);
    if (rc == PR_OK)
        rc = make_stack(p, &stack, err);
    return rc == PR_OK ? conv_stacks_add(p->stacks, thread, stack, &value, err)
                       : rc;
}

static pr_code
take_sample(pprof *p, message m, pr_err *err)
{
    labels l = {.status = PR_CPU_UNKNOWN};
    field f;
    pr_code rc = PR_OK;
    p->n_ids = p->n_values = 0;
    while (m.at < m.end && rc == PR_OK) {
        if (!take_field(&m, &f))
            return broken(p, &m, "a sample", err);
        if (f.number == PR_SAMPLE_LOCATION)
            rc = take_numbers(p, &f, &p->ids, &p->n_ids, &p->cap_ids, err);
        else if (f.number == PR_SAMPLE_VALUE)
            rc = take_numbers(p, &f, &p->values, &p->n_values, &p->cap_values,
                              err);
        else if (f.number == PR_SAMPLE_LABEL && f.wire == BYTES)
            rc = take_label(p, f.bytes, &l, err);
    }
    return rc == PR_OK ? add_sample(p, &l, err) : rc;
}

static pr_code
read_samples(pprof *p, message m, pr_err *err)
{
    pr_code rc = PR_OK;
    field f;
    while (m.at < m.end && rc == PR_OK && take_field(&m, &f))
        if (f.number == PR_PROFILE_SAMPLE && f.wire == BYTES)
            rc = take_sample(p, f.bytes, err);
    return rc;
}

/* ---- the import ---- */

/* In these modes every sample stands for one interval: the times must say so. */
static pr_mode
mode_of(const pprof *p)
{
    static const struct {
        const char *name;
        pr_mode mode;
    } modes[] = {{"cpu", PR_MODE_CPU},
                 {"gil", PR_MODE_GIL},
                 {"exception", PR_MODE_EXCEPTION}};
    pr_text type = p->us_at < p->n_types ? string_at(p, p->types[p->us_at].type)
                                         : (pr_text){"", 0};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (p->nominal && is(type, modes[i].name))
            return modes[i].mode;
    return is(type, "wall") ? PR_MODE_WALL : PR_MODE_UNKNOWN;
}

static pr_code
read_profile(pprof *p, message m, pr_err *err)
{
    pr_code rc = read_tables(p, m, err);
    if (rc == PR_OK)
        rc = choose_values(p, err);
    if (rc == PR_OK)
        rc = make_frames(p, err);
    if (rc == PR_OK)
        rc = read_samples(p, m, err);
    p->facts->mode = mode_of(p);
    p->facts->wall_us = p->time_ns <= INT64_MAX ? p->time_ns / 1000 : 0;
    p->facts->assumed_us = 10000;
    return rc;
}

static pr_code
read_pprof(conv_content file, conv_stacks *stacks, conv_stacks_facts *facts,
           pr_err *err)
{
    pprof p = {
        .begin = file.bytes, .stacks = stacks, .facts = facts, .nominal = true};
    p.function_ids.size = p.location_ids.size = sizeof(uint64_t);
    pr_code rc =
        read_profile(&p, (message){file.bytes, file.bytes + file.n}, err);
    pr_set_release(&p.function_ids);
    pr_set_release(&p.location_ids);
    free(p.strings);
    free(p.types);
    free(p.functions);
    free(p.locations);
    free(p.lines);
    free(p.line_frame);
    free(p.ids);
    free(p.values);
    return rc;
}

/* The fields of a profile and their wires, and a byte that no text has. */
static bool
matches_pprof(conv_content head, bool whole)
{
    static const uint8_t wires[PR_PROFILE_FIELD_MAX + 1] = {
        0, BYTES,  BYTES,  BYTES, BYTES,  BYTES, BYTES,  VARINT,
        0, VARINT, VARINT, BYTES, VARINT, BYTES, VARINT, VARINT};
    message m = {head.bytes, head.bytes + head.n};
    bool binary = false;
    size_t n = 0;
    for (size_t i = 0; i < head.n && !binary; i++)
        binary = head.bytes[i] < 9;
    while (m.at < m.end) {
        const uint8_t *at = m.at;
        field f;
        if (!take_field(&m, &f))
            return binary && n > 0 && !whole && at > head.bytes;
        bool numbers = f.number == PR_PROFILE_COMMENT && f.wire == VARINT;
        if (f.number == 0 || f.number > PR_PROFILE_FIELD_MAX ||
            (f.wire != (wire)wires[f.number] && !numbers))
            return false;
        n++;
    }
    return binary && n > 0;
}

const conv_import conv_import_pprof = {
    .info = {"pprof", "profile.proto of pprof, as Go, Pyroscope and others "
                      "write it"},
    .matches = matches_pprof,
    .read = read_pprof,
};
