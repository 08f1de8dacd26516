/* SPDX-License-Identifier: Apache-2.0 */
/* Functions written by hand: entry points, the lives of contexts. */
#include "shim/stream/stream_call.h"
#include "shim/stream/prototypes.h"

/* ---- entry points ---- */

CUresult xs_hand_cuGetProcAddress(const struct xs_api_runtime *rt, const void *symbol, void **pfn,
                                  int cudaVersion, uint64_t flags)
{
    CUresult r = XS_REAL(cuGetProcAddress)(symbol, pfn, cudaVersion, flags);

    if (r == XS_CU_SUCCESS && symbol && pfn && *pfn)
        *pfn = xs_api_answer(rt, symbol, cudaVersion, flags, *pfn);
    return r;
}

CUresult xs_hand_cuGetProcAddress_v2(const struct xs_api_runtime *rt, const void *symbol, void **pfn,
                                     int cudaVersion, uint64_t flags, void *symbolStatus)
{
    CUresult r = XS_REAL(cuGetProcAddress_v2)(symbol, pfn, cudaVersion, flags, symbolStatus);

    if (r == XS_CU_SUCCESS && symbol && pfn && *pfn)
        *pfn = xs_api_answer(rt, symbol, cudaVersion, flags, *pfn);
    return r;
}

/* The driver answers with the newest version that is no newer than the requested one: for the row's own
 * version it gives the row's function. */
bool xs_api_is_version(const struct xs_api_runtime *rt, enum xs_row row, uint64_t flags, const void *real)
{
    const struct xs_row_info *info = &xs_row_info[row];
    void *fn = NULL;

    if (XS_REAL(cuGetProcAddress_v2)(info->name, &fn, info->version, flags, NULL) != XS_CU_SUCCESS &&
        XS_REAL(cuGetProcAddress)(info->name, &fn, info->version, flags) != XS_CU_SUCCESS) /* before CUDA 12 */
        return false;
    return fn == real;
}

/* ---- captures into command lists of a graphics API ---- */

static void recordings(int delta)
{
    atomic_fetch_add_explicit(&xsched_priv_cuda_recordings, delta, memory_order_relaxed);
    atomic_fetch_add_explicit(&xs_api_captures, delta, memory_order_relaxed);
}

/* Before the call, as any capture: other threads may already put work into the stream. */
#define RECORDS(symbol, args)                                                                     \
    do {                                                                                          \
        CUresult r;                                                                               \
        recordings(1);                                                                            \
        r = XS_REAL(symbol) args;                                                                 \
        if (r != XS_CU_SUCCESS)                                                                   \
            recordings(-1);                                                                       \
        return r;                                                                                 \
    } while (0)

CUresult xs_hand_cuStreamBeginCaptureToCig(const struct xs_api_runtime *rt, CUstream hStream, void *streamCigCaptureParams)
{
    RECORDS(cuStreamBeginCaptureToCig, (hStream, streamCigCaptureParams));
}

CUresult xs_hand_cuStreamBeginCaptureToCig_ptsz(const struct xs_api_runtime *rt, CUstream hStream,
                                                void *streamCigCaptureParams)
{
    RECORDS(cuStreamBeginCaptureToCig_ptsz, (hStream, streamCigCaptureParams));
}

static CUresult recorded(CUresult r)
{
    if (r == XS_CU_SUCCESS && xs_api_recording())
        recordings(-1);
    return r;
}

CUresult xs_hand_cuStreamEndCaptureToCig(const struct xs_api_runtime *rt, CUstream hStream)
{
    return recorded(XS_REAL(cuStreamEndCaptureToCig)(hStream));
}

CUresult xs_hand_cuStreamEndCaptureToCig_ptsz(const struct xs_api_runtime *rt, CUstream hStream)
{
    return recorded(XS_REAL(cuStreamEndCaptureToCig_ptsz)(hStream));
}

/* ---- contexts ---- */

CUcontext xs_cuda_current(const struct xs_api_runtime *rt)
{
    CUresult (*get)(CUcontext *ret) = (__typeof__(get))rt->real[ROW_cuCtxGetCurrent];
    CUcontext ctx = NULL;

    return get(&ctx) == XS_CU_SUCCESS ? ctx : NULL;
}

void xs_cuda_note_loaded(const struct xs_api_runtime *rt, const void *function)
{
    if (xs_api_mode_now() == XS_SHIM_ACTIVE)
        xs_loaded_remember(xs_api_code_mark(rt, XS_KEY_HANDLE(function)));
}

