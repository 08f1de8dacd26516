/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a file system (FUSE) whose owner lets them be opened and answers nothing else: to ask such a file for its size,
 * or to close it, waits for as long as the owner likes. */
#ifndef XS_TESTS_DEAF_FILES_H
#define XS_TESTS_DEAF_FILES_H

#include "scene.h"

/** Mounts it. Needs root. @return false: it cannot be mounted here, which was said, and the scene was ended */
bool deaf_files_begin(struct scene *s, const char *name);
/** In an attacker, which must close none of them. @return a descriptor, or -1 */
int deaf_files_open(void);
/** The owner goes, and all who wait for it go on. */
void deaf_files_end(void);

#endif
