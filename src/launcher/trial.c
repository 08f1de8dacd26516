/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/trial.h"

#include "base/clock.h"
#include "base/xs_base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef TRIAL_KILLS_FIRST    /* a test's wrong variant */
#define TRIAL_KILLS_FIRST 0
#endif

/* The vendor's library alone: LD_PRELOAD without shims. What a user preloads beside them stays; without it the
 * vendor's library may not work. */
static void preload_no_shim(void)
{
    char *list = getenv("LD_PRELOAD"), *entry, *end = list;

    if (!list)
        return;
    while ((entry = strsep(&list, " :"))) {
        const char *name = strrchr(entry, '/');
        size_t length = strlen(entry);

        if (strncmp(name ? name + 1 : entry, "libshim", 7) == 0)
            continue;
        memmove(end, entry, length);
        end += length;
        *end = ':';
        end += list != NULL;
    }
    *end = 0;
}

/* In the child. Never returns. */
static void become(const struct xs_trial *t, int out)
{
    int null = t->quiet ? open("/dev/null", O_RDWR) : -1;

    dup2(out, STDOUT_FILENO);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDERR_FILENO);
    }
    preload_no_shim();
    if (t->without)
        unsetenv(t->without);
    execl(t->program, t->program, t->argument, (char *)NULL);
    _exit(127);
}

int xs_trial_run(const struct xs_trial *t, char *ret_text, size_t size)
{
    uint64_t until = xs_now_ns() + t->limit_ns;
    int out[2], status = -1;
    size_t used = 0;
    pid_t pid;

    ret_text[0] = 0;
    if (pipe2(out, O_CLOEXEC) < 0)
        return -1;
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        become(t, out[1]);
    close(out[1]);
    while (pid > 0 && used < size - 1) {
        struct pollfd p = {.fd = out[0], .events = POLLIN};
        uint64_t now = xs_now_ns();
        ssize_t n = now < until && poll(&p, 1, (int)((until - now) / XS_NS_PER_MS) + 1) > 0
                        ? read(out[0], ret_text + used, size - 1 - used) : -1;

        if (n < 0 && errno == EINTR && now < until)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    ret_text[used] = 0;
    close(out[0]);
    if (pid <= 0)
        return -1;
    if (xs_now_ns() >= until || used >= size - 1) {
        if (t->before_kill && !TRIAL_KILLS_FIRST)
            t->before_kill(pid);
        kill(pid, SIGKILL);
        if (t->before_kill && TRIAL_KILLS_FIRST)
            t->before_kill(pid);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
