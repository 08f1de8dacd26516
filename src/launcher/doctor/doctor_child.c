/* SPDX-License-Identifier: Apache-2.0 */
/* A child that loads vendors' libraries: their constructors and drivers are other people's code, and may crash, hang or
 * print. */
#include "launcher/doctor/doctor.h"

#include "base/clock.h"
#include "base/fd.h"
#include "launcher/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 20u /* PoCL alone takes seconds on a machine that is very busy */

static void answer_from(void (*work)(void *ctx, json_t *ret), void *ctx, int to)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    json_t *about = json_object();
    size_t used = 0, size;
    char *text;

    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO); /* what a driver has to say */
    dup2(null, STDERR_FILENO);
    xs_shims_unset(); /* the vendor's library alone */
    work(ctx, about);
    text = json_dumps(about, JSON_COMPACT);
    size = text ? strlen(text) : 0;
    while (used < size) {
        ssize_t n = write(to, text + used, size - used);

        if (n <= 0)
            break;
        used += (size_t)n;
    }
    _exit(0);
}

/* Everything up to the end. @return allocated text, NULL when the time is up */
static char *read_answer(int from)
{
    uint64_t until_ns = xs_now_ns() + LIMIT_S * XS_NS_PER_S;
    size_t room = 4096, used = 0;
    char *text = malloc(room), *grown;
    ssize_t n = 1;

    if (!text)
        return NULL;
    while (n > 0) {
        struct pollfd answer = {.fd = from, .events = POLLIN};
        uint64_t now_ns = xs_now_ns();

        if (used + 1 == room) {
            grown = realloc(text, room *= 2);
            if (!grown)
                break;
            text = grown;
        }
        if (now_ns >= until_ns || poll(&answer, 1, (int)((until_ns - now_ns) / XS_NS_PER_MS) + 1) <= 0) {
            free(text);
            return NULL;
        }
        n = read(from, text + used, room - 1 - used);
        used += n > 0 ? (size_t)n : 0;
    }
    text[used] = 0;
    return text;
}

json_t *xs_doctor_in_child(void (*work)(void *ctx, json_t *ret), void *ctx, char *ret_end, size_t size)
{
    int channel[2], status = 0;
    json_t *found = NULL;
    char *text;
    pid_t pid;

    snprintf(ret_end, size, "could not be tried (%s)", strerror(EAGAIN));
    if (pipe2(channel, O_CLOEXEC) < 0)
        return NULL;
    channel[0] = xs_fd_raise(channel[0]); /* where a caller has closed 0 to 2, the child would lose it */
    channel[1] = xs_fd_raise(channel[1]);
    if (channel[0] < 0 || channel[1] < 0)
        return NULL;
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        answer_from(work, ctx, channel[1]);
    close(channel[1]);
    if (pid > 0) {
        text = read_answer(channel[0]);
        kill(pid, SIGKILL); /* stuck, or already gone */
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        found = text ? json_loads(text, 0, NULL) : NULL;
        if (!text)
            snprintf(ret_end, size, "did not come back within %u s", LIMIT_S);
        else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
            snprintf(ret_end, size, "crashed (%s)", strsignal(WTERMSIG(status)));
        else
            snprintf(ret_end, size, "ended the process that tried it");
        free(text);
    }
    close(channel[0]);
    return found;
}
