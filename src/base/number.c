/* SPDX-License-Identifier: MIT */
/* Numbers as people write them, read: decimal or 0x, with K, M or G; and floats, as in every locale, with %. */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

bool number_parse(const char *text, uint64_t kilo, uint64_t *value)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10);
    if (errno)
        return false;
    uint64_t scale = 1;
    switch (*end) {
    case 'G':
    case 'g':
        scale *= kilo; /* fall through */
    case 'M':
    case 'm':
        scale *= kilo; /* fall through */
    case 'K':
    case 'k':
        scale *= kilo;
        end++;
    }
    if (*end || (scale > 1 && number > UINT64_MAX / scale))
        return false;
    *value = number * scale;
    return true;
}

bool number_parse_real(const char *text, double *value)
{
    char *end;
    if (!isdigit((unsigned char)text[0]) && text[0] != '.' && text[0] != '-')
        return false;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return false;
    double number = strtod_l(text, &end, c);
    freelocale(c);
    if (end == text || !isfinite(number))
        return false;
    if (*end == '%') {
        number /= 100;
        end++;
    }
    if (*end)
        return false;
    *value = number;
    return true;
}
