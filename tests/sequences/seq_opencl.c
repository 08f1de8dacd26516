/* SPDX-License-Identifier: Apache-2.0 */
/* Random OpenCL programs: queues of several kinds, buffers, events, functions of extensions. */
#include "hal/opencl/cl_abi.h"
#include "seq.h"

#include <time.h>

enum row {
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking) ROW_##name,
#define OCL_EXT(kind, name, ret, params, args, miss, key, blocking)         ROW_##name,
#include "shim/opencl/opencl_api.def"
    ROW_CORE_COUNT,
    ROW_BEFORE_EXT = ROW_CORE_COUNT - 1,
#include "shim/opencl/opencl_ext.def"
#undef OCL
#undef OCL_EXT
    ROWS
};

const struct seq_row seq_rows[] = {
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking) {#name, #params, #ret},
#define OCL_EXT(kind, name, ret, params, args, miss, key, blocking)         {#name, #params, #ret},
#include "shim/opencl/opencl_api.def"
#include "shim/opencl/opencl_ext.def"
};
const unsigned seq_row_count = ROWS;
void *seq_fn[ROWS];
unsigned long seq_called[ROWS];
const char *const seq_library = "libOpenCL.so.1";

#define WORDS     64u
#define LOG_WORDS 320u
#define SLOTS     4 /* in order, out of order, made with a priority, made by the extension */

/* Each queue has memory and a log of its own, so that what it computes does not hang on time. */
struct slot {
    cl_command_queue queue;
    cl_mem words, log;
    cl_event last;                /* of some command, or NULL */
    uint32_t host[WORDS], back[WORDS];
    uint32_t *shared;             /* SVM */
    unsigned pending;             /* entries of the log since the last synchronisation */
};
static struct slot g_slots[SLOTS];
static cl_platform_id g_platform;
static cl_device_id g_devices[2];
static cl_context g_context;
static cl_device_id g_device;
static cl_program g_program;
static cl_kernel g_work, g_nop;
static uint32_t g_tag;
static cl_int g_error;
static _Atomic unsigned g_called_back; /* by event callbacks, native kernels and destructors */

#define Q           cl_command_queue
#define WAITS       cl_uint, const cl_event *, cl_event *
#define CREATED(x)  seq_must((x) == NULL, #x)

static void *find_extension(unsigned row)
{
    if (row < ROW_CORE_COUNT)
        return NULL;
    if (row % 2)
        return CALL_AS(void *, clGetExtensionFunctionAddress, (const char *), seq_rows[row].symbol);
    return CALL_AS(void *, clGetExtensionFunctionAddressForPlatform, (cl_platform_id, const char *), g_platform,
                   seq_rows[row].symbol);
}
void *(*const seq_find)(unsigned row) = find_extension;
bool (*const seq_is_weak)(unsigned row) = NULL;

void seq_start(void)
{
    cl_uint count = 0;

    OK(CALL(clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *), 1, &g_platform, &count));
    OK(CALL(clGetDeviceIDs, (cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *), g_platform,
            CL_DEVICE_TYPE_GPU, 2, g_devices, &count));
}

bool seq_argument(const char *type, uintptr_t *ret, unsigned *ret_slots)
{
    struct slot *s = &g_slots[seq_chance(SLOTS)];

    (void)ret_slots;
    *ret = 0;
    if (strchr(type, '(')) /* a callback */
        return true;
    if (strstr(type, "errcode_ret")) {
        *ret = (uintptr_t)&g_error;
        return true;
    }
    if (strstr(type, "cl_event *") || strstr(type, "num_events") || strstr(type, "num_queues") ||
        strstr(type, "const cl_command_queue *"))
        return true;
    if (strchr(type, '*') || strchr(type, '['))
        return false;
    if (strstr(type, "cl_command_queue "))
        *ret = (uintptr_t)s->queue;
    else if (strstr(type, "cl_mem "))
        *ret = (uintptr_t)s->words;
    else if (strstr(type, "cl_kernel "))
        *ret = (uintptr_t)g_nop;
    else if (strstr(type, "cl_program "))
        *ret = (uintptr_t)g_program;
    else if (strstr(type, "cl_context "))
        *ret = (uintptr_t)g_context;
    else if (strstr(type, "cl_device_id "))
        *ret = (uintptr_t)g_device;
    else if (strstr(type, "cl_platform_id "))
        *ret = (uintptr_t)g_platform;
    else if (strstr(type, "cl_event ") || strstr(type, "cl_sampler ") || strstr(type, "cl_semaphore") ||
             strstr(type, "cl_command_buffer_khr "))
        *ret = (uintptr_t)seq_scratch;
    else
        return false;
    return true;
}

