/* SPDX-License-Identifier: Apache-2.0 */
/* hipBLAS, rocBLAS and MIOpen as they are distributed, on whatever runtime is there: one line a step with what came back.
 * Results are the runtime's business; a fake one computes nothing. Nothing is linked, so that no headers are needed. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *P;

static P lib_of(const char *name)
{
    P lib = dlopen(name, RTLD_NOW | RTLD_GLOBAL);

    if (!lib) {
        printf("missing: %s\n", dlerror());
        exit(77);
    }
    return lib;
}

static P sym(P lib, const char *name)
{
    P p = dlsym(lib, name);

    if (!p) {
        printf("missing: %s\n", name);
        exit(77);
    }
    return p;
}

/* Through memcpy: a function pointer out of an object pointer. */
#define FN(lib, type, name)                                                                       \
    int(*name) type;                                                                              \
    P found_##name = sym(lib, #name);                                                             \
    memcpy(&name, &found_##name, sizeof(found_##name))

#define STEP(call)                                                                                \
    do {                                                                                          \
        int code_ = call;                                                                         \
        printf("%.*s %d\n", (int)strcspn(#call, "("), #call, code_);                              \
        fflush(stdout);                                                                           \
    } while (0)

static P s_stream, s_a, s_b;

static void blas(P hip, const char *title, P on)
{
    P lib = lib_of("libhipblas.so.2"), handle = NULL, got = NULL;
    float one = 1;

    FN(hip, (P), hipStreamSynchronize);
    FN(lib, (P *), hipblasCreate);
    FN(lib, (P, P), hipblasSetStream);
    FN(lib, (P, P *), hipblasGetStream);
    FN(lib, (P, int, const float *, P, int), hipblasSscal);
    FN(lib, (P, int, const float *, P, int, P, int), hipblasSaxpy);
    FN(lib, (P, int, P, int, P, int), hipblasSswap);
    FN(lib, (P, int, const P, int, float *), hipblasSnrm2);
    FN(lib, (P), hipblasDestroy);
    printf("hipBLAS, %s\n", title);
    STEP(hipblasCreate(&handle));
    STEP(hipblasSetStream(handle, on));
    STEP(hipblasGetStream(handle, &got));
    printf("the same stream %d\n", got == on);
    STEP(hipblasSscal(handle, 256, &one, s_a, 1));
    STEP(hipblasSaxpy(handle, 256, &one, s_a, 1, s_b, 1));
    STEP(hipblasSswap(handle, 256, s_a, 1, s_b, 1));
    STEP(hipblasSnrm2(handle, 256, s_a, 1, &one));
    STEP(hipStreamSynchronize(on));
    STEP(hipblasDestroy(handle));
}

static void rocblas(void)
{
    P lib = lib_of("librocblas.so.4"), handle = NULL;
    float one = 1;

    FN(lib, (P *), rocblas_create_handle);
    FN(lib, (P, P), rocblas_set_stream);
    FN(lib, (P, int, const float *, P, int), rocblas_sscal);
    FN(lib, (P, int, int, int, const float *, P, int, P, int, const float *, P, int), rocblas_sgemv);
    FN(lib, (P), rocblas_destroy_handle);
    printf("rocBLAS\n");
    STEP(rocblas_create_handle(&handle));
    STEP(rocblas_set_stream(handle, s_stream));
    STEP(rocblas_sscal(handle, 256, &one, s_a, 1));
    STEP(rocblas_sgemv(handle, 111, 16, 16, &one, s_a, 16, s_b, 1, &one, s_b, 1));
    STEP(rocblas_destroy_handle(handle));
}

static void miopen(void)
{
    P lib = lib_of("libMIOpen.so.1"), handle = NULL, with = NULL, got = NULL, tensor = NULL;

    FN(lib, (P *), miopenCreate);
    FN(lib, (P *, P), miopenCreateWithStream);
    FN(lib, (P, P), miopenSetStream);
    FN(lib, (P, P *), miopenGetStream);
    FN(lib, (P *), miopenCreateTensorDescriptor);
    FN(lib, (P, int, int, int, int, int), miopenSet4dTensorDescriptor);
    FN(lib, (P), miopenDestroyTensorDescriptor);
    FN(lib, (P), miopenDestroy);
    printf("MIOpen\n");
    STEP(miopenCreate(&handle));
    STEP(miopenSetStream(handle, s_stream));
    STEP(miopenGetStream(handle, &got));
    printf("the same stream %d\n", got == s_stream);
    STEP(miopenCreateWithStream(&with, s_stream));
    STEP(miopenCreateTensorDescriptor(&tensor));
    STEP(miopenSet4dTensorDescriptor(tensor, 1, 1, 3, 8, 8));
    STEP(miopenDestroyTensorDescriptor(tensor));
    STEP(miopenDestroy(with));
    STEP(miopenDestroy(handle));
}

int main(void)
{
    P hip = lib_of("libamdhip64.so.6");

    FN(hip, (int), hipSetDevice);
    FN(hip, (P *, unsigned, int), hipStreamCreateWithPriority);
    FN(hip, (P *, size_t), hipMalloc);
    FN(hip, (void), hipDeviceSynchronize);
    FN(hip, (P), hipStreamDestroy);
    STEP(hipSetDevice(0));
    STEP(hipStreamCreateWithPriority(&s_stream, 1, 0));
    STEP(hipMalloc(&s_a, 4096));
    STEP(hipMalloc(&s_b, 4096));
    blas(hip, "the null stream", NULL);
    blas(hip, "a created stream", s_stream);
    blas(hip, "the thread's stream", (P)(uintptr_t)2);
    rocblas();
    miopen();
    STEP(hipDeviceSynchronize());
    STEP(hipStreamDestroy(s_stream));
    return 0;
}
