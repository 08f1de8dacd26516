/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen and dlsym as programs find them in this process, and the ways to the vendor's library that bypass us. Compiled
 * into each shim that has these functions. */
#ifndef XS_SHIM_COMMON_LOADER_H
#define XS_SHIM_COMMON_LOADER_H

enum xs_loader_way {
    XS_LOADER_NAMESPACE,          /* dlmopen */
    XS_LOADER_BELOW,              /* the library works, and no call came through us */
};

/** Logs once, and writes to the trace, that the program reached the vendor's library in this way. Any thread.
 *  @param file  that it opened; NULL: unknown */
void xs_loader_note(enum xs_loader_way way, const char *file);

/** The program opens this object with RTLD_DEEPBIND. Any thread. */
void xs_loader_deep(const char *file);

#endif