static void called_back(cl_event event, cl_int status, void *data)
{
    (void)event;
    seq_must(status != CL_COMPLETE || data != &g_called_back, "a callback's arguments");
    g_called_back++;
}

static void mem_gone(cl_mem mem, void *data)
{
    (void)mem, (void)data;
    g_called_back++;
}

static void program_built(cl_program program, void *data)
{
    (void)program, (void)data;
    g_called_back++;
}

static void context_gone(cl_context context, void *data)
{
    (void)context;
    *(_Atomic bool *)data = true;
}

/* Some commands want an event; the last one of a queue is kept for others to wait for. */
static cl_event *event_of(struct slot *s, cl_event *at)
{
    (void)s;
    *at = NULL;
    return seq_chance(3) == 0 ? at : NULL;
}

static void keep_event(struct slot *s, cl_event e)
{
    if (!e)
        return;
    if (s->last)
        CALL(clReleaseEvent, (cl_event), s->last);
    s->last = e;
}

/* @return how many events of another queue this command waits for (0 or 1) */
static cl_uint waits(struct slot *s, const cl_event **list)
{
    struct slot *other = &g_slots[seq_chance(SLOTS)];

    (void)s;
    *list = NULL;
    if (seq_chance(4) || !other->last)
        return 0;
    *list = &other->last;
    return 1;
}

#define ENQUEUE(symbol, types, ...)                                                                          \
    do {                                                                                                     \
        const cl_event *list_;                                                                               \
        cl_event e_, *want_ = event_of(s, &e_);                                                              \
        cl_uint count_ = waits(s, &list_);                                                                   \
        cl_event held_ = count_ ? *list_ : NULL;                                                             \
        OK(CALL(symbol, types, __VA_ARGS__, count_, count_ ? &held_ : NULL, want_));                         \
        keep_event(s, e_);                                                                                   \
    } while (0)

static void launch(struct slot *s, unsigned how)
{
    cl_ulong ns = seq_chance(8) ? 0 : seq_chance(3000);
    cl_kernel k = s->pending < 200 && seq_chance(5) ? g_work : g_nop;
    size_t one[3] = {1, 1, 1};
    cl_uint tag = ++g_tag;

    s->pending += k == g_work;
    CALL(clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *), k, 0, sizeof(s->log), &s->log);
    CALL(clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *), k, 1, sizeof(tag), &tag);
    CALL(clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *), k, 2, sizeof(ns), &ns);
    if (how % 8 == 0)
        ENQUEUE(clEnqueueTask, (Q, cl_kernel, WAITS), s->queue, k);
    else
        ENQUEUE(clEnqueueNDRangeKernel,
                (Q, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, WAITS), s->queue, k,
                1 + how % 3, NULL, one, NULL);
}

/* What the queue did becomes part of the digest: the order of its kernels, its memory. */
static void synchronise(struct slot *s, unsigned how)
{
    uint32_t log[LOG_WORDS], zero = 0;
    cl_event e = NULL;
    cl_int status = -1;

    OK(CALL(clEnqueueReadBuffer, (Q, cl_mem, cl_bool, size_t, size_t, void *, WAITS), s->queue, s->words,
            how % 4 == 0, 0, sizeof(s->back), s->back, 0, NULL, NULL));
    OK(CALL(clEnqueueReadBuffer, (Q, cl_mem, cl_bool, size_t, size_t, void *, WAITS), s->queue, s->log, 0, 0,
            sizeof(log), log, 0, NULL, &e));
    OK(CALL(clEnqueueFillBuffer, (Q, cl_mem, const void *, size_t, size_t, size_t, WAITS), s->queue, s->log,
            &zero, sizeof(zero), 0, sizeof(zero), 0, NULL, NULL));
    OK(CALL(clFlush, (Q), s->queue));
    if (how % 8 == 1)
        CALL(clWaitForEvents, (cl_uint, const cl_event *), 1, &e);
    CALL(clFinish, (Q), s->queue);
    CALL(clGetEventInfo, (cl_event, cl_event_info, size_t, void *, size_t *), e, 0x11D3, sizeof(status),
         &status, NULL);
    seq_note(&status, sizeof(status));
    CALL(clReleaseEvent, (cl_event), e);
    seq_note(log, sizeof(log[0]) * (1 + s->pending));
    seq_note(s->back, sizeof(s->back));
    seq_note(s->shared, sizeof(s->shared[0]) * WORDS);
    s->pending = 0;
}

