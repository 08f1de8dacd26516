/* SPDX-License-Identifier: Apache-2.0 */
/* Under a runtime that is newer than the table. hipGetProcAddress gives the shim's function where the table has it. Else it gives
 * the runtime's own; where that launches work, the process goes to level 1. */
#include <stdint.h>

#include "../stream/begin.h"
#include "../stream/check.h"

#include "wire/unseen.h"
#include "xsched/hip/hal.h"
#include "xsched/xsched.h"

static int (*Address)(const char *, void **, int, uint64_t, int *);

static void *address_for(const char *name, int version, uint64_t flags)
{
    void *fn = NULL;

    TRUE(Address(name, &fn, version, flags, NULL) == 0 && fn);
    return fn;
}

static void *address(const char *name, int version)
{
    return address_for(name, version, 0);
}

static int is_shims(void *fn)
{
    Dl_info of;

    return dladdr(fn, &of) && strstr(of.dli_fname, "libshimhip") != NULL;
}

/* What AMD's runtime answers otherwise than with the symbol of the name. */
static void other_answers(void *lib, const struct xs_unseen *unseen)
{
    enum { PER_THREAD = 2 };

    TRUE(address("hipGetDeviceProperties", 600) == dlsym(lib, "hipGetDevicePropertiesR0600"));
    TRUE(address("hipChooseDevice", 60443484) == dlsym(lib, "hipChooseDeviceR0600"));
    TRUE(address_for("hipMemsetAsync", 700, PER_THREAD) == dlsym(lib, "hipMemsetAsync_spt"));
    TRUE(address_for("hipMemcpyDtoDAsync", 700, PER_THREAD) == dlsym(lib, "hipMemcpyDtoDAsync"));
    TRUE(is_shims(dlsym(lib, "hipGetDevicePropertiesR0600")) && is_shims(dlsym(lib, "hipMemsetAsync_spt")));
    TRUE(!is_shims(address("hipAmdFileRead", 700)) && unseen->count[XS_UNSEEN_PASSES] == 2);
}

static XResult set_level2(P s)
{
    HwQueueHandle hwq;
    XQueueHandle xq;

    if (HipQueueGet(&hwq, s) != kXSchedSuccess)
        TRUE(HipQueueCreate(&hwq, s) == kXSchedSuccess && XQueueCreate(&xq, hwq, 1, 0) == kXSchedSuccess);
    TRUE(XQueueGet(&xq, hwq) == kXSchedSuccess);
    return XQueueSetPreemptLevel(xq, kPreemptLevelDeactivate);
}

int main(void)
{
    const struct xs_unseen *unseen = dlsym(RTLD_DEFAULT, XS_UNSEEN_SYMBOL);
    void *lib = dlopen(LIBRARY, RTLD_NOW), *fn;
    int (*create)(P *, unsigned), (*launch)(int);
    P s;

    TRUE(lib && unseen && begin_device(lib, 0) == 0);
    get(lib, &create, STREAM_CREATE), get(lib, &Address, "hipGetProcAddress");
    TRUE(create(&s, 1) == 0 && is_shims(address("hipModuleLaunchKernel", 700)));
    TRUE(!is_shims(address("hipNewerThanUs", 700)) && unseen->count[XS_UNSEEN_PASSES] == 1);
    other_answers(lib, unseen);
    TRUE(set_level2(s) == kXSchedSuccess);
    fn = address("hipModuleLaunchKernel", 990);
    memcpy(&launch, &fn, sizeof(fn));
    TRUE(!is_shims(fn) && launch(990) == 0);
    TRUE(set_level2(s) == kXSchedErrorNotSupported && create(&s, 1) == 0 && set_level2(s) == kXSchedErrorNotSupported);
    TRUE(unseen->count[XS_UNSEEN_WORKS] == 1 && strcmp(unseen->names[XS_UNSEEN_WORKS][0], "hipModuleLaunchKernel") == 0);
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
