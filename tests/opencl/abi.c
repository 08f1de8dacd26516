/* SPDX-License-Identifier: Apache-2.0 */
/* Compares every row of our tables with the vendor's headers. Compiling is the test. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#define CL_ENABLE_BETA_EXTENSIONS
#include <CL/cl.h>
#include <CL/cl_egl.h>
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <stddef.h>

#define SAME(a, b) __builtin_types_compatible_p(a, b)

/* Newer than Debian 12's headers, and than the version that we ask of newer ones. */
#ifndef CL_VERSION_3_1
cl_int clGetKernelSuggestedLocalWorkSize(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                                         size_t *);
#define SLOT_301(name, slot) 1
#else
#define SLOT_301 SLOT_IS
#endif
#define LATER_SLOTS (sizeof(cl_icd_dispatch) < 150 * sizeof(void *) ? 1 : 0)
#define SLOT_IS(name, slot) (offsetof(cl_icd_dispatch, name) == (slot) * sizeof(void *))
#define SLOT_100 SLOT_IS
#define SLOT_101 SLOT_IS
#define SLOT_102 SLOT_IS
#define SLOT_200 SLOT_IS
#define SLOT_201 SLOT_IS
#define SLOT_202 SLOT_IS
#define SLOT_300 SLOT_IS

/* Prototype and dispatch slot of each exported function. */
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking)                       \
    _Static_assert(SAME(__typeof__(&name), ret(*) params), "prototype of " #name);                \
    _Static_assert(SLOT_##version(name, slot), "slot of " #name);
#include "shim/opencl/opencl_api.def"
#undef OCL

/* Every slot that the header has is a row of ours, except those of Windows. */
enum {
    ROWS = 0
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking) +1
#include "shim/opencl/opencl_api.def"
#undef OCL
};
#define WINDOWS_SLOTS 16
_Static_assert(sizeof(cl_icd_dispatch) == (ROWS + WINDOWS_SLOTS - LATER_SLOTS) * sizeof(void *),
               "a slot without a row");

/* Extensions: the header declares these; it lacks the rest, which are declared here after the
 * extensions' own documents. */
cl_int clEnqueueReadHostPipeINTEL(cl_command_queue, cl_program, const char *, cl_bool, void *, size_t,
                                  cl_uint, const cl_event *, cl_event *);
cl_int clEnqueueWriteHostPipeINTEL(cl_command_queue, cl_program, const char *, cl_bool, const void *, size_t,
                                   cl_uint, const cl_event *, cl_event *);
cl_int clEnqueueReadGlobalVariableINTEL(cl_command_queue, cl_program, const char *, cl_bool, size_t, size_t,
                                        void *, cl_uint, const cl_event *, cl_event *);
cl_int clEnqueueWriteGlobalVariableINTEL(cl_command_queue, cl_program, const char *, cl_bool, size_t, size_t,
                                         const void *, cl_uint, const cl_event *, cl_event *);
cl_int clEnqueueNDCountKernelINTEL(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                                   const size_t *, cl_uint, const cl_event *, cl_event *);
cl_int clEnqueueAcquireVA_APIMediaSurfacesINTEL(cl_command_queue, cl_uint, const cl_mem *, cl_uint,
                                                const cl_event *, cl_event *);
cl_int clEnqueueReleaseVA_APIMediaSurfacesINTEL(cl_command_queue, cl_uint, const cl_mem *, cl_uint,
                                                const cl_event *, cl_event *);
#define OCL_EXT(kind, name, ret, params, args, miss, key, blocking)                               \
    _Static_assert(SAME(__typeof__(&name), ret(*) params), "prototype of " #name);
#include "shim/opencl/opencl_ext.def"
#undef OCL_EXT

#define CL_VALUE(name, value) _Static_assert((long long)(name) == (value), "value of " #name);
#ifndef CL_DEVICE_PCI_BUS_ID_NV
#define CL_DEVICE_PCI_BUS_ID_NV 0x4008
#define CL_DEVICE_PCI_SLOT_ID_NV 0x4009
#endif
#ifndef CL_DEVICE_PCI_DOMAIN_ID_NV
#define CL_DEVICE_PCI_DOMAIN_ID_NV 0x400A
#endif
#include "hal/opencl/cl_values.def"
#undef CL_VALUE

/* What we call ourselves. */
#define OCL_USED(ret, name, params)                                                               \
    _Static_assert(SAME(__typeof__(&name), ret(*) params), "prototype of " #name);
#include "hal/opencl/used.def"
#undef OCL_USED

_Static_assert(sizeof(cl_device_pci_bus_info_khr) == 16, "four words");

int xs_abi_checked;