/* Everything that was begun before is complete. */
static void synchronise_all(void)
{
    unsigned back;

    for (int i = 0; i < SLOTS; i++)
        synchronise(&g_slots[i], 2);
    back = g_called_back;
    seq_note(&back, sizeof(back));
}

static void copies(struct slot *s, unsigned how)
{
    struct slot *other = &g_slots[seq_chance(SLOTS)];
    uint32_t pattern = how;
    cl_event e = NULL;
    void *at = NULL;
    cl_int err = 0;

    switch (seq_chance(6)) {
    case 0:
        ENQUEUE(clEnqueueWriteBuffer, (Q, cl_mem, cl_bool, size_t, size_t, const void *, WAITS), s->queue,
                s->words, how % 3 == 0, 0, 4 * seq_chance(WORDS), s->host);
        break;
    case 1:
        ENQUEUE(clEnqueueFillBuffer, (Q, cl_mem, const void *, size_t, size_t, size_t, WAITS), s->queue,
                s->words, &pattern, sizeof(pattern), 0, 4 * seq_chance(WORDS));
        break;
    case 2: /* from one queue to another and back, ordered by events */
        OK(CALL(clEnqueueMarkerWithWaitList, (Q, WAITS), other->queue, 0, NULL, &e));
        OK(CALL(clEnqueueCopyBuffer, (Q, cl_mem, cl_mem, size_t, size_t, size_t, WAITS), s->queue,
                other->words, s->words, 0, 0, 4 * seq_chance(WORDS), 1, &e, NULL));
        CALL(clReleaseEvent, (cl_event), e);
        OK(CALL(clEnqueueMarker, (Q, cl_event *), s->queue, &e));
        OK(CALL(clEnqueueBarrierWithWaitList, (Q, WAITS), other->queue, 1, &e, NULL));
        CALL(clReleaseEvent, (cl_event), e);
        break;
    case 3:
        at = CALL_AS(void *, clEnqueueMapBuffer,
                     (Q, cl_mem, cl_bool, cl_map_flags, size_t, size_t, WAITS, cl_int *), s->queue, s->words, 1,
                     3, 0, 4 * WORDS, 0, NULL, NULL, &err);
        CREATED(at);
        ((uint32_t *)at)[how % WORDS] ^= 0x55;
        OK(CALL(clEnqueueUnmapMemObject, (Q, cl_mem, void *, WAITS), s->queue, s->words, at, 0, NULL, NULL));
        break;
    case 4:
        CALL(clEnqueueMigrateMemObjects, (Q, cl_uint, const cl_mem *, cl_bitfield, WAITS), s->queue, 1,
             &s->words, 0, 0, NULL, NULL);
        break;
    default:
        CALL(clEnqueueBarrier, (Q), s->queue);
        if (s->last)
            CALL(clEnqueueWaitForEvents, (Q, cl_uint, const cl_event *), s->queue, 1, &s->last);
        break;
    }
}

static void svm_freed(Q queue, cl_uint count, void *pointers[], void *data)
{
    (void)queue, (void)data;
    for (cl_uint i = 0; i < count; i++)
        free(pointers[i]);
    g_called_back++;
}

