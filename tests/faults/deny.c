/* SPDX-License-Identifier: Apache-2.0 */
/* deny NAME... -- PROGRAM ARGUMENTS...: the kernel answers these system calls with EPERM. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_membarrier
#define SYS_membarrier 324
#endif

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

static const struct {
    const char *name;
    long number;
} k_calls[] = {
#define ROW(name) {#name, SYS_##name},
    ROW(memfd_create) ROW(eventfd2) ROW(socket) ROW(connect) ROW(sendmsg) ROW(recvmsg) ROW(madvise)
        ROW(mremap) ROW(getrandom) ROW(ppoll) ROW(set_robust_list) ROW(sched_setscheduler) ROW(fcntl)
            ROW(membarrier) ROW(timerfd_create) ROW(signalfd4) ROW(accept4) ROW(pidfd_open) ROW(futex_waitv)
                ROW(getsockopt) ROW(setsockopt) ROW(epoll_create1) ROW(epoll_ctl) ROW(bind) ROW(listen)
#undef ROW
};

static int deny(const char *name)
{
    for (size_t i = 0; i < sizeof(k_calls) / sizeof(k_calls[0]); i++) {
        struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)k_calls[i].number, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

        if (strcmp(k_calls[i].name, name) == 0)
            return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    }
    return -1;
}

int main(int argc, char **argv)
{
    int i = 1;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return 98;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (deny(argv[i]) < 0) {
            fprintf(stderr, "deny: %s cannot be denied\n", argv[i]);
            return 98;
        }
    if (i + 1 >= argc)
        return 98;
    execv(argv[i + 1], argv + i + 1);
    return 98;
}
