/* SPDX-License-Identifier: Apache-2.0 */
/* No xserver runs, and an attacker listens on its usual port: a user's xcli gives him the token. */
#include "scene.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOKEN "not-for-everybody"

static void bring_loopback_up(void)
{
    struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    if (ioctl(fd, SIOCSIFFLAGS, &r) < 0)
        exit(77);
    close(fd);
}

/* Counts requests, and tokens in them. */
static void listen_and_read(_Atomic int *counts)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(50000), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 16) < 0)
        _exit(1);
    counts[2] = 1;
    for (;;) {
        char text[4096] = "";
        int one = accept(fd, NULL, NULL);

        if (recv(one, text, sizeof(text) - 1, 0) > 0) {
            counts[0]++;
            counts[1] += strstr(text, TOKEN) != NULL;
        }
        close(one);
    }
}

static void use_xcli(const char *const *argv)
{
    pid_t pid = fork();

    if (pid == 0) {
        scene_become(VICTIM);
        unsetenv("XSCHED_SOCKET");
        setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
        execv(XCLI_PATH, (char **)(uintptr_t)argv);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

int main(void)
{
    static const char *const k_usual[] = {"xcli", "--token", TOKEN, "policy", "-q", NULL};
    static const char *const k_told[] = {"xcli", "-p", "50000", "--token", TOKEN, "policy", "-q", NULL};
    _Atomic int *counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int stolen, told;
    pid_t pid;

    if (geteuid() != 0 || unshare(CLONE_NEWNET) < 0) {
        puts("skipped: only root can become the users, in a network of their own");
        return 77;
    }
    bring_loopback_up();
    pid = fork();
    if (pid == 0) {
        scene_become(ATTACKER);
        listen_and_read(counts);
    }
    for (int i = 0; i < 2000 && !counts[2]; i++)
        usleep(5000);
    use_xcli(k_usual);
    stolen = counts[1];
    use_xcli(k_told);
    told = counts[1] - stolen;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    printf("xcli_token: %d of 1 tokens went to a port that the user did not name (bound 0); %d of 1 to one named\n",
           stolen, told);
    return stolen != 0 || told != 1;
}
