/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of the libraries on the runtime: hipBLAS, rocBLAS, MIOpen, rocFFT, rocRAND, RCCL. */
#include "operations.h"

#define NONE 111                  /* HIPBLAS_OP_N, rocblas_operation_none */
#define SIDE 32                   /* of the matrices */

static P s_blas_lib, s_blas, s_roc_lib, s_roc, s_dnn_lib, s_dnn, s_fft_lib, s_rand_lib, s_hiprand_lib, s_ccl_lib;
static const float s_one = 1, s_two = 2, s_none = 0;

#define BLAS(name, ...) FN(s_blas_lib, name, __VA_ARGS__)
#define DNN(name, ...)  FN(s_dnn_lib, name, __VA_ARGS__)
#define FFT(name, ...)  FN(s_fft_lib, name, __VA_ARGS__)

/* ---- hipBLAS ---- */

static int op_blas(void)
{
    TRY(BLAS(hipblasCreate, P *)(&s_blas));
    return BLAS(hipblasSetStream, P, P)(s_blas, s_stream);
}

static int fill_all(void)
{
    TRY(fill(s_a, 1));
    TRY(fill(s_b, 2));
    return fill(s_c, 3);
}

static int op_scal(void)
{
    TRY(fill_all());
    TRY(BLAS(hipblasSscal, P, int, const float *, P, int)(s_blas, 1000, &s_two, s_a, 1));
    return sum_device(s_a, 4000);
}

static int op_axpy(void)
{
    TRY(fill_all());
    TRY(BLAS(hipblasSaxpy, P, int, const float *, P, int, P, int)(s_blas, 1000, &s_two, s_a, 1, s_b, 1));
    return sum_device(s_b, 4000);
}

static int op_swap(void)
{
    TRY(fill_all());
    TRY(BLAS(hipblasSswap, P, int, P, int, P, int)(s_blas, 1000, s_a, 1, s_b, 1));
    TRY(sum_device(s_a, 4000));
    return sum_device(s_b, 4000);
}

static int op_copy(void)
{
    TRY(fill_all());
    TRY(BLAS(hipblasScopy, P, int, P, int, P, int)(s_blas, 1000, s_a, 1, s_b, 1));
    return sum_device(s_b, 4000);
}

static int op_nrm2(void)
{
    float x = 0;

    TRY(fill_all());
    TRY(BLAS(hipblasSnrm2, P, int, P, int, float *)(s_blas, 1000, s_a, 1, &x));
    sum_host(&x, sizeof(x));
    return 0;
}

static int op_dot(void)
{
    float x = 0;

    TRY(fill_all());
    TRY(BLAS(hipblasSdot, P, int, P, int, P, int, float *)(s_blas, 1000, s_a, 1, s_b, 1, &x));
    sum_host(&x, sizeof(x));
    return 0;
}

static int op_amax(void)
{
    int at = 0;

    TRY(fill_all());
    TRY(BLAS(hipblasIsamax, P, int, P, int, int *)(s_blas, 1000, s_a, 1, &at));
    sum_host(&at, sizeof(at));
    return 0;
}

static int op_gemv(void)
{
    TRY(fill_all());
    TRY(BLAS(hipblasSgemv, P, int, int, int, const float *, P, int, P, int, const float *, P, int)(
        s_blas, NONE, SIDE, SIDE, &s_one, s_a, SIDE, s_b, 1, &s_one, s_c, 1));
    return sum_device(s_c, 4 * SIDE);
}

static int op_ger(void)
{
    TRY(fill_all());
    TRY(BLAS(hipblasSger, P, int, int, const float *, P, int, P, int, P, int)(s_blas, SIDE, SIDE, &s_one, s_a, 1, s_b, 1, s_c,
                                                                             SIDE));
    return sum_device(s_c, 4 * SIDE * SIDE);
}

typedef int gemm(P, int, int, int, int, int, const void *, P, int, P, int, const void *, P, int);

static int sgemm(P stream)
{
    TRY(fill_all());
    TRY(BLAS(hipblasSetStream, P, P)(s_blas, stream));
    TRY(((gemm *)fn(s_blas_lib, "hipblasSgemm"))(s_blas, NONE, NONE, SIDE, SIDE, SIDE, &s_one, s_a, SIDE, s_b, SIDE, &s_none, s_c,
                                                 SIDE));
    TRY(HIP(hipStreamSynchronize, P)(stream));
    TRY(BLAS(hipblasSetStream, P, P)(s_blas, s_stream));
    return sum_device(s_c, 4 * SIDE * SIDE);
}

static int op_gemm(void) { return sgemm(s_stream); }
static int op_gemm_null(void) { return sgemm(NULL); }
static int op_gemm_thread(void) { return sgemm(PER_THREAD); }

