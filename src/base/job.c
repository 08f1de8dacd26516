/* SPDX-License-Identifier: Apache-2.0 */
#include "base/job.h"

#include "base/map.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#ifndef AT_SECURE
#define AT_SECURE 23
#endif

/* The widest job first: a batch job may run several launchers, and mpirun several torchruns. Only one
 * program on a host has a port, so two jobs of torchrun differ in it; the address has several
 * spellings. */
static const char *const k_names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "RAY_JOB_ID",
                                      "PALS_APID", "PMIX_NAMESPACE", "MASTER_PORT"};

/* How many hosts there are. */
static const char *const k_hosts[] = {"SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "PBS_NUM_NODES",
                                      "NNODES"};

/* How many processes there are, and how many of them on this host. */
static const struct {
    const char *all, *here;
} k_sizes[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_SIZE", "MPI_LOCALNRANKS"},
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"WORLD_SIZE", "LOCAL_WORLD_SIZE"},
};

static const char *from_environment(void *ctx, const char *name)
{
    (void)ctx;
    return getauxval(AT_SECURE) ? NULL : getenv(name);
}

void xs_job_name(xs_job_get *get, void *ctx, char ret[XS_JOB_BYTES])
{
    get = get ? get : from_environment;
    ret[0] = 0;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_names); i++) {
        const char *value = get(ctx, k_names[i]);
        uint64_t hash = 0;

        if (!value || !value[0])
            continue;
        if (snprintf(ret, XS_JOB_BYTES, "%s=%s", k_names[i], value) < (int)XS_JOB_BYTES)
            return;
        for (const char *c = value; *c; c++) /* too long: the part that differs from others may stand at
                                                its end */
            hash = xs_hash_u64(hash ^ (unsigned char)*c);
        snprintf(ret, XS_JOB_BYTES, "%s#%016llx", k_names[i], (unsigned long long)hash);
        return;
    }
}

/* @return the number; 0: there is none */
static uint64_t number(xs_job_get *get, void *ctx, const char *name)
{
    const char *value = get(ctx, name);
    uint64_t n;

    return value && xs_str_parse_u64(value, 10, &n) == 0 ? n : 0;
}

bool xs_job_spans_hosts(xs_job_get *get, void *ctx, char *ret_why, size_t size)
{
    get = get ? get : from_environment;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_hosts); i++) {
        uint64_t n = number(get, ctx, k_hosts[i]);

        if (n > 1)
            snprintf(ret_why, size, "%s=%llu", k_hosts[i], (unsigned long long)n);
        if (n) /* a step of one host in a job of several */
            return n > 1;
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(k_sizes); i++) {
        uint64_t all = number(get, ctx, k_sizes[i].all), here = number(get, ctx, k_sizes[i].here);

        if (!all || !here)
            continue;
        if (all > here)
            snprintf(ret_why, size, "%s=%llu, %s=%llu", k_sizes[i].all, (unsigned long long)all, k_sizes[i].here,
                     (unsigned long long)here);
        return all > here;
    }
    return false;
}
