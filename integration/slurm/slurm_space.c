/* SPDX-License-Identifier: Apache-2.0 */
#include "slurm_space.h"

#include "base/env.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLES 4096u

static const char *value_of(char *const *env, const char *name)
{
    size_t n = strlen(name);

    for (; env && *env; env++)
        if (!strncmp(*env, name, n) && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

/* In the child. Never returns. */
static void become_launcher(const char *launcher, char *const *env, const char *priority, int out)
{
    static const char *const dropped[] = {"LD_PRELOAD=", "XSCHED_SHARE="};
    static char pipe[] = "CUDA_MPS_PIPE_DIRECTORY=" XS_MPS_FOLDER; /* it uses a daemon that has a name, and starts none */
    const char *const argv[] = {"xsched", "run", "--share=space", "--no-server", "--priority", priority,
                                "--", "/usr/bin/env", NULL};
    const char *named = value_of(env, "CUDA_MPS_PIPE_DIRECTORY");
    char **own = calloc(VARIABLES + 2, sizeof(*own));
    size_t n = 0;

    for (; own && env && *env && n < VARIABLES; env++) {
        bool keep = (named && named[0]) || strncmp(*env, "CUDA_MPS_PIPE_DIRECTORY=", 24) != 0;

        for (size_t i = 0; i < XS_ARRAY_LEN(dropped); i++)
            keep &= strncmp(*env, dropped[i], strlen(dropped[i])) != 0;
        if (keep)
            own[n++] = *env;
    }
    if (own && !(named && named[0]))
        own[n] = pipe;
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    if (own)
        execve(launcher, (char *const *)(uintptr_t)argv, own);
    _exit(127);
}

static void take_line(const char *line, struct xs_slurm_space *ret)
{
    static const char says[] = "--share=space: ";
    const char *at;

    if (!strcmp(line, "XSCHED_SHARE=SPACE"))
        ret->space = true;
    else if (!strncmp(line, "CUDA_MPS_PIPE_DIRECTORY=", 24))
        xs_str_copy(ret->pipe, sizeof(ret->pipe), line + 24);
    else if (!strncmp(line, "CUDA_MPS_CLIENT_PRIORITY=", 25))
        xs_str_copy(ret->client_priority, sizeof(ret->client_priority), line + 25);
    else if ((at = strstr(line, says)))
        snprintf(ret->why, sizeof(ret->why), "%s", at + strlen(says));
}

void xs_slurm_space_try(const char *launcher, char *const *env, int priority, struct xs_slurm_space *ret)
{
    const char *named = value_of(env, "CUDA_MPS_PIPE_DIRECTORY");
    char number[16], *line = NULL;
    size_t size = 0;
    int out[2], status = 0;
    FILE *from;
    pid_t pid;

    memset(ret, 0, sizeof(*ret));
    snprintf(number, sizeof(number), "%d", priority);
    if (pipe(out) < 0)
        return;
    pid = fork();
    if (pid == 0) {
        close(out[0]);
        become_launcher(launcher, env, number, out[1]);
    }
    close(out[1]);
    from = pid > 0 ? fdopen(out[0], "r") : NULL;
    while (from && getline(&line, &size, from) > 0) {
        line[strcspn(line, "\n")] = 0;
        take_line(line, ret);
    }
    free(line);
    if (from)
        fclose(from);
    else
        close(out[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        ret->space = false;
        snprintf(ret->why, sizeof(ret->why), "%s does not run: the program shares in time", launcher);
    }
    if (!ret->space) {
        ret->client_priority[0] = 0;
        if (!(named && named[0])) /* the launcher may have hidden a daemon that the task would not meet */
            ret->pipe[0] = 0;
    }
}
