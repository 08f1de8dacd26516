/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to GET /metrics, in Prometheus' text format. */
#ifndef XS_HTTP_METRICS_H
#define XS_HTTP_METRICS_H

#include "answers/text.h"
#include "asks/request.h"

/** @param r  an answered XS_REQ_METRICS. Any thread. */
void xs_metrics_text(const struct xs_request *r, struct xs_text *ret);

#endif
