/* SPDX-License-Identifier: Apache-2.0 */
/* Writes xsched-environment(7) from the table of variables. */
#include "base/settings/value.h"
#include "policy/policies.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    struct xs_value_type type;
    const char *def, *help;
} k_rows[] = {
#define X(name, type, def, help) {#name, XS_TYPE type, def, help},
#include "base/env.def"
#undef X
};

/* A line of troff: backslashes, hyphens, and dots or quotes at the start. */
static void text(const char *s)
{
    if (*s == '.' || *s == '\'')
        fputs("\\&", stdout);
    for (; *s; s++) {
        if (*s == '\\')
            fputs("\\e", stdout);
        else if (*s == '-')
            fputs("\\-", stdout);
        else
            putchar(*s);
    }
}

int main(void)
{
    char policies[XS_POLICY_NAMES_BYTES], type[128];

    xs_policy_names(policies, sizeof(policies), "|");
    printf(".\\\" made from src/base/env.def\n.TH XSCHED-ENVIRONMENT 7 \"2026-11-27\" \"xsched %s\" \"XSched\"\n",
           XSCHED_VERSION);
    fputs(".SH NAME\nxsched-environment \\- variables that XSched reads\n"
          ".SH DESCRIPTION\nThe preloaded libraries read these variables at the first device call of a program, not "
          "at its start.\nA set\\-user\\-ID program ignores them all.\nXSched logs a value that is not valid "
          "once, and the default holds.\nNames and words such as ON or HPF may be written in any case where "
          "they are values.\nA time is a number of the unit that is shown, or has a unit of its own: 5ms, 1.5s.\n.SH VARIABLES\n",
          stdout);
    for (size_t i = 0; i < sizeof(k_rows) / sizeof(k_rows[0]); i++) {
        xs_value_type_text(&k_rows[i].type, type, sizeof(type));
        printf(".TP\n.BR %s \" (", k_rows[i].name);
        text(strcmp(type, "policy") ? type : policies);
        fputs(")\"\n", stdout);
        text(k_rows[i].help);
        fputs(".\n", stdout);
        if (k_rows[i].def[0]) {
            fputs("Default: ", stdout);
            text(k_rows[i].def);
            fputs(".\n", stdout);
        }
    }
    fputs(".SH SEE ALSO\n.BR xsched (1),\n.BR xserver (8),\n.BR xcli (1)\n", stdout);
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
