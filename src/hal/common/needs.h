/* SPDX-License-Identifier: Apache-2.0 */
/* Which mapped objects need a vendor's library, and which of these needs decide for a caller.
 *
 * The dynamic linker binds a symbol of an object to the first definition in the object's scope. That is the global
 * scope: the program, preloaded objects, and what these need, breadth first. Then comes the local scope: the object
 * that dlopen named, and what that needs, breadth first. The objects are in the order in which they were mapped. So
 * an object belongs to the first one that needs it, directly or not. */
#ifndef XS_HAL_NEEDS_H
#define XS_HAL_NEEDS_H

#include "base/xs_base.h"

#define XS_NEEDS_MAX  96u
#define XS_COPIES_MAX 32u

/** A name of the vendor's library among those that an object needs. */
struct xs_need {
    uint32_t object;              /* its place in the order of mapping */
    bool with_caller;             /* the dynamic linker loads all of these with the caller, or none */
    const char *path, *rpath, *runpath, *name; /* of the object; "" for the program, NULL: none; of the library */
};

/** A mapped object that has the vendor's library's name. */
struct xs_copy {
    uint32_t object;
    bool ours;                    /* a shim of ours, or a name of one */
    const char *path, *soname;    /* NULL: none */
};

struct xs_needs {
    /* The caller's object. Texts live as long as this record. */
    bool found;                   /* false: the address lies in no object */
    uintptr_t from, to;
    const char *path, *rpath, *runpath;
    uint32_t object;
    bool deep;                    /* RTLD_DEEPBIND: the local scope comes first */

    size_t need_count, copy_count;
    struct xs_need needs[XS_NEEDS_MAX];  /* in the order in which the dynamic linker met them */
    struct xs_copy copies[XS_COPIES_MAX];

    /* In the order of the scope, for the caller: an index of needs, or XS_NEEDS_MAX and more: of copies. */
    size_t global_count, local_count;
    uint16_t global[XS_NEEDS_MAX + XS_COPIES_MAX], local[XS_NEEDS_MAX + XS_COPIES_MAX];
};

/** Reads what is mapped now. Calls no dl* function but dl_iterate_phdr. Any thread.
 *  @param stem    of the library, as in xs_object_name_fits
 *  @param caller  an address in the caller's code
 *  @return to be freed; NULL: no memory */
struct xs_needs *xs_needs_read(const char *stem, const void *caller);

/** The program opens this file. Any thread. @param deep, visible  with RTLD_DEEPBIND, with RTLD_GLOBAL */
void xs_needs_opened(const char *file, bool deep, bool visible);

#endif
