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
    static const char *const beside[] = {"xsched-doctor", "../libexec/xsched/xsched-doctor"};
    char own[PATH_MAX], path[PATH_MAX + 64];

    (void)argc;
    for (size_t i = 0; xs_own_folder(own, sizeof(own)) == 0 && i < XS_ARRAY_LEN(beside); i++) {
        snprintf(path, sizeof(path), "%s/%s", own, beside[i]);
        execv(path, argv);
        if (errno != ENOENT)
            break;
    }
    xs_say_error("%s: %s", path, strerror(errno));
    return 2;
}
