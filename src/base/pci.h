/* SPDX-License-Identifier: Apache-2.0 */
/* The address of a device as one number. Every vendor's runtime has the same, and programs and xserver
 * identify devices by it. */
#ifndef XS_PCI_H
#define XS_PCI_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t xs_pci_number(uint32_t domain, uint32_t bus, uint32_t device, uint32_t function)
{
    return domain << 16 | (bus & 0xff) << 8 | (device & 0x1f) << 3 | (function & 7);
}

/** "0000:c3:00.0": domain, bus, device, function, all hexadecimal. Any thread.
 *  @return false: the text is no address, and *ret_number stays */
bool xs_pci_parse(const char *text, uint32_t *ret_number);

#endif
