/* SPDX-License-Identifier: Apache-2.0 */
/* The fake CUDA driver's mapped memory beside what cuMemAlloc gives, as an H200's driver 580 was seen. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hal/cuda/cuda_abi.h"

#define MIB     ((size_t)1 << 20)
#define BLOCK   (2 * MIB)

#define API                                                                                       \
    X(cuInit, (unsigned))                                                                         \
    X(cuCtxCreate_v2, (CUcontext *, unsigned, int))                                               \
    X(cuCtxDestroy_v2, (CUcontext))                                                               \
    X(cuCtxSynchronize, (void))                                                                   \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                     \
    X(cuMemFree_v2, (CUdeviceptr))                                                                \
    X(cuMemGetInfo_v2, (size_t *, size_t *))                                                      \
    X(cuMemAddressReserve, (CUdeviceptr *, size_t, size_t, CUdeviceptr, uint64_t))                \
    X(cuMemAddressFree, (CUdeviceptr, size_t))                                                    \
    X(cuMemCreate, (uint64_t *, size_t, const struct xs_cu_mem_properties *, uint64_t))           \
    X(cuMemRelease, (uint64_t))                                                                   \
    X(cuMemMap, (CUdeviceptr, size_t, size_t, uint64_t, uint64_t))                                \
    X(cuMemSetAccess, (CUdeviceptr, size_t, const struct xs_cu_mem_access *, size_t))             \
    X(cuMemUnmap, (CUdeviceptr, size_t))                                                          \
    X(cuMemRetainAllocationHandle, (uint64_t *, void *))                                          \
    X(cuMemGetAddressRange_v2, (CUdeviceptr *, size_t *, CUdeviceptr))                            \
    X(cuPointerGetAttribute, (void *, int, CUdeviceptr))                                          \
    X(cuPointerSetAttribute, (const void *, int, CUdeviceptr))                                    \
    X(cuIpcGetMemHandle, (struct xs_cu_ipc_handle *, CUdeviceptr))                                \
    X(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t))                                        \
    X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                                             \
    X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                                       \
    X(cuModuleGetFunction, (void **, void *, const char *))                                       \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

static struct {
#define X(symbol, types) CUresult (*symbol) types;
    API
#undef X
    void (*memory)(int, size_t *, unsigned *, unsigned *);
    uint64_t (*fail_call)(const char *, unsigned, int);
} g_api;

static CUcontext g_ctx;
static const struct xs_cu_mem_properties k_here = {.type = 1, .location = {1, 0}};
static const struct xs_cu_mem_access k_access = {{1, 0}, 3};

#define OK(call) assert_int_equal(g_api.call, 0)

static CUdeviceptr reserved(size_t bytes)
{
    CUdeviceptr at;

    OK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    assert_int_equal(at % BLOCK, 0);
    return at;
}

static uint64_t put(CUdeviceptr at, size_t bytes)
{
    uint64_t handle;

    OK(cuMemCreate(&handle, bytes, &k_here, 0));
    OK(cuMemMap(at, bytes, 0, handle, 0));
    OK(cuMemSetAccess(at, bytes, &k_access, 1));
    return handle;
}

static void bytes_move_with_their_handle(void **state)
{
    CUdeviceptr at = reserved(2 * BLOCK), other = reserved(BLOCK);
    unsigned char byte = 0;
    uint64_t h = put(at, BLOCK);

    (void)state;
    OK(cuMemsetD8_v2(at, 7, BLOCK));
    OK(cuCtxSynchronize());
    assert_int_equal(g_api.cuMemUnmap(at, BLOCK / 2), XS_CU_INVALID_VALUE);
    assert_int_equal(g_api.cuMemAddressFree(at, 2 * BLOCK), XS_CU_INVALID_VALUE);
    OK(cuMemUnmap(at, BLOCK));
    assert_int_equal(g_api.cuMemcpyDtoH_v2(&byte, at, 1), XS_CU_INVALID_VALUE);
    OK(cuMemMap(other, BLOCK, 0, h, 0));
    assert_int_equal(g_api.cuMemcpyDtoH_v2(&byte, other, 1), XS_CU_INVALID_VALUE); /* no access yet */
    OK(cuMemSetAccess(other, BLOCK, &k_access, 1));
    OK(cuMemcpyDtoH_v2(&byte, other + BLOCK - 1, 1));
    assert_int_equal(byte, 7);
    OK(cuMemRelease(h)); /* the mapping holds it */
    OK(cuMemcpyDtoH_v2(&byte, other, 1));
    OK(cuMemUnmap(other, BLOCK));
    h = put(at, BLOCK);
    OK(cuMemcpyDtoH_v2(&byte, at, 1));
    assert_int_equal(byte, 0); /* other memory */
    OK(cuMemUnmap(at, BLOCK));
    OK(cuMemRelease(h));
    OK(cuMemAddressFree(at, 2 * BLOCK));
    OK(cuMemAddressFree(other, BLOCK));
}

