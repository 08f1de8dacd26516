/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a HIP program, one a line: title, what it gave back, a sum over the data that it left. It runs on whatever
 * runtime is there, a fake one too; tests compare its output natively and under the shim. Kernels are compiled by the
 * runtime's own compiler for the device that is found, and libraries are opened, so that it needs no headers of HIP.
 * What is not there is a line with the code "missing". */
#include "operations.h"

#include <pthread.h>
#include <unistd.h>

P s_hip, s_stream, s_urgent, s_a, s_b, s_c;
float s_host[FLOATS];
uint64_t s_sum;
int s_major;

P s_work, s_spin;

static bool s_missing;
static P s_reduce, s_scan;
static char s_stub;               /* its address names a compiled kernel */
static P s_code;
static size_t s_code_bytes;

/* The first kernel is one that the fake runtime has. */
static const char s_source[] =
    "extern \"C\" __global__ void work(unsigned long long ns, unsigned *log, unsigned tag)\n"
    "{ if (threadIdx.x == 0 && blockIdx.x == 0) { unsigned at = atomicAdd(log, 1u); log[1 + at] = tag; } }\n"
    "extern \"C\" __global__ void reduce(const float *in, float *out)\n"
    "{ __shared__ float s[64]; unsigned i = threadIdx.x; s[i] = in[i] + in[i + 64]; __syncthreads();\n"
    "  for (unsigned n = 32; n; n /= 2) { if (i < n) s[i] += s[i + n]; __syncthreads(); }\n"
    "  if (i == 0) out[0] = s[0]; }\n"
    "extern \"C\" __global__ void scan(const float *in, float *out)\n"
    "{ __shared__ float s[64]; unsigned i = threadIdx.x; s[i] = in[i]; __syncthreads();\n"
    "  for (unsigned n = 1; n < 64; n *= 2) { float x = i >= n ? s[i - n] : 0; __syncthreads(); s[i] += x; __syncthreads(); }\n"
    "  out[i] = s[i]; }\n"
    "extern \"C\" __global__ void spin(unsigned long long turns, unsigned *log, unsigned tag)\n"
    "{ volatile unsigned x = tag; for (unsigned long long i = 0; i < turns; i++) x = x * 3u + 1u; log[0] = x; }\n";

static int absent(void)
{
    s_missing = true;
    return -1;
}

uintptr_t fn(P lib, const char *name)
{
    P p = lib ? dlsym(lib, name) : NULL;

    return p ? (uintptr_t)p : (uintptr_t)absent;
}

P library(const char *name)
{
    const char *at = strstr(name, ".so.");
    char other[64];
    P lib = NULL;

    /* hipRTC, hipBLAS and rocBLAS count on with ROCm, the others keep their number */
    snprintf(other, sizeof(other), "%.*s.so.%d", (int)(at - name), name, atoi(at + 4) + s_major - 6);
    if (s_major != 6)
        lib = dlopen(other, RTLD_NOW);
    return lib ? lib : dlopen(name, RTLD_NOW);
}

void sum_host(const void *data, size_t bytes)
{
    const unsigned char *c = data;

    for (size_t i = 0; i < bytes; i++)
        s_sum = (s_sum ^ c[i]) * 1099511628211u;
}

int sum_device(P p, size_t bytes)
{
    static char back[FLOATS * 4];

    TRY(HIP(hipDeviceSynchronize, void)());
    TRY(HIP(hipMemcpy, P, const void *, size_t, int)(back, p, bytes, TO_HOST));
    sum_host(back, bytes);
    return 0;
}

int fill(P p, unsigned seed)
{
    for (unsigned i = 0; i < FLOATS; i++)
        s_host[i] = (float)((i * 7 + seed) % 13) / 4;
    return HIP(hipMemcpy, P, const void *, size_t, int)(p, s_host, sizeof(s_host), TO_DEVICE);
}

/* ---- runtime ---- */

