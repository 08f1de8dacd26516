/* SPDX-License-Identifier: Apache-2.0 */
int clGetPlatformIDs(unsigned count, void *platforms, unsigned *ret_count);
int plugin_ask(void);

__attribute__((visibility("default"))) int plugin_ask(void)
{
    unsigned count = 0;

    clGetPlatformIDs(0, (void *)0, &count);
    return (int)count;
}
