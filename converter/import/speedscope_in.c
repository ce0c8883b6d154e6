/*
 * speedscope_in.c - https://www.speedscope.app/file-format-schema.json, both
 * kinds of profiles: sampled and evented.
 *
 * Each profile becomes a thread; its name may be that of one of pyconv's
 * threads.  pyconv's own profile of all threads is left out, its frames
 * (idle) and (not observed) are an empty stack and a gap, and its lines are
 * the functions' first ones.
 */
#include "converter/import/frame_text.h"
#include "converter/import/imports.h"
#include "converter/import/json_in.h"

#include <base/intern.h>
#include <stdlib.h>
#include <string.h>

/* Frames that are none. */
enum { IDLE = -1, UNOBSERVED = -2 };

typedef struct part {
    const uint8_t *at; /* NULL: the member is missing */
} part;

typedef struct profile {
    size_t name, n_name; /* in scope.names */
    double start, end;   /* in its unit */
    double us_a_unit;    /* 0: the unit counts samples */
    bool evented;
    part samples, weights, events;
} profile;

typedef struct scope {
    conv_content file;
    conv_stacks *stacks;
    bool ours;      /* pyconv wrote it */
    int64_t *frame; /* id, IDLE or UNOBSERVED */
    size_t n_frames, cap_frames;
    profile *profiles;
    size_t n_profiles, cap_profiles;
    pr_buffer names, text, key;
} scope;

static conv_json_in
cursor_at(const scope *s, const uint8_t *at)
{
    return (conv_json_in){s->file.bytes, at, s->file.bytes + s->file.n, NULL};
}

static bool
skip_to(conv_json_in *in, part *ret)
{
    ret->at = in->at;
    return conv_json_in_skip(in);
}

/* ---- frames ---- */

static pr_text
text_of(const pr_buffer *text)
{
    return (pr_text){text->at, text->len};
}

static bool
line_of(conv_json_in *in, int32_t *ret)
{
    double value;
    if (conv_json_in_kind(in) != '0')
        return conv_json_in_skip(in);
    if (!conv_json_in_number(in, &value))
        return false;
    *ret = value >= 0 && value < INT32_MAX ? (int32_t)value : 0;
    return true;
}

/* name, file and line of a frame; names: the texts of both, one after the
 * other. */
static bool
read_frame(scope *s, conv_json_in *in, pr_buffer *names, conv_place *ret)
{
    bool first = true;
    size_t name = 0, n_name = 0, file = 0, n_file = 0;
    int32_t line = 0;
    pr_buffer_reset(names);
    if (!conv_json_in_enter(in, '{'))
        return false;
    while (conv_json_in_member(in, &first, &s->key)) {
        bool is_name = conv_json_in_is(&s->key, "name");
        bool is_file = conv_json_in_is(&s->key, "file");
        if ((is_name || is_file) && conv_json_in_kind(in) == '"') {
            conv_json_in_string(in, &s->text);
            *(is_name ? &name : &file) = names->len;
            *(is_name ? &n_name : &n_file) = s->text.len;
            pr_buffer_append(names, s->text.at, s->text.len);
        } else if (conv_json_in_is(&s->key, "line")) {
            line_of(in, &line);
        } else {
            conv_json_in_skip(in);
        }
    }
    if (in->fault || names->failed)
        return false;
    *ret = conv_frame_text_name((pr_text){pr_buffer_from(names, name), n_name});
    if (n_file) {
        ret->file = (pr_text){pr_buffer_from(names, file), n_file};
        ret->line = ret->end_line = line;
        ret->first_line = s->ours ? line : 0;
    }
    return true;
}

