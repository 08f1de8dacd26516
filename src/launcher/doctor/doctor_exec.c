/* SPDX-License-Identifier: Apache-2.0 */
/* xsched doctor, record and cdi are executables of their own, since the libraries that they ask xserver
 * with, and write JSON with, would make every `xsched run` start ten times slower. */
#include "launcher/commands.h"
#include "launcher/preload.h"
#include "launcher/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int become(const char *program, char **argv)
{
    char own[PATH_MAX] = "", path[PATH_MAX + 16];

    xs_own_folder(own, sizeof(own));
    snprintf(path, sizeof(path), "%s/%s", own, program);
    execv(path, argv);
    xs_say_error("%s: %s", path, strerror(errno));
    return 2;
}

int xs_command_doctor(int argc, char **argv)
{
    (void)argc;
    return become("xsched-doctor", argv);
}

int xs_command_record(int argc, char **argv)
{
    (void)argc;
    return become("xsched-record", argv);
}

int xs_command_cdi(int argc, char **argv)
{
    (void)argc;
    return become("xsched-cdi", argv);
}