static void shared_memory(struct slot *s, unsigned how)
{
    uint32_t pattern = how;
    void *p;

    switch (seq_chance(5)) {
    case 0:
        ENQUEUE(clEnqueueSVMMemcpy, (Q, cl_bool, void *, const void *, size_t, WAITS), s->queue, how % 3 == 0,
                s->shared, s->host, 4 * seq_chance(WORDS));
        break;
    case 1:
        ENQUEUE(clEnqueueSVMMemFill, (Q, void *, const void *, size_t, size_t, WAITS), s->queue, s->shared,
                &pattern, sizeof(pattern), 4 * seq_chance(WORDS));
        break;
    case 2:
        OK(CALL(clEnqueueSVMMap, (Q, cl_bool, cl_map_flags, void *, size_t, WAITS), s->queue, 1, 3, s->shared,
                4 * WORDS, 0, NULL, NULL));
        s->shared[how % WORDS] += 3;
        OK(CALL(clEnqueueSVMUnmap, (Q, void *, WAITS), s->queue, s->shared, 0, NULL, NULL));
        break;
    case 3:
        p = how % 2 ? malloc(64) : CALL_AS(void *, clSVMAlloc, (cl_context, cl_bitfield, size_t, cl_uint),
                                           g_context, 0, 64, 0);
        OK(CALL(clEnqueueSVMFree,
                (Q, cl_uint, void *[], void (*)(Q, cl_uint, void *[], void *), void *, WAITS), s->queue, 1, &p,
                how % 2 ? svm_freed : NULL, NULL, 0, NULL, NULL));
        break;
    default:
        if (how % 2)
            ENQUEUE(clEnqueueMemFillINTEL, (Q, void *, const void *, size_t, size_t, WAITS), s->queue, s->shared,
                    &pattern, sizeof(pattern), 4 * seq_chance(WORDS));
        else
            ENQUEUE(clEnqueueMemcpyINTEL, (Q, cl_bool, void *, const void *, size_t, WAITS), s->queue,
                    how % 3 == 0, s->shared, s->host, 4 * seq_chance(WORDS));
        break;
    }
}

struct native_args {
    uint32_t *words, tag;
};

static void native(void *opaque)
{
    struct native_args *args = opaque;

    args->words[args->tag % WORDS] += args->tag;
    g_called_back++;
}

static void host_code(struct slot *s)
{
    struct native_args args = {NULL, ++g_tag};
    const void *where = &args.words;
    cl_event gate, e = NULL;

    switch (seq_chance(3)) {
    case 0:
        OK(CALL(clEnqueueNativeKernel,
                (Q, void (*)(void *), void *, size_t, cl_uint, const cl_mem *, const void **, WAITS), s->queue,
                native, &args, sizeof(args), 1, &s->words, &where, 0, NULL, NULL));
        break;
    case 1: /* work behind an event of the program's own, which it sets later */
        gate = CALL_AS(cl_event, clCreateUserEvent, (cl_context, cl_int *), g_context, NULL);
        CREATED(gate);
        OK(CALL(clEnqueueCopyBuffer, (Q, cl_mem, cl_mem, size_t, size_t, size_t, WAITS), s->queue, s->words,
                s->words, 0, 128, 64, 1, &gate, NULL));
        CALL(clSetUserEventStatus, (cl_event, cl_int), gate, CL_COMPLETE);
        CALL(clReleaseEvent, (cl_event), gate);
        break;
    default:
        OK(CALL(clEnqueueMarkerWithWaitList, (Q, WAITS), s->queue, 0, NULL, &e));
        CALL(clSetEventCallback, (cl_event, cl_int, void (*)(cl_event, cl_int, void *), void *), e, CL_COMPLETE,
             called_back, &g_called_back);
        if (seq_chance(2)) {
            CALL(clRetainEvent, (cl_event), e);
            CALL(clReleaseEvent, (cl_event), e);
        }
        CALL(clReleaseEvent, (cl_event), e);
        break;
    }
}

