/* SPDX-License-Identifier: Apache-2.0 */
/* An ordinary Vulkan program's way to a device with a kernel that computes for as long as it is told. Each call must succeed, or
 * the program ends. */
#ifndef TESTS_VULKAN_VK_PROGRAM_H
#define TESTS_VULKAN_VK_PROGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vulkan/vulkan.h>

#include "spin_spirv.h"

#define MUST(call)                                                                                \
    do {                                                                                          \
        VkResult must_ = (call);                                                                  \
        if (must_ != VK_SUCCESS) {                                                                \
            fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, must_);             \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)
#define CHECK(what)                                                                               \
    do {                                                                                          \
        if (!(what)) {                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                            \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

#define SLOTS 64
#define MUL   1664525u
#define ADD   1013904223u

/* How the device is made. */
struct wish {
    uint32_t api;                 /* 0: 1.3 */
    int features;                 /* 0: none named; 1: the program enables timeline semaphores; 2: it names them and does not */
    int submit2;                  /* synchronization2 is enabled */
};

struct program {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool descriptors;
    VkDescriptorSet set;
    uint32_t *values;             /* what the kernel writes */
    PFN_vkQueueSubmit2 submit2;
};

static inline uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static inline void program_device(struct program *p, const struct wish *w)
{
    const float one = 1;
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .apiVersion = w->api ? w->api : VK_API_VERSION_1_3};
    VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
    VkPhysicalDeviceVulkan12Features f12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                            .timelineSemaphore = w->features == 1};
    VkPhysicalDeviceSynchronization2Features f13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES, .synchronization2 = 1};
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1,
                                     .pQueuePriorities = &one};
    VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queue};
    uint32_t count = 1;

    memset(p, 0, sizeof(*p));
    MUST(vkCreateInstance(&instance, NULL, &p->instance));
    if (vkEnumeratePhysicalDevices(p->instance, &count, &p->physical) < 0 || !count) {
        printf("no Vulkan device\n");
        exit(77);
    }
    if (w->features)
        device.pNext = &f12;
    if (w->submit2) {
        f13.pNext = (void *)(uintptr_t)device.pNext;
        device.pNext = &f13;
    }
    MUST(vkCreateDevice(p->physical, &device, NULL, &p->device));
    if (w->features == 2)
        CHECK(f12.timelineSemaphore == 0); /* ours again after the call */
    vkGetDeviceQueue(p->device, 0, 0, &p->queue);
    CHECK(p->queue);
    p->submit2 = (PFN_vkQueueSubmit2)vkGetDeviceProcAddr(p->device, "vkQueueSubmit2");
}

