/* SPDX-License-Identifier: Apache-2.0 */
/* Answers "Could a program of this priority get that share of a device within so long?" from the
 * present facts of the scheduler. Reserves nothing. Threads of HTTP. */
#ifndef XS_HTTP_ADMISSION_H
#define XS_HTTP_ADMISSION_H

#include "asks/request.h"
#include "http/devices/device_list.h"

#include <jansson.h>

struct xs_admission {
    bool admitted;
    char reason[160];
    uint32_t share_millis;  /* the share that it could get, in thousandths of the device */
    uint64_t wait_us;       /* until it has the device, in the present state; UINT64_MAX: without bound */
    bool memory_known;
    uint64_t memory_left_bytes;
    uint32_t more, equal, less; /* programs of the device by their priority */
    uint32_t active;            /* of them, those that have work or had it lately */
};

/** Judges one device. r: an answered XS_REQ_METRICS of an asker that may see all; its question is in
 *  r->params.admission.
 *  @param row  the device, if the server knows its memory; or NULL
 *  @param now_s  seconds since 1970 */
void xs_admission_judge(const struct xs_request *r, XDevice device, const struct xs_device_row *row, uint64_t now_ns,
                        int64_t now_s, struct xs_admission *ret);

/** The answer: {"admitted": BOOL, "reason": TEXT, ..., "devices": [...]}. */
json_t *xs_admission_json(const struct xs_request *r);

/** "0.25", above 0 and up to 1, in thousandths. @return 0 or -EINVAL */
int xs_admission_parse_share(const char *text, uint32_t *ret_millis);

#endif
