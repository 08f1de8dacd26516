/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration file of xserver. What is accepted lies within the ranges of options.def. */
#include "fuzz.h"

#include "config/options.h"

#include <unistd.h>

_Atomic uint64_t fuzz_steps;
const char *const fuzz_steps_name = "files accepted";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xs_options o;
    char path[64], error[256] = "";
    int fd, r;

    fuzz_file(data, size, path, &fd);
    xs_options_defaults(&o);
    r = xs_options_read_file(&o, path, NULL, error, sizeof(error));
    close(fd);
    FUZZ_CHECK((r < 0) == (error[0] != 0));
    if (r < 0)
        return 0;
    fuzz_steps++;
    for (unsigned i = 0; i < XS_OPT_COUNT; i++) {
        const struct xs_option_row *row = &xs_option_rows[i];
        const char *at = (const char *)&o + row->offset;

        if (row->type.kind == XS_VALUE_NUMBER || row->type.kind == XS_VALUE_TIME) {
            uint64_t v = *(const uint64_t *)(const void *)at;

            FUZZ_CHECK(xs_value_has(&row->type, (int64_t)v) || (i == XS_OPT_timeslice_us && v == UINT64_MAX));
        } else if (row->type.kind != XS_VALUE_FLAG) {
            FUZZ_CHECK(memchr(at, 0, XS_OPTION_TEXT_BYTES) != NULL);
        }
    }
    return 0;
}
