/* SPDX-License-Identifier: Apache-2.0 */
/* Where a device sits, as one number: the same in every vendor's runtime, in programs and in xserver, which tell
 * devices apart by it. */
#ifndef XS_PCI_H
#define XS_PCI_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t xs_pci_number(uint32_t domain, uint32_t bus, uint32_t device, uint32_t function)
{
    return domain << 16 | (bus & 0xff) << 8 | (device & 0x1f) << 3 | (function & 7);
}

/** "0000:c3:00.0": domain, bus, device, function, all hexadecimal. Any thread.
 *  @return false: it is none, and *ret_number stays */
bool xs_pci_parse(const char *text, uint32_t *ret_number);

#endif
