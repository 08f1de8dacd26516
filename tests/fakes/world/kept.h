/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /proc that are read again and again: they stay open, since to open and close one takes longer than to read it.
 * One thread. */
#ifndef FAKE_KEPT_H
#define FAKE_KEPT_H

#include <stddef.h>

/** As vtime_read. What is read is of now. A file of a process or thread that is gone is closed when it is asked for. */
size_t kept_read(const char *path, char *text, size_t size);

#endif
