/* SPDX-License-Identifier: Apache-2.0 */
/* Every request goes through all of the ioctls of a process, and its answer comes back: chain PLUGIN PLACE...
 * A place is one of chain_other.c's objects that is preloaded. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int s_failed, s_asked;

#define CHECK(x)                                        \
    do {                                                \
        if (!(x)) {                                     \
            printf("FAILED line %d: %s\n", __LINE__, #x); \
            s_failed = 1;                               \
        }                                               \
    } while (0)

#define ASK(...) (s_asked++, ioctl(__VA_ARGS__))

/* Requests of NVIDIA's control device, of /dev/kfd (its version, and one that concerns nobody), of a DRM device, of sockets. */
static const unsigned long k_requests[] = {_IOWR('F', 0x2b, char[48]), _IOWR('F', 0x29, char[16]), _IOWR('F', 0x4e, char[32]),
                                           _IOR('K', 0x01, char[8]), _IOWR('K', 0x16, char[24]), _IOWR('K', 0x26, char[8]),
                                           _IOWR('d', 0x00, char[64]), 0x8912, 0xffffffff};

static void answered_at(int place)
{
    for (size_t i = 0; i < sizeof(k_requests) / sizeof(k_requests[0]); i++) {
        unsigned long words[16] = {0};

        CHECK(ASK(1000 + place, k_requests[i], words) == 40 + place);
        CHECK(words[0] == k_requests[i]);
    }
}

static void answered_by_the_kernel(void)
{
    int fds[2], n = 0, on = 1;

    CHECK(pipe(fds) == 0 && write(fds[1], "abc", 3) == 3);
    CHECK(ASK(fds[0], FIONREAD, &n) == 0 && n == 3);
    CHECK(ASK(fds[0], FIOCLEX) == 0 && fcntl(fds[0], F_GETFD) == FD_CLOEXEC); /* without a third argument */
    CHECK(ASK(fds[0], FIONBIO, &on) == 0 && (fcntl(fds[0], F_GETFL) & O_NONBLOCK));
    errno = 0;
    CHECK(ASK(-1, FIONREAD, &n) == -1 && errno == EBADF);
    errno = 0;
    CHECK(ASK(fds[0], TIOCGWINSZ, &n) == -1 && errno == ENOTTY);
}

int main(int argc, char **argv)
{
    void *plugin;

    alarm(20);
    plugin = dlopen(argv[1], RTLD_NOW);
    CHECK(plugin && *(int *)dlsym(plugin, "chain_started"));
    s_asked++;
    answered_by_the_kernel();
    for (int i = 2; i < argc; i++)
        answered_at(atoi(argv[i]));
    for (int i = 2; i < argc; i++) {
        char name[32];
        int *count;

        snprintf(name, sizeof(name), "chain_count_%s", argv[i]);
        count = dlsym(RTLD_DEFAULT, name);
        CHECK(count && *count >= s_asked - 9 * (argc - 2 - 1)); /* another may answer before */
        printf("%s: %d of %d\n", argv[i], count ? *count : -1, s_asked);
    }
    return s_failed;
}
