/* SPDX-License-Identifier: Apache-2.0 */
/* Registration by compiled objects, modules, launches. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct registered {               /* host stubs of this copy; under fake_lock */
    const void *stub;
    const struct CUfunc_st *function;
    struct registered *next;
};
static struct registered *g_registered;
static int g_fat_binaries;
static _Thread_local struct {
    struct xs_dim3 grid, block;
    size_t shared;
    hipStream_t stream;
} t_pushed[8];
static _Thread_local int t_depth;

/* Functions here are loaded with their modules. */
const struct CUfunc_st *fake_loaded(const void *handle)
{
    return handle;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT void **__hipRegisterFatBinary(const void *data);
void **__hipRegisterFatBinary(const void *data)
{
    void **modules = calloc(2, sizeof(*modules));

    modules[0] = (void *)(uintptr_t)data;
    __atomic_fetch_add(&g_fat_binaries, 1, __ATOMIC_RELAXED);
    return modules;
}

EXPORT void __hipUnregisterFatBinary(void **modules);
void __hipUnregisterFatBinary(void **modules)
{
    free(modules);
}

EXPORT void __hipRegisterFunction(void **modules, const void *stub, char *device, const char *name, unsigned threads,
                                  void *tid, void *bid, void *block, void *grid, int *wave);
void __hipRegisterFunction(void **modules, const void *stub, char *device, const char *name, unsigned threads,
                           void *tid, void *bid, void *block, void *grid, int *wave)
{
    struct registered *r = malloc(sizeof(*r));

    (void)modules, (void)device, (void)threads, (void)tid, (void)bid, (void)block, (void)grid, (void)wave;
    r->stub = stub;
    if (cuModuleGetFunction(&r->function, NULL, name)) /* a kernel that the fake does not know does nothing */
        cuModuleGetFunction(&r->function, NULL, "nop");
    pthread_mutex_lock(&fake_lock);
    r->next = g_registered;
    g_registered = r;
    pthread_mutex_unlock(&fake_lock);
}

static const char *name_of(const void *stub)
{
    const char *name = NULL;

    pthread_mutex_lock(&fake_lock);
    for (struct registered *r = g_registered; r && !name; r = r->next)
        name = r->stub == stub ? r->function->name : NULL;
    pthread_mutex_unlock(&fake_lock);
    return name;
}

API hipFuncGetAttributes(void *attributes, const void *stub)
{
    (void)attributes;
    return fake_result(name_of(stub) ? 0 : XS_HIP_INVALID_FUNCTION);
}

EXPORT const char *hipKernelNameRefByPtr(const void *stub, hipStream_t s);
const char *hipKernelNameRefByPtr(const void *stub, hipStream_t s)
{
    (void)s;
    return name_of(stub);
}

API __hipPushCallConfiguration(struct xs_dim3 grid, struct xs_dim3 block, size_t shared, hipStream_t stream)
{
    t_pushed[t_depth].grid = grid;
    t_pushed[t_depth].block = block;
    t_pushed[t_depth].shared = shared;
    t_pushed[t_depth++].stream = stream;
    return 0;
}

API __hipPopCallConfiguration(struct xs_dim3 *grid, struct xs_dim3 *block, size_t *shared, hipStream_t *stream)
{
    if (!t_depth) /* the other half went to another copy */
        return fake_result(XS_HIP_INVALID_VALUE);
    *grid = t_pushed[--t_depth].grid;
    *block = t_pushed[t_depth].block;
    *shared = t_pushed[t_depth].shared;
    *stream = t_pushed[t_depth].stream;
    return 0;
}

EXPORT int fake_hip_fat_binaries(void);
int fake_hip_fat_binaries(void)
{
    return g_fat_binaries;
}

static const struct CUfunc_st *function_of(const void *stub)
{
    const struct CUfunc_st *f = NULL;

    pthread_mutex_lock(&fake_lock);
    for (struct registered *r = g_registered; r && !f; r = r->next)
        if (r->stub == stub)
            f = r->function;
    pthread_mutex_unlock(&fake_lock);
    return f;
}

static hipError_t run(const struct CUfunc_st *f, hipError_t unknown, hipStream_t s, void **args, bool per_thread)
{
    hipError_t r = fake_accepts(s);

    if (r || !f)
        return fake_result(r ? r : unknown);
    return fake_result(per_thread ? cuLaunchKernel_ptsz(f, 1, 1, 1, 1, 1, 1, 0, CU_STREAM(s), args, NULL)
                                  : cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, CU_STREAM(s), args, NULL));
}

API hipLaunchKernel(const void *stub, struct xs_dim3 grid, struct xs_dim3 block, void **args, size_t shared,
                    hipStream_t s)
{
    (void)grid, (void)block, (void)shared;
    return run(function_of(stub), XS_HIP_INVALID_FUNCTION, s, args, false);
}

API hipLaunchKernel_spt(const void *stub, struct xs_dim3 grid, struct xs_dim3 block, void **args, size_t shared,
                        hipStream_t s)
{
    (void)grid, (void)block, (void)shared;
    return run(function_of(stub), XS_HIP_INVALID_FUNCTION, s, args, true);
}

