/* SPDX-License-Identifier: Apache-2.0 */
/* The file for log lines. Opens it again after an operator has moved it, and bounds it where an option
 * says so. Main thread. */
#ifndef XS_XSERVER_LOG_FILE_H
#define XS_XSERVER_LOG_FILE_H

#include "base/xs_base.h"

/** From now on lines go to this file.
 *  @param path  no symbolic link
 *  @param max_kib  when the file is so long, renames it to PATH.1 and begins another; 0: never, and never
 *                  a device, a pipe or a terminal
 *  @return 0 or -errno: lines go where they went */
int xs_log_file_open(const char *path, uint64_t max_kib);
/** Its name, "" where there is none; constant once the server has started. Any thread. */
const char *xs_log_file_path(void);
/** Opens the file again by its name, as log rotation wants it. Lines go to the old file until then, and where it fails. */
void xs_log_file_reopen(void);

#endif
