/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose work waits for the host, on Vulkan: vulkan SECONDS MODE. A submission waits for a value of a timeline
 * semaphore, which the host signals 2 ms later; by vkQueueSubmit, or by vkQueueSubmit2 where the mode is `two`. In the mode
 * `event` a command buffer waits for an event that the host sets. Each round has a submission more, and waits for it.
 * Prints how many rounds a second it did. */
#include "rounds.h"
#include "../vulkan/vk_program.h"

static VkCommandBuffer waits_for(struct program *p, VkEvent event)
{
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = p->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands;

    MUST(vkAllocateCommandBuffers(p->device, &allocate, &commands));
    MUST(vkBeginCommandBuffer(commands, &begin));
    vkCmdWaitEvents(commands, 1, &event, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, NULL, 0, NULL, 0,
                    NULL);
    MUST(vkEndCommandBuffer(commands));
    return commands;
}

static int events(struct program *p, VkCommandBuffer then, double seconds)
{
    VkEventCreateInfo create = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    VkEvent event;
    VkCommandBuffer waits;

    MUST(vkCreateEvent(p->device, &create, NULL, &event));
    waits = waits_for(p, event);
    while (rounds_go_on(seconds)) {
        VkSubmitInfo first = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &waits};
        VkSubmitInfo second = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &then};

        MUST(vkResetEvent(p->device, event));
        MUST(vkQueueSubmit(p->queue, 1, &first, VK_NULL_HANDLE));
        MUST(vkQueueSubmit(p->queue, 1, &second, VK_NULL_HANDLE));
        rounds_pause();
        MUST(vkSetEvent(p->device, event));
        MUST(vkQueueWaitIdle(p->queue));
    }
    return rounds_end(0);
}

int main(int argc, char **argv)
{
    const struct wish wish = {.features = 1, .submit2 = 1};
    const int two = argc > 2 && !strcmp(argv[2], "two");
    VkSemaphoreTypeCreateInfo kind = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &kind};
    VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkCommandBuffer commands[2];
    struct program p;
    VkSemaphore go;

    program_device(&p, &wish);
    program_kernel(&p);
    for (uint32_t i = 0; i < 2; i++)
        commands[i] = program_commands(&p, 10, i);
    if (argc > 2 && !strcmp(argv[2], "event"))
        return events(&p, commands[1], atof(argv[1]));
    MUST(vkCreateSemaphore(p.device, &create, NULL, &go));
    while (rounds_go_on(argc > 1 ? atof(argv[1]) : 1)) {
        uint64_t value = g_rounds;
        VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                .waitSemaphoreValueCount = 1, .pWaitSemaphoreValues = &value};
        VkSubmitInfo first = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &values, .waitSemaphoreCount = 1,
                              .pWaitSemaphores = &go, .pWaitDstStageMask = &stages, .commandBufferCount = 1,
                              .pCommandBuffers = &commands[0]};
        VkSubmitInfo then = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands[1]};
        VkSemaphoreSubmitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO, .semaphore = go, .value = value,
                                      .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
        VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, .commandBuffer = commands[0]};
        VkSubmitInfo2 first2 = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2, .waitSemaphoreInfoCount = 1,
                                .pWaitSemaphoreInfos = &wait, .commandBufferInfoCount = 1, .pCommandBufferInfos = &buffer};
        VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = go, .value = value};

        MUST(two ? p.submit2(p.queue, 1, &first2, VK_NULL_HANDLE) : vkQueueSubmit(p.queue, 1, &first, VK_NULL_HANDLE));
        MUST(vkQueueSubmit(p.queue, 1, &then, VK_NULL_HANDLE));
        MUST(vkQueueSubmit(p.queue, 1, &then, VK_NULL_HANDLE));
        rounds_pause();
        MUST(vkSignalSemaphore(p.device, &signal));
        MUST(vkQueueWaitIdle(p.queue));
    }
    return rounds_end(0);
}
