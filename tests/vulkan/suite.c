/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan program that does what Vulkan programs do with queues, and checks each result:
 *
 *   suite [CASE]     all cases by default, but for `invalid`
 *
 * It knows nothing of the layer. run.py runs it with and without. */
#include "vk_program.h"

#include <pthread.h>

static void finish(struct program *p)
{
    program_end(p);
}

/* Results, in order, of many submissions without a wait in between. */
static void in_order(const struct wish *w)
{
    struct program p;
    VkFence fence;
    VkCommandBuffer c;
    uint32_t want = 0;

    program_device(&p, w);
    program_kernel(&p);
    c = program_commands(&p, 1000, 3);
    fence = program_fence(&p);
    for (int i = 0; i < 50; i++) {
        program_submit(&p, c, i == 49 ? fence : VK_NULL_HANDLE);
        want = computed(want, 1000);
    }
    program_wait(&p, fence);
    CHECK(p.values[3] == want);
    vkDestroyFence(p.device, fence, NULL);
    finish(&p);
}

static void case_plain(void)
{
    in_order(&(struct wish){0});
}

static void case_old(void)
{
    in_order(&(struct wish){.api = VK_API_VERSION_1_0});
    in_order(&(struct wish){.api = VK_API_VERSION_1_1});
}

static void case_features(void)
{
    in_order(&(struct wish){.features = 1});
    in_order(&(struct wish){.features = 2});
}

/* More batches in one call than the layer copies, and none with a fence. */
static void case_batches(void)
{
    enum { N = 40 };
    VkSubmitInfo all[N];
    VkCommandBuffer c[N];
    struct program p;
    uint32_t want = 0;
    VkFence fence;

    program_device(&p, &(struct wish){0});
    program_kernel(&p);
    fence = program_fence(&p);
    for (int i = 0; i < N; i++) {
        c[i] = program_commands(&p, (uint32_t)i, 1);
        all[i] = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &c[i]};
        want = computed(want, (uint32_t)i);
    }
    for (uint32_t n = 1; n <= N; n += 13) {
        MUST(vkQueueSubmit(p.queue, n, all, fence));
        program_wait(&p, fence);
        MUST(vkQueueSubmit(p.queue, 0, NULL, fence));
        program_wait(&p, fence);
        p.values[1] = 0;
    }
    MUST(vkQueueSubmit(p.queue, N, all, VK_NULL_HANDLE));
    MUST(vkQueueWaitIdle(p.queue));
    CHECK(p.values[1] == want);
    vkDestroyFence(p.device, fence, NULL);
    finish(&p);
}

static void case_submit2(void)
{
    struct program p;
    uint32_t want = 0;
    VkFence fence;

    program_device(&p, &(struct wish){.submit2 = 1});
    CHECK(p.submit2);
    program_kernel(&p);
    fence = program_fence(&p);
    for (uint32_t i = 0; i < 20; i++) {
        VkCommandBufferSubmitInfo c = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                       .commandBuffer = program_commands(&p, i, 2)};
        VkSubmitInfo2 all[20];

        for (uint32_t k = 0; k <= i; k++) {
            all[k] = (VkSubmitInfo2){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2, .commandBufferInfoCount = 1,
                                     .pCommandBufferInfos = &c};
            want = computed(want, i);
        }
        MUST(p.submit2(p.queue, i + 1, all, fence));
        program_wait(&p, fence);
        CHECK(p.values[2] == want);
    }
    vkDestroyFence(p.device, fence, NULL);
    finish(&p);
}

static VkSemaphore semaphore(struct program *p, VkSemaphoreType type)
{
    VkSemaphoreTypeCreateInfo kind = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = type};
    VkSemaphoreCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &kind};
    VkSemaphore s;

    MUST(vkCreateSemaphore(p->device, &create, NULL, &s));
    return s;
}

/* A binary semaphore from one submission to the next, both ways in one batch. */
static void case_binary(void)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    struct program p;
    VkCommandBuffer c;
    VkSemaphore s;
    uint32_t want = 0;

    program_device(&p, &(struct wish){0});
    program_kernel(&p);
    c = program_commands(&p, 500, 5);
    s = semaphore(&p, VK_SEMAPHORE_TYPE_BINARY);
    for (int i = 0; i < 20; i++) {
        VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &c,
                               .signalSemaphoreCount = 1, .pSignalSemaphores = &s, .waitSemaphoreCount = i ? 1 : 0,
                               .pWaitSemaphores = &s, .pWaitDstStageMask = &stage};

        MUST(vkQueueSubmit(p.queue, 1, &submit, VK_NULL_HANDLE));
        want = computed(want, 500);
    }
    MUST(vkDeviceWaitIdle(p.device));
    CHECK(p.values[5] == want);
    vkDestroySemaphore(p.device, s, NULL);
    finish(&p);
}

/* What is submitted waits for a value that this very thread signals later, after more submissions than any bound lets be in
 * flight: a layer that waits for the first one waits for ever. */