static int op_hgemm(void)
{
    static const uint16_t one = 0x3c00, none = 0; /* half precision */
    static uint16_t halves[2 * FLOATS];

    for (unsigned i = 0; i < 2 * FLOATS; i++)
        halves[i] = (uint16_t)(0x3000 + i % 7 * 64);
    TRY(HIP(hipMemcpy, P, const void *, size_t, int)(s_a, halves, sizeof(halves), TO_DEVICE));
    TRY(HIP(hipMemcpy, P, const void *, size_t, int)(s_b, halves, sizeof(halves), TO_DEVICE));
    TRY(((gemm *)fn(s_blas_lib, "hipblasHgemm"))(s_blas, NONE, NONE, SIDE, SIDE, SIDE, &one, s_a, SIDE, s_b, SIDE, &none, s_c,
                                                 SIDE));
    return sum_device(s_c, 2 * SIDE * SIDE);
}

static int op_gemm_strided(void)
{
    TRY(fill_all());
    TRY(BLAS(hipblasSgemmStridedBatched, P, int, int, int, int, int, const float *, P, int, long, P, int, long, const float *, P,
             int, long, int)(s_blas, NONE, NONE, 16, 16, 16, &s_one, s_a, 16, 256, s_b, 16, 256, &s_none, s_c, 16, 256, 4));
    return sum_device(s_c, 4 * 256 * 4);
}

static int op_gemm_batched(void)
{
    P lists[3][4], seen = NULL;

    TRY(fill_all());
    for (int i = 0; i < 4; i++) {
        lists[0][i] = (char *)s_a + i * 1024;
        lists[1][i] = (char *)s_b + i * 1024;
        lists[2][i] = (char *)s_c + i * 1024;
    }
    TRY(HIP(hipMalloc, P *, size_t)(&seen, sizeof(lists)));
    TRY(HIP(hipMemcpy, P, const void *, size_t, int)(seen, lists, sizeof(lists), TO_DEVICE));
    TRY(BLAS(hipblasSgemmBatched, P, int, int, int, int, int, const float *, P, int, P, int, const float *, P, int, int)(
        s_blas, NONE, NONE, 16, 16, 16, &s_one, seen, 16, (char *)seen + sizeof(lists[0]), 16, &s_none,
        (char *)seen + 2 * sizeof(lists[0]), 16, 4));
    TRY(sum_device(s_c, 4 * 256 * 4));
    return HIP(hipFree, P)(seen);
}

static int op_blas_end(void) { return BLAS(hipblasDestroy, P)(s_blas); }

/* ---- rocBLAS ---- */

static int op_roc(void)
{
    TRY(FN(s_roc_lib, rocblas_create_handle, P *)(&s_roc));
    return FN(s_roc_lib, rocblas_set_stream, P, P)(s_roc, s_urgent);
}

static int op_roc_scal(void)
{
    TRY(fill_all());
    TRY(FN(s_roc_lib, rocblas_sscal, P, int, const float *, P, int)(s_roc, 1000, &s_two, s_a, 1));
    return sum_device(s_a, 4000);
}

static int op_roc_gemm(void)
{
    TRY(fill_all());
    TRY(((gemm *)fn(s_roc_lib, "rocblas_sgemm"))(s_roc, NONE, NONE, SIDE, SIDE, SIDE, &s_one, s_a, SIDE, s_b, SIDE, &s_none, s_c,
                                                 SIDE));
    return sum_device(s_c, 4 * SIDE * SIDE);
}

static int op_roc_end(void) { return FN(s_roc_lib, rocblas_destroy_handle, P)(s_roc); }

/* ---- MIOpen ---- */

static P s_in, s_out, s_filter, s_conv;

static int op_dnn(void)
{
    TRY(DNN(miopenCreateWithStream, P *, P)(&s_dnn, s_stream));
    TRY(DNN(miopenCreateTensorDescriptor, P *)(&s_in));
    TRY(DNN(miopenCreateTensorDescriptor, P *)(&s_out));
    TRY(DNN(miopenCreateTensorDescriptor, P *)(&s_filter));
    TRY(DNN(miopenSet4dTensorDescriptor, P, int, int, int, int, int)(s_in, 1, 1, 4, 8, 8));
    TRY(DNN(miopenSet4dTensorDescriptor, P, int, int, int, int, int)(s_out, 1, 1, 4, 8, 8));
    return DNN(miopenSet4dTensorDescriptor, P, int, int, int, int, int)(s_filter, 1, 4, 4, 3, 3);
}

