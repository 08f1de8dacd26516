/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/record/record_picture.h"

#include <stdlib.h>

void picture_bins_add(struct picture_bins *b, uint64_t bin_ns, enum picture_ink ink, double part,
                      uint64_t from_ns, uint64_t to_ns)
{
    if (!b->ns)
        b->ns = calloc(PICTURE_BINS, sizeof(*b->ns));
    if (!b->ns)
        abort();
    b->total_ns[ink] += part * (double)(to_ns - from_ns);
    for (uint64_t i = from_ns / bin_ns; i < PICTURE_BINS && i * bin_ns < to_ns; i++) {
        uint64_t first = XS_MAX(from_ns, i * bin_ns), last = XS_MIN(to_ns, (i + 1) * bin_ns);

        b->ns[i][ink] += (float)(part * (double)(last - first));
    }
}

void picture_bins_widen(struct picture_bins *b)
{
    if (!b->ns)
        return;
    for (unsigned i = 0; i < PICTURE_BINS; i++)
        for (unsigned ink = 0; ink < INKS; ink++)
            b->ns[i][ink] = i < PICTURE_BINS / 2 ? b->ns[2 * i][ink] + b->ns[2 * i + 1][ink] : 0;
}
