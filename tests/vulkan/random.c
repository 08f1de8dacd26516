/* SPDX-License-Identifier: Apache-2.0 */
/* Random legal programs on one queue: random SEED PROGRAMS [STEPS]
 *
 * What they submit computes in order, so what must come out is known; it is compared whenever the queue is waited for. They
 * submit one to twenty batches by either function, wait and signal by binary and timeline semaphores and fences, and submit
 * work that waits for a value that this thread signals later. Prints a hash of all that came out. */
#include "vk_program.h"

#define KINDS  8
#define FENCES 4
#define BATCH  20

static uint64_t g_random;

static uint32_t below(uint32_t n)
{
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return (uint32_t)(g_random >> 33) % n;
}

struct world {
    struct program p;
    VkCommandBuffer commands[KINDS];
    uint32_t rounds[KINDS];
    VkFence fences[FENCES];
    int pending[FENCES];
    VkSemaphore binary, device, host; /* device is signalled by the queue, host by this thread */
    uint64_t device_value, host_value;
    int signalled;                /* the binary one stands signalled, or will */
    int blocked;                  /* the queue waits for host_value */
    uint32_t x;                   /* what comes out */
    uint64_t hash;
};

static VkSemaphore make(struct program *p, VkSemaphoreType type)
{
    VkSemaphoreTypeCreateInfo kind = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = type};
    VkSemaphoreCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &kind};
    VkSemaphore s;

    MUST(vkCreateSemaphore(p->device, &create, NULL, &s));
    return s;
}

static void unblock(struct world *w)
{
    VkSemaphoreSignalInfo s = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = w->host, .value = w->host_value};

    if (w->blocked)
        MUST(vkSignalSemaphore(w->p.device, &s));
    w->blocked = 0;
}

/* One batch, in the terms of vkQueueSubmit2. */
struct batch {
    VkCommandBufferSubmitInfo commands[3];
    VkSemaphoreSubmitInfo waits[2], signals[2];
    VkSubmitInfo2 info;
};

static void add(VkSemaphoreSubmitInfo *list, uint32_t *n, VkSemaphore s, uint64_t value)
{
    list[(*n)++] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO, .semaphore = s, .value = value,
                                           .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
}

static void fill(struct world *w, struct batch *b)
{
    VkSubmitInfo2 *i = &b->info;

    *i = (VkSubmitInfo2){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2, .pCommandBufferInfos = b->commands,
                         .pWaitSemaphoreInfos = b->waits, .pSignalSemaphoreInfos = b->signals};
    for (uint32_t n = below(4); i->commandBufferInfoCount < n;) {
        uint32_t kind = below(KINDS);

        b->commands[i->commandBufferInfoCount++] = (VkCommandBufferSubmitInfo){
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, .commandBuffer = w->commands[kind]};
        w->x = computed(w->x, w->rounds[kind]);
    }
    /* A binary semaphore is signalled and waited for in turn. A wait for one is legal only where all that its signal depends on
     * has been submitted, which the host's signal is not yet. */
    if (below(3) == 0 && !(w->signalled && w->blocked)) {
        add(w->signalled ? b->waits : b->signals, w->signalled ? &i->waitSemaphoreInfoCount : &i->signalSemaphoreInfoCount,
            w->binary, 0);
        w->signalled = !w->signalled;
    }
    if (below(3) == 0)
        add(b->signals, &i->signalSemaphoreInfoCount, w->device, ++w->device_value);
    if (below(12) == 0 && !w->blocked) {
        add(b->waits, &i->waitSemaphoreInfoCount, w->host, ++w->host_value);
        w->blocked = 1;
    }
}

