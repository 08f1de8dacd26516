/* SPDX-License-Identifier: Apache-2.0 */
/* xsched doctor, record, cdi and top are executables of their own. The libraries by which they ask xserver
 * and write JSON would make every `xsched run` start ten times slower. */
#include "launcher/commands.h"
#include "launcher/preload.h"
#include "launcher/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The arguments behind the program's own name. */
static int become_with(const char *program, char **argv)
{
    char name[32];
    char **all;
    size_t n = 0;

    while (argv[n])
        n++;
    all = calloc(n + 2, sizeof(*all));
    if (!all)
        return 2;
    snprintf(name, sizeof(name), "%s", program);
    all[0] = name;
    memcpy(all + 1, argv, n * sizeof(*all));
    n = (size_t)become(program, all); /* returns if it failed */
    free(all);
    return (int)n;
}

int xs_command_doctor(int argc, char **argv)
{
    (void)argc;
    return become("xsched-doctor", argv);
}

int xs_command_top(int argc, char **argv)
{
    char name[] = "top";

    (void)argc;
    argv[0] = name; /* xcli's command; exec takes it as its first argument */
    return become_with("xcli", argv);
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
