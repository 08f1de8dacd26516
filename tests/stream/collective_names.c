/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels are taken for collective communication, by names as they are in releases of NCCL and RCCL. */
#include "shim/stream/collective_names.h"

#include <stdio.h>

static unsigned g_ahead;

void xsched_priv_collectives_ahead(void);
void xsched_priv_collectives_ahead(void)
{
    g_ahead++;
}

static const struct {
    const char *name;
    bool is;
} k_cases[] = {
    {"_Z32ncclDevKernel_AllReduce_Sum_f32_RING_LLP11ncclDevComm15channelMasksP8ncclWork", true},
    {"_Z21ncclDevKernel_GenericP11ncclDevComm12channelMasksP8ncclWork", true},          /* RCCL 2.21, ROCm 6 */
    {"_Z26ncclDevKernelDebug_GenericP11ncclDevComm12channelMasksP8ncclWork", true},
    {"_Z23ncclDevKernel_Generic_424ncclDevKernelArgsStorageILm4096EE", true},            /* RCCL of ROCm 7 */
    {"_Z46ncclKernel_AllReduce_RING_LL_Sum_float_P11ncclDevCommP8ncclWork", true},
    {"_Z43ncclSymDevKernel_AllReduce_AGxLL_R_sum_f32P14ncclSymDevArgs", true},
    {"_Z44ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32P15ncclSymkDevArgs", true},
    {"_Z35mscclKernel_Sum_float_Simple_falseP11ncclDevCommP9mscclAlgoP9mscclWork", true}, /* RCCL's, from files */
    {"Cijk_Ailk_Bljk_SB_MT64x64x16", false},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_T1_", false},
    {"meet", false},
    {"", false},
    {"nccl", false},
};

int main(void)
{
    static char functions[sizeof(k_cases) / sizeof(*k_cases)];
    int bad = 0;
    unsigned are = 0;

    for (size_t i = 0; i < sizeof(functions); i++) {
        xs_collective_named(&functions[i], k_cases[i].name);
        are += k_cases[i].is;
        if (xs_collective_find(&functions[i]) != k_cases[i].is || g_ahead != are) {
            printf("%s: taken for %s collective\n", k_cases[i].name, k_cases[i].is ? "no" : "a");
            bad++;
        }
    }
    /* the handle of a function that is gone comes back as another's */
    xs_collective_named(&functions[0], "other");
    bad += xs_collective_find(&functions[0]);
    return bad ? 1 : 0;
}
