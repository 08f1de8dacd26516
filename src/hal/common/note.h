/* SPDX-License-Identifier: Apache-2.0 */
/* Tells our own shims from the vendor's library whose name they carry: an ELF note of the owner "XSched".
 * dl_iterate_phdr finds it in a loaded object, and it is in the file. Put XS_SHIM_NOTE into one source file
 * of each shim. */
#ifndef XS_HAL_NOTE_H
#define XS_HAL_NOTE_H

#include <stdint.h>

#define XS_NOTE_OWNER "XSched"
#define XS_NOTE_TYPE  1u

struct xs_note {
    uint32_t owner_size, desc_size, type;
    char owner[8];
    uint32_t desc;
};

#define XS_SHIM_NOTE                                                                              \
    __attribute__((section(".note.xsched"), used, aligned(4))) static const struct xs_note        \
        xs_shim_note = {sizeof(XS_NOTE_OWNER), 4, XS_NOTE_TYPE, XS_NOTE_OWNER, 1}

#endif
