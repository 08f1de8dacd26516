/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that lazy.c loads again for each call, so that each time none of them is loaded. */
extern "C" {
__device__ unsigned long long kept;

__global__ void nop() {}

__global__ void add(unsigned long long *at)
{
    if (at)
        atomicAdd(at, kept);
}

/* Needs more memory of its own for each thread than a context has at first. */
__global__ void local_memory(unsigned long long *at, unsigned n)
{
    volatile unsigned char own[16 << 10];

    for (unsigned i = 0; i < n; i++)
        own[(i * 7919u) % sizeof(own)] = (unsigned char)i;
    if (at)
        *at = own[n % sizeof(own)];
}

/* Much code. */
__global__ void large(unsigned long long *at, unsigned n)
{
    unsigned long long x = n;

#pragma unroll
    for (unsigned i = 0; i < 512; i++) {
        x ^= x << (i % 31 + 1);
        x += i * 2654435761u;
    }
    if (at)
        *at = x;
}

/* Device time by the device's clock. */
__global__ void spin(unsigned long long ns)
{
    unsigned long long from, now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(from));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - from < ns);
}
}