static void case_wait_before_signal(void)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const uint64_t one = 1;
    VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = 1, .pWaitSemaphoreValues = &one};
    VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .value = 1};
    struct program p;
    VkSubmitInfo first;
    VkCommandBuffer c;
    uint32_t want;

    program_device(&p, &(struct wish){.features = 1});
    program_kernel(&p);
    c = program_commands(&p, 10, 0);
    signal.semaphore = semaphore(&p, VK_SEMAPHORE_TYPE_TIMELINE);
    first = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &values, .waitSemaphoreCount = 1,
                           .pWaitSemaphores = &signal.semaphore, .pWaitDstStageMask = &stage, .commandBufferCount = 1,
                           .pCommandBuffers = &c};
    MUST(vkQueueSubmit(p.queue, 1, &first, VK_NULL_HANDLE));
    want = computed(0, 10);
    for (int i = 0; i < 24; i++) {
        program_submit(&p, c, VK_NULL_HANDLE);
        want = computed(want, 10);
    }
    CHECK(p.values[0] == 0);
    MUST(vkSignalSemaphore(p.device, &signal));
    MUST(vkQueueWaitIdle(p.queue));
    CHECK(p.values[0] == want);
    vkDestroySemaphore(p.device, signal.semaphore, NULL);
    finish(&p);
}

/* The queue has one handle for all that ask for it. */
static void case_alias(void)
{
    VkDeviceQueueInfo2 again = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_INFO_2};
    VkQueue one, two;
    struct program p;
    VkCommandBuffer c;

    program_device(&p, &(struct wish){0});
    program_kernel(&p);
    vkGetDeviceQueue(p.device, 0, 0, &one);
    vkGetDeviceQueue2(p.device, &again, &two);
    CHECK(one == p.queue && two == p.queue);
    c = program_commands(&p, 10, 0);
    for (int i = 0; i < 10; i++) {
        p.queue = i & 1 ? one : two;
        program_submit(&p, c, VK_NULL_HANDLE);
    }
    MUST(vkQueueWaitIdle(one));
    CHECK(p.values[0] == computed(0, 100));
    finish(&p);
}

struct shared {
    struct program p;
    pthread_mutex_t lock;
};

static void *one_of_several(void *opaque)
{
    struct shared *s = opaque;
    VkFence fence = program_fence(&s->p);
    VkCommandBuffer c;

    pthread_mutex_lock(&s->lock);
    c = program_commands(&s->p, 100, 7);
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&s->lock); /* Vulkan wants it */
        program_submit(&s->p, c, fence);
        pthread_mutex_unlock(&s->lock);
        program_wait(&s->p, fence);
    }
    vkDestroyFence(s->p.device, fence, NULL);
    return NULL;
}

static void case_threads(void)
{
    struct shared s = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[4];

    program_device(&s.p, &(struct wish){0});
    program_kernel(&s.p);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, one_of_several, &s) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK(s.p.values[7] == computed(0, 4 * 50 * 100));
    finish(&s.p);
}

/* Devices that come and go while marks are in flight. One that stays keeps the loader from unloading the driver in between:
 * NVIDIA's refuses a tenth instance in one process else. */
static void case_devices(void)
{
    struct program stays;

    program_device(&stays, &(struct wish){0});
    program_kernel(&stays);
    for (int i = 0; i < 20; i++) {
        struct program p;

        program_device(&p, &(struct wish){.features = i % 3});
        program_kernel(&p);
        program_submit(&p, program_commands(&p, 20000, 0), VK_NULL_HANDLE);
        finish(&p);
    }
    finish(&stays);
}

/* What Vulkan refuses comes back as it is. */
static void case_functions(void)
{
    struct program p;

    program_device(&p, &(struct wish){0});
    CHECK(vkGetDeviceProcAddr(p.device, "vkQueueSubmit"));
    CHECK(!vkGetDeviceProcAddr(p.device, "vkNoSuchFunction"));
    CHECK(!vkGetDeviceProcAddr(p.device, "vkQueuePresentKHR")); /* its extension is not enabled */
    CHECK(vkGetInstanceProcAddr(p.instance, "vkQueueSubmit"));
    CHECK(!vkGetInstanceProcAddr(p.instance, "vkNoSuchFunction"));
    vkDestroyDevice(p.device, NULL);
    vkDestroyInstance(p.instance, NULL);
}

/* Not one of all: a validation layer that is there must find this. */
static void case_invalid(void)
{
    struct program p;

    program_device(&p, &(struct wish){0});
    program_fence(&p);            /* is still there when its device goes */
    vkDestroyDevice(p.device, NULL);
    vkDestroyInstance(p.instance, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} k_cases[] = {
    {"plain", case_plain},     {"old", case_old},         {"features", case_features}, {"batches", case_batches},
    {"submit2", case_submit2}, {"binary", case_binary},   {"wait_before_signal", case_wait_before_signal},
    {"alias", case_alias},     {"threads", case_threads}, {"devices", case_devices},   {"functions", case_functions},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(k_cases) / sizeof(k_cases[0]); i++) {
        int only_list = argc > 1 && strcmp(argv[1], "list") == 0;

        if (argc > 1 && !only_list && strcmp(argv[1], k_cases[i].name) != 0)
            continue;
        if (!only_list)
            k_cases[i].run();
        printf("%s\n", k_cases[i].name);
        fflush(stdout);
    }
    if (argc > 1 && strcmp(argv[1], "invalid") == 0)
        case_invalid();
    return 0;
}