int op_start(void)
{
    int n = 0;

    TRY(HIP(hipInit, unsigned)(0));
    TRY(HIP(hipGetDeviceCount, int *)(&n));
    sum_host(&n, sizeof(n));
    TRY(HIP(hipSetDevice, int)(0));
    TRY(HIP(hipStreamCreate, P *)(&s_stream));
    TRY(HIP(hipMalloc, P *, size_t)(&s_a, sizeof(s_host)));
    TRY(HIP(hipMalloc, P *, size_t)(&s_b, sizeof(s_host)));
    return HIP(hipMalloc, P *, size_t)(&s_c, sizeof(s_host));
}

int op_priority(void)
{
    int least = 0, most = 0, got = 0;

    TRY(HIP(hipDeviceGetStreamPriorityRange, int *, int *)(&least, &most));
    TRY(HIP(hipStreamCreateWithPriority, P *, unsigned, int)(&s_urgent, 1, most));
    TRY(HIP(hipStreamGetPriority, P, int *)(s_urgent, &got));
    sum_host(&got, sizeof(got));
    return got == most ? 0 : -2;
}

static int op_copies(void)
{
    TRY(fill(s_a, 1));
    return sum_device(s_a, sizeof(s_host));
}

static int op_memset(void)
{
    TRY(HIP(hipMemset, P, int, size_t)(s_b, 3, 4096));
    return sum_device(s_b, 4096);
}

static int memset_on(P stream)
{
    TRY(HIP(hipMemsetAsync, P, int, size_t, P)(s_b, 5, 4096, stream));
    TRY(HIP(hipStreamSynchronize, P)(stream));
    return sum_device(s_b, 4096);
}

static int op_memset_null(void) { return memset_on(NULL); }
static int op_memset_stream(void) { return memset_on(s_stream); }
static int op_memset_thread(void) { return memset_on(PER_THREAD); }
static int op_memset_urgent(void) { return memset_on(s_urgent); }

static int op_memset_words(void)
{
    TRY(HIP(hipMemsetD32Async, P, int, size_t, P)(s_b, 0x01020304, 1000, s_stream));
    return sum_device(s_b, 4000);
}

static int op_copy_async(void)
{
    TRY(fill(s_a, 2));
    TRY(HIP(hipMemcpyAsync, P, const void *, size_t, int, P)(s_c, s_a, sizeof(s_host), ON_DEVICE, s_stream));
    return sum_device(s_c, sizeof(s_host));
}

static int op_copy_with_stream(void)
{
    TRY(fill(s_a, 3));
    TRY(HIP(hipMemcpyWithStream, P, const void *, size_t, int, P)(s_c, s_a, sizeof(s_host), ON_DEVICE, s_stream));
    return sum_device(s_c, sizeof(s_host));
}

static int op_copy_device(void)
{
    TRY(fill(s_a, 4));
    TRY(HIP(hipMemcpyDtoD, P, P, size_t)(s_c, s_a, sizeof(s_host)));
    return sum_device(s_c, sizeof(s_host));
}

static int op_copy_2d(void)
{
    TRY(fill(s_a, 5));
    TRY(HIP(hipMemcpy2DAsync, P, size_t, const void *, size_t, size_t, size_t, int, P)(s_c, 256, s_a, 512, 128, 8, ON_DEVICE,
                                                                                       s_stream));
    return sum_device(s_c, 256 * 8);
}

static int op_pool(void)
{
    P p = NULL;

    TRY(HIP(hipMallocAsync, P *, size_t, P)(&p, 4096, s_stream));
    TRY(HIP(hipMemsetAsync, P, int, size_t, P)(p, 9, 4096, s_stream));
    TRY(sum_device(p, 4096));
    TRY(HIP(hipFreeAsync, P, P)(p, s_stream));
    return HIP(hipStreamSynchronize, P)(s_stream);
}

