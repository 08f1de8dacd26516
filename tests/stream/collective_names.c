/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels are taken for collective communication, by names as programs ask for them: of NCCL and RCCL, of
 * libraries with all-reduces of their own, and of XSCHED_COLLECTIVES. */
#include "shim/stream/collective_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    /* mangled as nvcc does it */
    {"_ZN4vllm26cross_device_reduce_1stageI6__halfLi8EEEvPNS_8RankDataENS_11RankSignalsEPNS_6SignalEPT_ii", true},
    {"_ZN6sglang26cross_device_reduce_2stageI13__nv_bfloat16Li4EEEvPNS_8RankDataENS_11RankSignalsEPNS_6SignalEPT_ii", true},
    {"_ZN5aiter37cross_device_reduce_2stage_write_modeI14__hip_bfloat16Li8EEEvPNS_8RankDataENS_11RankSignalsE", true},
    {"_ZN11quickreduce26allreduce_prototype_twoshotI16AllReduceTwoshotI6__half7CodecQ4ES2_EEvPKT0_PS4_jiijPPhji", true},
    {"_ZN12tensorrt_llm7kernels9ar_fusion39allreduce_fusion_kernel_oneshot_lamportILi1E6__halfLi2ELb1EEEvNS_6ParamsE", true},
    {"_ZN12tensorrt_llm7kernels22oneShotAllReduceKernelI6__halfLi8ELb1ELb0ELb0EEEvNS0_15AllReduceParamsE", true},
    {"_ZN10flashinfer28trtllm_moe_allreduce_fusion49moereduce_allreduce_fusion_kernel_oneshot_lamportILi1E6__halfLi4EEEv", true},
    {"_ZN10flashinfer22trtllm_mnnvl_allreduce28oneshotAllreduceFusionKernelILh8E6__halfLb1EEEvPT0_S3_", true},
    {"_ZN53_GLOBAL__N__d8e9d1a3_26_CUDASymmetricMemoryOps_cu_1234526one_shot_all_reduce_kernelIfLi16ELi8EEEvPPT_", true},
    {"_ZN4c10d16symmetric_memoryL14barrier_kernelEPPjiiim", true},
    {"_ZN4c10d17nvshmem_extension9allToAllVEPvS1_Plmi", true},
    {"_Z35barrier_on_stream_kernel_threadgroupi12threadgroup_t", true},
    {"_Z30nvshmemi_proxy_rma_entrypointPvS_m", true},
    {"_ZN7deep_ep9intranode8dispatchILi8ELi768ELi8192EEEvP4int4Pf", true},
    {"_ZN7deep_ep12internode_ll7combineILb0ELi7168ELi9EEEvPvS2_", true},
    {"_ZN7deep_ep6legacy9internode15notify_dispatchILb0ELi2EEEvPKiPii", true},
    {"_ZN7deep_ep7elastic13dispatch_implILb1ELi8EEEv10ncclDevComm", true},
    {"_ZN7mscclpp15executionKernelI6__halfNS_12LL16PacketELb0EEEviPT_S4_mS4_mPNS_19DeviceExecutionPlanE", true},
    {"_Z10allreduce1PN7mscclpp13MemoryChannelE", true},
    {"allreduce_two_shot_push_intra_node_kernel", true},
    {"barrier_all_intra_node_atomic_cas_block", true},
    /* what stands beside them and waits for nobody */
    {"_ZN7deep_ep6legacy6layout19get_dispatch_layoutILi256ELi4ELi8EEEvPKlPiS5_S5_Pbiiii", false},
    {"_ZN10flashinfer28BatchDecodeWithPagedKVCacheKernelILj16ELj2E6__halfEEvT_", false},
    {"_ZN4vllm25paged_attention_v1_kernelI6__halfS1_Li64ELi16ELi128EEEvPT_", false},
    {"_ZN12tensorrt_llm7kernels10rmsNormKernelI6__halfEEvPT_", false},
    {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_10MeanOpsIffffEEjfLi4EEEEEvT1_", false},
    {"fused_moe_kernel", false},
    {"triton_red_fused_add_mean_0", false},
    {"ncclMemAlloc", false},
    {"Cijk_Ailk_Bljk_SB_MT64x64x16", false},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_T1_", false},
    {"meet", false},
    {"", false},
    {"nccl", false},
    /* XSCHED_COLLECTIVES, below */
    {"my_reduce_stage1", true},
    {"_Z9my_reducePf", true},
    {"special7", true},
    {"special", false},
    {"late", false},
};

/* Patterns that match, and some that may not: an empty one, what matches everything, one that is far too long. */
static void set_environment(const char *log)
{
    static char list[8192] = "my_reduce_*, *9my_reduce*,,special?,*,?*,[!#]*";
    size_t n = strlen(list);

    list[n++] = ',';
    memset(list + n, 'x', 300);
    n += 300;
    for (int i = 0; i < 80; i++)
        n += (size_t)snprintf(list + n, sizeof(list) - n, ",unused%d", i);
    snprintf(list + n, sizeof(list) - n, ",late");
    setenv("XSCHED_COLLECTIVES", list, 1);
    setenv("XLOG_FILE", log, 1);
}

/* One clear line for each cause. */
static int lines(const char *log)
{
    static const char *const causes[] = {"has an empty pattern", "'*' matches every kernel", "is longer than",
                                         "has more than 64 patterns"};
    unsigned seen[4] = {0}, all = 0;
    FILE *f = fopen(log, "r");
    char line[512];

    while (f && fgets(line, sizeof(line), f)) {
        all++;
        for (size_t i = 0; i < 4; i++)
            seen[i] += strstr(line, causes[i]) != NULL;
    }
    if (f)
        fclose(f);
    for (size_t i = 0; i < 4; i++)
        if (seen[i] != 1 || all != 4) {
            printf("'%s' is said %u times, in %u lines\n", causes[i], seen[i], all);
            return 1;
        }
    return 0;
}

int main(void)
{
    static char functions[sizeof(k_cases) / sizeof(*k_cases)];
    char log[] = "/tmp/collective_names.XXXXXX";
    int bad = 0, fd = mkstemp(log);
    unsigned are = 0;

    if (fd < 0)
        return 1;
    close(fd);
    set_environment(log);

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
    bad += lines(log);
    unlink(log);
    return bad ? 1 : 0;
}
