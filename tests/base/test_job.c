/* SPDX-License-Identifier: Apache-2.0 */
/* What launchers say of a job, as their programs find it in the environment. */
#include "base/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *of(void *ctx, const char *name)
{
    const char *const *env = ctx;
    size_t n = strlen(name);

    for (; *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

#define ENV(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(,) NULL})
#define CTX(...) ((void *)(uintptr_t)ENV(__VA_ARGS__))

static void expect(void *env, const char *job)
{
    char name[XS_JOB_BYTES];

    xs_job_name(of, env, name);
    assert_string_equal(name, job);
}

static void names(void **state)
{
    (void)state;
    expect(CTX(), "");
    expect(CTX("MASTER_PORT="), "");
    /* torchrun */
    expect(CTX("RANK=1", "LOCAL_RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500"), "MASTER_PORT=29500");
    /* srun, and torchrun in a batch job */
    expect(CTX("SLURM_JOB_ID=17", "SLURM_STEP_ID=0", "SLURM_PROCID=1"), "SLURM_JOB_ID=17");
    expect(CTX("MASTER_PORT=29500", "SLURM_JOB_ID=17"), "SLURM_JOB_ID=17");
    /* mpirun of Open MPI */
    expect(CTX("OMPI_COMM_WORLD_RANK=0", "PMIX_NAMESPACE=prterun-host-1234@1", "MASTER_PORT=1"),
           "PMIX_NAMESPACE=prterun-host-1234@1");
}

static void long_names_differ_still(void **state)
{
    char a[XS_JOB_BYTES], b[XS_JOB_BYTES], text[2][200];

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        memset(text[i], 'x', sizeof(text[i]));
        memcpy(text[i], "PMIX_NAMESPACE=", 15);
        text[i][198] = (char)('0' + i);
        text[i][199] = 0;
    }
    xs_job_name(of, CTX(text[0]), a);
    xs_job_name(of, CTX(text[1]), b);
    assert_string_not_equal(a, b);
    assert_int_equal(strncmp(a, "PMIX_NAMESPACE#", 15), 0);
}

static void expect_hosts(void *env, const char *why)
{
    char text[128] = "";

    assert_int_equal(xs_job_spans_hosts(of, env, text, sizeof(text)), why != NULL);
    assert_string_equal(text, why ? why : "");
}

static void hosts(void **state)
{
    (void)state;
    expect_hosts(CTX(), NULL);
    expect_hosts(CTX("SLURM_JOB_NUM_NODES=4"), "SLURM_JOB_NUM_NODES=4");
    expect_hosts(CTX("SLURM_JOB_NUM_NODES=4", "SLURM_STEP_NUM_NODES=1"), NULL);
    expect_hosts(CTX("WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8"), "WORLD_SIZE=16, LOCAL_WORLD_SIZE=8");
    expect_hosts(CTX("WORLD_SIZE=8", "LOCAL_WORLD_SIZE=8"), NULL);
    expect_hosts(CTX("WORLD_SIZE=16"), NULL);
    expect_hosts(CTX("WORLD_SIZE=x", "LOCAL_WORLD_SIZE=8"), NULL);
    expect_hosts(CTX("OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_SIZE=2"),
                 "OMPI_COMM_WORLD_SIZE=4, OMPI_COMM_WORLD_LOCAL_SIZE=2");
    expect_hosts(CTX("NNODES=2"), "NNODES=2");
    expect_hosts(CTX("NNODES=1:4"), NULL); /* torchrun's range is an option, no number */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(long_names_differ_still),
        cmocka_unit_test(hosts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
