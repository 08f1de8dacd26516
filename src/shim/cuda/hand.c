/* SPDX-License-Identifier: Apache-2.0 */
/* Functions written by hand: entry points, the lives of streams and contexts, captures. */
#include "shim/stream/stream_call.h"
#include "shim/stream/captures.h"
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

/* ---- streams ---- */

/* A queue that we still know under a new stream's handle is of one whose end we did not see. */
static CUresult created(CUresult r, const CUstream *stream)
{
    if (r == XS_CU_SUCCESS && stream)
        xsched_priv_cuda_stream_gone(*stream);
    return r;
}

CUresult xs_hand_cuStreamCreate(const struct xs_api_runtime *rt, CUstream *phStream, unsigned Flags)
{
    return created(XS_REAL(cuStreamCreate)(phStream, Flags), phStream);
}

CUresult xs_hand_cuStreamCreateWithPriority(const struct xs_api_runtime *rt, CUstream *phStream,
                                            unsigned flags, int priority)
{
    return created(XS_REAL(cuStreamCreateWithPriority)(phStream, flags, priority), phStream);
}

CUresult xs_hand_cuGreenCtxStreamCreate(const struct xs_api_runtime *rt, CUstream *phStream, void *greenCtx,
                                        unsigned flags, int priority)
{
    return created(XS_REAL(cuGreenCtxStreamCreate)(phStream, greenCtx, flags, priority), phStream);
}

/* Does not wait for the stream's work, so neither do we: its queue opens and is forgotten. */
#define DESTROY_STREAM(symbol)                                                                    \
    do {                                                                                          \
        bool captured = capture_stream_ends(hStream);                                             \
        CUresult r;                                                                               \
        xsched_priv_cuda_stream_ends(hStream);                                                    \
        r = XS_REAL(symbol)(hStream);                                                             \
        capture_stream_ended(hStream, captured, r == XS_CU_SUCCESS);                              \
        return r;                                                                                 \
    } while (0)

CUresult xs_hand_cuStreamDestroy(const struct xs_api_runtime *rt, CUstream hStream)
{
    DESTROY_STREAM(cuStreamDestroy);
}

CUresult xs_hand_cuStreamDestroy_v2(const struct xs_api_runtime *rt, CUstream hStream)
{
    DESTROY_STREAM(cuStreamDestroy_v2);
}

/* ---- contexts ---- */

CUcontext xs_cuda_current(const struct xs_api_runtime *rt)
{
    CUresult (*get)(CUcontext *ret) = (__typeof__(get))rt->real[ROW_cuCtxGetCurrent];
    CUcontext ctx = NULL;

    return get(&ctx) == XS_CU_SUCCESS ? ctx : NULL;
}

#define DESTROY(symbol, ctx, args)                                                                \
    do {                                                                                          \
        struct xs_cuda_context *c = xsched_priv_cuda_context_going(ctx);                          \
        xs_loaded_forget();                                                                       \
        CUresult r = XS_REAL(symbol) args;                                                        \
        xsched_priv_cuda_context_gone(c, r == XS_CU_SUCCESS);                                     \
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

/* Only afterwards it is known whether this was the last use: then it is current no longer. What stands behind gates goes
 * on meanwhile, since the end of a context waits for it. */
CUresult xs_hand_cuCtxDetach(const struct xs_api_runtime *rt, CUcontext ctx)
{
    struct xs_cuda_context *c = xsched_priv_cuda_context_quiet(ctx);
    bool inside = c && xsched_priv_inside_begin();
    CUresult r;

    xs_loaded_forget();
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

/* Only afterwards it is known whether this was the last reference. */
#define RELEASE(symbol)                                                                           \
    do {                                                                                          \
        struct xs_cuda_context *c = xsched_priv_cuda_context_quiet(xsched_priv_cuda_primary(dev)); \
        xs_loaded_forget();                                                                       \
        CUresult r = XS_REAL(symbol)(dev);                                                        \
        if (r == XS_CU_SUCCESS)                                                                   \
            xsched_priv_cuda_primary_released(c, dev);                                            \
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

/* ---- captures ---- */

#define BEGIN_CAPTURE(symbol, args)                                                               \
    do {                                                                                          \
        bool noted = capture_begins(hStream);                                                     \
        CUresult r = XS_REAL(symbol) args;                                                        \
        if (r != XS_CU_SUCCESS)                                                                   \
            capture_refused(hStream, noted);                                                      \
        return r;                                                                                 \
    } while (0)

CUresult xs_hand_cuStreamBeginCapture(const struct xs_api_runtime *rt, CUstream hStream)
{
    BEGIN_CAPTURE(cuStreamBeginCapture, (hStream));
}

CUresult xs_hand_cuStreamBeginCapture_ptsz(const struct xs_api_runtime *rt, CUstream hStream)
{
    BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, (hStream));
}

CUresult xs_hand_cuStreamBeginCapture_v2(const struct xs_api_runtime *rt, CUstream hStream, int mode)
{
    BEGIN_CAPTURE(cuStreamBeginCapture_v2, (hStream, mode));
}

CUresult xs_hand_cuStreamBeginCapture_v2_ptsz(const struct xs_api_runtime *rt, CUstream hStream, int mode)
{
    BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, (hStream, mode));
}

CUresult xs_hand_cuStreamBeginCaptureToGraph(const struct xs_api_runtime *rt, CUstream hStream,
                                             CUgraph hGraph, const void *dependencies,
                                             const void *dependencyData, size_t numDependencies, int mode)
{
    BEGIN_CAPTURE(cuStreamBeginCaptureToGraph,
                  (hStream, hGraph, dependencies, dependencyData, numDependencies, mode));
}

CUresult xs_hand_cuStreamBeginCaptureToGraph_ptsz(const struct xs_api_runtime *rt, CUstream hStream,
                                                  CUgraph hGraph, const void *dependencies,
                                                  const void *dependencyData, size_t numDependencies,
                                                  int mode)
{
    BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz,
                  (hStream, hGraph, dependencies, dependencyData, numDependencies, mode));
}

/* Whether an end really ended a capture is in what the driver says of the stream, not in the code:
 * some errors end it. */
#define END_CAPTURE(symbol, stream, args)                                                         \
    do {                                                                                          \
        bool was = xsched_priv_cuda_capturing(stream);                                            \
        CUresult r = XS_REAL(symbol) args;                                                        \
        if (was && !xsched_priv_cuda_capturing(stream))                                           \
            capture_ended(stream);                                                                \
        return r;                                                                                 \
    } while (0)

CUresult xs_hand_cuStreamEndCapture(const struct xs_api_runtime *rt, CUstream hStream, CUgraph *phGraph)
{
    END_CAPTURE(cuStreamEndCapture, hStream, (hStream, phGraph));
}

CUresult xs_hand_cuStreamEndCapture_ptsz(const struct xs_api_runtime *rt, CUstream hStream,
                                         CUgraph *phGraph)
{
    END_CAPTURE(cuStreamEndCapture_ptsz, hStream ? hStream : XS_CU_STREAM_PER_THREAD, (hStream, phGraph));
}
