/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t g_child; /* 0: none */

static void pass_on(int signo)
{
    int err = errno;

    if (g_child > 0)
        kill(g_child, signo);
    errno = err;
}

static const struct {
    int signo;
    void (*handler)(int);
} k_signals[] = {
    {SIGINT, SIG_IGN},
    {SIGQUIT, SIG_IGN},
    {SIGTERM, pass_on},
    {SIGHUP, pass_on},
    {SIGUSR1, pass_on},
    {SIGUSR2, pass_on},
    {SIGCHLD, SIG_DFL}, /* where a process ignores it, the kernel does not keep how its child ended */
};
static struct sigaction g_old[XS_ARRAY_LEN(k_signals)];

static void take_signals(void)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(k_signals); i++) {
        struct sigaction action = {.sa_handler = k_signals[i].handler};

        sigaction(k_signals[i].signo, &action, &g_old[i]);
    }
}

void xs_child_signals_back(void)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(k_signals); i++)
        sigaction(k_signals[i].signo, &g_old[i], NULL);
}

/* A signal that comes meanwhile waits until there is somebody to pass it on to. */
pid_t xs_child_fork(void)
{
    sigset_t all, old;
    pid_t pid;
    int err;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old);
    take_signals();
    pid = fork();
    err = errno;
    if (pid <= 0)
        xs_child_signals_back();
    else
        g_child = pid;
    sigprocmask(SIG_SETMASK, &old, NULL);
    errno = err;
    return pid;
}

/* While waitpid() has not been called for it, no other process gets its number. */
bool xs_child_wait(int options, int *ret_status)
{
    siginfo_t info = {0};
    pid_t pid = g_child;

    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | options) < 0 && errno == EINTR)
        ;
    if (info.si_pid != pid)
        return false;
    g_child = 0;
    waitpid(pid, ret_status, 0);
    return true;
}
