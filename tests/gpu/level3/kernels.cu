/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel: a stated amount of arithmetic whose result depends on every step of it. */
extern "C" __global__ void burn(unsigned long long rounds, volatile unsigned *started, unsigned stamp,
                                volatile unsigned long long *progress, unsigned long long *sum)
{
    unsigned long long x = 88172645463325252ull + threadIdx.x + 1315423911ull * blockIdx.x;
    bool first = threadIdx.x == 0 && blockIdx.x == 0;

    if (started && first) {
        *started = stamp;
        __threadfence_system();
    }
    for (unsigned long long i = 0; i < rounds; i++) {
        for (int k = 0; k < 64; k++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        if (progress && first)
            *progress = i + 1;
    }
    atomicAdd(sum, x & 0xffffffffull);
}
