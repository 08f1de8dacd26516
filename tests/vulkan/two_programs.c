/* SPDX-License-Identifier: Apache-2.0 */
/* Half of two programs that share a device; two.py starts both.
 *
 *   two_programs loop US              submits work of US, one after the other, until its input ends; a line with the time at
 *                                     which each is complete
 *   two_programs bursts US N COUNT    COUNT times, on a line of its input each: N submissions at once; a line with the times at
 *                                     which they begin and are complete
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

int main(int argc, char **argv)
{
    uint64_t us = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    int loop = argc > 1 && strcmp(argv[1], "loop") == 0;
    int n = argc > 3 ? atoi(argv[3]) : 1, count = argc > 4 ? atoi(argv[4]) : 1;
    VkCommandBuffer c;
    struct program p;
    VkFence fence;
    char line[16];

    setvbuf(stdout, NULL, _IOLBF, 0);
    program_device(&p, &(struct wish){0});
    program_kernel(&p);
    fence = program_fence(&p);
    c = program_commands(&p, calibrate(&p, fence, us), 0);
    printf("ready\n");
    CHECK(fgets(line, sizeof(line), stdin));
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
