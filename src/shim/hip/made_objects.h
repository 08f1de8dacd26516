/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that take an object which one copy of the runtime made. If a process has several copies, such a
 * call goes to that one, from any caller (shim/stream/caller_runtime.c). Other functions follow their stream
 * or their caller. */
#ifndef XS_SHIM_HIP_MADE_OBJECTS_H
#define XS_SHIM_HIP_MADE_OBJECTS_H

/* In the scope of an entry: the new object belongs to `rt` (shim/stream/caller_runtime.c). */
#define xs_hip_made(ret)                                                                          \
    do {                                                                                          \
        if (ret)                                                                                  \
            xs_api_object_made(rt, *(void **)(ret));                                              \
    } while (0)

/* Arguments that name it, and stubs of compiled kernels: XS_OBJECT in shim/stream/stream_table.h. */
#define XS_OBJECT_hipEventRecord ~, event
#define XS_OBJECT_hipEventRecord_spt ~, event
#define XS_OBJECT_hipEventRecordWithFlags ~, event
#define XS_OBJECT_hipEventQuery ~, event
#define XS_OBJECT_hipEventSynchronize ~, event
#define XS_OBJECT_hipEventDestroy ~, event
#define XS_OBJECT_hipStreamWaitEvent ~, event
#define XS_OBJECT_hipStreamWaitEvent_spt ~, event
#define XS_OBJECT_hipModuleEnumerateFunctions ~, module
#define XS_OBJECT_hipModuleGetFunction ~, module
#define XS_OBJECT_hipModuleUnload ~, module
#define XS_OBJECT_hipModuleLaunchKernel ~, f
#define XS_OBJECT_hipModuleLaunchCooperativeKernel ~, f
#define XS_OBJECT_hipExtModuleLaunchKernel ~, f
#define XS_OBJECT_hipHccModuleLaunchKernel ~, f
#define XS_OBJECT_hipDrvLaunchKernelEx ~, f
#define XS_OBJECT__Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j ~, f
#define XS_OBJECT__Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_ ~, f
#define XS_OBJECT_hipFuncGetAttributes ~, func
#define XS_OBJECT_hipGetFuncBySymbol ~, symbolPtr
#define XS_OBJECT_hipLaunchKernel ~, f
#define XS_OBJECT_hipLaunchKernel_spt ~, f
#define XS_OBJECT_hipExtLaunchKernel ~, f
#define XS_OBJECT_hipLaunchCooperativeKernel ~, f
#define XS_OBJECT_hipLaunchCooperativeKernel_spt ~, f
#define XS_OBJECT_hipLaunchKernelExC ~, f
#define XS_OBJECT_hipLaunchByPtr ~, f
#define XS_OBJECT_NUMBER_hipEventElapsedTime ~, 2
#define XS_OBJECT_NUMBER_hipIpcGetEventHandle ~, 2
#define XS_OBJECT_NUMBER_hipFuncGetAttribute ~, 3
#define XS_OBJECT_NUMBER_hipFuncSetAttribute ~, 1
#define XS_OBJECT_NUMBER_hipFuncSetCacheConfig ~, 1
#define XS_OBJECT_NUMBER_hipFuncSetSharedMemConfig ~, 1
#define XS_OBJECT_NUMBER_hipModuleGetGlobal ~, 3
#define XS_OBJECT_NUMBER_hipModuleGetTexRef ~, 2
#define XS_OBJECT_NUMBER_hipModuleGetFunctionCount ~, 2
#define XS_OBJECT_NUMBER_hipModuleOccupancyMaxActiveBlocksPerMultiprocessor ~, 2
#define XS_OBJECT_NUMBER_hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags ~, 2
#define XS_OBJECT_NUMBER_hipModuleOccupancyMaxPotentialBlockSize ~, 3
#define XS_OBJECT_NUMBER_hipModuleOccupancyMaxPotentialBlockSizeWithFlags ~, 3

#endif
