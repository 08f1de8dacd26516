/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the program that the vendor calls, often in a thread of its own on which other work waits. A
 * command that the program enqueues there counts and never waits. */
#include "shim/opencl/opencl_call.h"

#include <stdlib.h>
#include <string.h>

/* A program's function and its data, until the vendor has called it. */
struct callback {
    union {
        void (*on_event)(cl_event event, cl_int status, void *data);
        void (*on_program)(cl_program program, void *data);
        void (*on_mem)(cl_mem mem, void *data);
        void (*on_context)(cl_context context, void *data);
        void (*on_svm_free)(cl_command_queue queue, cl_uint count, void *pointers[], void *data);
    } fn;
    void *data;
};

static struct callback *callback_new(void *data)
{
    struct callback *cb = malloc(sizeof(*cb));

    if (cb)
        cb->data = data;
    return cb;
}

static struct callback callback_take(void *opaque)
{
    struct callback cb = *(struct callback *)opaque;

    free(opaque);
    return cb;
}

static void run_event(cl_event event, cl_int status, void *opaque)
{
    struct callback cb = callback_take(opaque);
    int delta = xs_depth_callback_enter();

    cb.fn.on_event(event, status, cb.data);
    xs_depth_callback_leave(delta);
}

static void run_program(cl_program program, void *opaque)
{
    struct callback cb = callback_take(opaque);
    int delta = xs_depth_callback_enter();

    cb.fn.on_program(program, cb.data);
    xs_depth_callback_leave(delta);
}

static void run_mem(cl_mem mem, void *opaque)
{
    struct callback cb = callback_take(opaque);
    int delta = xs_depth_callback_enter();

    cb.fn.on_mem(mem, cb.data);
    xs_depth_callback_leave(delta);
}

static void run_context(cl_context context, void *opaque)
{
    struct callback cb = callback_take(opaque);
    int delta = xs_depth_callback_enter();

    cb.fn.on_context(context, cb.data);
    xs_depth_callback_leave(delta);
}

static void run_svm_free(cl_command_queue queue, cl_uint count, void *pointers[], void *opaque)
{
    struct callback cb = callback_take(opaque);
    int delta = xs_depth_callback_enter();

    cb.fn.on_svm_free(queue, count, pointers, cb.data);
    xs_depth_callback_leave(delta);
}

cl_int xs_hand_clSetEventCallback(const struct xs_ocl_table *T, const void *caller, cl_event event,
                                  cl_int command_exec_callback_type,
                                  void (*pfn_notify)(cl_event event, cl_int event_command_status,
                                                     void *user_data),
                                  void *user_data)
{
    struct callback *cb = NULL;
    struct xs_ocl_call c;
    cl_int err;

    xs_ocl_call_begin(&c, ROW_clSetEventCallback, caller);
    if (c.handled && pfn_notify && (cb = callback_new(user_data))) {
        cb->fn.on_event = pfn_notify;
        err = T->clSetEventCallback(event, command_exec_callback_type, run_event, cb);
    } else {
        err = T->clSetEventCallback(event, command_exec_callback_type, pfn_notify, user_data);
    }
    if (err != CL_SUCCESS) /* then the vendor will not call it */
        free(cb);
    xs_ocl_call_end(&c, ROW_clSetEventCallback, XS_HOW_HAND, NULL, err, false);
    return err;
}

/* A failing build calls back as well, but one with wrong arguments does not, and neither tells which it was.
 * So the record of a failed call stays, rather than risk a second free. */
#define BUILD(row, call)                                                                          \
    struct callback *cb = NULL;                                                                   \
    struct xs_ocl_call c;                                                                         \
    cl_int err;                                                                                   \
    xs_ocl_call_begin(&c, row, caller);                                                           \
    if (c.handled && pfn_notify && (cb = callback_new(user_data))) {                              \
        cb->fn.on_program = pfn_notify;                                                           \
        pfn_notify = run_program;                                                                 \
        user_data = cb;                                                                           \
    }                                                                                             \
    err = call;                                                                                   \
    xs_ocl_call_end(&c, row, XS_HOW_HAND, NULL, err, false);                                      \
    return err

cl_int xs_hand_clBuildProgram(const struct xs_ocl_table *T, const void *caller, cl_program program,
                              cl_uint num_devices, const cl_device_id *device_list, const char *options,
                              void (*pfn_notify)(cl_program program, void *user_data), void *user_data)
{
    BUILD(ROW_clBuildProgram,
          T->clBuildProgram(program, num_devices, device_list, options, pfn_notify, user_data));
}

