#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lavapipe's vkGetQueryPoolResults waits until its whole device is idle, also without VK_QUERY_RESULT_WAIT_BIT and for results
# that have long been available. While a submission waits for a timeline semaphore that the host signals, the call does not
# return; where the calling thread would signal it, never. vkGetFenceStatus, vkGetEventStatus and vkGetSemaphoreCounterValue
# return at once.
#
# Whom it matters to: whoever polls timestamps (profilers, frame pacing), and whoever lets submissions wait for the host, as
# Vulkan's wait-before-signal allows, and tests that on lavapipe.
# Guess before the run: without VK_QUERY_RESULT_WAIT_BIT the call returns at once.
# Seen: Mesa 22.3.6-1+deb12u2 and the Vulkan loader 1.3.239 of Debian 12, 2026-11-30: a submission that waits for 1 s makes the
# call last 1 s.
#
# Needs gcc and the packages mesa-vulkan-drivers and libvulkan-dev; no GPU. It installs nothing, since the driver's file names
# a fixed folder.
set -eu
driver=$(find /usr/share/vulkan/icd.d -name 'lvp_icd*.json' 2> /dev/null | head -1)
[ -n "$driver" ] && [ -e /usr/include/vulkan/vulkan.h ] || { echo "needed: mesa-vulkan-drivers, libvulkan-dev"; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/query.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <vulkan/vulkan.h>

#define OK(call)                                                \
    do {                                                        \
        VkResult r_ = (call);                                   \
        if (r_ != VK_SUCCESS) {                                 \
            printf("%s: error %d\n", #call, r_);                \
            exit(2);                                            \
        }                                                       \
    } while (0)
#define HOST_MS 1000

static VkDevice device;
static VkSemaphore semaphore;

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void *signal_later(void *unused)
{
    VkSemaphoreSignalInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = 1};
    struct timespec t = {.tv_sec = HOST_MS / 1000};

    nanosleep(&t, NULL);
    OK(vkSignalSemaphore(device, &info));
    return unused;
}

int main(void)
{
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
    VkPhysicalDeviceVulkan12Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .timelineSemaphore = VK_TRUE};
    VkDeviceQueueCreateInfo queue_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1,
        .pQueuePriorities = (float[]){1}};
    VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &features,
        .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue_info};
    VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkQueryPoolCreateInfo query_info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 1};
    VkEventCreateInfo event_info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkSemaphoreTypeCreateInfo type_info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo semaphore_info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type_info};
    VkCommandBufferAllocateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkTimelineSemaphoreSubmitInfo wait_value = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = 1, .pWaitSemaphoreValues = (uint64_t[]){1}};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1};
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    VkInstance instance;
    VkPhysicalDevice physical;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer stamp;
    VkQueryPool query;
    VkEvent event;
    VkFence fence;
    VkResult result;
    pthread_t thread;
    uint64_t value[2] = {0}, counter;
    uint32_t one = 1;
    double start, others_ms, query_ms, idle_ms;

    OK(vkCreateInstance(&instance_info, NULL, &instance));
    OK(vkEnumeratePhysicalDevices(instance, &one, &physical));
    vkGetPhysicalDeviceProperties2(physical, &properties);
    printf("%s %s, %s\n", driver.driverName, driver.driverInfo, properties.properties.deviceName);
    OK(vkCreateDevice(physical, &device_info, NULL, &device));
    vkGetDeviceQueue(device, 0, 0, &queue);
    OK(vkCreateCommandPool(device, &pool_info, NULL, &pool));
    OK(vkCreateQueryPool(device, &query_info, NULL, &query));
    OK(vkCreateEvent(device, &event_info, NULL, &event));
    OK(vkCreateFence(device, &fence_info, NULL, &fence));
    OK(vkCreateSemaphore(device, &semaphore_info, NULL, &semaphore));
    buffer_info.commandPool = pool;
    OK(vkAllocateCommandBuffers(device, &buffer_info, &stamp));
    OK(vkBeginCommandBuffer(stamp, &begin));
    vkCmdResetQueryPool(stamp, query, 0, 1);
    vkCmdWriteTimestamp(stamp, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, query, 0);
    OK(vkEndCommandBuffer(stamp));
    submit.pCommandBuffers = &stamp;
    OK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    OK(vkQueueWaitIdle(queue));

    start = now_ms();
    OK(vkGetQueryPoolResults(device, query, 0, 1, sizeof(value), value, sizeof(value),
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT));
    idle_ms = now_ms() - start;
    printf("device idle: result available: %d, the call lasts %.0f ms\n", value[1] != 0, idle_ms);

    /* No command at all, only a wait: nothing touches the query. */
    submit = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &wait_value, .waitSemaphoreCount = 1,
        .pWaitSemaphores = &semaphore, .pWaitDstStageMask = &stages};
    OK(vkQueueSubmit(queue, 1, &submit, fence));
    if (pthread_create(&thread, NULL, signal_later, NULL))
        return 2;
    start = now_ms();
    result = vkGetFenceStatus(device, fence);
    vkGetEventStatus(device, event);
    OK(vkGetSemaphoreCounterValue(device, semaphore, &counter));
    others_ms = now_ms() - start;
    printf("a submission waits (fence: %s, counter %d): these and the event's status last %.0f ms\n",
        result == VK_NOT_READY ? "not ready" : "?", (int)counter, others_ms);
    start = now_ms();
    OK(vkGetQueryPoolResults(device, query, 0, 1, sizeof(value), value, sizeof(value),
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT));
    query_ms = now_ms() - start;
    printf("vkGetQueryPoolResults of the same, available result lasts %.0f ms\n", query_ms);
    pthread_join(thread, NULL);
    OK(vkDeviceWaitIdle(device));
    vkDestroySemaphore(device, semaphore, NULL);
    vkDestroyFence(device, fence, NULL);
    vkDestroyEvent(device, event, NULL);
    vkDestroyQueryPool(device, query, NULL);
    vkDestroyCommandPool(device, pool, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return result == VK_NOT_READY && counter == 0 && value[1] && idle_ms < HOST_MS / 4 && others_ms < HOST_MS / 4 &&
        query_ms > HOST_MS / 2 ? 0 : 1;
}
C
gcc -o "$dir/query" "$dir/query.c" -lvulkan -lpthread
echo "expected: every call lasts 0 ms"
VK_ICD_FILENAMES="$driver" timeout 60 "$dir/query" && echo "as found" || { echo "it changed"; exit 1; }