static int op_pinned(void)
{
    P p = NULL;

    TRY(fill(s_a, 6));
    TRY(HIP(hipHostMalloc, P *, size_t, unsigned)(&p, sizeof(s_host), 0));
    TRY(HIP(hipMemcpyAsync, P, const void *, size_t, int, P)(p, s_a, sizeof(s_host), TO_HOST, s_stream));
    TRY(HIP(hipStreamSynchronize, P)(s_stream));
    sum_host(p, sizeof(s_host));
    return HIP(hipHostFree, P)(p);
}

static int op_managed(void)
{
    P p = NULL;

    TRY(HIP(hipMallocManaged, P *, size_t, unsigned)(&p, 4096, 1));
    TRY(HIP(hipMemsetAsync, P, int, size_t, P)(p, 4, 4096, s_stream));
    TRY(HIP(hipStreamSynchronize, P)(s_stream));
    sum_host(p, 4096);
    return HIP(hipFree, P)(p);
}

static int op_events(void)
{
    P from = NULL, to = NULL;
    float ms = -1;

    TRY(HIP(hipEventCreate, P *)(&from));
    TRY(HIP(hipEventCreate, P *)(&to));
    TRY(HIP(hipEventRecord, P, P)(from, s_stream));
    TRY(HIP(hipMemsetAsync, P, int, size_t, P)(s_b, 6, 4096, s_stream));
    TRY(HIP(hipEventRecord, P, P)(to, s_stream));
    TRY(HIP(hipEventSynchronize, P)(to));
    TRY(HIP(hipEventQuery, P)(to));
    TRY(HIP(hipEventElapsedTime, float *, P, P)(&ms, from, to));
    TRY(HIP(hipEventDestroy, P)(from));
    TRY(HIP(hipEventDestroy, P)(to));
    return ms >= 0 ? 0 : -2;
}

