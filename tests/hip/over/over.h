/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of HIP that runtime.c has. */
#ifndef TESTS_HIP_OVER_H
#define TESTS_HIP_OVER_H

#include <stddef.h>

int hipGetDevice(int *ret);
int hipSetDevice(int dev);
int hipGetDeviceCount(int *ret);
int hipMalloc(void **ret, size_t bytes);
int hipFree(void *p);
int hipStreamCreateWithFlags(void **ret, unsigned flags);
int hipStreamDestroy(void *stream);
int hipStreamSynchronize(void *stream);
int hipMemsetAsync(void *p, int value, size_t bytes, void *stream);
int hipMemcpyAsync(void *to, void *from, size_t bytes, int kind, void *stream);

#endif
