/* SPDX-License-Identifier: Apache-2.0 */
/* A driver for an ICD loader that has nothing but platforms: PLATFORMS of them. */
#include <CL/cl_icd.h>
#include <string.h>

struct _cl_platform_id {
    const cl_icd_dispatch *dispatch;
};

static cl_int info(cl_platform_id platform, cl_platform_info name, size_t size, void *value, size_t *ret)
{
    const char *text = name == CL_PLATFORM_EXTENSIONS        ? "cl_khr_icd"
                       : name == CL_PLATFORM_ICD_SUFFIX_KHR ? "XS"
                       : name == CL_PLATFORM_VERSION        ? "OpenCL 1.2 stub"
                                                            : "stub";
    size_t n = strlen(text) + 1;

    (void)platform;
    if (value && size < n)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, text, n);
    if (ret)
        *ret = n;
    return CL_SUCCESS;
}

static cl_int devices(cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id *list, cl_uint *ret)
{
    (void)platform, (void)type, (void)count, (void)list;
    if (ret)
        *ret = 0;
    return CL_DEVICE_NOT_FOUND;
}

static const cl_icd_dispatch k_dispatch = {.clGetPlatformInfo = info, .clGetDeviceIDs = devices};
static struct _cl_platform_id g_platforms[PLATFORMS];

static cl_int CL_API_CALL platforms(cl_uint count, cl_platform_id *list, cl_uint *ret)
{
    for (cl_uint i = 0; i < PLATFORMS; i++) {
        g_platforms[i].dispatch = &k_dispatch;
        if (list && i < count)
            list[i] = &g_platforms[i];
    }
    if (ret)
        *ret = PLATFORMS;
    return CL_SUCCESS;
}

__attribute__((visibility("default"))) void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        return (void *)platforms;
    return strcmp(name, "clGetPlatformInfo") == 0 ? (void *)info : NULL;
}
