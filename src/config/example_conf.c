/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the configuration file for installation: every key with its default, commented out. The build
 * runs it, so that the file and the table of options cannot differ. */
#include "config/options.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    const char *section = "";

    puts("# SPDX-License-Identifier: Apache-2.0\n"
         "# xserver's configuration, see xserver.conf(5). Each commented-out key shows its default.\n"
         "# A key marked * takes effect at a reload (systemctl reload xserver), the others at the next start.");
    for (unsigned i = 0; i < XS_OPT_COUNT; i++) {
        const struct xs_option_row *r = &xs_option_rows[i];

        if (r->tier == XS_TIER_TUNE)
            continue;
        if (strcmp(section, r->section) != 0)
            printf("\n[%s]\n", section = r->section);
        printf("\n# %s%s\n#%s = %s\n", r->help, r->live ? " *" : "", r->name, r->def);
    }
    return fflush(stdout) != 0;
}
