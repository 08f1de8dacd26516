/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as JSON with the state of devices, which xsched-http alone knows. */
#ifndef XS_HTTP_JSON_H
#define XS_HTTP_JSON_H

#include "asks/request.h"

#include <jansson.h>

/** {"devices": [...], "more": BOOL}, of an answered XS_REQ_QUEUES: the devices of those queues */
json_t *xs_json_devices(const struct xs_request *r);
/** event_json.c: {"status": {...}, "queues": {"idle": N, "running": N, "beside": N, "waiting": N},
 *  "devices": [...], "programs": [...]}, of an answered XS_REQ_METRICS */
json_t *xs_json_event(const struct xs_request *r);

#endif
