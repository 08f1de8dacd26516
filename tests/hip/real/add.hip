/* SPDX-License-Identifier: Apache-2.0 */
/* A program as hipcc makes it, for one GPU architecture. Without a GPU it comes as far as registration and errors. */
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void add(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += 1; }
int main() {
    int n = -1; hipError_t e = hipGetDeviceCount(&n);
    printf("devices %d: %s\n", n, hipGetErrorName(e));
    float *p = nullptr; e = hipMalloc(&p, 4096); printf("malloc %s\n", hipGetErrorName(e));
    add<<<4, 256>>>(p, 1024);
    printf("launch %s\n", hipGetErrorName(hipGetLastError()));
    printf("synchronize %s\n", hipGetErrorName(hipDeviceSynchronize()));
    return 0; }
