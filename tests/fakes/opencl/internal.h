/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL without a device, for tests, over the machinery of the fake CUDA driver (../cuda): the target fakeopencl,
 * SONAME libOpenCL.so.1, with all functions of src/shim/opencl/opencl_api.def and those of opencl_ext.def behind
 * clGetExtensionFunctionAddress. What it does not do answers CL_INVALID_OPERATION.
 *
 * One platform, two devices. Commands of a queue run in the order in which they were enqueued, also where they need
 * not, so that results are the same each time. Kernels are found by name: "work" (buffer of uint log, uint tag, ulong
 * ns) takes ns and appends tag to log, whose first word counts; any other name does nothing.
 *
 * Objects are counted under fake_lock and their memory is given back, so that addresses come again. */
#ifndef XS_FAKE_OPENCL_INTERNAL_H
#define XS_FAKE_OPENCL_INTERNAL_H

#include "../cuda/internal.h"
#include "hal/opencl/cl_abi.h"

#undef API
#define API __attribute__((visibility("default")))

#define FAKE_RUNNING               1
#define CL_SUBMITTED               2
#define CL_EVENT_REFERENCE_COUNT   0x11D2
#define CL_EVENT_EXECUTION_STATUS  0x11D3
#define CL_INVALID_KERNEL_ARGS     (-52)
#define CL_INVALID_EVENT_WAIT_LIST (-57)
#define CL_INVALID_EVENT           (-58)

/* Each handle begins with what is a table of functions in real drivers. */
struct fake_head {
    const void *dispatch;
    int references;               /* under fake_lock */
};
extern const void *const fake_dispatch;

struct _cl_platform_id {
    const void *dispatch;
};

struct _cl_device_id {
    const void *dispatch;
    int index;
    CUcontext ctx;
};
extern struct _cl_platform_id fake_platform;
extern struct _cl_device_id fake_devices[DEVICES];

struct _cl_context {
    struct fake_head head;
    cl_device_id device;
    void (*notify)(cl_context, void *);
    void *data;
};

struct _cl_command_queue {
    struct fake_head head;
    cl_context context;
    CUstream stream;
    cl_command_queue_properties properties;
};

struct _cl_mem {
    struct fake_head head;
    char *bytes;
    size_t size;
    void (*notify)(cl_mem, void *);
    void *data;
};

struct _cl_program {
    struct fake_head head;
};

struct _cl_kernel {
    struct fake_head head;
    bool work;
    uint64_t args[3];
};

struct fake_callback {
    void (*fn)(cl_event, cl_int, void *);
    void *data;
    struct fake_callback *next;
};

struct _cl_event {
    struct fake_head head;
    cl_command_queue queue;       /* NULL: the program's own */
    struct fake_record *record;   /* never given back: commands refer to it */
    struct fake_callback *callbacks;
};

struct _cl_command_buffer_khr {
    struct fake_head head;
    cl_command_queue queue;
};

/* objects.c */
void fake_start(void);
void *fake_new(size_t bytes);
void fake_retain(void *object);
/* @return true when that was the last one: give it back */
bool fake_release(void *object);
cl_int fake_answer(const void *value, size_t bytes, size_t size, void *ret, size_t *ret_size);
/* queues.c */
void fake_queue_release(cl_command_queue queue);
/* events.c */
cl_event fake_event_new(cl_command_queue queue);
void fake_event_release(cl_event event);
/* Its command is complete; the calling thread calls back. */
void fake_event_complete(void *event);
void fake_record_wait(struct fake_record *record);

/* commands.c: into the queue, behind the events. @param ret  where the event goes, or NULL */
cl_int fake_enqueue(cl_command_queue queue, struct fake_op op, cl_uint count, const cl_event *list, cl_event *ret,
                    bool blocking);
struct fake_op fake_fill_op(void *to, const void *pattern, size_t width, size_t bytes);

#endif
