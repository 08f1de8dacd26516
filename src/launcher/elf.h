/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of an ELF file, read from the file without loading it. */
#ifndef XS_LAUNCHER_ELF_H
#define XS_LAUNCHER_ELF_H

#include "base/xs_base.h"

struct xs_elf {
    bool is_elf;
    bool is_64;
    bool foreign;    /* another machine or byte order than this program's */
    bool has_interp; /* a dynamic loader starts it */
    bool has_dynamic;
    char soname[128]; /* "" when it has none */
    size_t needed_count;
    char needed[64][96];  /* the first DT_NEEDED names */
    uint64_t first_vaddr; /* where the start of the file lies, as the file has it */
    size_t exports;      /* defined dynamic symbols of global or weak binding */
};

/** @return 0 (also for a file that is no ELF: is_elf is false then) or -errno */
int xs_elf_read(const char *path, struct xs_elf *ret);

/** Calls visit with the name and the address (as the file has it) of each exported symbol of a 64-bit object.
 *  @return 0, -errno, or the first value other than 0 that visit returned */
int xs_elf_exports(const char *path, int (*visit)(const char *name, uint64_t vaddr, void *ctx), void *ctx);

/** Calls visit with each place (an address as the file has it) into which the dynamic linker writes the
 *  address of a symbol that the object takes from others. @return as xs_elf_exports */
int xs_elf_imports(const char *path, int (*visit)(const char *name, uint64_t vaddr, void *ctx), void *ctx);

/** Whether a 64-bit object exports this name. */
bool xs_elf_has_export(const char *path, const char *name);
/** The same, and its address as the file has it. */
bool xs_elf_export(const char *path, const char *name, uint64_t *ret_vaddr);

#endif
