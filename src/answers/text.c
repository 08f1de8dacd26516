/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct xs_text *t, size_t more)
{
    size_t room = t->room ? t->room : 4096;
    char *data;

    if (t->failed)
        return false;
    if (t->bytes + more < t->room)
        return true;
    while (room <= t->bytes + more)
        room *= 2;
    data = realloc(t->data, room);
    t->failed = !data;
    if (data) {
        t->data = data;
        t->room = room;
    }
    return !t->failed;
}

void xs_text_add_bytes(struct xs_text *t, const char *data, size_t bytes)
{
    if (!reserve(t, bytes))
        return;
    memcpy(t->data + t->bytes, data, bytes);
    t->bytes += bytes;
    t->data[t->bytes] = 0;
}

void xs_text_add(struct xs_text *t, const char *format, ...)
{
    va_list ap;
    int n;

    if (!reserve(t, 512))
        return;
    va_start(ap, format);
    n = vsnprintf(t->data + t->bytes, t->room - t->bytes, format, ap);
    va_end(ap);
    if (n < 0 || (size_t)n < t->room - t->bytes) {
        t->bytes += n > 0 ? (size_t)n : 0;
        return;
    }
    if (!reserve(t, (size_t)n))
        return;
    va_start(ap, format);
    t->bytes += (size_t)vsnprintf(t->data + t->bytes, t->room - t->bytes, format, ap);
    va_end(ap);
}
