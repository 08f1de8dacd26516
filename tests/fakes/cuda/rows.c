/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of the driver, as far as the fake does not do better, by its row and weak: what waits for its turn is an
 * empty command on its stream, which succeeds; the rest is not supported. */
#include "internal.h"
#include "shim/common/kinds.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define WEAK __attribute__((weak, visibility("default"))) CUresult
#define NOT_SUPPORTED(symbol)                                                                     \
    WEAK symbol(void);                                                                            \
    WEAK symbol(void)                                                                             \
    {                                                                                             \
        return XS_CU_NOT_SUPPORTED;                                                               \
    }
#define PER_THREAD_ANY           false
#define PER_THREAD_LEGACY        false
#define PER_THREAD_PTDS          true
#define XS_CONFIG_STREAM(config) (((const struct xs_cu_launch_config *)(config))->stream)

#define BODY_0(symbol, streams, params, on) NOT_SUPPORTED(symbol)
#define BODY_1(symbol, streams, params, on)                                                       \
    WEAK symbol params;                                                                           \
    WEAK symbol params                                                                            \
    {                                                                                             \
        return fake_put(on, PER_THREAD_##streams, (struct fake_op){.kind = FAKE_WORK});           \
    }
#define CU(kind, symbol, name, version, streams, params, args, on, key)                           \
    XS_BY(BODY_, suspended, kind)(symbol, streams, params, on)
#define CU_PASS(symbol, name, version, streams) NOT_SUPPORTED(symbol)
#include "shim/cuda/cuda_api.def"
#undef CU
#undef CU_PASS

CUresult cuNewerThanUs(int x);
CUresult fake_begin_anew(int how, CUstream s); /* graphs.c */

/* Of a driver of the future, each with parameters that no version of before has. */
static CUresult launch_99(int how, CUfunction f, CUstream s, void **params)
{
    return how == 99 ? cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL) : XS_CU_INVALID_VALUE;
}

static CUresult flags_99(int how)
{
    return how == 99 ? 0 : XS_CU_INVALID_VALUE;
}

enum { STREAMS_ANY, STREAMS_LEGACY, STREAMS_PTDS };
const struct fake_row {
    const char *name;
    void *fn;
    int version, streams;
} fake_rows[] = {
#define CU(kind, symbol, name, version, streams, params, args, stream, key)                       \
    {#name, (void *)symbol, version, STREAMS_##streams},
#define CU_PASS(symbol, name, version, streams) {#name, (void *)symbol, version, STREAMS_##streams},
#include "shim/cuda/cuda_api.def"
    {"cuNewerThanUs", (void *)cuNewerThanUs, 12000, STREAMS_ANY}, /* a function that no table of ours knows */
    {"cuLaunchKernel", (void *)launch_99, 99000, STREAMS_LEGACY},  /* versions and, the second, a function likewise */
    {"cuStreamBeginAnew", (void *)fake_begin_anew, 99000, STREAMS_ANY},
    {"cuCtxGetFlags", (void *)flags_99, 99000, STREAMS_ANY},
    {0, 0, 0, 0}};