static void submit_old(struct world *w, const struct batch *b, uint32_t n, VkFence fence)
{
    static const VkPipelineStageFlags all[2] = {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT};
    VkTimelineSemaphoreSubmitInfo values[BATCH];
    uint64_t wait_values[BATCH][2], signal_values[BATCH][2];
    VkSemaphore waits[BATCH][2], signals[BATCH][2];
    VkCommandBuffer commands[BATCH][3];
    VkSubmitInfo s[BATCH];

    for (uint32_t i = 0; i < n; i++) {
        const VkSubmitInfo2 *from = &b[i].info;

        for (uint32_t k = 0; k < from->commandBufferInfoCount; k++)
            commands[i][k] = b[i].commands[k].commandBuffer;
        for (uint32_t k = 0; k < from->waitSemaphoreInfoCount; k++) {
            waits[i][k] = b[i].waits[k].semaphore;
            wait_values[i][k] = b[i].waits[k].value;
        }
        for (uint32_t k = 0; k < from->signalSemaphoreInfoCount; k++) {
            signals[i][k] = b[i].signals[k].semaphore;
            signal_values[i][k] = b[i].signals[k].value;
        }
        values[i] = (VkTimelineSemaphoreSubmitInfo){
            .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
            .waitSemaphoreValueCount = from->waitSemaphoreInfoCount, .pWaitSemaphoreValues = wait_values[i],
            .signalSemaphoreValueCount = from->signalSemaphoreInfoCount, .pSignalSemaphoreValues = signal_values[i]};
        s[i] = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &values[i],
                              .waitSemaphoreCount = from->waitSemaphoreInfoCount, .pWaitSemaphores = waits[i],
                              .pWaitDstStageMask = all, .commandBufferCount = from->commandBufferInfoCount,
                              .pCommandBuffers = commands[i], .signalSemaphoreCount = from->signalSemaphoreInfoCount,
                              .pSignalSemaphores = signals[i]};
    }
    MUST(vkQueueSubmit(w->p.queue, n, s, fence));
}

static void submit(struct world *w)
{
    uint32_t n = below(5) ? 1 + below(3) : 1 + below(BATCH), f = below(2 * FENCES);
    VkFence fence = f < FENCES && !w->pending[f] ? w->fences[f] : VK_NULL_HANDLE;
    VkSubmitInfo2 all[BATCH];
    struct batch b[BATCH];

    for (uint32_t i = 0; i < n; i++) {
        fill(w, &b[i]);
        all[i] = b[i].info;
    }
    if (below(2))
        MUST(w->p.submit2(w->p.queue, n, all, fence));
    else
        submit_old(w, b, n, fence);
    if (fence)
        w->pending[f] = 1;
}

static void look(struct world *w)
{
    CHECK(w->p.values[0] == w->x);
    w->hash = (w->hash ^ w->x) * 0x100000001b3ull;
}

static void wait_for(struct world *w, uint32_t how)
{
    VkSemaphoreWaitInfo s = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &w->device,
                             .pValues = &w->device_value};

    unblock(w);
    if (how < FENCES && w->pending[how]) {
        program_wait(&w->p, w->fences[how]);
        w->pending[how] = 0;
    } else if (how == FENCES) {
        MUST(vkWaitSemaphores(w->p.device, &s, UINT64_MAX));
    } else if (how & 1) {
        MUST(vkQueueWaitIdle(w->p.queue));
        look(w);
    } else {
        MUST(vkDeviceWaitIdle(w->p.device));
        look(w);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, programs = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    uint32_t steps = argc > 3 ? (uint32_t)atoi(argv[3]) : 20;
    struct world w = {.hash = 0xcbf29ce484222325ull};

    program_device(&w.p, &(struct wish){.features = 1, .submit2 = 1});
    program_kernel(&w.p);
    for (uint32_t i = 0; i < KINDS; i++) {
        w.rounds[i] = 1 + i * i * 10;
        w.commands[i] = program_commands(&w.p, w.rounds[i], 0);
    }
    for (uint32_t i = 0; i < FENCES; i++)
        w.fences[i] = program_fence(&w.p);
    w.binary = make(&w.p, VK_SEMAPHORE_TYPE_BINARY);
    w.device = make(&w.p, VK_SEMAPHORE_TYPE_TIMELINE);
    w.host = make(&w.p, VK_SEMAPHORE_TYPE_TIMELINE);
    for (uint64_t i = 0; i < programs; i++) {
        g_random = (seed + i) * 0x9E3779B97F4A7C15ull | 1;
        for (uint32_t k = 0; k < steps; k++) {
            if (below(4))
                submit(&w);
            else
                wait_for(&w, below(FENCES + 3));
        }
        for (uint32_t k = 0; k < FENCES; k++)
            if (w.pending[k])
                wait_for(&w, k);
        wait_for(&w, FENCES + 1);
    }
    printf("%llu programs, %016llx\n", (unsigned long long)programs, (unsigned long long)w.hash);
    for (uint32_t i = 0; i < FENCES; i++)
        vkDestroyFence(w.p.device, w.fences[i], NULL);
    vkDestroySemaphore(w.p.device, w.binary, NULL);
    vkDestroySemaphore(w.p.device, w.device, NULL);
    vkDestroySemaphore(w.p.device, w.host, NULL);
    program_end(&w.p);
    return 0;
}
