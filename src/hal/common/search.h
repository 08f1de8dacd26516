/* SPDX-License-Identifier: Apache-2.0 */
/* The files to which a library's name leads the dynamic linker. It never opens a library by a bare name itself, since
 * our own name would answer. */
#ifndef XS_HAL_SEARCH_H
#define XS_HAL_SEARCH_H

#include "base/xs_base.h"

/** The object that needs the library, or opens it. */
struct xs_searcher {
    const char *path;             /* as the dynamic linker knows it; NULL or "": the program */
    const char *rpath, *runpath;  /* as it states them; NULL: none. Where the dynamic linker does not tell its folders */
    bool anywhere;                /* also in the default folders of every C library that we know */
};

/** Calls try with each usable file of this name, in the order of the dynamic linker: RPATH, LD_LIBRARY_PATH as it
 *  was at the start of the program, RUNPATH, ld.so.cache, the default folders. Calls dl* functions: the caller has no
 *  lock of ours. Any thread.
 *  @param name  with or without a folder
 *  @return true when try took one */
bool xs_search(const struct xs_searcher *by, const char *name, bool (*try)(const char *path, void *ctx), void *ctx);

/** The first of them. @param ret_path  XS_PATH_MAX bytes */
bool xs_search_first(const struct xs_searcher *by, const char *name, char *ret_path);

#endif
