/* SPDX-License-Identifier: Apache-2.0 */
/* An object file and ld.so.cache, as the resolver and xsched doctor read them. */
#include "fuzz.h"

#include "launcher/elf.h"

#include "hal/common/objects.c"

#include <unistd.h>

_Atomic uint64_t fuzz_steps;
const char *const fuzz_steps_name = "names read";

static int visit(const char *name, uint64_t vaddr, void *ctx)
{
    size_t n = strlen(name); /* reads all of it */

    (void)vaddr;
    fuzz_steps++;
    *(size_t *)ctx += n;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], found[XS_PATH_MAX];
    struct xs_elf e;
    size_t sum = 0;
    int fd;

    fuzz_file(data, size, path, &fd);
    if (xs_elf_read(path, &e) == 0) {
        FUZZ_CHECK(memchr(e.soname, 0, sizeof(e.soname)) && e.needed_count <= XS_ARRAY_LEN(e.needed));
        fuzz_steps += e.needed_count;
    }
    (void)xs_elf_exports(path, visit, &sum);
    (void)xs_elf_imports(path, visit, &sum);
    (void)xs_elf_has_export(path, "cuInit");
    (void)xs_object_usable_file(path);
    close(fd);
    /* what the cache names is opened: only names that are there */
    for (size_t skip = 0; skip < 3 && !memmem(data, size, "/dev", 4); skip++)
        if (cache_look((const char *)data, size, "libcuda.so.1", skip, found))
            FUZZ_CHECK(found[0] == '/');
    return 0;
}
