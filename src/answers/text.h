/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows. One thread. */
#ifndef XS_TEXT_H
#define XS_TEXT_H

#include "base/xs_base.h"

struct xs_text {
    char *data; /* malloc's; has a zero at its end once it has any text */
    size_t bytes, room;
    bool failed; /* out of memory: the text is incomplete */
};

void xs_text_add(struct xs_text *t, const char *format, ...) XS_PRINTF(2, 3);
void xs_text_add_bytes(struct xs_text *t, const char *data, size_t bytes);

#endif
