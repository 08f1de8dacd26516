/* SPDX-License-Identifier: Apache-2.0 */
/* ELF objects, mapped and on disk, as far as the resolver needs them. */
#ifndef XS_HAL_OBJECTS_H
#define XS_HAL_OBJECTS_H

#include "base/xs_base.h"

#define XS_PATH_MAX 4096

/** After a call that failed, with errno: counts the failures that do not show that there is no such file (no memory, no
 *  descriptors, an error of the disk). What is not found meanwhile may be there. Any thread. @return false */
bool xs_object_look_failed(void);
extern _Atomic uint32_t xs_object_looks_failed;

/** The places of a mapped object's libraries, as it states them. Texts live in the object, which the
 *  caller keeps mapped. */
struct xs_object {
    char path[XS_PATH_MAX];       /* as the dynamic linker knows it; "" for the main program */
    const char *rpath;            /* NULL: none */
    const char *runpath;
    const char *needed;           /* the library of this stem that it names itself; NULL: none */
    uintptr_t from, to;           /* addresses of its code and data */
    bool found;
};

/** The mapped object that contains an address; found is false when there is none.
 *  @param stem  of the library to look for among those that it needs, as in xs_object_find */
void xs_object_of(const void *address, const char *stem, struct xs_object *ret_object);

/** Whether a file name is STEM.so*, or STEM-HASH.so* as wheels rename what they carry. */
bool xs_object_name_fits(const char *name, const char *stem);

/** Mapped objects named STEM.so* or STEM-HASH.so* (by file name or SONAME), without our own shims. Writes the
 *  first `max` paths into ret_paths. @return how many there are */
size_t xs_object_find(const char *stem, char (*ret_paths)[XS_PATH_MAX], size_t max);

/** The path of the mapped object, no shim of ours, that the dynamic linker would take for this name: its file
 *  or SONAME has it. @return false when there is none */
bool xs_object_named(const char *name, char ret_path[XS_PATH_MAX]);

/** Whether the object that contains an address is a copy of the library with this stem, and no shim of ours.
 *  @param ret_path  its path, XS_PATH_MAX bytes; NULL: never mind */
bool xs_object_is_copy(const void *address, const char *stem, char *ret_path);

/** The addresses of the object that contains one. @return false: none does */
bool xs_object_range(const void *address, uintptr_t *ret_from, uintptr_t *ret_to);

/** Whether an address belongs to a shim of ours. */
bool xs_object_is_ours(const void *address);

/** How many objects this process has ever loaded. @param ret_unloaded  how many of them are gone; NULL: never mind */
uint64_t xs_object_count(uint64_t *ret_unloaded);

/** True for a shared object that this process can load and that is not a shim of ours. */
bool xs_object_usable_file(const char *path);

/** The first text of this kind (DT_SONAME, DT_RUNPATH, ...) that a file's dynamic section names.
 *  @param stem  of a library: the first that fits; NULL: any
 *  @return false: there is none, or it does not fit into ret */
bool xs_object_file_text(const char *path, int64_t tag, const char *stem, char *ret, size_t size);

/** Whether two paths lead to one file. */
bool xs_object_same_file(const char *a, const char *b);

/** Whether a file is a shim of ours, or a name of one. */
bool xs_object_is_file_of_ours(const char *path);

/** The path that ld.so.cache has for a name, after `skip` usable ones.
 *  @return false when there is none (musl has no such file) */
bool xs_object_in_cache(const char *name, size_t skip, char ret_path[XS_PATH_MAX]);

#endif
