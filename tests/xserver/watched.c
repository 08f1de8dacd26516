/* SPDX-License-Identifier: Apache-2.0 */
/* Launches on a device that takes no time, and counts the system calls of the launching thread: a
 * filter of the kernel turns each into a signal. watched LAUNCHES [probe]; waits for a line on stdin
 * first, prints "CALLS SCHEDULED". With "probe" it makes one call itself, to show that they are seen. */
#include "null_device.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t g_calls;

static void on_call(int signo)
{
    (void)signo;
    g_calls++;
}

/* Lets through what is needed to come back from the signal, to say the result and to end. */
static int trap_calls(void)
{
    struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_writev, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(rows) / sizeof(rows[0]), .filter = rows};
    struct sigaction action = {.sa_handler = on_call};

    if (sigaction(SIGSYS, &action, NULL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
    static struct null_stream stream;
    long n = argc > 1 ? atol(argv[1]) : 0;
    char line[64], text[80];
    HwQueueHandle hwq;
    uint64_t before;
    int length;

    setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    setenv("XSCHED_SCHEDULER", "GLB", 1);
    if (null_queue(&stream, 0, &hwq) != kXSchedSuccess || xsched_priv_auto_queue(hwq, 0) != kXSchedSuccess)
        return 1;
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof(line), stdin))
        return 1;
    for (long i = 0; i < 1000; i++)
        null_api_launch(&stream, (uint64_t)i, 0x1234567);
    if (trap_calls() < 0)
        return 77;
    before = xsched_priv_scheduled_count();
    for (long i = 0; i < n; i++)
        null_api_launch(&stream, (uint64_t)i, 0x1234567);
    if (argc > 2)
        (void)getppid();
    length = snprintf(text, sizeof(text), "%d %llu\n", (int)g_calls,
                      (unsigned long long)(xsched_priv_scheduled_count() - before));
    if (syscall(SYS_writev, 1, &(struct { void *base; size_t bytes; }){text, (size_t)length}, 1) < 0)
        return 1;
    _exit(0);
}
