/* SPDX-License-Identifier: Apache-2.0 */
/* Devices in the words that users know. */
#ifndef XS_QUERY_DEVICE_TEXT_H
#define XS_QUERY_DEVICE_TEXT_H

#include "base/xs_base.h"

#include <jansson.h>

/** "GPU 0 NVIDIA H100"; its address where the server has no name for it.
 *  @param answer  of the server to /devices; may be NULL
 *  @return whether the answer has it */
bool xs_device_text(uint64_t device, const json_t *answer, char *ret, size_t size);

#endif
