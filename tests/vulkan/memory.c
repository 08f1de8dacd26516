/* SPDX-License-Identifier: Apache-2.0 */
/* A program that takes all the memory of its device that it can get, up to 256 MiB: memory LIMIT
 * Status 0: it got as much as LIMIT (in MiB) lets it have and no more, twice, and the heap looked no larger. */
#include "vk_program.h"

#define MIB   (1024u * 1024)
#define CHUNK 4                   /* MiB */
#define MOST  64

static unsigned take(struct program *p, uint32_t type, VkDeviceMemory *m)
{
    VkMemoryAllocateInfo a = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = CHUNK * MIB,
                              .memoryTypeIndex = type};
    unsigned n;
    VkResult r = VK_SUCCESS;

    for (n = 0; n < MOST && (r = vkAllocateMemory(p->device, &a, NULL, &m[n])) == VK_SUCCESS; n++)
        ;
    CHECK(n == MOST || r == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    return n;
}

int main(int argc, char **argv)
{
    unsigned limit = argc > 1 ? (unsigned)atoi(argv[1]) : 0, want = limit ? limit / CHUNK : MOST, got[2];
    VkPhysicalDeviceMemoryProperties2 two = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    VkPhysicalDeviceMemoryProperties one = {0};
    VkDeviceMemory m[MOST];
    struct program p;
    uint32_t type = 0;

    for (int device = 0; device < 2; device++) { /* what the first one leaves behind does not count in the second */
        program_device(&p, &(struct wish){0});
        vkGetPhysicalDeviceMemoryProperties(p.physical, &one);
        vkGetPhysicalDeviceMemoryProperties2(p.physical, &two);
        CHECK(memcmp(&one, &two.memoryProperties, sizeof(one)) == 0);
        while (!(one.memoryHeaps[one.memoryTypes[type].heapIndex].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT))
            CHECK(++type < one.memoryTypeCount);
        if (limit)
            CHECK(one.memoryHeaps[one.memoryTypes[type].heapIndex].size <= (uint64_t)limit * MIB);
        got[0] = take(&p, type, m);
        for (unsigned i = 0; i < got[0]; i++)
            vkFreeMemory(p.device, m[i], NULL);
        vkFreeMemory(p.device, VK_NULL_HANDLE, NULL);
        got[1] = take(&p, type, m);
        printf("%u and %u of %u MiB\n", got[0] * CHUNK, got[1] * CHUNK, want * CHUNK);
        CHECK(got[0] == want && got[1] == want);
        for (unsigned i = device ? 0 : 1; i < got[1]; i++)
            vkFreeMemory(p.device, m[i], NULL);
        vkDestroyDevice(p.device, NULL);
        vkDestroyInstance(p.instance, NULL);
    }
    return 0;
}
