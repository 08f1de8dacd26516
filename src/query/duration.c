/* SPDX-License-Identifier: Apache-2.0 */
#include "query/duration.h"

#include "base/xs_base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double xs_duration_ms(const char *text)
{
    static const struct {
        const char *unit;
        double ms;
    } k_units[] = {{"ms", 1}, {"s", 1e3}, {"", 1e3}, {"m", 60e3}, {"min", 60e3}, {"h", 3600e3}};
    char *end;
    double number = strtod(text, &end);

    for (size_t i = 0; i < XS_ARRAY_LEN(k_units); i++)
        if (end != text && strcmp(end, k_units[i].unit) == 0)
            return number * k_units[i].ms;
    return NAN;
}
