/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of this folder share: a GPU with one kernel, groups passed between processes,
 * percentiles and result lines. */
#ifndef GPU_H
#define GPU_H

#include "hal/cuda/rm/rm.h"

#include <cuda.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GPU_BLOCKS  (132 * 8)
#define GPU_THREADS 256

#define CHECK(call)                                                                     \
    do {                                                                                \
        CUresult r_ = (call);                                                           \
        if (r_ != CUDA_SUCCESS)                                                         \
            gpu_die(#call, (int)r_);                                                    \
    } while (0)
void gpu_die(const char *what, int code) __attribute__((noreturn));

struct gpu {
    CUcontext context;
    CUfunction burn;
    CUstream stream;
    CUdeviceptr sum;              /* of all kernels so far */
    CUdeviceptr started_dev, progress_dev;
    volatile uint32_t *started;
    volatile uint64_t *progress;
};
void gpu_open(struct gpu *g);
void gpu_burn(struct gpu *g, CUstream stream, unsigned blocks, uint64_t rounds, uint32_t stamp, bool progress);
/** Rounds that take about us of an otherwise idle device. */
uint64_t gpu_calibrate(struct gpu *g, unsigned blocks, double us);
uint64_t gpu_sum(struct gpu *g);
/** What one such kernel adds to the sum. */
uint64_t gpu_expected(struct gpu *g, unsigned blocks, uint64_t rounds);

double now_us(void);
void sleep_us(double us);

/** The groups of a process, as another one holds them. */
#define PASS_GROUPS 4
struct passed {
    uint32_t n;
    struct xs_rm_group groups[PASS_GROUPS];
};
void pass_groups(int socket);
void take_groups(int socket, struct passed *ret);
void close_groups(struct passed *p);
/** @return the first error */
int groups_slice(struct passed *p, uint64_t us);

/** Sorts. */
double percentile(double *v, size_t n, double p);
void result_open(const char *path);
/** One line; extra: further members, beginning with a comma, or "". */
void result(const char *workload, const char *variant, const char *side, const char *metric, double value,
            const char *unit, size_t n, int run, const char *extra);
void result_samples(const char *workload, const char *variant, const char *what, const double *v, size_t n, int run,
                    const char *extra);

int main_share(const char *results);
int main_kill(const char *results);
int main_observe(const char *results);

#endif
