/* SPDX-License-Identifier: Apache-2.0 */
/* The last steps before a program: shims into its environment, then becoming it. */
#include "base/env.h"
#include "launcher/commands.h"
#include "launcher/elf.h"
#include "launcher/preload.h"
#include "launcher/program.h"
#include "launcher/say.h"
#include "launcher/vulkan_layers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The shims answer when the shared runtime of the address sanitizer asks for options (shim/common/asan_options.c). Where
 * the program has that answer itself, it does not ask them. */
static void allow_asan(const char *file)
{
    static const char name[] = "ASAN_OPTIONS", ours[] = "verify_asan_link_order=0";
    const char *theirs = getenv(name);
    static struct xs_elf elf;     /* large, and stacks may be small */
    bool shared = false;
    char *text;

    if (xs_elf_read(file, &elf) < 0 || (theirs && strstr(theirs, "verify_asan_link_order")))
        return;
    for (size_t i = 0; i < elf.needed_count; i++)
        shared |= strncmp(elf.needed[i], "libasan.so", 10) == 0 || strncmp(elf.needed[i], "libclang_rt.asan", 16) == 0;
    if (!shared || !xs_elf_has_export(file, "__asan_default_options"))
        return;
    if (asprintf(&text, "%s%s%s", theirs ? theirs : "", theirs && *theirs ? ":" : "", ours) < 0 || setenv(name, text, 1) < 0)
        xs_say_error("out of memory");
}

/* Under valgrind the dynamic linker does not know $PLATFORM. */
static bool is_valgrind(const char *program)
{
    const char *slash = strrchr(program, '/');

    return strcmp(slash ? slash + 1 : program, "valgrind") == 0;
}

void xs_prepare_program(char **program)
{
    static struct xs_shims shims; /* large, and stacks may be small */
    char path[PATH_MAX], judged[PATH_MAX];
    int err;

    if (xs_program_find(program[0], path, sizeof(path)) == 0) {
        enum xs_program_issue issue = xs_program_check_command(program, path, judged, sizeof(judged));

        if (issue != XS_PROGRAM_FINE)
            xs_say("%s is %s: XSched will not schedule it", judged, xs_program_issue_text(issue));
        allow_asan(judged);
    }
    if (xs_env_bool(XS_ENV_XSCHED_DISABLE, false))
        xs_say("the environment sets XSCHED_DISABLE: XSched will not schedule the program");
    xs_shims_find(&shims);
    if (!shims.count) {
        xs_say("no shim is installed (looked into %s): the program runs unscheduled", shims.tried);
        return;
    }
    err = xs_shims_apply(&shims, !is_valgrind(program[0]));
    if (err == 0)
        err = xs_vulkan_layers(&shims);
    if (err == -EINVAL)
        xs_say(
            "%s has a space or colon in its name, so LD_PRELOAD cannot name its files: the program runs "
            "unscheduled",
            shims.folder);
    else if (err < 0)
        xs_say("%s: the program runs unscheduled", strerror(-err));
}

int xs_exec_program(char **program)
{
    char path[PATH_MAX];
    int err;

    execvp(program[0], program);
    err = errno;
    if (err == ENOENT || err == ENOTDIR) {
        if (xs_program_find(program[0], path, sizeof(path)) == 0)
            xs_say_error("%s: its interpreter is not there", path);
        else
            xs_say_error("%s: not found", program[0]);
        return XS_EXIT_NOT_FOUND;
    }
    xs_say_error("%s: %s", program[0], strerror(err));
    return XS_EXIT_NOT_EXECUTABLE;
}
