/* SPDX-License-Identifier: Apache-2.0 */
/* The shims: where they are, and the variables that load them. */
#ifndef XS_LAUNCHER_PRELOAD_H
#define XS_LAUNCHER_PRELOAD_H

#include "base/platforms.h"
#include "base/xs_base.h"

#include <limits.h>

#define XS_SHIMS_MAX 8

/** A variable by which a platform's loader takes the shim as a layer. */
struct xs_layer {
    char variable[64];
    char value[PATH_MAX]; /* "": there is nothing to set, see platforms.def */
    char kept[64];        /* the variable that keeps what the user names there; "": there is none */
    char instead[PATH_MAX]; /* stand-ins for the user's entries, the first for the first */
    char joint; /* between this value and others; '!': it replaces them */
    bool where_set; /* only where the variable is set: without it, the loader does not look there at all */
};

struct xs_shims {
    char folder[PATH_MAX]; /* "": none found */
    size_t count;
    char paths[XS_SHIMS_MAX][PATH_MAX]; /* absolute, sorted by name */
    char tried[1024];                   /* folders that the search went through, for messages */
};

/** Looks for libshim*.so in the private folder: beside this executable (../lib/xsched, which is
 *  also the build tree's, and ../<libdir>/xsched), then the installed one. */
void xs_shims_find(struct xs_shims *ret);

/** Looks into one folder only. */
void xs_shims_find_in(struct xs_shims *ret, const char *folder);

/** The shim of a platform, or NULL. */
const char *xs_shims_get(const struct xs_shims *s, const struct xs_platform *platform);

/** Those of s->paths for LD_PRELOAD. @return how many */
size_t xs_shims_preloaded(const struct xs_shims *s, const char *ret_paths[XS_SHIMS_MAX]);

/** Those for LD_PRELOAD that this machine can use, or all where it can use none: what each entry says.
 *  @param words  by $PLATFORM, which glibc's dynamic linker expands, where there is a folder for each word size
 *  @return how many */
size_t xs_shims_entries(const struct xs_shims *s, bool words, char ret[XS_SHIMS_MAX][PATH_MAX]);

/** The index-th variable by which the platform's own loader takes the shim as a layer.
 *  @param folder  of the shims, as the program sees it; where it is another one than here, what depends on a library is
 *                 there in any case
 *  @return false: there are no more, or the shim is not here */
bool xs_shims_layer(const struct xs_shims *s, const struct xs_platform *platform, size_t index, const char *folder,
                    struct xs_layer *ret);

/** A list in the manner of LD_PRELOAD: the old entries, then ours (some libraries must come first, those of
 *  sanitizers for example; ours need not). Entries for the same file appear once. If ours is
 *  LIBDIR/xsched/libshimX.so, it replaces LIBDIR/libshimX.so.
 *  @param old         present value, or NULL
 *  @param separators  characters that separate entries in old
 *  @param joint       separator in the new list
 *  @return allocated text, NULL when out of memory */
char *xs_list_join(const char *const *ours, size_t count, const char *old, const char *separators,
                   char joint);

/** Whether the dynamic linker would find a library by this name. */
bool xs_library_is_installed(const char *name);

/** The new value of a layer's variable: the old entries, then ours; or the user's entries, each with one of
 *  ours in its place.
 *  @param old       its present value, or NULL
 *  @param kept      that of the variable layer->kept, or NULL
 *  @param ret_kept  the new value of that variable, allocated; NULL: it stays as it is
 *  @return allocated text, NULL when out of memory */
char *xs_layer_join(const struct xs_layer *layer, const char *old, const char *kept, char **ret_kept);

/** Sets the variables that load the shims: LD_PRELOAD, and those of each platform whose loader takes layers
 *  (OPENCL_LAYERS for one).
 *  @param words  as xs_shims_entries
 *  @return 0 or -ENOMEM; -EINVAL when the folder has a space or colon in its name, which the loader takes for
 *  the end of a path */
int xs_shims_apply(const struct xs_shims *s, bool words);

/** Whether an entry of an environment, NAME=VALUE, sets one of those variables. */
bool xs_shims_is_variable(const char *entry);

/** Removes those variables from the environment of this process. */
void xs_shims_unset(void);

/** A program of ours beside this executable, or in ../sbin. @return 0 or -ENOENT */
int xs_find_beside(const char *program, char *ret, size_t size);

/** Folder of this executable, without a slash at the end. @return 0 or -errno */
int xs_own_folder(char *ret, size_t size);

#endif
