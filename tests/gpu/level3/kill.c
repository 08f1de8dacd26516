/* SPDX-License-Identifier: Apache-2.0 */
/* What is found in a process (observe); processes killed while they are short-sliced (kill). */
#include "gpu.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int main_observe(const char *results)
{
    static struct xs_rm_group groups[PASS_GROUPS + 1];
    struct xs_rm_counts c;
    struct gpu g;
    uint32_t address = 0;
    uint64_t us = 0;
    size_t n = 0;
    char pci[32] = "?";
    CUdevice device;

    result_open(results);
    gpu_open(&g);
    while (n <= PASS_GROUPS && xs_rm_group_get((uint32_t)n, &groups[n]) == 0)
        n++;
    printf("level %d %s, %zu groups\n", xs_rm_level(), xs_rm_why(), n);
    xs_rm_counts(&c);
    CHECK(cuCtxGetDevice(&device));
    CHECK(cuDeviceGetPCIBusId(pci, sizeof(pci), device));
    for (size_t i = 0; i < n; i++) {
        int r = xs_rm_group_address(&groups[i], &address), r2 = xs_nvrm_get_slice(&groups[i].handles, &us, NULL);

        printf("group %zu: fd %d client %x group %x subdevice fd %d %x, %u channels, instance %u; address %d %08x (CUDA says "
               "%s); slice %d %llu us\n", i, groups[i].handles.group_fd, groups[i].handles.group_client,
               groups[i].handles.group, groups[i].handles.subdevice_fd, groups[i].handles.subdevice,
               groups[i].n_channels, groups[i].device_instance, r, address, pci, r2, (unsigned long long)us);
        result("observe", "xsched", "", "channels", groups[i].n_channels, "1", 1, 0, "");
        result("observe", "xsched", "", "default_slice", (double)us, "us", 1, 0, "");
    }
    result("observe", "xsched", "", "level", xs_rm_level(), "1", 1, 0, "");
    result("observe", "xsched", "", "groups", (double)n, "1", 1, 0, "");
    result("observe", "xsched", "", "other_groups", (double)c.other_groups, "1", 1, 0, "");
    result("observe", "xsched", "", "objects", (double)c.objects, "1", 1, 0, "");
    /* a second context, and both gone */
    CUcontext second;
#if CUDA_VERSION >= 13000
    CHECK(cuCtxCreate(&second, NULL, 0, device));
#else
    CHECK(cuCtxCreate(&second, 0, device));
#endif
    xs_rm_counts(&c);
    result("observe", "xsched", "", "groups_two_contexts", (double)c.groups, "1", 1, 0, "");
    CHECK(cuCtxDestroy(second));
    xs_rm_counts(&c);
    result("observe", "xsched", "", "groups_one_destroyed", (double)c.groups, "1", 1, 0, "");
    CHECK(cuCtxSetCurrent(NULL));
    CHECK(cuDevicePrimaryCtxReset(device));
    xs_rm_counts(&c);
    result("observe", "xsched", "", "groups_after_reset", (double)c.groups, "1", 1, 0, "");
    return n != 1 || xs_rm_level() != 3;
}

struct page {
    _Atomic int ready, done, go;
    _Atomic uint64_t progress, sum, expected;
    _Atomic int restored;
};

/* A kernel of about `us`, its progress shown; does it end right? */
static void victim(struct page *p, int socket, double us, bool watches)
{
    struct gpu g;
    uint64_t rounds, before;
    char byte;

    gpu_open(&g);
    rounds = gpu_calibrate(&g, GPU_BLOCKS, us);
    p->expected = gpu_expected(&g, GPU_BLOCKS, rounds);
    pass_groups(socket);
    before = gpu_sum(&g);
    *g.progress = 0;
    gpu_burn(&g, g.stream, GPU_BLOCKS, rounds, 0, true);
    p->ready = 1;
    while (cuStreamQuery(g.stream) == CUDA_ERROR_NOT_READY) {
        p->progress = *g.progress;
        /* the holder of our groups is gone: we take care of ourselves */
        if (watches && !p->restored && recv(socket, &byte, 1, MSG_DONTWAIT) == 0) {
            while (!xs_rm_restore())
                ;
            p->restored = 1;
        }
    }
    CHECK(cuStreamSynchronize(g.stream));
    p->sum = gpu_sum(&g) - before;
    p->done = 1;
    _exit(0);
}

