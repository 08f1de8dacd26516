/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that a vendor's driver has on a device and that have not joined this xserver. Threads of HTTP. */
#ifndef XS_HTTP_UNSCHEDULED_H
#define XS_HTTP_UNSCHEDULED_H

#include "asks/request.h"

#define XS_UNSCHEDULED_DEVICES 64u

struct xs_unscheduled {
    size_t n;
    struct {
        XDevice device;
        uint32_t compute, graphics;
    } rows[XS_UNSCHEDULED_DEVICES];
};

/** Of the devices on which the driver has any process, joined or not. r has all joined programs: its asker sees all. */
void xs_unscheduled_of(const struct xs_request *r, struct xs_unscheduled *ret);
/** The same with another folder of AMD's driver, for tests. */
void xs_unscheduled_kfd(const char *folder);

#endif
