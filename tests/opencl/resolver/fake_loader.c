/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for a real libOpenCL: it tells which copy it is by its number of platforms, and lacks
 * nearly everything. */
int clGetPlatformIDs(unsigned count, void *platforms, unsigned *ret_count);
int clGetPlatformInfo(void *platform, unsigned name, unsigned long size, void *value, unsigned long *ret_size);

__attribute__((visibility("default"))) int clGetPlatformIDs(unsigned count, void *platforms, unsigned *ret_count)
{
    (void)count;
    (void)platforms;
    if (ret_count)
        *ret_count = ID;
    return 0;
}

__attribute__((visibility("default"))) int clGetPlatformInfo(void *platform, unsigned name, unsigned long size,
                                                             void *value, unsigned long *ret_size)
{
    (void)platform;
    (void)name;
    (void)size;
    (void)value;
    (void)ret_size;
    return -30;
}

#ifdef CALLS_ITSELF
/* By its public name, which leads to whatever stands in front. */
__attribute__((constructor)) static void call_itself(void)
{
    unsigned count = 0;

    clGetPlatformIDs(0, (void *)0, &count);
}
#endif