/* Things that come and go; their addresses come again. */
static void objects(struct slot *s)
{
    cl_command_queue q = NULL;
    cl_command_buffer_khr buffer;
    cl_ulong old = 0;
    cl_int err = 0;
    cl_mem m;

    switch (seq_chance(6)) {
    case 0:
        q = CALL_AS(Q, clCreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *), g_context,
                    g_device, seq_chance(2), &err);
        CREATED(q);
        CALL(clEnqueueFillBuffer, (Q, cl_mem, const void *, size_t, size_t, size_t, WAITS), s->queue, s->words,
             &g_tag, sizeof(g_tag), 0, 16, 0, NULL, NULL);
        CALL(clEnqueueBarrier, (Q), q);
        CALL(clReleaseCommandQueue, (Q), q);
        break;
    case 1:
        CALL(clRetainCommandQueue, (Q), s->queue);
        CALL(clReleaseCommandQueue, (Q), s->queue);
        break;
    case 2:
        m = CALL_AS(cl_mem, clCreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *), g_context, 0,
                    64, NULL, &err);
        CREATED(m);
        CALL(clRetainMemObject, (cl_mem), m);
        CALL(clReleaseMemObject, (cl_mem), m);
        CALL(clSetMemObjectDestructorCallback, (cl_mem, void (*)(cl_mem, void *), void *), m, mem_gone, NULL);
        CALL(clReleaseMemObject, (cl_mem), m);
        break;
    case 3:
        CALL(clSetCommandQueueProperty, (Q, cl_bitfield, cl_bool, cl_ulong *), g_slots[1].queue, 1,
             seq_chance(2), &old);
        break;
    case 4:
        CALL(clRetainKernel, (cl_kernel), g_nop);
        CALL(clReleaseKernel, (cl_kernel), g_nop);
        CALL(clRetainProgram, (cl_program), g_program);
        CALL(clReleaseProgram, (cl_program), g_program);
        CALL(clRetainContext, (cl_context), g_context);
        CALL(clReleaseContext, (cl_context), g_context);
        break;
    default:
        buffer = CALL_AS(cl_command_buffer_khr, clCreateCommandBufferKHR,
                         (cl_uint, const Q *, const cl_properties *, cl_int *), 1, &s->queue, NULL, &err);
        CREATED(buffer);
        CALL(clRetainCommandBufferKHR, (cl_command_buffer_khr), buffer);
        CALL(clReleaseCommandBufferKHR, (cl_command_buffer_khr), buffer);
        CALL(clEnqueueCommandBufferKHR, (cl_uint, Q *, cl_command_buffer_khr, WAITS), 0, NULL, buffer, 0, NULL,
             NULL);
        CALL(clReleaseCommandBufferKHR, (cl_command_buffer_khr), buffer);
        break;
    }
    seq_note(&old, sizeof(old));
}

#define INFO (void *, cl_uint, size_t, void *, size_t *)
static void ask(struct slot *s)
{
    void *p = NULL;
    cl_ulong number = 0;
    char text[32] = "";
    cl_uint count = 0;

    switch (seq_chance(7)) {
    case 0:
        CALL(clGetPlatformInfo, INFO, g_platform, CL_PLATFORM_NAME, sizeof(text), text, NULL);
        break;
    case 1:
        CALL(clGetDeviceInfo, INFO, g_device, seq_chance(2) ? CL_DEVICE_GLOBAL_MEM_SIZE : CL_DEVICE_TYPE,
             sizeof(number), &number, NULL);
        break;
    case 2:
        CALL(clGetContextInfo, INFO, g_context, CL_CONTEXT_DEVICES, sizeof(p), &p, NULL);
        number = p == g_device;
        break;
    case 3:
        CALL(clGetCommandQueueInfo, INFO, s->queue, CL_QUEUE_PROPERTIES, sizeof(number), &number, NULL);
        CALL(clGetCommandQueueInfo, INFO, s->queue, CL_QUEUE_DEVICE, sizeof(p), &p, NULL);
        number = number * 2 + (p == g_device);
        break;
    case 4:
        CALL(clGetMemObjectInfo, INFO, s->words, CL_MEM_SIZE, sizeof(number), &number, NULL);
        break;
    case 5:
        if (s->last)
            CALL(clGetEventInfo, INFO, s->last, CL_EVENT_COMMAND_QUEUE, sizeof(p), &p, NULL);
        number = p == s->queue;
        break;
    default:
        CALL(clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *), 0, NULL, &count);
        number = count;
        break;
    }
    seq_note(&number, sizeof(number));
    seq_note(text, sizeof(text));
}

