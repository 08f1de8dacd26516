/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of tools and of system management, which the loader wants of every driver: they have no functions. */
#include "internal.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define EMPTY(getter)                                                                             \
    API ze_result_t getter(ze_api_version_t version, void **table)                                \
    {                                                                                             \
        (void)version, (void)table;                                                               \
        return ZE_RESULT_SUCCESS;                                                                 \
    }

EMPTY(zesGetDeviceProcAddrTable)
EMPTY(zesGetDiagnosticsProcAddrTable)
EMPTY(zesGetDriverProcAddrTable)
EMPTY(zesGetEngineProcAddrTable)
EMPTY(zesGetFabricPortProcAddrTable)
EMPTY(zesGetFanProcAddrTable)
EMPTY(zesGetFirmwareProcAddrTable)
EMPTY(zesGetFrequencyProcAddrTable)
EMPTY(zesGetLedProcAddrTable)
EMPTY(zesGetMemoryProcAddrTable)
EMPTY(zesGetPerformanceFactorProcAddrTable)
EMPTY(zesGetPowerProcAddrTable)
EMPTY(zesGetPsuProcAddrTable)
EMPTY(zesGetRasProcAddrTable)
EMPTY(zesGetSchedulerProcAddrTable)
EMPTY(zesGetStandbyProcAddrTable)
EMPTY(zesGetTemperatureProcAddrTable)
EMPTY(zetGetCommandListProcAddrTable)
EMPTY(zetGetContextProcAddrTable)
EMPTY(zetGetDebugProcAddrTable)
EMPTY(zetGetDeviceProcAddrTable)
EMPTY(zetGetKernelProcAddrTable)
EMPTY(zetGetMetricGroupExpProcAddrTable)
EMPTY(zetGetMetricGroupProcAddrTable)
EMPTY(zetGetMetricProcAddrTable)
EMPTY(zetGetMetricQueryPoolProcAddrTable)
EMPTY(zetGetMetricQueryProcAddrTable)
EMPTY(zetGetMetricStreamerProcAddrTable)
EMPTY(zetGetModuleProcAddrTable)
EMPTY(zetGetTracerExpProcAddrTable)
