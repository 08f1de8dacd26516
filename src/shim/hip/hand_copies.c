/* SPDX-License-Identifier: Apache-2.0 */
/* Copies without a stream that say their direction. */
#include "shim/stream/stream_call.h"
#include "shim/stream/prototypes.h"

/* A copy to the host has waited for the stream when it returns. One within the device is a command. Its call
 * may wait, as it did in many versions, so its turn comes before the call. Others may return early. */
#define WAITING_COPY(symbol, kind, bytes, on, per_thread, args)                                   \
    do {                                                                                          \
        struct xs_api_submit s;                                                                   \
        struct xs_api_wait w;                                                                     \
        hipError_t r;                                                                             \
        if ((kind) == XS_HIP_MEMCPY_ON_DEVICE && xs_api_mode_now() == XS_SHIM_ACTIVE) {           \
            const enum xs_row row = ROW_##symbol;                                                 \
            if (XS_UNLIKELY(xs_api_intra()))                                                      \
                xs_api_lend_context(rt->hal);                                                     \
            xs_api_submit_open(&s, rt, row, NULL, on, per_thread);                                \
            if (s.queue)                                                                          \
                xsched_priv_submit_begin(s.queue, XS_KEY_BYTES(bytes), XS_SUBMIT_OUTSIDE, &s.ticket); \
            else                                                                                  \
                xs_api_captured_open(&s, 0);                                                      \
            r = XS_REAL(symbol) args;                                                             \
            xs_api_submit_close(&s, r);                                                           \
            return r;                                                                             \
        }                                                                                         \
        if ((kind) != XS_HIP_MEMCPY_TO_HOST || xs_api_mode_now() != XS_SHIM_ACTIVE) {              \
            if (XS_UNLIKELY(xs_api_intra())) /* if it waits, it waits all the same */              \
                xs_api_lend_context(rt->hal);                                                     \
            return XS_REAL(symbol) args;                                                          \
        }                                                                                         \
        xs_api_wait_open(&w, rt, ROW_##symbol, NULL, on, per_thread, true);                       \
        r = XS_REAL(symbol) args;                                                                 \
        if (w.queue)                                                                              \
            xsched_priv_wait_end(w.queue, w.began, r == XS_HIP_SUCCESS);                          \
        return r;                                                                                 \
    } while (0)

hipError_t xs_hand_hipMemcpyWithStream(const struct xs_api_runtime *rt, void *dst, const void *src,
                                       size_t sizeBytes, int kind, hipStream_t stream)
{
    WAITING_COPY(hipMemcpyWithStream, kind, sizeBytes, stream, false, (dst, src, sizeBytes, kind, stream));
}

/* In a default stream: the null stream, or the thread's own. */
#define COPY(symbol, per_thread, params, args, kind, bytes)                                       \
    hipError_t xs_hand_##symbol(const struct xs_api_runtime *rt, XS_UNPACK params)                \
    {                                                                                             \
        WAITING_COPY(symbol, kind, bytes, NULL, per_thread, args);                                \
    }
#define COPY_BOTH(symbol, ...)     \
    COPY(symbol, false, __VA_ARGS__) \
    COPY(symbol##_spt, true, __VA_ARGS__)

#define AREA ((uint64_t)width * height)

COPY_BOTH(hipMemcpy, (void *dst, const void *src, size_t sizeBytes, int kind), (dst, src, sizeBytes, kind), kind, sizeBytes)

COPY_BOTH(hipMemcpy2D, (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, int kind),
          (dst, dpitch, src, spitch, width, height, kind), kind, AREA)

COPY_BOTH(hipMemcpy2DFromArray, (void *dst, size_t dpitch, const void *src, size_t wOffset, size_t hOffset, size_t width,
                                 size_t height, int kind),
          (dst, dpitch, src, wOffset, hOffset, width, height, kind), kind, AREA)

COPY_BOTH(hipMemcpy2DToArray, (void *dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch, size_t width,
                               size_t height, int kind),
          (dst, wOffset, hOffset, src, spitch, width, height, kind), kind, AREA)

COPY(hipMemcpy2DArrayToArray, false, (void *dst, size_t wOffsetDst, size_t hOffsetDst, const void *src, size_t wOffsetSrc,
                                      size_t hOffsetSrc, size_t width, size_t height, int kind),
     (dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, width, height, kind), kind, AREA)

COPY_BOTH(hipMemcpy3D, (const struct xs_hip_copy_3d *p), (p), p ? p->kind : -1,
          (uint64_t)p->extent.width * p->extent.height * p->extent.depth)

COPY_BOTH(hipMemcpyFromArray, (void *dst, const void *srcArray, size_t wOffset, size_t hOffset, size_t count, int kind),
          (dst, srcArray, wOffset, hOffset, count, kind), kind, count)

COPY(hipMemcpyToArray, false, (void *dst, size_t wOffset, size_t hOffset, const void *src, size_t count, int kind),
     (dst, wOffset, hOffset, src, count, kind), kind, count)

COPY_BOTH(hipMemcpyFromSymbol, (void *dst, const void *symbol, size_t sizeBytes, size_t offset, int kind),
          (dst, symbol, sizeBytes, offset, kind), kind, sizeBytes)

COPY_BOTH(hipMemcpyToSymbol, (const void *symbol, const void *src, size_t sizeBytes, size_t offset, int kind),
          (symbol, src, sizeBytes, offset, kind), kind, sizeBytes)
