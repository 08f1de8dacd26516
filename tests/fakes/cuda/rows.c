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
    {0, 0, 0, 0}};
