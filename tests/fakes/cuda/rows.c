/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of the driver, as far as the fake does not do better: weak, and not supported. */
#include "hal/cuda/cuda_abi.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"

#define ROW(symbol)                                                                               \
    __attribute__((weak, visibility("default"))) CUresult symbol(void);                           \
    __attribute__((weak, visibility("default"))) CUresult symbol(void)                            \
    {                                                                                             \
        return XS_CU_NOT_SUPPORTED;                                                               \
    }
#define CU(kind, symbol, name, version, streams, params, args, stream, key) ROW(symbol)
#define CU_PASS(symbol, name, version, streams) ROW(symbol)
#include "shim/cuda/cuda_api.def"

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
