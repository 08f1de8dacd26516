/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID says of a program that chooses its own name, environment and mapped files, as
 * xsched doctor reads it. The input is three files: status, maps and environ, after lines of "---". */
#include "fuzz.h"

static FILE *fuzz_fopen(const char *path, const char *mode);
#define fopen fuzz_fopen
#include "launcher/proc.c"

#undef fopen

_Atomic uint64_t fuzz_steps;
const char *const fuzz_steps_name = "variables read";

static char *g_files[3];
static size_t g_sizes[3];

static FILE *fuzz_fopen(const char *path, const char *mode)
{
    static const char *const k_names[] = {"status", "maps", "environ"};

    (void)mode;
    for (int i = 0; i < 3; i++)
        if (!strcmp(strrchr(path, '/') + 1, k_names[i]))
            return g_sizes[i] ? fmemopen(g_files[i], g_sizes[i], "r") : fopen("/dev/null", "r");
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct xs_proc p; /* large */
    char *text = fuzz_text(data, size), *at = text;

    for (int i = 0; i < 3; i++) {
        char *end = i < 2 ? memmem(at, size - (size_t)(at - text), "---\n", 4) : NULL;

        g_files[i] = at;
        g_sizes[i] = (end ? (size_t)(end - text) : size) - (size_t)(at - text);
        at = end ? end + 4 : text + size;
    }
    if (xs_proc_read(1, &p) == 0) {
        FUZZ_CHECK(p.library_count <= XS_PROC_LIBRARIES_MAX);
        for (size_t i = 0; i < p.library_count; i++)
            FUZZ_CHECK(p.libraries[i].path[0] == '/');
        for (size_t i = 0; i < p.env_count; i++)
            fuzz_steps += strlen(p.env[i]) > 0;
        (void)xs_proc_env(&p, "XSCHED_PRIORITY");
        (void)xs_proc_has(&p, XS_LIB_SHIM, "CUDA");
        xs_proc_free(&p);
    }
    free(text);
    return 0;
}