static int op_relu(void)
{
    P relu = NULL;

    TRY(fill_all());
    TRY(DNN(miopenCreateActivationDescriptor, P *)(&relu));
    TRY(DNN(miopenSetActivationDescriptor, P, int, double, double, double)(relu, 3, 0, 0, 1));
    TRY(DNN(miopenActivationForward, P, P, const float *, P, P, const float *, P, P)(s_dnn, relu, &s_one, s_in, s_a, &s_none,
                                                                                     s_out, s_b));
    TRY(sum_device(s_b, 1024));
    return DNN(miopenDestroyActivationDescriptor, P)(relu);
}

static int op_softmax(void)
{
    TRY(fill_all());
    TRY(DNN(miopenSoftmaxForward, P, const float *, P, P, const float *, P, P)(s_dnn, &s_one, s_in, s_a, &s_none, s_out, s_b));
    return sum_device(s_b, 1024);
}

static int op_tensor(void)
{
    TRY(fill_all());
    TRY(DNN(miopenOpTensor, P, int, const float *, P, P, const float *, P, P, const float *, P, P)(
        s_dnn, 0, &s_one, s_in, s_a, &s_one, s_in, s_b, &s_none, s_out, s_c));
    return sum_device(s_c, 1024);
}

/* By an immediate solution, which searches for nothing: the first that is offered. */
static int op_convolution(void)
{
    struct { float time; size_t workspace; uint64_t id; int algorithm; } solution[8];
    size_t n = 0;
    P space = NULL;

    TRY(fill_all());
    TRY(DNN(miopenCreateConvolutionDescriptor, P *)(&s_conv));
    TRY(DNN(miopenInitConvolutionDescriptor, P, int, int, int, int, int, int, int)(s_conv, 0, 1, 1, 1, 1, 1, 1));
    TRY(DNN(miopenConvolutionForwardGetSolution, P, P, P, P, P, size_t, size_t *, P)(s_dnn, s_filter, s_in, s_conv, s_out, 8, &n,
                                                                                     solution));
    if (!n)
        return -2;
    if (solution[0].workspace)
        TRY(HIP(hipMalloc, P *, size_t)(&space, solution[0].workspace));
    TRY(DNN(miopenConvolutionForwardCompileSolution, P, P, P, P, P, uint64_t)(s_dnn, s_filter, s_in, s_conv, s_out,
                                                                              solution[0].id));
    TRY(DNN(miopenConvolutionForwardImmediate, P, P, P, P, P, P, P, P, P, size_t, uint64_t)(
        s_dnn, s_filter, s_b, s_in, s_a, s_conv, s_out, s_c, space, solution[0].workspace, solution[0].id));
    return sum_device(s_c, 1024);
}

static int op_dnn_end(void) { return DNN(miopenDestroy, P)(s_dnn); }

/* ---- rocFFT, rocRAND, RCCL ---- */

static int op_fft(void)
{
    size_t length = 64;
    P plan = NULL, info = NULL, buffer[1] = {s_a};

    TRY(fill_all());
    TRY(FFT(rocfft_setup, void)());
    TRY(FFT(rocfft_plan_create, P *, int, int, int, size_t, const size_t *, size_t, P)(&plan, 0, 0, 0, 1, &length, 1, NULL));
    TRY(FFT(rocfft_execution_info_create, P *)(&info));
    TRY(FFT(rocfft_execution_info_set_stream, P, P)(info, s_stream));
    TRY(FFT(rocfft_execute, P, P *, P *, P)(plan, buffer, NULL, info));
    TRY(sum_device(s_a, 8 * 64));
    TRY(FFT(rocfft_execution_info_destroy, P)(info));
    TRY(FFT(rocfft_plan_destroy, P)(plan));
    return FFT(rocfft_cleanup, void)();
}

static int random_by(int kind)
{
    P generator = NULL;

    TRY(fill_all());
    TRY(FN(s_rand_lib, rocrand_create_generator, P *, int)(&generator, kind));
    TRY(FN(s_rand_lib, rocrand_set_stream, P, P)(generator, s_stream));
    TRY(FN(s_rand_lib, rocrand_set_seed, P, uint64_t)(generator, 12));
    TRY(FN(s_rand_lib, rocrand_generate_uniform, P, P, size_t)(generator, s_a, 1000));
    TRY(sum_device(s_a, 4000));
    return FN(s_rand_lib, rocrand_destroy_generator, P)(generator);
}

