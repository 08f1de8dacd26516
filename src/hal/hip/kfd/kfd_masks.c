/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/hip/kfd/kfd_masks.h"

#include <string.h>

#define MAJOR(target) ((target) / 10000)
#define MINOR(target) ((target) / 100 % 100)

static bool has_pairs(const struct xs_kfd_shape *s)
{
    return MAJOR(s->target) >= 10;
}

static uint32_t dies(const struct xs_kfd_shape *s)
{
    return XS_MAX(s->dies, 1u);
}

static uint32_t step(const struct xs_kfd_shape *s)
{
    return has_pairs(s) ? 2 : 1;
}

/* The architectures whose rules we read in the driver. */
static bool is_known(uint32_t target)
{
    switch (MAJOR(target)) {
    case 9:
        return MINOR(target) == 0 || MINOR(target) == 4 || MINOR(target) == 5;
    case 10:
    case 11:
        return true;
    case 12:
        return MINOR(target) == 0;
    default:
        return false;
    }
}

const char *xs_kfd_shape_refused(const struct xs_kfd_shape *s)
{
    if (!s->target || !s->units || !s->arrays || !s->arrays_per_engine)
        return "the kernel does not tell how the device's compute units lie";
    if (!is_known(s->target))
        return "XSched does not know the masks of this architecture";
    if (has_pairs(s) && dies(s) > 1)
        return "XSched does not know the masks of several dies with workgroup processors";
    if (s->arrays % (dies(s) * s->arrays_per_engine) || s->units > XS_KFD_MASK_WORDS * 32 || s->units % step(s) ||
        s->units < s->arrays * step(s))
        return "the kernel's numbers of the device's compute units do not fit together";
    return NULL;
}

uint32_t xs_kfd_part(const struct xs_kfd_shape *s, uint32_t wanted)
{
    uint32_t row = s->arrays / XS_MAX(s->arrays_per_engine, 1u) * step(s), least = s->arrays * step(s), part;

    if (xs_kfd_shape_refused(s))
        return 0;
    part = XS_MAX(wanted / row * row, least);
    return part < s->units ? part : 0;
}

static bool has(const struct xs_kfd_mask *m, uint32_t bit)
{
    return bit < m->bits && (m->words[bit / 32] >> bit % 32 & 1);
}

static void set(struct xs_kfd_mask *m, uint32_t bit)
{
    m->words[bit / 32] |= 1u << bit % 32;
}

/* The array to which the driver gives a bit, where no unit before it is fused off. */
static uint32_t array_of(const struct xs_kfd_shape *s, uint32_t bit)
{
    return bit % (s->arrays * step(s)) / step(s);
}

/* The queue keeps one unit of each array of which it has some. */
static void keep_one(const struct xs_kfd_shape *s, const struct xs_kfd_mask *own, struct xs_kfd_mask *m)
{
    uint8_t kept[XS_KFD_MASK_WORDS * 32 / 8] = {0}; /* a bit an array */

    for (uint32_t bit = 0; bit < s->units; bit++)
        if (has(m, bit))
            kept[array_of(s, bit) / 8] |= (uint8_t)(1u << array_of(s, bit) % 8);
    for (uint32_t bit = 0; bit < s->units; bit += step(s)) {
        uint32_t array = array_of(s, bit);

        if (!has(own, bit) || kept[array / 8] >> array % 8 & 1)
            continue;
        for (uint32_t i = 0; i < step(s); i++)
            set(m, bit + i);
        kept[array / 8] |= (uint8_t)(1u << array % 8);
    }
}

void xs_kfd_mask_of(const struct xs_kfd_shape *s, uint32_t part, const struct xs_kfd_mask *own, struct xs_kfd_mask *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (!part && own->bits) {
        *ret = *own;
        return;
    }
    ret->bits = (s->units + 31) / 32 * 32;
    for (uint32_t bit = 0; bit < (part ? part : s->units); bit++)
        if (!own->bits || has(own, bit))
            set(ret, bit);
    if (own->bits)
        keep_one(s, own, ret);
}

bool xs_kfd_mask_equals(const struct xs_kfd_mask *a, const struct xs_kfd_mask *b)
{
    return a->bits == b->bits && memcmp(a->words, b->words, a->bits / 8) == 0;
}
