/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the launcher itself: always on stderr, one line each, "xsched: " in front. */
#ifndef XS_LAUNCHER_SAY_H
#define XS_LAUNCHER_SAY_H

#include "base/xs_base.h"

/** Prints no notes and warnings after this. */
void xs_say_set_quiet(bool quiet);
/** Writes stdout out. @return whether that failed; then prints a line about it */
bool xs_say_unwritten(void);
/** For the user to know; also warnings. */
void xs_say(const char *format, ...) XS_PRINTF(1, 2);
/** Prints even when quiet. */
void xs_say_error(const char *format, ...) XS_PRINTF(1, 2);

#endif
