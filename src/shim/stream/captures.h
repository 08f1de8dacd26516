/* SPDX-License-Identifier: Apache-2.0 */
/* Captures that the program began and has not ended. libhal reads their number, and asks the vendor whether a
 * stream captures only while there are some. Any thread. */
#ifndef XS_SHIM_STREAM_CAPTURES_H
#define XS_SHIM_STREAM_CAPTURES_H

#include "shim/stream/stream_table.h"

/** Before the call that begins one: other threads may already put work into the stream. @return for the
 *  next */
bool xs_api_capture_begins(xs_api_stream stream);
/** It did not begin. */
void xs_api_capture_refused(xs_api_stream stream, bool noted);
/** After its end. */
void xs_api_capture_ended(xs_api_stream stream);

/** Before the call that ends a stream, and with it a capture that began there. @return for the next: whether
 *  there was one */
bool xs_api_capture_stream_ends(xs_api_stream stream);
/** After it, if there was one. The handle may be another stream's by then. */
void xs_api_capture_stream_ended(xs_api_stream stream, bool destroyed);

#endif
