/* SPDX-License-Identifier: Apache-2.0 */
/* One packet through the decoder. What is accepted stays the same when it is sent again. */
#include "fuzz.h"

#include "wire/wire.h"

#include <errno.h>

_Atomic uint64_t fuzz_steps;
const char *const fuzz_steps_name = "packets accepted";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t packet[XS_WIRE_MAX_BYTES + 8];
    union xs_msg m, again;
    const char *wrong = NULL;
    size_t bytes;
    int r;

    size = XS_MIN(size, sizeof(packet));
    memcpy(packet, data, size);
    if (size >= sizeof(struct xs_wire_head) && size % 2) { /* half of them have an honest head */
        uint16_t length = (uint16_t)size;

        packet[0] = (uint8_t)(packet[0] % 13);
        packet[1] = 0;
        memcpy(packet + offsetof(struct xs_wire_head, bytes), &length, sizeof(length));
    }
    r = xs_wire_open(packet, size, &m, &wrong);
    FUZZ_CHECK(r == 0 || r == -EBADMSG || r == -ENOMSG);
    FUZZ_CHECK((r == -EBADMSG) == (wrong != NULL));
    if (r < 0)
        return 0;
    fuzz_steps++;
    FUZZ_CHECK(strcmp(xs_wire_name(m.head.id), "?") != 0);
    again = m;
    bytes = xs_wire_seal(&again, (enum xs_msg_id)m.head.id, m.head.serial);
    FUZZ_CHECK(bytes <= XS_WIRE_MAX_BYTES);
    memcpy(packet, &again, bytes);
    FUZZ_CHECK(xs_wire_open(packet, bytes, &again, NULL) == 0);
    again.head.bytes = m.head.bytes;
    FUZZ_CHECK(memcmp(&m, &again, sizeof(m)) == 0);
    return 0;
}
