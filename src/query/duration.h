/* SPDX-License-Identifier: Apache-2.0 */
/* A length of time as a user types it. */
#ifndef XS_DURATION_H
#define XS_DURATION_H

/** A number with a unit: ms, s, m or min, h; seconds where there is none. Any thread.
 *  @return milliseconds, of any size and sign; NaN: the text is no time */
double xs_duration_ms(const char *text);

#endif
