/*
 * rate.c - a number and its unit.
 */
#include <base/rate.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool
pr_rate_parse(const char *text, double *ret_hz)
{
    static const struct {
        const char *name;
        double hz;
    } units[] = {{"", 1}, {"hz", 1}, {"k", 1e3}, {"khz", 1e3}};
    /* no hexadecimal, no "inf", no sign: a digit or a point begins it */
    bool is_number = isdigit((unsigned char)text[0]) ||
                     (text[0] == '.' && isdigit((unsigned char)text[1]));
    if (!is_number || strpbrk(text, "xXpP"))
        return false;
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(end, units[i].name) == 0) {
            *ret_hz = value * units[i].hz;
            return true;
        }
    return false;
}