cl_int xs_hand_clCompileProgram(const struct xs_ocl_table *T, const void *caller, cl_program program,
                                cl_uint num_devices, const cl_device_id *device_list, const char *options,
                                cl_uint num_input_headers, const cl_program *input_headers,
                                const char **header_include_names,
                                void (*pfn_notify)(cl_program program, void *user_data), void *user_data)
{
    BUILD(ROW_clCompileProgram,
          T->clCompileProgram(program, num_devices, device_list, options, num_input_headers, input_headers,
                              header_include_names, pfn_notify, user_data));
}

cl_program xs_hand_clLinkProgram(const struct xs_ocl_table *T, const void *caller, cl_context context,
                                 cl_uint num_devices, const cl_device_id *device_list, const char *options,
                                 cl_uint num_input_programs, const cl_program *input_programs,
                                 void (*pfn_notify)(cl_program program, void *user_data), void *user_data,
                                 cl_int *errcode_ret)
{
    struct callback *cb = NULL;
    struct xs_ocl_call c;
    cl_program program;

    xs_ocl_call_begin(&c, ROW_clLinkProgram, caller);
    if (c.handled && pfn_notify && (cb = callback_new(user_data))) {
        cb->fn.on_program = pfn_notify;
        pfn_notify = run_program;
        user_data = cb;
    }
    program = T->clLinkProgram(context, num_devices, device_list, options, num_input_programs,
                               input_programs, pfn_notify, user_data, errcode_ret);
    xs_ocl_call_end(&c, ROW_clLinkProgram, XS_HOW_HAND, NULL, XS_RESULT(program), true);
    return program;
}

/* The vendor calls the last three once, when the object goes away. */
#define DESTRUCTOR(row, field, run, call)                                                         \
    struct callback *cb = NULL;                                                                   \
    struct xs_ocl_call c;                                                                         \
    cl_int err;                                                                                   \
    xs_ocl_call_begin(&c, row, caller);                                                           \
    if (c.handled && pfn_notify && (cb = callback_new(user_data))) {                              \
        cb->fn.field = pfn_notify;                                                                \
        pfn_notify = run;                                                                         \
        user_data = cb;                                                                           \
    }                                                                                             \
    err = call;                                                                                   \
    if (err != CL_SUCCESS)                                                                        \
        free(cb);                                                                                 \
    xs_ocl_call_end(&c, row, XS_HOW_HAND, NULL, err, false);                                      \
    return err

cl_int xs_hand_clSetMemObjectDestructorCallback(const struct xs_ocl_table *T, const void *caller,
                                                cl_mem memobj,
                                                void (*pfn_notify)(cl_mem memobj, void *user_data),
                                                void *user_data)
{
    DESTRUCTOR(ROW_clSetMemObjectDestructorCallback, on_mem, run_mem,
               T->clSetMemObjectDestructorCallback(memobj, pfn_notify, user_data));
}

cl_int xs_hand_clSetContextDestructorCallback(const struct xs_ocl_table *T, const void *caller,
                                              cl_context context,
                                              void (*pfn_notify)(cl_context context, void *user_data),
                                              void *user_data)
{
    DESTRUCTOR(ROW_clSetContextDestructorCallback, on_context, run_context,
               T->clSetContextDestructorCallback(context, pfn_notify, user_data));
}

cl_int xs_hand_clSetProgramReleaseCallback(const struct xs_ocl_table *T, const void *caller,
                                           cl_program program,
                                           void (*pfn_notify)(cl_program program, void *user_data),
                                           void *user_data)
{
    DESTRUCTOR(ROW_clSetProgramReleaseCallback, on_program, run_program,
               T->clSetProgramReleaseCallback(program, pfn_notify, user_data));
}

/* The vendor copies a native kernel's arguments: ours come before the program's. */
struct native {
    void (*fn)(void *args);
    uint64_t keep_alignment;
};

static void run_native(void *opaque)
{
    struct native *n = opaque;
    int delta = xs_depth_callback_enter();

    n->fn(n + 1);
    xs_depth_callback_leave(delta);
}

#define NATIVE_BYTES 2048         /* on the stack up to here */
#define NATIVE_MEMS  32