static inline void program_kernel(struct program *p)
{
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = SLOTS * 4,
                                 .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    VkDescriptorSetLayoutCreateInfo set_layout = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                  .bindingCount = 1, .pBindings = &binding};
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 8};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1,
                                         .pSetLayouts = &p->set_layout, .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &range};
    VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof(k_spin),
                                       .pCode = k_spin};
    VkComputePipelineCreateInfo pipeline = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo descriptors = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1,
                                              .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorSetCount = 1,
                                       .pSetLayouts = &p->set_layout};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkPhysicalDeviceMemoryProperties kinds;
    VkMemoryRequirements needs;
    VkShaderModule code;

    MUST(vkCreateBuffer(p->device, &buffer, NULL, &p->buffer));
    vkGetBufferMemoryRequirements(p->device, p->buffer, &needs);
    vkGetPhysicalDeviceMemoryProperties(p->physical, &kinds);
    memory.allocationSize = needs.size;
    for (uint32_t i = 0; i < kinds.memoryTypeCount; i++) {
        VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

        if ((needs.memoryTypeBits & 1u << i) && (kinds.memoryTypes[i].propertyFlags & wanted) == wanted) {
            memory.memoryTypeIndex = i;
            break;
        }
    }
    MUST(vkAllocateMemory(p->device, &memory, NULL, &p->memory));
    MUST(vkBindBufferMemory(p->device, p->buffer, p->memory, 0));
    MUST(vkMapMemory(p->device, p->memory, 0, VK_WHOLE_SIZE, 0, (void **)&p->values));
    memset(p->values, 0, SLOTS * 4);
    MUST(vkCreateDescriptorSetLayout(p->device, &set_layout, NULL, &p->set_layout));
    MUST(vkCreatePipelineLayout(p->device, &layout, NULL, &p->layout));
    MUST(vkCreateShaderModule(p->device, &module, NULL, &code));
    pipeline.stage = (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                       .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = code, .pName = "main"};
    pipeline.layout = p->layout;
    MUST(vkCreateComputePipelines(p->device, VK_NULL_HANDLE, 1, &pipeline, NULL, &p->pipeline));
    vkDestroyShaderModule(p->device, code, NULL);
    MUST(vkCreateDescriptorPool(p->device, &descriptors, NULL, &p->descriptors));
    set.descriptorPool = p->descriptors;
    MUST(vkAllocateDescriptorSets(p->device, &set, &p->set));
    vkUpdateDescriptorSets(p->device, 1, &(VkWriteDescriptorSet){
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = p->set, .descriptorCount = 1,
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .pBufferInfo = &(VkDescriptorBufferInfo){p->buffer, 0, VK_WHOLE_SIZE}}, 0, NULL);
    MUST(vkCreateCommandPool(p->device, &pool, NULL, &p->pool));
}

#define ROUNDS_MOST 50000         /* of one kernel: lavapipe ends loops after 65535 */

/* A command buffer that computes `rounds` steps in a slot. */
static inline VkCommandBuffer program_commands(struct program *p, uint32_t rounds, uint32_t slot)
{
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = p->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    VkMemoryBarrier order = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                             .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT};
    VkCommandBuffer c;

    MUST(vkAllocateCommandBuffers(p->device, &allocate, &c));
    MUST(vkBeginCommandBuffer(c, &begin));
    vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
    vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &p->set, 0, NULL);
    do {
        uint32_t values[2] = {rounds < ROUNDS_MOST ? rounds : ROUNDS_MOST, slot};

        vkCmdPushConstants(c, p->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 8, values);
        vkCmdDispatch(c, 1, 1, 1);
        vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                             VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &order, 0, NULL, 0,
                             NULL);
        rounds -= values[0];
    } while (rounds);
    MUST(vkEndCommandBuffer(c));
    return c;
}

static inline uint32_t computed(uint32_t x, uint32_t rounds)
{
    while (rounds--)
        x = x * MUL + ADD;
    return x;
}

static inline VkFence program_fence(struct program *p)
{
    VkFenceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence;

    MUST(vkCreateFence(p->device, &create, NULL, &fence));
    return fence;
}

static inline void program_submit(struct program *p, VkCommandBuffer c, VkFence fence)
{
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &c};

    MUST(vkQueueSubmit(p->queue, 1, &submit, fence));
}

static inline void program_wait(struct program *p, VkFence fence)
{
    MUST(vkWaitForFences(p->device, 1, &fence, 1, UINT64_MAX));
    MUST(vkResetFences(p->device, 1, &fence));
}

static inline void program_end(struct program *p)
{
    MUST(vkDeviceWaitIdle(p->device));
    vkDestroyCommandPool(p->device, p->pool, NULL);
    vkDestroyDescriptorPool(p->device, p->descriptors, NULL);
    vkDestroyPipeline(p->device, p->pipeline, NULL);
    vkDestroyPipelineLayout(p->device, p->layout, NULL);
    vkDestroyDescriptorSetLayout(p->device, p->set_layout, NULL);
    vkDestroyBuffer(p->device, p->buffer, NULL);
    vkFreeMemory(p->device, p->memory, NULL);
    vkDestroyDevice(p->device, NULL);
    vkDestroyInstance(p->instance, NULL);
}

#endif
