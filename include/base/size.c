/*
 * size.c - digits and a unit.
 */
#include <base/size.h>

#include <ctype.h>
#include <string.h>

bool
pr_size_parse(const char *text, uint64_t *ret)
{
    static const char units[] = "KMGT";
    uint64_t value = 0;
    const char *p = text;
    for (; isdigit((unsigned char)*p); p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    const char *unit = *p ? strchr(units, toupper((unsigned char)*p)) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (p == text || value == 0 || p[unit != NULL] != '\0' ||
        value > UINT64_MAX >> shift)
        return false;
    *ret = value << shift;
    return true;
}