/* hipRAND, over rocRAND */
static int op_hip_random(void)
{
    P generator = NULL;

    TRY(fill_all());
    TRY(FN(s_hiprand_lib, hiprandCreateGenerator, P *, int)(&generator, 400));
    TRY(FN(s_hiprand_lib, hiprandSetStream, P, P)(generator, s_stream));
    TRY(FN(s_hiprand_lib, hiprandSetPseudoRandomGeneratorSeed, P, uint64_t)(generator, 34));
    TRY(FN(s_hiprand_lib, hiprandGenerateUniform, P, P, size_t)(generator, s_a, 1000));
    TRY(sum_device(s_a, 4000));
    TRY(FN(s_hiprand_lib, hiprandGenerateNormal, P, P, size_t, float, float)(generator, s_b, 1000, 0, 1));
    TRY(sum_device(s_b, 4000));
    return FN(s_hiprand_lib, hiprandDestroyGenerator, P)(generator);
}

static int op_philox(void) { return random_by(404); }
static int op_xorwow(void) { return random_by(401); }

static int op_all_reduce(void)
{
    P comm = NULL;
    int device = 0;

    TRY(fill_all());
    TRY(FN(s_ccl_lib, ncclCommInitAll, P *, int, const int *)(&comm, 1, &device));
    TRY(FN(s_ccl_lib, ncclAllReduce, P, P, size_t, int, int, P, P)(s_a, s_b, 1000, 7, 0, comm, s_stream));
    TRY(HIP(hipStreamSynchronize, P)(s_stream));
    TRY(sum_device(s_b, 4000));
    return FN(s_ccl_lib, ncclCommDestroy, P)(comm);
}

static const struct op g_blas[] = {
    {"hipblasCreate, hipblasSetStream", op_blas},
    {"hipblasSscal", op_scal},
    {"hipblasSaxpy", op_axpy},
    {"hipblasSswap", op_swap},
    {"hipblasScopy", op_copy},
    {"hipblasSnrm2", op_nrm2},
    {"hipblasSdot", op_dot},
    {"hipblasIsamax", op_amax},
    {"hipblasSgemv", op_gemv},
    {"hipblasSger", op_ger},
    {"hipblasSgemm, a created stream", op_gemm},
    {"hipblasSgemm, the null stream", op_gemm_null},
    {"hipblasSgemm, the thread's stream", op_gemm_thread},
    {"hipblasHgemm", op_hgemm},
    {"hipblasSgemmStridedBatched", op_gemm_strided},
    {"hipblasSgemmBatched", op_gemm_batched},
    {"hipblasDestroy", op_blas_end},
};

static const struct op g_roc[] = {
    {"rocblas_create_handle, rocblas_set_stream", op_roc},
    {"rocblas_sscal", op_roc_scal},
    {"rocblas_sgemm", op_roc_gemm},
    {"rocblas_destroy_handle", op_roc_end},
};

static const struct op g_dnn[] = {
    {"miopenCreateWithStream, tensor descriptors", op_dnn},
    {"miopenActivationForward", op_relu},
    {"miopenSoftmaxForward", op_softmax},
    {"miopenOpTensor", op_tensor},
    {"miopenConvolutionForwardImmediate", op_convolution},
    {"miopenDestroy", op_dnn_end},
};

static const struct op g_fft[] = {{"rocfft_execute", op_fft}};
static const struct op g_rand[] = {{"rocrand_generate_uniform, Philox", op_philox},
                                   {"rocrand_generate_uniform, XORWOW", op_xorwow}};
static const struct op g_hiprand[] = {{"hiprandGenerateUniform, hiprandGenerateNormal", op_hip_random}};
static const struct op g_ccl[] = {{"ncclAllReduce of one rank (RCCL)", op_all_reduce}};

static const struct {
    const char *group, *file;
    P *lib;
    const struct op *ops;
    size_t n;
} g_libraries[] = {
#define LIBRARY(group, file, lib, ops) {group, file, &lib, ops, sizeof(ops) / sizeof(ops[0])}
    LIBRARY("hipblas", "libhipblas.so.2", s_blas_lib, g_blas), LIBRARY("rocblas", "librocblas.so.4", s_roc_lib, g_roc),
    LIBRARY("rocfft", "librocfft.so.0", s_fft_lib, g_fft),     LIBRARY("rocrand", "librocrand.so.1", s_rand_lib, g_rand),
    LIBRARY("hiprand", "libhiprand.so.1", s_hiprand_lib, g_hiprand),
    LIBRARY("miopen", "libMIOpen.so.1", s_dnn_lib, g_dnn),     LIBRARY("rccl", "librccl.so.1", s_ccl_lib, g_ccl),
};

bool operations_of(const char *group)
{
    for (size_t i = 0; i < sizeof(g_libraries) / sizeof(g_libraries[0]); i++) {
        if (strcmp(g_libraries[i].group, group) != 0)
            continue;
        *g_libraries[i].lib = library(g_libraries[i].file);
        if (*g_libraries[i].lib)
            run(g_libraries[i].ops, g_libraries[i].n);
        else
            printf("%s\tmissing\t-\n", g_libraries[i].file);
        return true;
    }
    return false;
}
