/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

extern const struct fake_row {
    const char *name;
    void *fn;
    int version, streams;
} fake_rows[];

static CUresult find(const char *name, void **fn, int version, uint64_t flags, int *status)
{
    int want = flags & XS_CU_PROC_PER_THREAD ? 2 : 1;
    const struct fake_row *best = NULL;

    for (const struct fake_row *r = fake_rows; r->name; r++)
        if (strcmp(r->name, name) == 0 && r->version && r->version <= version &&
            (!r->streams || r->streams == want) && (!best || r->version > best->version))
            best = r;
    *fn = best ? best->fn : NULL;
    if (status)
        *status = best ? 0 : 1;
    return 0; /* as an H200's driver 580 says of a name that it does not know */
}

API cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags, int *status)
{
    FAKE_RECORD(name, version, flags);
    return find(name, fn, version, flags, status);
}

API cuGetProcAddress(const char *name, void **fn, int version, uint64_t flags)
{
    FAKE_RECORD(name, version, flags);
    find(name, fn, version, flags, NULL);
    return *fn ? 0 : XS_CU_NOT_FOUND; /* as documented: it has no other way to say it */
}

/* For tests: a function that no table knows. */
API cuNewerThanUs(int x)
{
    return x + 1;
}

/* ---- what programs print ---- */

API cuDeviceGetName(char *ret, int size, CUdevice d)
{
    snprintf(ret, (size_t)size, "Fake %d", d);
    return 0;
}

API cuGetErrorName(CUresult error, const char **ret)
{
    *ret = error ? "CUDA_ERROR_OF_THE_FAKE" : "CUDA_SUCCESS";
    return 0;
}

API cuGetErrorString(CUresult error, const char **ret)
{
    *ret = error ? "an error of the fake" : "no error";
    return 0;
}
