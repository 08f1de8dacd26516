/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to the vendor's library that pass us by are named: loader.c, ioctl_entry.c. */
#ifndef XS_SHIM_STREAM_LOADER_H
#define XS_SHIM_STREAM_LOADER_H

enum xs_loader_way {
    XS_LOADER_ORIGIN,             /* dlopen of a path that begins at its caller's folder */
    XS_LOADER_NAMESPACE,          /* dlmopen */
    XS_LOADER_BELOW,              /* the library works, and no call came through us */
};

/** Says once in the log, and in the trace, that the vendor's library was reached in this way. Any thread.
 *  @param file  what was opened; NULL: not known */
void xs_loader_note(enum xs_loader_way way, const char *file);

#endif
