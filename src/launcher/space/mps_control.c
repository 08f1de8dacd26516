/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/space/space.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROL     "nvidia-cuda-mps-control"
#define ANSWER_NS   (10 * XS_NS_PER_S)
#define SERVERS     8u

static void set_environment(const struct xs_mps *m)
{
    setenv("CUDA_MPS_PIPE_DIRECTORY", m->pipe, 1);
    if (m->log)
        setenv("CUDA_MPS_LOG_DIRECTORY", m->log, 1);
    if (m->device)
        setenv("CUDA_VISIBLE_DEVICES", m->device, 1);
    unsetenv("LD_PRELOAD");
}

/* In the child. Never returns. */
static void become_control(const struct xs_mps *m, const char *option, int in, int out)
{
    set_environment(m);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    for (int fd = 3; fd < 1024; fd++) /* the daemon gets none of ours */
        close(fd);
    execlp(CONTROL, CONTROL, option, (char *)NULL);
    _exit(127);
}

/* Until the process ends: a daemon may keep the pipe. @return its status, or -errno */
static int await(pid_t pid, int out, char *ret, size_t size)
{
    uint64_t until = xs_now_ns() + ANSWER_NS;
    size_t used = 0;
    int status, r;

    ret[0] = 0;
    for (;;) {
        struct pollfd p = {.fd = out, .events = POLLIN};
        ssize_t n = 0;

        while (poll(&p, 1, 5) > 0 && used < size - 1 && (n = read(out, ret + used, size - 1 - used)) > 0)
            used += (size_t)n;
        ret[used] = 0;
        r = waitpid(pid, &status, WNOHANG);
        if (r == pid || (r < 0 && errno != EINTR))
            break;
        if (xs_now_ns() > until) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
            return -ETIMEDOUT;
        }
    }
    while (used < size - 1) { /* its last output */
        struct pollfd p = {.fd = out, .events = POLLIN};
        ssize_t n = poll(&p, 1, 0) > 0 ? read(out, ret + used, size - 1 - used) : 0;

        if (n <= 0)
            break;
        used += (size_t)n;
    }
    ret[used] = 0;
    return r == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

/* @return the program's exit status, or -errno */
static int run(const struct xs_mps *m, const char *option, const char *input, char *ret, size_t size)
{
    int in[2], out[2], status;
    pid_t pid;

    if (pipe2(in, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(out, O_CLOEXEC) < 0) {
        status = -errno;
        close(in[0]);
        close(in[1]);
        return status;
    }
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        become_control(m, option, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    if (pid > 0 && input && write(in[1], input, strlen(input)) < 0) {
        /* it has ended: its status says so */
    }
    close(in[1]);
    status = pid < 0 ? -errno : await(pid, out[0], ret, size);
    close(out[0]);
    return status;
}

int xs_mps_ask(const struct xs_mps *m, const char *command, char *ret, size_t size)
{
    char input[128];
    int status;

    snprintf(input, sizeof(input), "%s\n", command);
    status = run(m, NULL, input, ret, size);
    return status == 0 ? 0 : status == 127 ? -ENOENT : status < 0 ? status : -ECONNREFUSED;
}

int xs_mps_start(const struct xs_mps *m, char *ret_why, size_t size)
{
    char text[512];
    int status = run(m, "-d", NULL, text, sizeof(text));

    text[strcspn(text, "\r\n")] = 0;
    if (status == 127)
        snprintf(ret_why, size, "%s is not installed", CONTROL);
    else if (status != 0)
        snprintf(ret_why, size, "%s -d failed%s%s", CONTROL, text[0] ? ": " : "", text);
    return status == 0 ? 0 : status == 127 ? -ENOENT : -EIO;
}

pid_t xs_mps_pid(const struct xs_mps *m)
{
    char path[4096], text[32];
    int64_t pid = 0;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "%s/%s.pid", m->pipe, CONTROL);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[XS_MAX(n, (ssize_t)0)] = 0;
    text[strcspn(text, "\r\n ")] = 0;
    return xs_str_parse_i64(text, &pid) == 0 && pid > 0 && pid < INT32_MAX ? (pid_t)pid : -EINVAL;
}

/* Numbers that stand alone in a line; it cuts the text. @return how many, at most the first `most` of them in ret */
static unsigned numbers(char *text, int64_t *ret, unsigned most)
{
    unsigned n = 0;
    char *line;

    while ((line = strsep(&text, "\n"))) {
        int64_t value;

        line += strspn(line, " \t");
        line[strcspn(line, " \t\r")] = 0;
        if (xs_str_parse_i64(line, &value) < 0 || value <= 0)
            continue;
        if (n < most)
            ret[n] = value;
        n++;
    }
    return n;
}

int xs_mps_end_program(const struct xs_mps *m, pid_t pid)
{
    char text[8192], command[64];
    int64_t servers[SERVERS], programs[XS_SPACE_MOST];
    unsigned n, served;
    int r = xs_mps_ask(m, "get_server_list", text, sizeof(text));

    if (r < 0)
        return r;
    n = numbers(text, servers, SERVERS);
    for (unsigned i = 0; i < XS_MIN(n, SERVERS); i++) {
        snprintf(command, sizeof(command), "get_client_list %lld", (long long)servers[i]);
        if (xs_mps_ask(m, command, text, sizeof(text)) < 0)
            continue;
        served = numbers(text, programs, XS_SPACE_MOST);
        for (unsigned k = 0; k < XS_MIN(served, XS_SPACE_MOST); k++) {
            if (programs[k] != pid)
                continue;
            snprintf(command, sizeof(command), "terminate_client %lld %lld", (long long)servers[i], (long long)pid);
            return xs_mps_ask(m, command, text, sizeof(text));
        }
    }
    return -ESRCH;
}

void xs_mps_end_own(pid_t pid)
{
    const struct xs_mps m = {.pipe = xs_env_mps_folder()};

    if (xs_mps_has_pipes(m.pipe))
        xs_mps_end_program(&m, pid);
}

int xs_mps_programs(const struct xs_mps *m, bool *ret_fault)
{
    char text[8192], command[64];
    int64_t servers[SERVERS], none[1];
    unsigned n, programs = 0;
    int r = xs_mps_ask(m, "get_server_list", text, sizeof(text));

    if (ret_fault)
        *ret_fault = false;
    if (r < 0)
        return r;
    n = numbers(text, servers, SERVERS);
    for (unsigned i = 0; i < XS_MIN(n, SERVERS); i++) {
        snprintf(command, sizeof(command), "get_client_list %lld", (long long)servers[i]);
        if (xs_mps_ask(m, command, text, sizeof(text)) == 0)
            programs += numbers(text, none, 0);
        snprintf(command, sizeof(command), "get_server_status %lld", (long long)servers[i]);
        if (ret_fault && xs_mps_ask(m, command, text, sizeof(text)) == 0)
            *ret_fault |= strstr(text, "FAULT") != NULL;
    }
    return (int)programs;
}
