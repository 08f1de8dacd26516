/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as JSON. Names shared with older tools: handle, device, level, pid, threshold,
 * batch_size, ready, suspended; pid, cmdline; policy; info, error. */
#ifndef XS_HTTP_JSON_H
#define XS_HTTP_JSON_H

#include "asks/request.h"
#include "http/text.h"

#include <jansson.h>

json_t *xs_json_error(const char *text);
json_t *xs_json_info(const char *text);
/** {"xqueues": [...], "processes": [...]}; as text, as all answers that may be long */
void xs_json_queues(const struct xs_request *r, struct xs_text *ret);
/** {"xqueue": {...}, "process": {...}} */
json_t *xs_json_queue(const struct xs_request *r);
/** {"clients": [...], "ended": [...]} */
void xs_json_clients(const struct xs_request *r, struct xs_text *ret);
/** A program with its counts. */
json_t *xs_json_client(const struct xs_client_record *c);
/** {"devices": [...], "more": BOOL}, of an answered XS_REQ_QUEUES: the devices of those queues */
json_t *xs_json_devices(const struct xs_request *r);
json_t *xs_json_status(const struct xs_request *r, uint16_t http_port);
/** event_json.c: {"status": {...}, "queues": {"idle": N, "running": N, "beside": N, "waiting": N},
 *  "devices": [...], "programs": [...]}, of an answered XS_REQ_METRICS */
json_t *xs_json_event(const struct xs_request *r, uint16_t http_port);
/** {"policy": NAME, "now_ns": N, "next": N, "end": N, "more": BOOL, "lost": N,
 *  "events": [[TIME_NS, KIND, HANDLE, PID, VALUE, DEVICE or policy's name], ...]};
 *  as text, since there may be thousands ten times a second */
void xs_json_timeline(const struct xs_request *r, struct xs_text *ret);
/** {"policy": INT, "name": "HPF"} */
json_t *xs_json_policy(const struct xs_request *r);

#endif