static pr_code
add_frame(scope *s, const conv_place *place, pr_err *err)
{
    static const char idle[] = "(idle)", unobserved[] = "(not observed)";
    uint32_t id;
    pr_text name = place->function;
    if (!pr_grow(&s->frame, &s->cap_frames, s->n_frames + 1, sizeof *s->frame))
        return pr_no_memory(err);
    bool whole = s->ours && place->file.len == 0;
    if (whole && name.len == sizeof idle - 1 &&
        conv_frame_text_begins(name, idle)) {
        s->frame[s->n_frames++] = IDLE;
        return PR_OK;
    }
    if (whole && name.len == sizeof unobserved - 1 &&
        conv_frame_text_begins(name, unobserved)) {
        s->frame[s->n_frames++] = UNOBSERVED;
        return PR_OK;
    }
    pr_code rc = conv_stacks_frame(s->stacks, place, &id, err);
    if (rc == PR_OK)
        s->frame[s->n_frames++] = id;
    return rc;
}

static pr_code
read_frames(scope *s, conv_json_in *in, pr_err *err)
{
    pr_buffer names = {0};
    bool first = true;
    pr_code rc = PR_OK;
    conv_json_in_enter(in, '[');
    while (rc == PR_OK && conv_json_in_item(in, &first)) {
        conv_place place;
        if (!read_frame(s, in, &names, &place))
            break;
        rc = add_frame(s, &place, err);
    }
    if (names.failed)
        rc = pr_no_memory(err);
    pr_buffer_release(&names);
    return rc == PR_OK ? conv_json_in_end(in, err) : rc;
}

static pr_code
read_shared(scope *s, part shared, pr_err *err)
{
    conv_json_in in = cursor_at(s, shared.at);
    bool first = true;
    pr_code rc = PR_OK;
    conv_json_in_enter(&in, '{');
    while (rc == PR_OK && conv_json_in_member(&in, &first, &s->key)) {
        if (conv_json_in_is(&s->key, "frames"))
            rc = read_frames(s, &in, err);
        else
            conv_json_in_skip(&in);
    }
    return rc == PR_OK ? conv_json_in_end(&in, err) : rc;
}

/* ---- the members of a profile ---- */

