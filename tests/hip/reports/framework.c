/* SPDX-License-Identifier: Apache-2.0 */
/* What stands for libtorch_hip.so of a wheel: it needs the runtime under the bare name libamdhip64.so, finds it beside
 * itself, registers its kernel before anything else as compiled objects do, and launches through the host stub. Each
 * function answers with HIP's error code. */
#include "library.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int fw_init(void);
EXPORT int fw_randn(uint32_t *log, uint32_t tag);
EXPORT void *fw_stream(int priority);
EXPORT int fw_on(void *stream, uint32_t *log, uint32_t tag);
EXPORT int fw_module(void *stream, uint32_t *log, uint32_t tag, int mangled);
EXPORT int fw_sync(void *stream);
EXPORT void *fw_listed(void);

int fw_init(void)
{
    int n = 0, r = hipGetDeviceCount(&n);

    return r ? r : hipSetDevice(0);
}

/* The default stream, as most of PyTorch. */
int fw_randn(uint32_t *log, uint32_t tag)
{
    int r = library_launch(NULL, log, tag);

    return r ? r : hipDeviceSynchronize();
}

void *fw_stream(int priority)
{
    void *s = NULL;

    return hipStreamCreateWithPriority(&s, 1, priority) ? NULL : s;
}

int fw_on(void *stream, uint32_t *log, uint32_t tag)
{
    int r = library_launch(stream, log, tag);

    return r ? r : hipStreamSynchronize(stream);
}

/* MIOpen and Tensile: a kernel from a module, by the C name (since ROCm 6.1) or the mangled one. */
int fw_module(void *stream, uint32_t *log, uint32_t tag, int mangled)
{
    uint64_t ns = 100000;
    void *params[] = {&ns, &log, &tag}, *mod, *f;
    int r = hipModuleLoadData(&mod, "code");

    if (!r)
        r = hipModuleGetFunction(&f, mod, "work");
    if (!r)
        r = (mangled ? hipExtModuleLaunchKernelMangled : hipExtModuleLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, stream, params,
                                                                                NULL, NULL, NULL, 0);
    return r ? r : hipStreamSynchronize(stream);
}

int fw_sync(void *stream)
{
    return hipStreamSynchronize(stream);
}

/* The second function in a list of a module's: "nop". */
void *fw_listed(void)
{
    void *mod, *functions[2];

    return hipModuleLoadData(&mod, "code") || hipModuleEnumerateFunctions(functions, 2, mod) ? NULL : functions[1];
}

/* Functions that end in a jump to the runtime's, as compilers make them: the runtime sees its caller's caller. */
#if defined(__x86_64__)
#define JUMP(name, to) \
    __asm__(".text\n.globl " name "\n.type " name ",@function\n" name ":\n\tjmp " to "@PLT\n.size " name ", .-" name "\n")
#else
#define JUMP(name, to) \
    __asm__(".text\n.globl " name "\n.type " name ",%function\n" name ":\n\tb " to "\n.size " name ", .-" name "\n")
#endif
JUMP("fw_wait", "hipStreamSynchronize");
JUMP("fw_launch", "hipModuleLaunchKernel");
