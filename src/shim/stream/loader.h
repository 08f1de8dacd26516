/* SPDX-License-Identifier: Apache-2.0 */
/* Names the ways to the vendor's library that bypass us: loader.c, ioctl_entry.c. */
#ifndef XS_SHIM_STREAM_LOADER_H
#define XS_SHIM_STREAM_LOADER_H

enum xs_loader_way {
    XS_LOADER_ORIGIN,             /* dlopen of a path that begins at its caller's folder */
    XS_LOADER_NAMESPACE,          /* dlmopen */
    XS_LOADER_BELOW,              /* the library works, and no call came through us */
};

/** Logs once, and writes to the trace, that the program reached the vendor's library in this way. Any thread.
 *  @param file  that it opened; NULL: unknown */
void xs_loader_note(enum xs_loader_way way, const char *file);

/** The program opens this object with RTLD_DEEPBIND. Any thread. */
void xs_loader_deep(const char *file);

#endif