static struct page *new_page(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void wait_for(_Atomic int *word, double limit_us, const char *what)
{
    double t0 = now_us();

    while (!atomic_load(word) && now_us() - t0 < limit_us)
        sleep_us(200);
    if (!atomic_load(word))
        gpu_die(what, 0);
}

/* A process that only sees whether the device still works. */
static double device_works(void)
{
    double t0 = now_us();
    int status = 1;
    pid_t pid = fork();

    if (!pid) {
        struct gpu g;
        uint64_t one;

        gpu_open(&g);
        one = gpu_expected(&g, GPU_BLOCKS, 1000);
        _exit(one == gpu_expected(&g, GPU_BLOCKS, 1000) ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    return status ? -1 : now_us() - t0;
}

/* how: 0 the victim is killed while short-sliced, 1 while short-sliced and stopped;
 *      2 the process that has its groups is killed while the victim is short-sliced */
static int kill_once(int how, int run)
{
    static const char *names[] = {"victim_sliced", "victim_sliced_stopped", "holder_sliced"};
    struct page *p = new_page();
    struct passed groups;
    int sockets[2], status = 0, bad = 0;
    double t0, works;
    pid_t victim_pid, holder;

    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets);
    victim_pid = fork();
    if (!victim_pid) {
        close(sockets[0]);
        victim(p, sockets[1], 4e5, how == 2);
    }
    holder = fork();
    if (!holder) {
        close(sockets[1]);
        take_groups(sockets[0], &groups);
        wait_for(&p->ready, 3e7, "the victim does not start");
        sleep_us(20000);
        if (groups_slice(&groups, 100))
            gpu_die("control", how);
        p->go = 1;
        if (how < 2) { /* the victim dies; we let go as soon as the socket says so */
            char byte;

            while (recv(sockets[0], &byte, 1, 0) > 0)
                ;
            close_groups(&groups);
            _exit(0);
        }
        for (;;)
            pause();
    }
    close(sockets[0]);
    close(sockets[1]);
    wait_for(&p->go, 3e7, "the holder does not act");
    sleep_us(20000);
    t0 = now_us();
    if (how < 2) {
        if (how == 1)
            kill(victim_pid, SIGSTOP);
        kill(victim_pid, SIGKILL);
        waitpid(victim_pid, &status, 0);
        result("kill", names[how], "low", "reaped", (now_us() - t0) / 1e3, "ms", 1, run, "");
        waitpid(holder, &status, 0);
        bad += status != 0;
    } else {
        kill(holder, SIGKILL);
        waitpid(holder, &status, 0);
        waitpid(victim_pid, &status, 0);
        result("kill", names[how], "low", "victim_ends", (now_us() - t0) / 1e3, "ms", 1, run, "");
        bad += status != 0 || p->sum != p->expected || !p->restored;
        result("kill", names[how], "low", "result_right", p->sum == p->expected, "1", 1, run, "");
    }
    works = device_works();
    result("kill", names[how], "", "device_works_after", works / 1e3, "ms", 1, run, "");
    munmap(p, 4096);
    return bad || works < 0;
}

int main_kill(const char *results)
{
    int bad = 0, runs = getenv("RUNS") ? atoi(getenv("RUNS")) : 3;

    result_open(results);
    for (int run = 0; run < runs; run++)
        for (int how = 0; how < 3; how++)
            bad += kill_once(how, run);
    result("kill", "all", "", "failures", bad, "1", (size_t)runs * 3, 0, "");
    return bad;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *path = argc > 2 ? argv[2] : "level3.jsonl";

    if (!strcmp(what, "observe"))
        return main_observe(path);
    if (!strcmp(what, "share"))
        return main_share(path);
    if (!strcmp(what, "kill"))
        return main_kill(path);
    fprintf(stderr, "usage: level3 observe|share|kill [results.jsonl]\n");
    return 2;
}