API hipExtLaunchKernel(const void *stub, struct xs_dim3 grid, struct xs_dim3 block, void **args, size_t shared,
                       hipStream_t s, hipEvent_t start, hipEvent_t stop, int flags)
{
    hipError_t r = hipLaunchKernel(stub, grid, block, args, shared, s);

    (void)start, (void)flags;
    if (!r && stop)
        cuEventRecord((CUevent)stop, CU_STREAM(s)); /* part of the launch */
    return r;
}

API hipLaunchKernelExC(const struct xs_hip_launch_config *config, const void *stub, void **args)
{
    return run(function_of(stub), XS_HIP_INVALID_FUNCTION, config->stream, args, false);
}

API hipLaunchCooperativeKernel(const void *stub, struct xs_dim3 grid, struct xs_dim3 block, void **args,
                               unsigned shared, hipStream_t s)
{
    return hipLaunchKernel(stub, grid, block, args, shared, s);
}

API hipConfigureCall(struct xs_dim3 grid, struct xs_dim3 block, size_t shared, hipStream_t s)
{
    return __hipPushCallConfiguration(grid, block, shared, s);
}

API hipLaunchByPtr(const void *stub)
{
    struct xs_dim3 grid, block;
    size_t shared;
    hipStream_t s;
    hipError_t r = __hipPopCallConfiguration(&grid, &block, &shared, &s);

    return r ? r : hipLaunchKernel(stub, grid, block, NULL, shared, s);
}

/* ---- modules ---- */

static struct module {
    const void *image;
    struct module *next;
} *g_modules;                     /* of this copy; under fake_lock, never freed */

static bool knows_module(const void *mod)
{
    bool found = mod == NULL;     /* tests that need none */

    pthread_mutex_lock(&fake_lock);
    for (struct module *m = g_modules; m && !found; m = m->next)
        found = m == mod;
    pthread_mutex_unlock(&fake_lock);
    return found;
}

API hipModuleLoadData(void **mod, const void *image)
{
    struct module *m = malloc(sizeof(*m));

    pthread_mutex_lock(&fake_lock);
    *m = (struct module){image, g_modules};
    g_modules = m;
    pthread_mutex_unlock(&fake_lock);
    *mod = m;
    return 0;
}

API hipModuleLoad(void **mod, const char *path)
{
    return fake_hip_arch() ? hipModuleLoadData(mod, path) : fake_result(XS_HIP_NOT_SUPPORTED);
}

API hipModuleGetFunction(hipFunction_t *f, void *mod, const char *name)
{
    if (!knows_module(mod))
        return fake_result(XS_HIP_INVALID_HANDLE);
    if (fake_hip_arch() && cuModuleGetFunction((const struct CUfunc_st **)f, mod, name))
        name = "nop";
    return fake_result(cuModuleGetFunction((const struct CUfunc_st **)f, mod, name));
}

static const char *const g_listed[] = {"work", "nop"};
enum { LISTED = sizeof(g_listed) / sizeof(g_listed[0]) };

API hipModuleGetFunctionCount(unsigned *count, void *mod)
{
    *count = LISTED;
    return knows_module(mod) ? 0 : fake_result(XS_HIP_INVALID_HANDLE);
}

API hipModuleEnumerateFunctions(hipFunction_t *functions, unsigned number, void *mod)
{
    hipError_t r = 0;

    for (unsigned i = 0; i < number && i < LISTED && !r; i++)
        r = hipModuleGetFunction(&functions[i], mod, g_listed[i]);
    return r;
}

static hipError_t module_launch(hipFunction_t f, hipStream_t s, void **params, void **extra)
{
    static const char *const names[] = {"work", "nop", "burn", "spin", "add", "meet"};
    const struct CUfunc_st *mine = NULL, *other;

    (void)extra;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !mine; i++)
        if (cuModuleGetFunction(&other, NULL, names[i]) == 0 && other == (const struct CUfunc_st *)f)
            mine = other;
    return run(mine, XS_HIP_INVALID_HANDLE, s, params, false);
}

#define GRID uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e, uint32_t g
#define NO_GRID (void)a, (void)b, (void)c, (void)d, (void)e, (void)g, (void)shared
API hipModuleLaunchKernel(hipFunction_t f, GRID, unsigned shared, hipStream_t s, void **params, void **extra)
{
    NO_GRID;
    return module_launch(f, s, params, extra);
}

API hipExtModuleLaunchKernel(hipFunction_t f, GRID, size_t shared, hipStream_t s, void **params, void **extra,
                             hipEvent_t start, hipEvent_t stop, uint32_t flags)
{
    hipError_t r = module_launch(f, s, params, extra);

    NO_GRID, (void)start, (void)flags;
    if (!r && stop)
        cuEventRecord((CUevent)stop, CU_STREAM(s));
    return r;
}

#define MANGLED _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j
API MANGLED(hipFunction_t f, GRID, size_t shared, hipStream_t s, void **params, void **extra, hipEvent_t start,
            hipEvent_t stop, uint32_t flags)
{
    return hipExtModuleLaunchKernel(f, a, b, c, d, e, g, shared, s, params, extra, start, stop, flags);
}
