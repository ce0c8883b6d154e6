/*
 * duration.c - digits, decimals, units; in whole numbers, so that every
 * decimal counts.
 */
#include <base/duration.h>

#include <strings.h>

#define SECOND_NS UINT64_C(1000000000)

typedef struct unit {
    const char *name;
    uint64_t ns;
} unit;

static const unit units[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"s", SECOND_NS},
    {"sec", SECOND_NS},
    {"m", 60 * SECOND_NS},
    {"min", 60 * SECOND_NS},
    {"h", 3600 * SECOND_NS},
    {"d", 86400 * SECOND_NS},
};

/* A text and how far it has been read. */
typedef struct cursor {
    const char *at;
    size_t len, i;
} cursor;

static bool
is_digit(const cursor *c)
{
    return c->i < c->len && c->at[c->i] >= '0' && c->at[c->i] <= '9';
}

static bool
skip(cursor *c, char wanted)
{
    bool found = c->i < c->len && c->at[c->i] == wanted;
    c->i += found;
    return found;
}

/* False: the number does not fit. */
static bool
read_whole(cursor *c, uint64_t *ret)
{
    uint64_t value = 0;
    for (; is_digit(c); c->i++) {
        uint64_t digit = (uint64_t)(c->at[c->i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

/* The digits after a point, in thousand millionths; smaller ones count
 * nothing. */
static uint64_t
read_decimals(cursor *c)
{
    uint64_t value = 0, weight = SECOND_NS;
    for (; is_digit(c); c->i++) {
        weight /= 10;
        value += (uint64_t)(c->at[c->i] - '0') * weight;
    }
    return value;
}

/* "12", "12.5" or ".5" */
static bool
read_number(cursor *c, uint64_t *ret_whole, uint64_t *ret_decimals)
{
    size_t from = c->i;
    if (!read_whole(c, ret_whole))
        return false;
    size_t digits = c->i - from;
    *ret_decimals = 0;
    if (!skip(c, '.'))
        return digits > 0;
    from = c->i;
    *ret_decimals = read_decimals(c);
    return c->i > from;
}

static bool
add_product(uint64_t *sum, uint64_t count, uint64_t unit_ns)
{
    if (count > (UINT64_MAX - *sum) / unit_ns)
        return false;
    *sum += count * unit_ns;
    return true;
}

static bool
scale(uint64_t whole, uint64_t decimals, uint64_t unit_ns, uint64_t *ret_ns)
{
    uint64_t ns = unit_ns >= SECOND_NS
                      ? decimals * (unit_ns / SECOND_NS)
                      : (decimals * unit_ns + SECOND_NS / 2) / SECOND_NS;
    if (!add_product(&ns, whole, unit_ns))
        return false;
    *ret_ns = ns;
    return true;
}

/* The text after "MM" or "HH" of a clock: ":MM", ":SS.5". */
static bool
read_clock(cursor *c, uint64_t first, uint64_t *ret_ns)
{
    uint64_t sum = first, part, decimals = 0;
    for (int parts = 1; skip(c, ':'); parts++) {
        size_t from = c->i;
        if (parts == 3 || decimals || !read_number(c, &part, &decimals) ||
            c->at[from] == '.' || part >= 60 || sum > UINT64_MAX / 60 - 1)
            return false;
        sum = sum * 60 + part;
    }
    return c->i == c->len && scale(sum, decimals, SECOND_NS, ret_ns);
}

bool
pr_duration_parse(const char *at, size_t len, uint64_t *ret_ns)
{
    cursor c = {at, len, 0};
    uint64_t whole, decimals;
    if (!read_number(&c, &whole, &decimals))
        return false;
    if (decimals == 0 && c.i < len && at[c.i] == ':')
        return read_clock(&c, whole, ret_ns);
    if (c.i == len)
        return scale(whole, decimals, SECOND_NS, ret_ns);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strncasecmp(units[i].name, at + c.i, len - c.i) == 0 &&
            units[i].name[len - c.i] == '\0')
            return scale(whole, decimals, units[i].ns, ret_ns);
    return false;
}