cl_int xs_hand_clEnqueueNativeKernel(const struct xs_ocl_table *T, const void *caller,
                                     cl_command_queue command_queue, void (*user_func)(void *), void *args,
                                     size_t cb_args, cl_uint num_mem_objects, const cl_mem *mem_list,
                                     const void **args_mem_loc, cl_uint num_events_in_wait_list,
                                     const cl_event *event_wait_list, cl_event *event)
{
    const void *near_loc[NATIVE_MEMS], **loc = near_loc;
    char near[sizeof(struct native) + NATIVE_BYTES] __attribute__((aligned(16)));
    struct native *n = (struct native *)(void *)near;
    struct xs_ocl_submit s;
    void *far = NULL;
    bool scheduled, wrap;
    cl_int err;

    scheduled = xs_ocl_submit_open(&s, ROW_clEnqueueNativeKernel, caller, command_queue);
    wrap = s.call.handled && user_func && (args != NULL) == (cb_args != 0);
    if (wrap && (cb_args > NATIVE_BYTES || num_mem_objects > NATIVE_MEMS)) {
        far = malloc(sizeof(*n) + cb_args + num_mem_objects * sizeof(void *) + 16);
        wrap = far != NULL;
        n = far;
        loc = far ? (const void **)(void *)((char *)far + ((sizeof(*n) + cb_args + 15) & ~(size_t)15)) : NULL;
    }
    if (wrap && num_mem_objects && !args_mem_loc)
        wrap = false; /* wrong: the vendor says so */
    if (wrap) {
        n->fn = user_func;
        if (cb_args)
            memcpy(n + 1, args, cb_args);
        for (cl_uint i = 0; i < num_mem_objects; i++)
            loc[i] = (char *)(n + 1) + ((const char *)args_mem_loc[i] - (const char *)args);
    }
    if (scheduled)
        xs_ocl_submit_gate(&s, xs_ocl_key(s.row, (uint64_t)(uintptr_t)user_func), false, 0, num_events_in_wait_list,
                           event_wait_list);
    if (s.want_event && !event)
        event = &s.own;
    if (wrap)
        err = T->clEnqueueNativeKernel(command_queue, run_native, n, sizeof(*n) + cb_args, num_mem_objects,
                                       mem_list, num_mem_objects ? loc : args_mem_loc,
                                       num_events_in_wait_list, event_wait_list, event);
    else
        err = T->clEnqueueNativeKernel(command_queue, user_func, args, cb_args, num_mem_objects, mem_list,
                                       args_mem_loc, num_events_in_wait_list, event_wait_list, event);
    free(far);
    xs_ocl_submit_close(&s, err, event);
    return err;
}

typedef void (*svm_free_fn)(cl_command_queue queue, cl_uint num_svm_pointers, void *svm_pointers[],
                            void *user_data);

static cl_int svm_free(enum xs_row row,
                       cl_int (*real)(cl_command_queue, cl_uint, void *[], svm_free_fn, void *, cl_uint,
                                      const cl_event *, cl_event *),
                       const void *caller, cl_command_queue queue, cl_uint count, void *pointers[],
                       svm_free_fn fn, void *data, cl_uint wait_count, const cl_event *wait_list,
                       cl_event *event)
{
    struct callback *cb = NULL;
    struct xs_ocl_submit s;
    cl_int err;

    if (xs_ocl_submit_open(&s, row, caller, queue))
        xs_ocl_submit_gate(&s, xs_ocl_key(row, 0), false, 0, wait_count, wait_list);
    if (s.want_event && !event)
        event = &s.own;
    if (s.call.handled && fn && (cb = callback_new(data))) {
        cb->fn.on_svm_free = fn;
        err = real(queue, count, pointers, run_svm_free, cb, wait_count, wait_list, event);
        if (err != CL_SUCCESS)
            free(cb);
    } else {
        err = real(queue, count, pointers, fn, data, wait_count, wait_list, event);
    }
    xs_ocl_submit_close(&s, err, event);
    return err;
}

cl_int xs_hand_clEnqueueSVMFree(const struct xs_ocl_table *T, const void *caller,
                                cl_command_queue command_queue, cl_uint num_svm_pointers,
                                void *svm_pointers[], svm_free_fn pfn_free_func, void *user_data,
                                cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                cl_event *event)
{
    return svm_free(ROW_clEnqueueSVMFree, T->clEnqueueSVMFree, caller, command_queue, num_svm_pointers,
                    svm_pointers, pfn_free_func, user_data, num_events_in_wait_list, event_wait_list, event);
}

cl_int xs_hand_clEnqueueSVMFreeARM(cl_int (*real)(cl_command_queue, cl_uint, void *[], svm_free_fn, void *,
                                                  cl_uint, const cl_event *, cl_event *),
                                   const void *caller, cl_command_queue command_queue,
                                   cl_uint num_svm_pointers, void *svm_pointers[], svm_free_fn pfn_free_func,
                                   void *user_data, cl_uint num_events_in_wait_list,
                                   const cl_event *event_wait_list, cl_event *event)
{
    return svm_free(ROW_clEnqueueSVMFreeARM, real, caller, command_queue, num_svm_pointers, svm_pointers,
                    pfn_free_func, user_data, num_events_in_wait_list, event_wait_list, event);
}
