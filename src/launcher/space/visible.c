/* SPDX-License-Identifier: Apache-2.0 */
/* The value of CUDA_VISIBLE_DEVICES in space (decision 0043). The driver counts a client's numbers among the devices
 * that the MPS daemon was started with, and finds a client's UUIDs among them. Ours has one device. */
#include "launcher/space/space.h"

#include <ctype.h>
#include <string.h>

/* 0, +0, 00 or no number at all: it names the first device, or the driver refuses it with a daemon as without one. */
static bool is_zero(const char *text)
{
    text += strspn(text, " \t");
    text += *text == '+';
    text += strspn(text, "0");
    return !isdigit((unsigned char)*text);
}

const char *xs_space_visible(const char *native)
{
    bool keeps = !native || strncmp(native, "GPU-", 4) == 0; /* the driver takes the first digits of a UUID, too */

    if (XS_SPACE_RULES & XS_SPACE_RULE_FORM && keeps)
        return native;
    if (native && !keeps && (!(XS_SPACE_RULES & XS_SPACE_RULE_ZERO) || is_zero(native)))
        return native;
    return "0";
}