static bool
set_unit(profile *p, const pr_buffer *text)
{
    static const struct {
        const char *name;
        double us;
    } units[] = {{"none", 0},
                 {"nanoseconds", 1e-3},
                 {"microseconds", 1},
                 {"milliseconds", 1e3},
                 {"seconds", 1e6}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (conv_json_in_is(text, units[i].name)) {
            p->us_a_unit = units[i].us;
            return true;
        }
    return false;
}

static bool
read_member(scope *s, conv_json_in *in, profile *p)
{
    const pr_buffer *key = &s->key;
    if (conv_json_in_is(key, "samples"))
        return skip_to(in, &p->samples);
    if (conv_json_in_is(key, "weights"))
        return skip_to(in, &p->weights);
    if (conv_json_in_is(key, "events"))
        return skip_to(in, &p->events);
    if (conv_json_in_is(key, "startValue"))
        return conv_json_in_number(in, &p->start);
    if (conv_json_in_is(key, "endValue"))
        return conv_json_in_number(in, &p->end);
    if (conv_json_in_is(key, "type")) {
        if (!conv_json_in_string(in, &s->text))
            return false;
        p->evented = conv_json_in_is(&s->text, "evented");
        return true;
    }
    if (conv_json_in_is(key, "unit")) {
        if (!conv_json_in_string(in, &s->text))
            return false;
        if (!set_unit(p, &s->text))
            in->fault = "the unit is not one of time";
        return !in->fault;
    }
    if (!conv_json_in_is(key, "name"))
        return conv_json_in_skip(in);
    if (!conv_json_in_string(in, &s->text))
        return false;
    p->name = s->names.len;
    p->n_name = s->text.len;
    pr_buffer_append(&s->names, s->text.at, s->text.len);
    return true;
}

static pr_code
read_heads(scope *s, part profiles, pr_err *err)
{
    conv_json_in in = cursor_at(s, profiles.at);
    bool first = true;
    conv_json_in_enter(&in, '[');
    while (conv_json_in_item(&in, &first)) {
        bool first_member = true;
        if (!pr_grow(&s->profiles, &s->cap_profiles, s->n_profiles + 1,
                     sizeof *s->profiles))
            return pr_no_memory(err);
        profile *p = &s->profiles[s->n_profiles++];
        *p = (profile){.us_a_unit = 0};
        conv_json_in_enter(&in, '{');
        while (conv_json_in_member(&in, &first_member, &s->key) &&
               read_member(s, &in, p))
            ;
        if (in.fault)
            break;
    }
    return conv_json_in_end(&in, err);
}

/* ---- samples ---- */

/* Amounts of a profile in whole microseconds or samples: the sum is rounded,
 * so that no error adds up. */
typedef struct amounts {
    double scale, sum;
    uint64_t given;
} amounts;

static uint64_t
take_amount(amounts *a, double value)
{
    a->sum += value * a->scale;
    if (!(a->sum > (double)a->given))
        return 0;
    double most = 4e18;
    uint64_t all = (uint64_t)((a->sum < most ? a->sum : most) + 0.5);
    uint64_t more = all > a->given ? all - a->given : 0;
    a->given += more;
    return more;
}

static pr_code
add_amount(const scope *s, const profile *p, uint32_t thread, uint32_t node,
           uint64_t amount, pr_err *err)
{
    const conv_entry_value value = {.n = p->us_a_unit > 0 ? 0 : amount,
                                    .us = p->us_a_unit > 0 ? amount : 0,
                                    .status = PR_CPU_UNKNOWN};
    return conv_stacks_add(s->stacks, thread, node, &value, err);
}

static bool
take_index(const scope *s, conv_json_in *in, int64_t *ret)
{
    double index;
    if (!conv_json_in_number(in, &index))
        return false;
    if (!(index >= 0 && index < (double)s->n_frames)) {
        in->fault = "there is no such frame";
        return false;
    }
    *ret = s->frame[(size_t)index];
    return true;
}

/* A list of frames, from the outermost one; *ret UINT32_MAX: not observed. */
static pr_code
read_stack(const scope *s, conv_json_in *in, uint32_t *ret, pr_err *err)
{
    bool first = true, unobserved = false;
    int64_t frame;
    pr_code rc = PR_OK;
    *ret = 0;
    conv_json_in_enter(in, '[');
    while (rc == PR_OK && conv_json_in_item(in, &first) &&
           take_index(s, in, &frame)) {
        unobserved |= frame == UNOBSERVED;
        if (frame >= 0)
            rc = conv_stacks_child(s->stacks, *ret, (uint32_t)frame, ret, err);
    }
    if (unobserved)
        *ret = UINT32_MAX;
    return rc == PR_OK ? conv_json_in_end(in, err) : rc;
}

static pr_code
read_sampled(const scope *s, const profile *p, uint32_t thread, amounts *sum,
             pr_err *err)
{
    conv_json_in samples = cursor_at(s, p->samples.at);
    conv_json_in weights = cursor_at(s, p->weights.at);
    bool first = true, first_weight = true;
    pr_code rc = PR_OK;
    conv_json_in_enter(&samples, '[');
    conv_json_in_enter(&weights, '[');
    while (rc == PR_OK && conv_json_in_item(&samples, &first)) {
        uint32_t node;
        double weight;
        rc = read_stack(s, &samples, &node, err);
        if (rc != PR_OK)
            return rc;
        if (!conv_json_in_item(&weights, &first_weight))
            samples.fault = "it has more samples than weights";
        else if (conv_json_in_number(&weights, &weight) && weight < 0)
            weights.fault = "a weight is negative";
        if (samples.fault || weights.fault)
            break;
        uint64_t amount = take_amount(sum, weight);
        rc = node == UINT32_MAX
                 ? conv_stacks_gap(s->stacks, thread, amount, err)
                 : add_amount(s, p, thread, node, amount, err);
    }
    if (rc == PR_OK)
        rc = conv_json_in_end(&weights, err);
    return rc == PR_OK ? conv_json_in_end(&samples, err) : rc;
}

/* ---- events ---- */

typedef struct event {
    bool opens;
    int64_t frame;
    double at;
} event;

static bool
read_event(scope *s, conv_json_in *in, event *ret)
{
    bool first = true, has_frame = false;
    *ret = (event){.at = 0};
    conv_json_in_enter(in, '{');
    while (conv_json_in_member(in, &first, &s->key)) {
        if (conv_json_in_is(&s->key, "type")) {
            conv_json_in_string(in, &s->text);
            ret->opens = conv_json_in_is(&s->text, "O");
        } else if (conv_json_in_is(&s->key, "frame")) {
            has_frame = take_index(s, in, &ret->frame);
        } else if (conv_json_in_is(&s->key, "at")) {
            conv_json_in_number(in, &ret->at);
        } else {
            conv_json_in_skip(in);
        }
    }
    if (!in->fault && (!has_frame || ret->frame < 0))
        in->fault = "an event has no frame";
    return !in->fault;
}

static pr_code
apply_event(const scope *s, conv_json_in *in, const event *e, uint32_t *stack,
            pr_err *err)
{
    if (e->opens)
        return conv_stacks_child(s->stacks, *stack, (uint32_t)e->frame, stack,
                                 err);
    if (*stack == 0 || conv_stacks_top(s->stacks, *stack) != e->frame)
        in->fault = "a frame ends that is not the innermost one";
    else
        *stack = conv_stacks_parent(s->stacks, *stack);
    return PR_OK;
}

static pr_code
read_evented(scope *s, const profile *p, uint32_t thread, amounts *sum,
             pr_err *err)
{
    conv_json_in in = cursor_at(s, p->events.at);
    bool first = true;
    double now = p->start;
    uint32_t stack = 0;
    event e;
    pr_code rc = PR_OK;
    conv_json_in_enter(&in, '[');
    while (rc == PR_OK && conv_json_in_item(&in, &first) &&
           read_event(s, &in, &e)) {
        if (e.at < now)
            in.fault = "an event is earlier than the one before it";
        if (in.fault)
            break;
        rc = add_amount(s, p, thread, stack, take_amount(sum, e.at - now), err);
        now = e.at;
        if (rc == PR_OK)
            rc = apply_event(s, &in, &e, &stack, err);
    }
    return rc == PR_OK ? conv_json_in_end(&in, err) : rc;
}

/* ---- profiles ---- */

static pr_text
name_of(const scope *s, const profile *p)
{
    return (pr_text){pr_buffer_from(&s->names, p->name), p->n_name};
}

/* pyconv: "NAME (tid)", or "COMMAND (pid N), NAME (tid)". */
static conv_owner
owner_of(const scope *s, const profile *p, size_t i)
{
    conv_owner owner = {.tid = i + 1, .name = name_of(s, p)}, named = {0};
    if (!s->ours)
        return owner;
    pr_text text = owner.name;
    for (size_t at = 0; at + 2 < text.len; at++) {
        conv_owner process = {0};
        if (memcmp(text.bytes + at, "), ", 3) == 0 &&
            conv_frame_text_process((pr_text){text.bytes, at + 1}, &process)) {
            named = process;
            text = conv_frame_text_after(text, at + 3);
            break;
        }
    }
    return conv_frame_text_thread(text, &named) ? named : owner;
}

static pr_code
read_profile(scope *s, size_t i, double origin, pr_err *err)
{
    const profile *p = &s->profiles[i];
    conv_owner owner = owner_of(s, p, i);
    uint32_t thread;
    amounts sum = {.scale = p->us_a_unit > 0 ? p->us_a_unit : 1};
    if (p->evented ? !p->events.at : !p->samples.at || !p->weights.at)
        return PR_FAIL(err, PR_DAMAGED, "profile %zu has no samples", i + 1);
    pr_code rc = conv_stacks_thread(s->stacks, &owner, &thread, err);
    if (rc == PR_OK && p->us_a_unit > 0)
        rc = conv_stacks_gap(s->stacks, thread,
                             take_amount(&sum, p->start - origin), err);
    if (rc == PR_OK)
        rc = p->evented ? read_evented(s, p, thread, &sum, err)
                        : read_sampled(s, p, thread, &sum, err);
    if (rc == PR_OK && p->us_a_unit > 0)
        rc = conv_stacks_gap(
            s->stacks, thread,
            take_amount(&sum, p->end - origin - sum.sum / sum.scale), err);
    return rc;
}

static bool
is_sum_of_threads(const scope *s)
{
    static const char all[] = "all threads";
    pr_text name = name_of(s, &s->profiles[0]);
    return s->ours && s->n_profiles > 1 && name.len == sizeof all - 1 &&
           conv_frame_text_begins(name, all);
}

static pr_code
read_profiles(scope *s, conv_stacks_facts *facts, pr_err *err)
{
    double origin = s->n_profiles ? s->profiles[0].start : 0;
    pr_code rc = PR_OK;
    facts->in_time = s->n_profiles > 0;
    facts->assumed_us = 10000;
    for (size_t i = 0; i < s->n_profiles; i++) {
        origin = s->profiles[i].start < origin ? s->profiles[i].start : origin;
        facts->in_time &= s->profiles[i].us_a_unit > 0;
    }
    for (size_t i = is_sum_of_threads(s); i < s->n_profiles && rc == PR_OK; i++)
        rc = read_profile(s, i, origin, err);
    return rc;
}

static pr_code
read_document(scope *s, conv_stacks_facts *facts, pr_err *err)
{
    conv_json_in in = cursor_at(s, s->file.bytes);
    part shared = {NULL}, profiles = {NULL};
    bool first = true;
    conv_json_in_enter(&in, '{');
    while (conv_json_in_member(&in, &first, &s->key)) {
        if (conv_json_in_is(&s->key, "shared"))
            skip_to(&in, &shared);
        else if (conv_json_in_is(&s->key, "profiles"))
            skip_to(&in, &profiles);
        else if (conv_json_in_is(&s->key, "exporter") &&
                 conv_json_in_string(&in, &s->text))
            s->ours = conv_frame_text_begins(text_of(&s->text), "pyconv@");
        else
            conv_json_in_skip(&in);
    }
    pr_code rc = conv_json_in_end(&in, err);
    if (rc == PR_OK && (!shared.at || !profiles.at))
        rc = PR_FAIL(err, PR_DAMAGED, "it has no %s",
                     shared.at ? "profiles" : "shared frames");
    if (rc == PR_OK)
        rc = read_shared(s, shared, err);
    if (rc == PR_OK)
        rc = read_heads(s, profiles, err);
    return rc == PR_OK ? read_profiles(s, facts, err) : rc;
}

static pr_code
read_speedscope(conv_content file, conv_stacks *stacks,
                conv_stacks_facts *facts, pr_err *err)
{
    scope s = {.file = file, .stacks = stacks};
    pr_code rc = read_document(&s, facts, err);
    free(s.frame);
    free(s.profiles);
    pr_buffer_release(&s.names);
    pr_buffer_release(&s.text);
    pr_buffer_release(&s.key);
    return rc;
}

static bool
holds(conv_content head, const char *text)
{
    return memmem(head.bytes, head.n, text, strlen(text));
}

/* The schema may be named at the end, after megabytes of profiles. */
static bool
matches_speedscope(conv_content head, bool whole)
{
    conv_json_in in = {head.bytes, head.bytes, head.bytes + head.n, NULL};
    (void)whole;
    if (head.n == 0 || conv_json_in_kind(&in) != '{')
        return false;
    return holds(head, "speedscope.app/file-format-schema.json") ||
           (holds(head, "\"profiles\"") &&
            (holds(head, "\"sampled\"") || holds(head, "\"evented\"")));
}

const conv_import conv_import_speedscope = {
    .info = {"speedscope", "JSON of speedscope.app, as py-spy, austin and "
                           "others write it, too"},
    .matches = matches_speedscope,
    .read = read_speedscope,
};