static void sizes_are_whole_blocks(void **state)
{
    CUdeviceptr at;
    uint64_t h;

    (void)state;
    assert_int_equal(g_api.cuMemAddressReserve(&at, MIB, 0, 0, 0), XS_CU_INVALID_VALUE);
    assert_int_equal(g_api.cuMemCreate(&h, BLOCK + 1, &k_here, 0), XS_CU_INVALID_VALUE);
    OK(cuMemCreate(&h, BLOCK, &k_here, 0));
    assert_int_equal(g_api.cuMemMap(0x10000000, BLOCK, 0, h, 0), XS_CU_INVALID_VALUE); /* nobody reserved it */
    OK(cuMemRelease(h));
    assert_int_equal(g_api.cuMemRelease(h), XS_CU_INVALID_VALUE);
}

static void the_device_has_so_much(void **state)
{
    size_t has, total, before;
    CUdeviceptr p, at = reserved(BLOCK);
    unsigned handles, mappings;
    CUcontext other;
    uint64_t h, more;

    (void)state;
    OK(cuMemGetInfo_v2(&before, &total));
    assert_int_equal(total, 64 * MIB);
    h = put(at, BLOCK);
    OK(cuMemGetInfo_v2(&has, &total));
    assert_int_equal(before - has, BLOCK);
    assert_int_equal(g_api.cuMemCreate(&more, has + BLOCK, &k_here, 0), XS_CU_OUT_OF_MEMORY);
    assert_int_equal(g_api.cuMemAlloc_v2(&p, has + 1), XS_CU_OUT_OF_MEMORY);
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuMemAlloc_v2(&p, has));
    OK(cuCtxDestroy_v2(other)); /* what it allocated goes with it, what is mapped stays */
    OK(cuMemGetInfo_v2(&has, &total));
    assert_int_equal(before - has, BLOCK);
    OK(cuMemUnmap(at, BLOCK));
    OK(cuMemRelease(h));
    g_api.memory(0, &has, &handles, &mappings);
    assert_int_equal(total - has, before);
    assert_int_equal(handles + mappings, 0);
    OK(cuMemAddressFree(at, BLOCK));
}

