/* SPDX-License-Identifier: Apache-2.0 */
/* xsched doctor is an executable of its own, since the libraries that it asks xserver with would
 * make every `xsched run` start ten times slower. */
#include "launcher/commands.h"
#include "launcher/preload.h"
#include "launcher/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int xs_command_doctor(int argc, char **argv)
{
    char own[PATH_MAX] = "", path[PATH_MAX + 16];

    (void)argc;
    xs_own_folder(own, sizeof(own));
    snprintf(path, sizeof(path), "%s/xsched-doctor", own);
    execv(path, argv);
    xs_say_error("%s: %s", path, strerror(errno));
    return 2;
}
