/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as JSON. Names shared with older tools: handle, device, level, pid, threshold,
 * batch_size, ready, suspended; pid, cmdline; policy; info, error. */
#ifndef XS_ANSWER_JSON_H
#define XS_ANSWER_JSON_H

#include "answers/text.h"
#include "asks/request.h"

#include <jansson.h>

/** An answered request of a path of xs_path_rows:
 *  {"xqueues": [...], "processes": [...]}, {"xqueue": {...}, "process": {...}}, {"clients": [...], "ended": [...]},
 *  {"policy": INT, "name": "HPF", ...}, {"policy": NAME, "now_ns": N, "next": N, "end": N, "more": BOOL, "lost": N,
 *  "events": [[TIME_NS, KIND, HANDLE, PID, VALUE, DEVICE or policy's name], ...]}, {"info": TEXT}, {"error": TEXT}.
 *  @return NULL: the answer may be long, and is text */
json_t *xs_json_answer(const struct xs_request *r, struct xs_text *ret_text);
json_t *xs_json_error(const char *text);
/** A program with its counts. */
json_t *xs_json_client(const struct xs_client_record *c);
json_t *xs_json_status(const struct xs_request *r);

#endif
