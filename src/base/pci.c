/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pci.h"

static uint32_t digit(char c)
{
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0');
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10) : 16;
}

bool xs_pci_parse(const char *text, uint32_t *ret_number)
{
    static const char after[] = {':', ':', '.', '\0'};
    static const uint32_t most[] = {0xffff, 0xff, 0x1f, 7};
    uint32_t part[4] = {0};

    for (int i = 0; i < 4; i++) {
        const char *begin = text;

        for (; digit(*text) < 16; text++) {
            part[i] = part[i] << 4 | digit(*text);
            if (part[i] > most[i])
                return false;
        }
        if (text == begin || *text != after[i])
            return false;
        text++;
    }
    *ret_number = xs_pci_number(part[0], part[1], part[2], part[3]);
    return true;
}
