/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the real vendor library behind a shim that carries its name.
 *
 * The order: the copy that the dynamic linker gives to the caller (copies.h), if it is mapped; another mapped one, for
 * a caller that needs none; the path that the user named in the environment; the caller's copy that is not mapped yet;
 * a search of our own for a caller that needs none (search.h). Where a caller needs a name that leads nowhere, there is
 * none, whatever else the machine has. */
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
    bool absent;                  /* the caller needs one, and there is none: no other one must take its place */
};

/** The library to which the dynamic linker binds the caller's symbols, or bound them without our name: of its own
 *  needs, or of those that it shares a scope with (copies.h). Opens that file. Calls dl* functions. Any thread.
 *  @return NULL: `absent`, or nothing in the caller's scope needs one */
void *xs_vendor_of_caller(const struct xs_vendor *v, const void *caller, struct xs_vendor_caller *ret);

/** Whether no object of the process needs, or has mapped, another copy than this one. Calls dl* functions. Any thread. */
bool xs_vendor_is_alone(const struct xs_vendor *v, void *handle);

/** The library that the caller gets for a name that it opens.
 *  @param mapped_only  RTLD_NOLOAD: nothing that a program without us would not have
 *  @param ret_sure     false: without memory or descriptors we could not look everywhere */
void *xs_vendor_named(const struct xs_vendor *v, const void *caller, const char *name, bool mapped_only, bool *ret_sure);

/** The file of a library opened here; "" if unknown. */
void xs_vendor_path(const struct xs_vendor *v, void *handle, char *ret_path, size_t path_size);

/** All mapped copies. Calls dl* functions. Any thread. @return the number of handles in ret_handles */
size_t xs_vendor_mapped(const struct xs_vendor *v, void **ret_handles, size_t max);

#endif
