/* SPDX-License-Identifier: Apache-2.0 */
/* What a HIP program sees of XSCHED_MEM_LIMIT=64M: memory [unlimited]. Prints what is wrong. */
#include <stddef.h>
#include <stdio.h>

#define MIB ((size_t)1 << 20)
#define OOM 2

int hipMalloc(void **p, size_t n);
int hipMallocManaged(void **p, size_t n, unsigned flags);
int hipMallocAsync(void **p, size_t n, void *stream);
int hipFree(void *p);
int hipFreeAsync(void *p, void *stream);
int hipMemGetInfo(size_t *free_bytes, size_t *total);
int hipDeviceTotalMem(size_t *n, int device);
int hipSetDevice(int device);
int hipDeviceReset(void);

static int g_wrong;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                           \
            g_wrong++;                                                                                       \
        }                                                                                                    \
    } while (0)

static size_t left(void)
{
    size_t f = 0, t = 0;

    CHECK(hipMemGetInfo(&f, &t) == 0 && t == 64 * MIB);
    return f;
}

int main(int argc, char **argv)
{
    void *a = NULL, *b = NULL, *c = NULL;
    size_t t = 0;

    (void)argv;
    if (argc > 1) {
        CHECK(hipDeviceTotalMem(&t, 0) == 0 && t == 1024 * MIB);
        CHECK(hipMalloc(&a, 600 * MIB) == 0 && hipFree(a) == 0);
        return g_wrong != 0;
    }
    CHECK(hipDeviceTotalMem(&t, 0) == 0 && t == 64 * MIB);
    CHECK(left() == 64 * MIB);
    CHECK(hipMalloc(&a, 40 * MIB) == 0);
    CHECK(hipMalloc(&b, 25 * MIB) == OOM && hipMallocManaged(&b, 25 * MIB, 1) == OOM &&
          hipMallocAsync(&b, 25 * MIB, NULL) == OOM);
    CHECK(hipMallocManaged(&b, 14 * MIB, 1) == 0 && hipMallocAsync(&c, 10 * MIB, NULL) == 0);
    CHECK(left() == 0);
    CHECK(hipFreeAsync(c, NULL) == 0 && left() == 10 * MIB);
    CHECK(hipSetDevice(1) == 0 && left() == 64 * MIB); /* each device for itself */
    CHECK(hipSetDevice(0) == 0 && hipFree(b) == 0 && left() == 24 * MIB);
    CHECK(hipDeviceReset() == 0 && left() == 64 * MIB); /* with what it held */
    return g_wrong != 0;
}
