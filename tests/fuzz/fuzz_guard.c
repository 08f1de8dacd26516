/* SPDX-License-Identifier: Apache-2.0 */
/* A Host header, and what /proc says of a program. */
#include "fuzz.h"

#include "host/procinfo.h"
#include "http/http_guard.h"

_Atomic uint64_t fuzz_steps;
const char *const fuzz_steps_name = "hosts of ours";

static bool is_clean(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *copy;
    int32_t class_priority = 12345;

    if (xs_guard_host_ok(text, 50000))
        fuzz_steps++;
    if (xs_proc_cpu_class_parse(text, &class_priority) < 0)
        FUZZ_CHECK(class_priority == 12345);
    copy = strdup(text);
    xs_text_clean(copy);
    FUZZ_CHECK(is_clean(copy) && strlen(copy) == strlen(text));
    free(copy);
    free(text);
    return 0;
}
