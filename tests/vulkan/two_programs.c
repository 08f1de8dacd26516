/* SPDX-License-Identifier: Apache-2.0 */
/* Half of two programs that share a device; two.py starts both.
 *
 *   two_programs loop US              submits work of US, one after the other, until its input ends; a line with the time at
 *                                     which each is complete
 *   two_programs bursts US N COUNT    COUNT times, on a line of its input each: N submissions at once; a line with the times at
 *                                     which they begin and are complete
 *   two_programs pipe US AHEAD        as loop, with so many submissions in flight; behind each time, how long the call that
 *                                     submitted it took
 *   two_programs cost COUNT           how long a submission takes that has nothing to do: median and mean in ns
 */
#include "vk_program.h"

#include <poll.h>
#include <unistd.h>

/* Rounds of the kernel that take so long, in several tries, of which the fastest counts. */
static uint32_t calibrate(struct program *p, VkFence fence, uint64_t us)
{
    uint32_t rounds = 20000;

    for (;;) {
        VkCommandBuffer c = program_commands(p, rounds, 9);
        uint64_t best = UINT64_MAX;

        for (int i = 0; i < 5; i++) {
            uint64_t t = now_us();

            program_submit(p, c, fence);
            program_wait(p, fence);
            t = now_us() - t;
            best = t < best ? t : best;
        }
        if (best * 10 >= us * 9)
            return rounds;
        rounds = (uint32_t)(rounds * (best * 4 < us ? 3.0 : (double)us / (double)best * 1.02));
    }
}

#define AHEAD_MOST 64

static void pipe_of(struct program *p, VkCommandBuffer c, unsigned ahead)
{
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    uint64_t took[AHEAD_MOST];
    VkFence fences[AHEAD_MOST];
    unsigned long n = 0, done = 0;

    CHECK(ahead >= 1 && ahead <= AHEAD_MOST);
    for (unsigned i = 0; i < ahead; i++)
        fences[i] = program_fence(p);
    for (int more = 1; more || done < n;) {
        more = more && poll(&in, 1, 0) == 0;
        if (more && n < done + ahead) {
            uint64_t t = now_us();

            program_submit(p, c, fences[n % ahead]);
            took[n++ % ahead] = now_us() - t;
        } else if (done < n) {
            program_wait(p, fences[done % ahead]);
            printf("%llu %llu\n", (unsigned long long)now_us(), (unsigned long long)took[done % ahead]);
            done++;
        }
    }
    for (unsigned i = 0; i < ahead; i++)
        vkDestroyFence(p->device, fences[i], NULL);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Eight at a time, so that none waits for room. */
static void cost_of(struct program *p, VkFence fence, int count)
{
    VkCommandBuffer c = program_commands(p, 1, 0);
    uint32_t *ns = malloc((size_t)count * sizeof(*ns));
    uint64_t sum = 0;

    CHECK(ns && count > 0);
    for (int i = 0; i < count; i++) {
        struct timespec a, b;

        clock_gettime(CLOCK_MONOTONIC, &a);
        program_submit(p, c, i % 8 == 7 || i == count - 1 ? fence : VK_NULL_HANDLE);
        clock_gettime(CLOCK_MONOTONIC, &b);
        ns[i] = (uint32_t)((b.tv_sec - a.tv_sec) * 1000000000l + b.tv_nsec - a.tv_nsec);
        sum += ns[i];
        if (i % 8 == 7 || i == count - 1)
            program_wait(p, fence);
    }
    qsort(ns, (size_t)count, sizeof(*ns), compare);
    printf("%u %llu\n", ns[count / 2], (unsigned long long)(sum / (uint64_t)count));
    free(ns);
}

int main(int argc, char **argv)
{
    uint64_t us = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    int loop = argc > 1 && strcmp(argv[1], "loop") == 0;
    int pipe = argc > 1 && strcmp(argv[1], "pipe") == 0, cost = argc > 1 && strcmp(argv[1], "cost") == 0;
    int n = argc > 3 ? atoi(argv[3]) : 1, count = pipe || cost ? 0 : argc > 4 ? atoi(argv[4]) : 1;
    VkCommandBuffer c;
    struct program p;
    VkFence fence;
    char line[16];

    setvbuf(stdout, NULL, _IOLBF, 0);
    program_device(&p, &(struct wish){0});
    program_kernel(&p);
    fence = program_fence(&p);
    c = cost ? VK_NULL_HANDLE : program_commands(&p, calibrate(&p, fence, us), 0);
    printf("ready\n");
    CHECK(fgets(line, sizeof(line), stdin));
    if (pipe)
        pipe_of(&p, c, (unsigned)n);
    if (cost)
        cost_of(&p, fence, (int)us);
    while (loop && poll(&in, 1, 0) == 0) {
        program_submit(&p, c, fence);
        program_wait(&p, fence);
        printf("%llu\n", (unsigned long long)now_us());
    }
    for (int k = 0; !loop && k < count; k++) {
        uint64_t t = now_us();

        for (int i = 0; i < n; i++)
            program_submit(&p, c, i == n - 1 ? fence : VK_NULL_HANDLE);
        program_wait(&p, fence);
        printf("%llu %llu\n", (unsigned long long)t, (unsigned long long)now_us());
        if (k < count - 1)
            CHECK(fgets(line, sizeof(line), stdin));
    }
    vkDestroyFence(p.device, fence, NULL);
    program_end(&p);
    return 0;
}