static int launch(P stream, uint32_t tag)
{
    uint64_t ns = 1000;
    P params[] = {&ns, &s_c, &tag};

    return HIP(hipModuleLaunchKernel, P, GRID, unsigned, P, P *, P *)(s_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

/* also before what a stream does that does not wait for the null stream */
static int clear_log(void)
{
    TRY(HIP(hipMemset, P, int, size_t)(s_c, 0, 256));
    return HIP(hipDeviceSynchronize, void)();
}

static int op_wait_event(void)
{
    P event = NULL;

    TRY(clear_log());
    TRY(HIP(hipEventCreateWithFlags, P *, unsigned)(&event, 2));
    for (unsigned i = 0; i < 4; i++) {
        TRY(launch(i % 2 ? s_urgent : s_stream, i));
        TRY(HIP(hipEventRecord, P, P)(event, i % 2 ? s_urgent : s_stream));
        TRY(HIP(hipStreamWaitEvent, P, P, unsigned)(i % 2 ? s_stream : s_urgent, event, 0));
    }
    TRY(sum_device(s_c, 256));
    return HIP(hipEventDestroy, P)(event);
}

static void count(void *n) { __atomic_add_fetch((int *)n, 1, __ATOMIC_SEQ_CST); }

static int op_host_function(void)
{
    static int n;

    for (int i = 0; i < 5; i++)
        TRY(HIP(hipLaunchHostFunc, P, void (*)(void *), void *)(s_stream, count, &n));
    TRY(HIP(hipStreamSynchronize, P)(s_stream));
    sum_host(&n, sizeof(n));
    return n == 5 ? 0 : -2;
}

static void callback(P stream, int code, void *n)
{
    (void)stream, (void)code;
    count(n);
}

static int op_callback(void)
{
    static int n;

    TRY(HIP(hipStreamAddCallback, P, void (*)(P, int, void *), void *, unsigned)(s_stream, callback, &n, 0));
    TRY(HIP(hipStreamSynchronize, P)(s_stream));
    for (int i = 0; i < 20000 && !__atomic_load_n(&n, __ATOMIC_SEQ_CST); i++)
        usleep(1000);
    sum_host(&n, sizeof(n));
    return n == 1 ? 0 : -2;
}

static P registered(void)
{
    static char page[8192] __attribute__((aligned(4096)));
    static P seen;

    if (!seen && (HIP(hipHostRegister, P, size_t, unsigned)(page, 4096, 3) ||
                  HIP(hipHostGetDevicePointer, P *, P, unsigned)(&seen, page, 0)))
        seen = NULL;
    return seen;
}

static P signal_memory(void)
{
    static P p;

    if (!p && HIP(hipExtMallocWithFlags, P *, size_t, unsigned)(&p, 8, 2))
        p = NULL;
    return p;
}

static int write_value(P at, bool wide)
{
    volatile uint64_t *word = at;

    if (!at)
        return -3;
    *word = 0;
    if (wide)
        TRY(HIP(hipStreamWriteValue64, P, P, uint64_t, unsigned)(s_stream, at, 0x1234567890, 0));
    else
        TRY(HIP(hipStreamWriteValue32, P, P, uint32_t, unsigned)(s_stream, at, 77, 0));
    TRY(HIP(hipStreamSynchronize, P)(s_stream));
    s_sum += *word;
    return 0;
}

static int op_write32(void) { return write_value(registered(), false); }
static int op_write64(void) { return write_value(registered(), true); }
static int op_write_signal(void) { return write_value(signal_memory(), true); }

/* A kernel behind a wait runs after the host has written, and not before. */
static int wait_value(P at, bool wide)
{
    volatile uint64_t *word = at;
    int early;

    if (!at)
        return -3;
    *word = 0;
    TRY(clear_log());
    if (wide)
        TRY(HIP(hipStreamWaitValue64, P, P, uint64_t, unsigned, uint64_t)(s_stream, at, 5, 0, UINT64_MAX));
    else
        TRY(HIP(hipStreamWaitValue32, P, P, uint32_t, unsigned, uint32_t)(s_stream, at, 5, 0, UINT32_MAX));
    TRY(launch(s_stream, 9));
    usleep(20000);
    early = HIP(hipStreamQuery, P)(s_stream);
    *word = 5;
    TRY(HIP(hipStreamSynchronize, P)(s_stream));
    sum_host(&early, sizeof(early)); /* 600, not ready */
    return sum_device(s_c, 256);
}

static int op_wait32(void) { return wait_value(registered(), false); }
static int op_wait64(void) { return wait_value(registered(), true); }
static int op_wait_signal(void) { return wait_value(signal_memory(), true); }

/* ---- kernels ---- */

int op_compile(void)
{
    P lib = library("libhiprtc.so.6"), program = NULL;
    static char code[1 << 20], properties[4096], option[300];
    const char *options[] = {option};

    TRY(HIP(hipGetDevicePropertiesR0600, P, int)(properties, 0));
    /* gcnArchName: without the option the compiler asks a runtime of its own choice */
    snprintf(option, sizeof(option), "--offload-arch=%.255s", properties + 1160);
    if (!lib)
        lib = s_hip;              /* older ones have it there */
    TRY(FN(lib, hiprtcCreateProgram, P *, const char *, const char *, int, P, P)(&program, s_source, "kernels", 0, NULL, NULL));
    TRY(FN(lib, hiprtcCompileProgram, P, int, const char **)(program, 1, options));
    TRY(FN(lib, hiprtcGetCodeSize, P, size_t *)(program, &s_code_bytes));
    if (s_code_bytes > sizeof(code))
        return -2;
    TRY(FN(lib, hiprtcGetCode, P, char *)(program, code));
    s_code = code;
    sum_host(code, s_code_bytes);
    return FN(lib, hiprtcDestroyProgram, P *)(&program);
}

int op_load(void)
{
    P module = NULL;

    TRY(HIP(hipModuleLoadData, P *, const void *)(&module, s_code ? s_code : (P)s_source));
    HIP(hipModuleGetFunction, P *, P, const char *)(&s_reduce, module, "reduce"); /* the fake one has none of them */
    HIP(hipModuleGetFunction, P *, P, const char *)(&s_scan, module, "scan");
    HIP(hipModuleGetFunction, P *, P, const char *)(&s_spin, module, "spin");
    s_missing = false;
    return HIP(hipModuleGetFunction, P *, P, const char *)(&s_work, module, "work");
}

static int launch_on(P stream)
{
    TRY(clear_log());
    for (uint32_t i = 0; i < 10; i++)
        TRY(launch(stream, i));
    TRY(HIP(hipStreamSynchronize, P)(stream));
    return sum_device(s_c, 256);
}

static int op_launch_null(void) { return launch_on(NULL); }
static int op_launch_stream(void) { return launch_on(s_stream); }
static int op_launch_thread(void) { return launch_on(PER_THREAD); }
static int op_launch_urgent(void) { return launch_on(s_urgent); }

static void *on_thread(void *ret)
{
    *(int *)ret = HIP(hipSetDevice, int)(0);
    if (!*(int *)ret)
        *(int *)ret = launch_on(s_stream);
    return NULL;
}

static int op_other_thread(void)
{
    pthread_t t;
    int r = -2;

    pthread_create(&t, NULL, on_thread, &r);
    pthread_join(t, NULL);
    return r;
}

static int ext_launch(const char *symbol)
{
    uint64_t ns = 1000;
    uint32_t tag = 3;
    P params[] = {&ns, &s_c, &tag}, stop = NULL;

    TRY(clear_log());
    TRY(HIP(hipEventCreateWithFlags, P *, unsigned)(&stop, 2));
    TRY(((int (*)(P, GRID, size_t, P, P *, P *, P, P, uint32_t))fn(s_hip, symbol))(s_work, 1, 1, 1, 1, 1, 1, 0, s_stream, params,
                                                                                   NULL, NULL, stop, 0));
    TRY(HIP(hipEventSynchronize, P)(stop));
    TRY(HIP(hipEventDestroy, P)(stop));
    return sum_device(s_c, 256);
}

static int op_ext(void) { return ext_launch("hipExtModuleLaunchKernel"); }
static int op_ext_mangled(void)
{
    return ext_launch("_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j");
}

static int op_module_cooperative(void)
{
    uint64_t ns = 1000;
    uint32_t tag = 4;
    P params[] = {&ns, &s_c, &tag};

    TRY(clear_log());
    TRY(HIP(hipModuleLaunchCooperativeKernel, P, GRID, unsigned, P, P *)(s_work, 1, 1, 1, 1, 1, 1, 0, s_stream, params));
    return sum_device(s_c, 256);
}

/* What a compiler puts into an object with kernels: a bundle of code objects, registered before main. */
static int op_register(void)
{
    static char bundle[1 << 20] __attribute__((aligned(4096)));
    static struct { uint32_t magic, version; P binary, unused; } wrapper = {0x48495046, 1, bundle, NULL};
    static const char host[] = "host-x86_64-unknown-linux--";
    char device[128] = "hipv4-amdgcn-amd-amdhsa--";
    uint64_t words[6], at = 24;
    P module;

    if (s_code) {
        /* the name of the architecture stands in the notes of the code object */
        const char *note = memmem(s_code, s_code_bytes, "amdgcn-amd-amdhsa--", 19);

        if (!note || s_code_bytes + 8192 > sizeof(bundle))
            return -2;
        for (size_t i = strlen(device), j = 19; i < sizeof(device) - 1 && (note[j] > ' ' && note[j] < 127); i++, j++)
            device[i] = note[j];
        memcpy(bundle, "__CLANG_OFFLOAD_BUNDLE__", 24);
        words[0] = 2;
        memcpy(bundle + at, words, 8), at += 8;
        words[0] = 4096, words[1] = 0, words[2] = strlen(host);
        memcpy(bundle + at, words, 24), at += 24;
        memcpy(bundle + at, host, strlen(host)), at += strlen(host);
        words[0] = 4096, words[1] = s_code_bytes, words[2] = strlen(device);
        memcpy(bundle + at, words, 24), at += 24;
        memcpy(bundle + at, device, strlen(device));
        memcpy(bundle + 4096, s_code, s_code_bytes);
    }
    module = ((P(*)(const void *))fn(s_hip, "__hipRegisterFatBinary"))(&wrapper);
    ((void (*)(P, const void *, const char *, const char *, int, P, P, P, P, P))fn(s_hip, "__hipRegisterFunction"))(
        module, &s_stub, "work", "work", -1, NULL, NULL, NULL, NULL, NULL);
    return module ? 0 : -2;
}

typedef int stub_launch(const void *, struct dim3, struct dim3, P *, size_t, P);

static int stub_on(const char *symbol, P stream)
{
    uint64_t ns = 1000;
    uint32_t tag = 5;
    P params[] = {&ns, &s_c, &tag};
    struct dim3 one = {1, 1, 1};

    TRY(clear_log());
    TRY(((stub_launch *)fn(s_hip, symbol))(&s_stub, one, one, params, 0, stream));
    return sum_device(s_c, 256);
}

static int op_stub_null(void) { return stub_on("hipLaunchKernel", NULL); }
static int op_stub_stream(void) { return stub_on("hipLaunchKernel", s_stream); }
static int op_stub_spt(void) { return stub_on("hipLaunchKernel_spt", NULL); }

static int op_cooperative(void)
{
    uint64_t ns = 1000;
    uint32_t tag = 6;
    P params[] = {&ns, &s_c, &tag};
    struct dim3 one = {1, 1, 1};

    TRY(clear_log());
    TRY(HIP(hipLaunchCooperativeKernel, const void *, struct dim3, struct dim3, P *, unsigned, P)(&s_stub, one, one, params, 0,
                                                                                                  s_stream));
    return sum_device(s_c, 256);
}

static int op_ext_stub(void)
{
    uint64_t ns = 1000;
    uint32_t tag = 7;
    P params[] = {&ns, &s_c, &tag};
    struct dim3 one = {1, 1, 1};

    TRY(clear_log());
    TRY(HIP(hipExtLaunchKernel, const void *, struct dim3, struct dim3, P *, size_t, P, P, P, int)(&s_stub, one, one, params, 0,
                                                                                                   s_stream, NULL, NULL, 0));
    return sum_device(s_c, 256);
}

static int op_graph(void)
{
    P graph = NULL, exec = NULL;

    TRY(clear_log());
    TRY(HIP(hipStreamBeginCapture, P, int)(s_stream, 2));
    for (uint32_t i = 0; i < 5; i++) /* CAPTURED of operations.py */
        TRY(launch(s_stream, i));
    TRY(HIP(hipMemsetAsync, P, int, size_t, P)(s_b, 8, 4096, s_stream));
    TRY(HIP(hipStreamEndCapture, P, P *)(s_stream, &graph));
    TRY(HIP(hipGraphInstantiate, P *, P, P, P, size_t)(&exec, graph, NULL, NULL, 0));
    for (int i = 0; i < 3; i++)
        TRY(HIP(hipGraphLaunch, P, P)(exec, s_stream));
    TRY(HIP(hipStreamSynchronize, P)(s_stream));
    TRY(sum_device(s_b, 4096));
    return sum_device(s_c, 256);
}

static int launch_by(uintptr_t get)
{
    uint64_t ns = 1000;
    uint32_t tag = 8;
    P params[] = {&ns, &s_c, &tag}, found = NULL;
    int status = 0;               /* a real one asks for it */

    TRY(clear_log());
    TRY(((int (*)(const char *, P *, int, uint64_t, P))get)("hipModuleLaunchKernel", &found, 60000000, 0, &status));
    TRY(((int (*)(P, GRID, unsigned, P, P *, P *))(uintptr_t)found)(s_work, 1, 1, 1, 1, 1, 1, 0, s_stream, params, NULL));
    return sum_device(s_c, 256);
}

static int op_proc_address(void) { return launch_by(fn(s_hip, "hipGetProcAddress")); }

/* As Triton does: the path that is mapped, opened anew. */
static int op_mapped_path(void)
{
    char line[4352], *path;
    P lib = NULL;
    FILE *maps = fopen("/proc/self/maps", "r");

    while (maps && !lib && fgets(line, sizeof(line), maps)) {
        path = strchr(line, '/');
        if (!path || !strstr(path, "libamdhip64.so"))
            continue;
        path[strcspn(path, "\n")] = 0;
        lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    if (maps)
        fclose(maps);
    return launch_by(fn(lib, "hipGetProcAddress"));
}

static int jit(P kernel, unsigned threads)
{
    P params[] = {&s_a, &s_c};

    if (!kernel || !s_code)
        return -3;
    TRY(fill(s_a, 11));
    TRY(HIP(hipModuleLaunchKernel, P, GRID, unsigned, P, P *, P *)(kernel, 1, 1, 1, threads, 1, 1, 0, s_stream, params, NULL));
    return sum_device(s_c, kernel == s_reduce ? 4 : 256);
}

static int op_reduce(void) { return jit(s_reduce, 64); }
static int op_scan(void) { return jit(s_scan, 64); }

static int op_many(void)
{
    TRY(clear_log());
    for (uint32_t i = 0; i < 200; i++)
        TRY(HIP(hipMemsetAsync, P, int, size_t, P)(i % 2 ? s_b : s_a, (int)i, 1024, i % 2 ? s_stream : s_urgent));
    TRY(sum_device(s_a, 1024));
    return sum_device(s_b, 1024);
}

static int op_context(void) { return HIP(hipCtxSynchronize, void)(); }

static int op_occupancy(void)
{
    int n = 0;

    TRY(HIP(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, int *, P, int, size_t)(&n, s_work, 64, 0));
    sum_host(&n, sizeof(n));
    return 0;
}

static int op_pointer(void)
{
    size_t bytes = 0;
    P base = NULL;

    TRY(HIP(hipMemGetAddressRange, P *, size_t *, P)(&base, &bytes, s_a));
    sum_host(&bytes, sizeof(bytes));
    return base == s_a ? 0 : -2;
}

static int op_destroy(void)
{
    TRY(HIP(hipStreamDestroy, P)(s_stream));
    TRY(HIP(hipStreamDestroy, P)(s_urgent));
    TRY(HIP(hipFree, P)(s_a));
    TRY(HIP(hipFree, P)(s_b));
    return HIP(hipFree, P)(s_c);
}

static const struct op g_runtime[] = {
    {"hipInit, hipStreamCreate, hipMalloc", op_start},
    {"hipStreamCreateWithPriority", op_priority},
    {"hipMemcpy to the device and back", op_copies},
    {"hipMemset", op_memset},
    {"hipMemsetAsync, the null stream", op_memset_null},
    {"hipMemsetAsync, a created stream", op_memset_stream},
    {"hipMemsetAsync, the thread's stream", op_memset_thread},
    {"hipMemsetAsync, a stream of high priority", op_memset_urgent},
    {"hipMemsetD32Async", op_memset_words},
    {"hipMemcpyAsync on the device", op_copy_async},
    {"hipMemcpyWithStream", op_copy_with_stream},
    {"hipMemcpyDtoD", op_copy_device},
    {"hipMemcpy2DAsync", op_copy_2d},
    {"hipMallocAsync, hipFreeAsync", op_pool},
    {"hipHostMalloc, hipMemcpyAsync to it", op_pinned},
    {"hipMallocManaged", op_managed},
    {"hipEventRecord, Synchronize, Query, ElapsedTime", op_events},
    {"hiprtcCompileProgram", op_compile},
    {"hipModuleLoadData, hipModuleGetFunction", op_load},
    {"hipModuleLaunchKernel, the null stream", op_launch_null},
    {"hipModuleLaunchKernel, a created stream", op_launch_stream},
    {"hipModuleLaunchKernel, the thread's stream", op_launch_thread},
    {"hipModuleLaunchKernel, a stream of high priority", op_launch_urgent},
    {"hipModuleLaunchKernel, another thread", op_other_thread},
    {"hipExtModuleLaunchKernel with an event", op_ext},
    {"hipExtModuleLaunchKernel, its C++ name", op_ext_mangled},
    {"hipModuleLaunchCooperativeKernel", op_module_cooperative},
    {"hipStreamWaitEvent between two streams", op_wait_event},
    {"hipLaunchHostFunc", op_host_function},
    {"hipStreamAddCallback", op_callback},
    {"hipStreamWriteValue32, registered memory", op_write32},
    {"hipStreamWriteValue64, registered memory", op_write64},
    {"hipStreamWriteValue64, signal memory", op_write_signal},
    {"hipStreamWaitValue32, registered memory", op_wait32},
    {"hipStreamWaitValue64, registered memory", op_wait64},
    {"hipStreamWaitValue64, signal memory", op_wait_signal},
    {"__hipRegisterFatBinary, __hipRegisterFunction", op_register},
    {"hipLaunchKernel, the null stream", op_stub_null},
    {"hipLaunchKernel, a created stream", op_stub_stream},
    {"hipLaunchKernel_spt", op_stub_spt},
    {"hipLaunchCooperativeKernel", op_cooperative},
    {"hipExtLaunchKernel", op_ext_stub},
    {"capture, hipGraphInstantiate, hipGraphLaunch", op_graph},
    {"hipGetProcAddress, a launch by its answer", op_proc_address},
    {"dlopen of the mapped path, a launch (Triton)", op_mapped_path},
    {"a reduction compiled at run time", op_reduce},
    {"a scan compiled at run time", op_scan},
    {"200 commands on two streams", op_many},
    {"hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", op_occupancy},
    {"hipMemGetAddressRange", op_pointer},
    {"hipCtxSynchronize", op_context},
};

static const struct op g_end[] = {{"hipStreamDestroy, hipFree", op_destroy}};

void run(const struct op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int code;

        s_missing = false;
        s_sum = 14695981039346656037u;
        code = ops[i].run();
        if (s_missing)
            printf("%s\tmissing\t-\n", ops[i].title);
        else
            printf("%s\t%d\t%016lx\n", ops[i].title, code, code ? 0 : (unsigned long)s_sum);
        fflush(stdout);
    }
}

/* operations GROUP: so that a library that ends the program leaves the lines of the others
 * operations pair ...: operations_pair.c */
int main(int argc, char **argv)
{
    const char *group = argc > 1 ? argv[1] : "runtime", *name = getenv("HIP_RUNTIME");
    bool known;

    s_hip = dlopen(name && *name ? name : "libamdhip64.so.6", RTLD_NOW | RTLD_GLOBAL);
    if (!s_hip) {
        printf("%s\n", dlerror());
        return 77;
    }
    s_major = name && strstr(name, ".so.") ? atoi(strstr(name, ".so.") + 4) : 6;
    if (strcmp(group, "pair") == 0)
        return pair_main(argc - 1, argv + 1);
    known = strcmp(group, "runtime") == 0;
    if (known)
        run(g_runtime, sizeof(g_runtime) / sizeof(g_runtime[0]));
    else if (op_start() || op_priority())
        return 77;
    else
        known = operations_of(group);
    if (known)
        run(g_end, 1);
    return known ? 0 : 2;
}