static void open_slots(void)
{
    cl_ulong high[] = {CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_HIGH_KHR, 0};
    cl_int err = -1;

    memset(g_slots, 0, sizeof(g_slots));
    g_slots[0].queue = CALL_AS(Q, clCreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *),
                               g_context, g_device, 0, &err);
    g_slots[1].queue = CALL_AS(Q, clCreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *),
                               g_context, g_device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &err);
    g_slots[2].queue = CALL_AS(Q, clCreateCommandQueueWithProperties,
                               (cl_context, cl_device_id, const cl_ulong *, cl_int *), g_context, g_device, high,
                               &err);
    g_slots[3].queue = CALL_AS(Q, clCreateCommandQueueWithPropertiesKHR,
                               (cl_context, cl_device_id, const cl_ulong *, cl_int *), g_context, g_device, NULL,
                               &err);
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *s = &g_slots[i];

        CREATED(s->queue);
        s->words = CALL_AS(cl_mem, clCreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *), g_context,
                           0, 4 * WORDS, NULL, &err);
        s->log = CALL_AS(cl_mem, clCreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *), g_context, 0,
                         4 * LOG_WORDS, NULL, &err);
        s->shared = CALL_AS(void *, clSVMAlloc, (cl_context, cl_bitfield, size_t, cl_uint), g_context, 0,
                            4 * WORDS, 0);
        for (uint32_t k = 0; k < WORDS; k++)
            s->host[k] = i * 1000 + k;
    }
}

static void close_slots(void)
{
    synchronise_all();
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &g_slots[i];

        if (s->last)
            CALL(clReleaseEvent, (cl_event), s->last);
        CALL(clReleaseMemObject, (cl_mem), s->words);
        CALL(clReleaseMemObject, (cl_mem), s->log);
        CALL_AS(int, clSVMFree, (cl_context, void *), g_context, s->shared);
        CALL(clReleaseCommandQueue, (Q), s->queue);
    }
}

static void step(void)
{
    struct slot *s = &g_slots[seq_chance(SLOTS)];
    unsigned how = seq_chance(64);

    if (s->pending > 180)
        synchronise(s, how);
    switch (seq_chance(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        launch(s, how);
        break;
    case 4:
    case 5:
    case 6:
        copies(s, how);
        break;
    case 7:
        synchronise(s, how);
        break;
    case 8:
        shared_memory(s, how);
        break;
    case 9:
        host_code(s);
        break;
    case 10:
        objects(s);
        break;
    case 11:
        ask(s);
        break;
    default:
        seq_by_prototype();
        break;
    }
}

void seq_program(unsigned long until)
{
    static _Atomic bool gone;
    const char *source = "kernel";
    cl_int err = -1;

    g_tag = 0;
    gone = false;
    g_called_back = 0;
    g_device = g_devices[seq_chance(2)];
    g_context = CALL_AS(cl_context, clCreateContext,
                        (const intptr_t *, cl_uint, const cl_device_id *, void *, void *, cl_int *), NULL, 1,
                        &g_device, NULL, NULL, &err);
    CREATED(g_context);
    CALL(clSetContextDestructorCallback, (cl_context, void (*)(cl_context, void *), void *), g_context,
         context_gone, &gone);
    g_program = CALL_AS(cl_program, clCreateProgramWithSource,
                        (cl_context, cl_uint, const char **, const size_t *, cl_int *), g_context, 1, &source,
                        NULL, &err);
    OK(CALL(clBuildProgram,
            (cl_program, cl_uint, const cl_device_id *, const char *, void (*)(cl_program, void *), void *),
            g_program, 1, &g_device, "", program_built, NULL));
    g_work = CALL_AS(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *), g_program, "work", &err);
    g_nop = CALL_AS(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *), g_program, "nop", &err);
    open_slots();
    while (seq_steps < until)
        step();
    close_slots();
    CALL(clReleaseKernel, (cl_kernel), g_work);
    CALL(clReleaseKernel, (cl_kernel), g_nop);
    CALL(clReleaseProgram, (cl_program), g_program);
    CALL(clReleaseContext, (cl_context), g_context);
    for (int i = 0; i < 100000 && !gone; i++) /* a mark may still hold its queue, and that the context */
        nanosleep(&(struct timespec){0, 100000}, NULL);
    seq_must(!gone, "the context goes away");
}