static void pointers_differ(void **state)
{
    CUdeviceptr at = reserved(2 * BLOCK), own, base;
    struct xs_cu_ipc_handle ipc;
    void *owner = NULL;
    bool capable = true;
    size_t bytes = 0;
    uint64_t h[2], again, id, id_after;
    unsigned one = 1;

    (void)state;
    OK(cuMemAlloc_v2(&own, 2 * BLOCK));
    h[0] = put(at, BLOCK);
    h[1] = put(at + BLOCK, BLOCK);
    OK(cuPointerGetAttribute(&owner, 1, own + 5));
    assert_ptr_equal(owner, g_ctx);
    OK(cuPointerGetAttribute(&owner, 1, at));
    assert_ptr_equal(owner, NULL);
    for (int what = 10; what <= 21; what += what == 10 ? 5 : 6) { /* IPC, RDMA, decompression */
        OK(cuPointerGetAttribute(&capable, what, own));
        assert_true(capable);
        OK(cuPointerGetAttribute(&capable, what, at));
        assert_false(capable);
    }
    OK(cuPointerGetAttribute(&bytes, 12, at)); /* RANGE_SIZE: of what is reserved */
    assert_int_equal(bytes, 2 * BLOCK);
    OK(cuPointerGetAttribute(&bytes, 18, at)); /* MAPPING_SIZE: of the block */
    assert_int_equal(bytes, BLOCK);
    OK(cuMemGetAddressRange_v2(&base, &bytes, at + BLOCK + 5));
    assert_true(base == at + BLOCK && bytes == BLOCK);
    OK(cuMemGetAddressRange_v2(&base, &bytes, own + BLOCK + 5));
    assert_true(base == own && bytes == 2 * BLOCK);
    OK(cuIpcGetMemHandle(&ipc, own));
    assert_int_equal(g_api.cuIpcGetMemHandle(&ipc, at), XS_CU_INVALID_VALUE);
    OK(cuPointerSetAttribute(&one, 6, own));
    assert_int_equal(g_api.cuPointerSetAttribute(&one, 6, at), XS_CU_NOT_SUPPORTED);
    assert_int_equal(g_api.cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)own), XS_CU_INVALID_VALUE);
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(at + BLOCK)));
    assert_true(again == h[1]);
    OK(cuMemRelease(again));
    assert_int_equal(g_api.cuMemFree_v2(own + 4096), XS_CU_INVALID_VALUE);
    assert_int_equal(g_api.cuMemFree_v2(at), XS_CU_INVALID_VALUE);
    OK(cuPointerGetAttribute(&id, 7, at)); /* BUFFER_ID: another after a remap */
    OK(cuMemUnmap(at, 2 * BLOCK));
    OK(cuMemMap(at, BLOCK, 0, h[0], 0));
    OK(cuPointerGetAttribute(&id_after, 7, at));
    assert_true(id != id_after);
    OK(cuMemUnmap(at, BLOCK));
    OK(cuMemRelease(h[0]));
    OK(cuMemRelease(h[1]));
    OK(cuMemFree_v2(own));
    OK(cuMemAddressFree(at, 2 * BLOCK));
}

static void a_call_fails_on_request(void **state)
{
    CUdeviceptr at = reserved(BLOCK);
    uint64_t h;

    (void)state;
    g_api.fail_call("cuMemMap", 2, 999);
    OK(cuMemCreate(&h, BLOCK, &k_here, 0));
    OK(cuMemMap(at, BLOCK, 0, h, 0));
    OK(cuMemUnmap(at, BLOCK));
    assert_int_equal(g_api.cuMemMap(at, BLOCK, 0, h, 0), 999);
    OK(cuMemMap(at, BLOCK, 0, h, 0));
    OK(cuMemUnmap(at, BLOCK));
    OK(cuMemRelease(h));
    OK(cuMemAddressFree(at, BLOCK));
}

/* The last one: the context is lost. */
static void a_kernel_that_touches_what_is_gone_ends_the_context(void **state)
{
    CUdeviceptr at = reserved(BLOCK);
    uint64_t h = put(at, BLOCK);
    void *add, *params[] = {&at};

    (void)state;
    OK(cuModuleGetFunction(&add, NULL, "add"));
    OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(at, BLOCK));
    OK(cuMemRelease(h));
    OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    assert_int_equal(g_api.cuCtxSynchronize(), 700);
}

int main(int argc, char **argv)
{
    void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_move_with_their_handle),
        cmocka_unit_test(sizes_are_whole_blocks),
        cmocka_unit_test(the_device_has_so_much),
        cmocka_unit_test(pointers_differ),
        cmocka_unit_test(a_call_fails_on_request),
        cmocka_unit_test(a_kernel_that_touches_what_is_gone_ends_the_context),
    };

    if (!lib)
        return 2;
    setenv("FAKE_CUDA_MEMORY", "64", 1);
#define X(symbol, types) *(void **)(void *)&g_api.symbol = dlsym(lib, #symbol);
    API
#undef X
    *(void **)(void *)&g_api.memory = dlsym(lib, "fake_cuda_memory");
    *(void **)(void *)&g_api.fail_call = dlsym(lib, "fake_cuda_fail_call");
    if (g_api.cuInit(0) || g_api.cuCtxCreate_v2(&g_ctx, 0, 0))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
