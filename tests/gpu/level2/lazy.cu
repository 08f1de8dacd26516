/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that lazy.c loads again for each call, so that each time none of them is loaded. */
extern "C" {
__device__ unsigned long long kept;

__global__ void nop() {}

__global__ void add(unsigned long long *at)
{
    if (at)
        atomicAdd(at, 1 + kept);
}

/* Each needs more memory of its own for each thread than a context has at first, and than the one before. */
#define LOCAL(name, bytes)                                      \
    __global__ void name(unsigned long long *at, unsigned n)    \
    {                                                           \
        volatile unsigned char own[bytes];                      \
                                                                \
        for (unsigned i = 0; i < n; i++)                        \
            own[(i * 7919u) % sizeof(own)] = (unsigned char)i;  \
        if (at)                                                 \
            *at = own[n % sizeof(own)];                         \
    }
LOCAL(local_1, 8 << 10)
LOCAL(local_2, 12 << 10)
LOCAL(local_3, 16 << 10)
LOCAL(local_4, 20 << 10)
LOCAL(local_5, 24 << 10)
LOCAL(local_6, 28 << 10)

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
