/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the real vendor library behind a shim that carries its name.
 *
 * The order: mapped objects (the copy on which the caller depends, if there are several), the path that the
 * user named in the environment, then a search of our own. That looks through the caller's RPATH,
 * LD_LIBRARY_PATH, the caller's RUNPATH, ld.so.cache, the default folders, and ends in an absolute path. It
 * never opens a library by a bare name, since our own name would answer. */
#ifndef XS_HAL_VENDOR_H
#define XS_HAL_VENDOR_H

#include "base/platforms.h"
#include "base/xs_base.h"

struct xs_vendor {
    const struct xs_platform *platform; /* mapped objects VENDOR.so*, VENDOR-HASH.so* are candidates */
    const char *probe;            /* a function that the real library exports */
};

/** Opens the real library. Calls dl* functions: the caller has no lock of ours. Any thread.
 *  @param caller      an address inside the object that made the vendor call; NULL: unknown
 *  @param ret_handle  for dlsym; never closed
 *  @param ret_path    its path, for people and traces; at least 1 byte
 *  @return 0 or -ENOENT (logged once; a later call looks again only after the process has loaded more
 *  objects) */
int xs_vendor_open(const struct xs_vendor *v, const void *caller, void **ret_handle, char *ret_path,
                   size_t path_size);

struct xs_vendor_caller {
    uintptr_t from, to;           /* addresses of the calling object; 0: unknown */
    char path[512];               /* of the library */
};

/** The library that the caller names as its own dependency, as the dynamic linker would have chosen it
 *  without our name. That is a mapped one of this name, else the file to which the caller's paths lead; it
 *  opens that file. Calls dl* functions. Any thread. @return NULL: the caller names none, or there is none */
void *xs_vendor_of_caller(const struct xs_vendor *v, const void *caller, struct xs_vendor_caller *ret);

/** The same for a name that the caller opens. @param mapped_only  opens no file */
void *xs_vendor_named(const struct xs_vendor *v, const void *caller, const char *name, bool mapped_only);

/** The file of a library opened here; "" if unknown. */
void xs_vendor_path(const struct xs_vendor *v, void *handle, char *ret_path, size_t path_size);

/** All mapped copies. Calls dl* functions. Any thread. @return the number of handles in ret_handles */
size_t xs_vendor_mapped(const struct xs_vendor *v, void **ret_handles, size_t max);

#endif
