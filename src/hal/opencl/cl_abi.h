/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the OpenCL binary interface that we use: types under their own names, values from
 * cl_values.def. We repeat it here so that everything builds without the vendor's headers; tests/opencl/abi.c
 * compares every row with the installed ones. */
#ifndef XS_CL_ABI_H
#define XS_CL_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef cl_uint cl_bool;
typedef cl_ulong cl_bitfield;
typedef cl_ulong cl_properties;

typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
typedef struct _cl_sampler *cl_sampler;
typedef struct _cl_command_buffer_khr *cl_command_buffer_khr;
typedef struct _cl_semaphore_khr *cl_semaphore_khr;
typedef struct __GLsync *cl_GLsync;

typedef struct _cl_image_format cl_image_format;
typedef struct _cl_image_desc cl_image_desc;

typedef cl_uint cl_addressing_mode, cl_buffer_create_type, cl_command_queue_info, cl_context_info,
    cl_device_info, cl_event_info, cl_filter_mode, cl_gl_context_info, cl_gl_object_type,
    cl_gl_texture_info, cl_image_info, cl_kernel_arg_info, cl_kernel_exec_info, cl_kernel_info,
    cl_kernel_sub_group_info, cl_kernel_work_group_info, cl_mem_advice_intel, cl_mem_info,
    cl_mem_object_type, cl_mipmap_filter_mode_img, cl_pipe_info, cl_platform_info, cl_profiling_info,
    cl_program_build_info, cl_program_info, cl_sampler_info, cl_layer_info;
typedef cl_bitfield cl_command_queue_properties, cl_device_type, cl_map_flags, cl_mem_flags,
    cl_mem_migration_flags, cl_mem_migration_flags_ext, cl_svm_mem_flags;
typedef cl_properties cl_command_buffer_properties_khr, cl_mem_properties, cl_queue_properties,
    cl_queue_properties_khr, cl_sampler_properties;
typedef cl_ulong cl_semaphore_payload_khr, cl_device_partition_property_ext;
typedef intptr_t cl_context_properties, cl_device_partition_property, cl_pipe_properties,
    cl_egl_image_properties_khr;
typedef void *CLeglImageKHR, *CLeglDisplayKHR, *CLeglSyncKHR;
typedef unsigned int cl_GLuint, cl_GLenum;
typedef int cl_GLint;

enum {
#define CL_VALUE(name, value) name = value,
#include "hal/opencl/cl_values.def"
#undef CL_VALUE
};

#endif
