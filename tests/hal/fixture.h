/* SPDX-License-Identifier: Apache-2.0 */
/* What watches and steers the driver starts afresh for each test, and so does the driver. */
#ifndef FAKE_RM_FIXTURE_H
#define FAKE_RM_FIXTURE_H

#include "hal/cuda/rm/rm.h"
#include "program.h"

#define CTL 500                   /* descriptors of the fake; no such file is open */
#define ADDRESS 0x00001b10u       /* of gpu id 0x1b02: device 2, function 0 */

static inline unsigned n_groups(void)
{
    static struct xs_rm_group g;
    unsigned n = 0;

    while (xs_rm_group_get(n, &g) == 0)
        n++;
    return n;
}

static inline int setup(void **state)
{
    (void)state;
    fake_rm_reset();
    xs_rm_reset();
    program_form = 0;
    fake_rm_open(CTL);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    return fake_rm_complaints() ? -1 : 0;
}

#endif