/* The end of a context waits for the work of other contexts on its device (measured on an H100), closed gates
 * included. */
#define DESTROY(symbol, ctx, args)                                                                \
    do {                                                                                          \
        CUcontext going = ctx;                                                                    \
        struct xs_cuda_context *lanes = xsched_priv_cuda_lanes_end(going, false);                 \
        struct xs_cuda_context *c = xsched_priv_cuda_context_going(going);                        \
        bool inside = xsched_priv_inside_begin();                                                 \
        CUresult r;                                                                               \
        xs_api_code_gone();                                                                       \
        r = XS_REAL(symbol) args;                                                                 \
        if (inside)                                                                               \
            xsched_priv_inside_end();                                                             \
        xsched_priv_cuda_context_gone(c, r == XS_CU_SUCCESS);                                     \
        xsched_priv_cuda_lanes_may_begin(lanes);                                                  \
        return r;                                                                                 \
    } while (0)

CUresult xs_hand_cuCtxDestroy(const struct xs_api_runtime *rt, CUcontext ctx)
{
    DESTROY(cuCtxDestroy, ctx, (ctx));
}

CUresult xs_hand_cuCtxDestroy_v2(const struct xs_api_runtime *rt, CUcontext ctx)
{
    DESTROY(cuCtxDestroy_v2, ctx, (ctx));
}

/* Only afterwards the driver says whether this was the last use: then it is current no longer. */
CUresult xs_hand_cuCtxDetach(const struct xs_api_runtime *rt, CUcontext ctx)
{
    struct xs_cuda_context *c = xsched_priv_cuda_context_quiet(ctx);
    bool inside = c && xsched_priv_inside_begin();
    CUresult r;

    xs_api_code_gone();
    r = XS_REAL(cuCtxDetach)(ctx);
    if (inside)
        xsched_priv_inside_end();
    if (r == XS_CU_SUCCESS && c && xs_cuda_current(rt) != ctx)
        xsched_priv_cuda_context_gone(xsched_priv_cuda_context_going(ctx), true);
    xsched_priv_cuda_context_go_on(c);
    return r;
}

CUresult xs_hand_cuGreenCtxDestroy(const struct xs_api_runtime *rt, void *hCtx)
{
    CUcontext ctx = NULL;
    CUresult (*from)(CUcontext *ret, void *green) = (__typeof__(from))rt->real[ROW_cuCtxFromGreenCtx];

    if (from(&ctx, hCtx) != XS_CU_SUCCESS || !ctx)
        return XS_REAL(cuGreenCtxDestroy)(hCtx);
    DESTROY(cuGreenCtxDestroy, ctx, (hCtx));
}

CUresult xs_hand_cuDevicePrimaryCtxReset(const struct xs_api_runtime *rt, CUdevice dev)
{
    DESTROY(cuDevicePrimaryCtxReset, xsched_priv_cuda_primary(dev), (dev));
}

CUresult xs_hand_cuDevicePrimaryCtxReset_v2(const struct xs_api_runtime *rt, CUdevice dev)
{
    DESTROY(cuDevicePrimaryCtxReset_v2, xsched_priv_cuda_primary(dev), (dev));
}

/* Only afterwards the driver says whether this was the last reference. */
#define RELEASE(symbol)                                                                           \
    do {                                                                                          \
        CUcontext primary = xsched_priv_cuda_primary(dev);                                        \
        struct xs_cuda_context *c = xsched_priv_cuda_context_quiet(primary), *lanes;              \
        bool inside = xsched_priv_inside_begin();                                                 \
        CUresult r;                                                                               \
        lanes = xsched_priv_cuda_lanes_end(primary, true);                                        \
        xs_api_code_gone();                                                                       \
        r = XS_REAL(symbol)(dev);                                                                 \
        if (inside)                                                                               \
            xsched_priv_inside_end();                                                             \
        if (r == XS_CU_SUCCESS)                                                                   \
            xsched_priv_cuda_primary_released(c, dev);                                            \
        xsched_priv_cuda_lanes_may_begin(lanes);                                                  \
        xsched_priv_cuda_context_go_on(c);                                                        \
        return r;                                                                                 \
    } while (0)

CUresult xs_hand_cuDevicePrimaryCtxRelease(const struct xs_api_runtime *rt, CUdevice dev)
{
    RELEASE(cuDevicePrimaryCtxRelease);
}

CUresult xs_hand_cuDevicePrimaryCtxRelease_v2(const struct xs_api_runtime *rt, CUdevice dev)
{
    RELEASE(cuDevicePrimaryCtxRelease_v2);
}
