/* SPDX-License-Identifier: Apache-2.0 */
/* A program under the shim that resets its device by a call that succeeds and ends nothing, as in ROCm's
 * runtime, while a kernel runs and a mark stands behind it: the device writes that mark, and nothing else
 * changes. */
#include <stdint.h>

#include "../stream/begin.h"
#include "../stream/check.h"

static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static uint32_t g_log[64];
static P g_work;

static int launch(P stream, uint32_t tag)
{
    uint64_t ns = 50000000;
    uint32_t *log = g_log;
    void *params[] = {&ns, &log, &tag};

    return Launch(g_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

int main(void)
{
    void *lib = dlopen(LIBRARY, RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW);
    int (*create)(P *, unsigned), (*sync)(P), (*function)(P *, P, const char *), (*reset)(int), (*error)(void);
    int (*registered)(void);
    P s;

    TRUE(lib && fake && begin_device(lib, 0) == 0);
    get(lib, &create, STREAM_CREATE), get(lib, &sync, PREFIX "StreamSynchronize"), get(lib, &Launch, LAUNCH);
    get(lib, &function, PREFIX "ModuleGetFunction"), get(lib, &reset, PREFIX "DevicePrimaryCtxReset");
    get(lib, &error, PREFIX "PeekAtLastError"), get(fake, &registered, "fake_cuda_registered");
    TRUE(function(&g_work, NULL, "work") == 0 && create(&s, 1) == 0);
    TRUE(launch(s, 1) == 0);      /* never timed: it gets a mark */
    TRUE(registered() > 0);
    TRUE(reset(0) == 0 && error() == 0);
    TRUE(registered() == 0 && g_log[0] == 1); /* else the mark is written where something else lies by then */
    TRUE(sync(s) == 0);
    TRUE(launch(s, 2) == 0 && registered() > 0 && sync(s) == 0);
    TRUE(g_log[0] == 2 && g_log[1] == 1 && g_log[2] == 2);
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
